"""One command as the engine keeps it: where it came from, what it writes, who waits for it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from smpmake.commands.model import Analysis, Kind, Write
from smpmake.engine.build import Build
from smpmake.engine.replies import Reply
from smpmake.engine.verdict import Verdict
from smpmake.protocol.wire import FileId, Invoke
from smpmake.protocol.working import Terminal, encode_output
from smpmake.records import CommandRecord
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job
from smpmake.undo.journal import UndoJournal

#: Kinds of commands that recipes go on with; links and compiles have targets of their own.
_SMALL = (Kind.INSPECT, Kind.FILE)


class Group:
    """Jobs that were one command, whose shim waits: it is told the truth, so nothing is broken.

    folder    where what they make on the way lies; it goes with the last of them.
    terminal  where the shim prints, if that is one.
    status    of the first that failed, as wait(2) gives it; 0 as long as none has.
    output    of all of them, for the shim to print.
    """

    __slots__ = ("folder", "output", "status", "terminal")

    def __init__(self, folder: str, terminal: Terminal | None = None) -> None:
        self.folder = folder
        self.terminal = terminal
        self.status = 0
        self.output: list[bytes] = []


class Outputs(NamedTuple):
    """What a job writes.

    encoded  as the worker is told of it (working.encode_output).
    makes    names of what it makes: if it does not finish they must go.
    perhaps  names of what it may not make.
    """

    encoded: bytes = b""
    makes: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


class Command:
    """What the engine keeps with a job.

    build         the build that it belongs to.
    analysis      what it means.
    verdict       how it is run.
    invoke        the command line as the shim sent it, with folder, environment, descriptors.
    argv          what is run; the invocation's own unless a family says otherwise.
    record        what is remembered of it.
    reply         the way back to its shim, None once that has its answer.
    told_status   how it ended, as wait(2) gives it, for its shim, which has waited for it; None
                  before.
    outputs       what it writes.
    group         the jobs that were one command with it, whose shim waits for them all.
    sinks         files that its output goes to, whose descriptors it holds.
    elsewhere     what other machines' side remembers of it, None where none can do it.
    signalled     we ended it ourselves: its failure is nobody's fault.
    restarted     its worker died under it once; the second time is its end.
    rename        source and destination, canonical, where the whole of it is one rename.
    log_files     which of its output descriptors are plain files.
    private_texts files of ours that argv names; they go with it.
    wrote         what it was seen to write.
    traced        all that it read has been noted.
    rests_on      commands that are not taken for ended before it is, carries: how many rest on it
                  (`rest_on`), is_kept: it has ended well.
    programs      files of all that it runs and that may read what they do not name; None: nobody
                  can tell.
    said          what its shim prints for it when it is answered.
    """

    __slots__ = (
        *("analysis", "argv", "build", "carries", "elsewhere", "group", "invoke"),
        *("is_kept", "log_files", "outputs", "private_texts", "programs", "record", "rename"),
        *("reply", "restarted", "rests_on", "said", "signalled", "sinks", "told_status"),
        *("traced", "verdict", "wrote"),
    )

    def __init__(
        self,
        build: Build,
        invoke: Invoke,
        argv: bytes,
        record: CommandRecord,
        analysis: Analysis,
        verdict: Verdict,
    ) -> None:
        self.build = build
        self.invoke = invoke
        self.argv = argv
        self.record = record
        self.analysis = analysis
        self.verdict = verdict
        self.reply: Reply | None = None
        self.told_status: int | None = None
        self.outputs = Outputs()
        self.group: Group | None = None
        self.sinks: tuple[FileId, ...] = ()
        self.log_files: tuple[FileId, ...] = ()
        self.elsewhere: object = None
        self.signalled = False
        self.restarted = False
        self.rename: tuple[str, str] | None = None
        self.private_texts: tuple[str, ...] = ()
        self.wrote: tuple[str, ...] = ()
        self.traced = False
        self.rests_on: tuple[Command, ...] = ()
        self.carries = 0
        self.is_kept = False
        self.programs: tuple[str, ...] | None = None
        self.said = b""

    @property
    def guarded(self) -> bool:
        """Whether its tool runs with a guard, which notes what it does."""
        return self.build.rules.guard and not self.invoke.unguarded

    @property
    def is_awaited(self) -> bool:
        """Whether its shim waits for the truth about it."""
        return self.verdict.is_awaited

    def rest_on(self, reads: Iterable[str], hazards: Hazards) -> None:
        """The command is about to be issued: if it is small, makers of what it reads end with it.

        A build that is interrupted is taken back to where its first unfinished command was issued.
        Behind a compile whose recipe prints its dependency file into another one there would be an
        object that make takes for the whole recipe's result, and nothing that makes the other file
        again.  So the compile ends, as far as undoing goes, when the small commands have that read
        its outputs.  `reads` are canonical paths.
        """
        if self.record.kind in _SMALL or self.analysis.printed:
            makers = {job for path in reads for job in hazards.writers(path)}
            self.rests_on = tuple(map(command_of, makers))
            for each in self.rests_on:
                each.carries += 1

    def keep_promise(self, journal: UndoJournal) -> None:
        """The command has done what was promised."""
        self.is_kept = True
        if not self.carries:
            journal.ended(self.record.number)
            self.release_makers(journal)

    def release_makers(self, journal: UndoJournal) -> None:
        """The command has ended; those that it rests on need not wait for it, nor those below."""
        waiting = self._let_go()
        while waiting:  # a chain may be thousands long
            maker = waiting.pop()
            maker.carries -= 1
            if maker.is_kept and not maker.carries:
                journal.ended(maker.record.number)
                waiting += maker._let_go()

    def _let_go(self) -> list[Command]:
        """Those that it rested on, the first last."""
        below, self.rests_on = self.rests_on, ()
        return list(reversed(below))


class OutputFile(NamedTuple):
    """A write, under its canonical name.

    stale   where its older copy was set aside, or "".
    before  the lstat of what was there at issue, or None.
    behind  where it leads if it was a symbolic link then, or "".
    """

    write: Write
    name: str
    stale: str = ""
    before: os.stat_result | None = None
    behind: str = ""

    @property
    def made(self) -> bool:
        """Whether the command makes it, so that it must go if the command does not finish."""
        write = self.write
        if write.removed or write.replaces:
            return False
        return not (write.in_place and not write.target and self.before is not None)


def command_of(job: Job) -> Command:
    """The command that a job carries."""
    command = job.payload
    assert isinstance(command, Command)
    return command


def replaced(outputs: list[OutputFile]) -> list[tuple[int, int]]:
    """Older files that will be replaced, and could be reached by a link of another name."""
    return [
        (output.before.st_dev, output.before.st_ino)
        for output in outputs
        if output.before is not None
        and not output.stale
        and not stat.S_ISDIR(output.before.st_mode)
    ]


def outputs_of(files: list[OutputFile]) -> Outputs:
    """The outputs that a job is issued with."""
    return Outputs(
        b"".join(map(_encoded, files)),
        tuple(file.name for file in files if file.made),
        tuple(file.name for file in files if file.write.perhaps),
    )


def _encoded(output: OutputFile) -> bytes:
    return encode_output(
        os.fsencode(output.name),
        os.fsencode(output.stale),
        timed=output.write.timed and not output.write.removed,
        made=output.made,
        printed=output.write.printed,
        perhaps=output.write.perhaps,
        behind=bool(output.behind) and output.write.in_place,
    )
