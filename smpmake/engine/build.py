"""One build inside a server: its rules, its commands, and what each of its parts keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from smpmake.commands import messages
from smpmake.engine.framing import Shown
from smpmake.engine.parallel import ParallelDriver
from smpmake.engine.promises import Promises
from smpmake.engine.replies import Replies
from smpmake.engine.tools import Tools
from smpmake.engine.undoing import Undoing
from smpmake.records import REUSED
from smpmake.units import plain

if TYPE_CHECKING:
    from smpmake.config import Settings
    from smpmake.engine.sinks import Transcript
    from smpmake.protocol.wire import FileId
    from smpmake.protocol.working import Result
    from smpmake.records import BuildRecord, CommandRecord, Stall

_LONGEST_TEXT: Final = 32 << 10  # bytes of one command's: what matters stands first
_MOST_TEXT: Final = 4 << 20  # bytes of a build's


class BuildCommands:
    """The commands of one build.

    records  of all of them, in the order of issue.
    present  how many have not left the engine.
    done     jobs that have ended.
    empty    set while none is present.
    """

    def __init__(self) -> None:
        self.records: list[CommandRecord] = []
        self.present = 0
        self.done = 0
        self.empty = asyncio.Event()
        self.empty.set()
        self._undone = 0  # records of runs of the driver that are over

    def add_record(self, record: CommandRecord) -> None:
        """One more command is about to be issued."""
        self.records.append(record)

    def command_entered(self) -> None:
        """A command has entered the engine."""
        self.present += 1
        self.empty.clear()

    def command_left(self) -> None:
        """A command has left the engine."""
        self.present -= 1
        if self.present == 0:
            self.empty.set()

    def job_ended(self) -> None:
        """A job has ended."""
        self.done += 1

    def give_up_waiting(self) -> None:
        """A fault of ours may have left commands of which nobody will hear."""
        self.empty.set()

    def start_over(self, *, whole: bool) -> None:
        """The driver is run again (see Build.start_over)."""
        if whole:
            for record in self.records[self._undone :]:
                if record.state in ("done", "failed"):
                    record.state = "undone"
        self._undone = len(self.records)


class BuildOutput:
    """Where one build prints, and what it has printed.

    files       which files the driver has as stdout and stderr, where that is known.
    behind      what stands behind these where we stand in between.
    transcript  restores the order of output of the serial build; None where output is live.
    shown       what its commands have printed, as long as the driver may be run again.
    said        characters of output that its records hold.
    """

    def __init__(self, files: tuple[FileId, FileId] | None, outer: BuildOutput | None) -> None:
        self.files = files
        self.behind: dict[FileId, int] = outer.behind if outer is not None else {}
        self.transcript: Transcript | None = None
        self.shown: Shown = outer.shown if outer is not None else Shown()
        self.said = 0

    def transcribe(self, transcript: Transcript, file: FileId) -> None:
        """The driver prints into a pipe of ours, and what it prints leaves in order."""
        self.transcript, self.files = transcript, (file, file)

    def redirect(self, files: tuple[FileId, FileId] | None, behind: dict[FileId, int]) -> None:
        """The driver that starts next prints somewhere else."""
        self.files, self.behind = files, behind

    def is_drivers(self, file: FileId) -> bool:
        """Whether a file is the driver's own output."""
        return file in (self.files or ())

    def note_complaints(self, record: CommandRecord, result: Result) -> None:
        """Counts what a job complained of, and keeps the text as long as there is room.

        Only of jobs: what runs in place prints by itself.
        """
        if record.detail == REUSED:  # known already, and not printed again
            return
        output = result.err + result.out
        record.warnings, record.errors = messages.count(output)
        if (record.warnings or record.errors) and self.said < _MOST_TEXT:
            record.said = plain(output[:_LONGEST_TEXT].decode(errors="replace"))
            self.said += len(record.said)


class Build:
    """State of one build; each of its parts alone changes its own fields.

    id        its name on the wire, unique among the builds of a server.
    rules     what the user decided for it.
    began     when it began, wall clock, s.
    outer     the build in which this one was started, if that can be taken back.
    notices   what the user is to be told at the end.
    stalls    who waited for pending commands.
    """

    def __init__(
        self,
        build_id: str,
        rules: Settings,
        output: tuple[FileId, FileId] | None = None,
        *,
        began: float = 0.0,
        has_wmake: bool = False,
        outer: Build | None = None,
    ) -> None:
        self.id = build_id
        self.rules = rules
        self.began = began
        outer = (outer.outer or outer) if outer is not None else None
        self.outer: Build | None = outer
        self.commands = BuildCommands()
        # mypy needs the types, since they come from another build.
        self.output: BuildOutput = BuildOutput(output, outer.output if outer is not None else None)
        self.promises: Promises = Promises(outer.promises if outer is not None else None)
        self.undoing: Undoing = outer.undoing if outer is not None else Undoing()
        self.replies = Replies(self.promises, self.undoing)
        self.tools = Tools(has_wmake=has_wmake)
        self.parallel = ParallelDriver()
        self.notices: list[str] = []
        self.stalls: list[Stall] = []

    def begin(self, record: BuildRecord) -> None:
        """The driver is about to start; the build's record grows with it."""
        self.began = record.wall_clock
        self.parallel.name_driver(record.command)
        record.commands, record.stalls = self.commands.records, self.stalls
        record.failures, record.reported = self.promises.failures, self.promises.reported
        record.notices = self.notices

    def notice(self, text: str) -> None:
        """The user is to be told something at the end."""
        self.notices.append(text)

    def drop_notices(self, texts: Collection[str]) -> None:
        """The user is told these otherwise."""
        self.notices[:] = [text for text in self.notices if text not in texts]

    def note_stall(self, stall: Stall) -> None:
        """A process has begun to wait for a pending command."""
        self.stalls.append(stall)

    def squash(self) -> None:
        """A promise was wrong: from now on nobody goes on by it."""
        self.promises.tell_outer()
        self.undoing.squash()

    def start_over(self, *, whole: bool) -> None:
        """The driver is run again, and waits for the truth of what failed.

        whole  as if it had never been run; else it must come to what failed, and is to be told.
        """
        self.commands.start_over(whole=whole)
        self.output.shown.start_over(killed=self.undoing.squashed)
        self.promises.start_over(whole=whole, again=self.undoing.repeats > 0)
        self.undoing.start_over()
        self.replies.start_over()
