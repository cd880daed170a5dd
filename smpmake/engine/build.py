"""One build inside a server: its rules, its outcome so far, its records."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from smpmake.commands.model import Reason
from smpmake.decide.known_failures import digest_of
from smpmake.engine.environment import Environment
from smpmake.engine.shown import Shown

if TYPE_CHECKING:
    from smpmake.config import Settings
    from smpmake.decide.known_failures import KnownFailures
    from smpmake.decide.known_silence import KnownSilence
    from smpmake.engine.sinks import Transcript
    from smpmake.protocol.wire import FileId, Invoke
    from smpmake.records import CommandRecord, Failure, Stall
    from smpmake.schedule.job import Job
    from smpmake.undo.journal import UndoJournal
    from smpmake.undo.reuse import Finished, Reusable


class Misprediction(NamedTuple):
    """A promise that was not kept.

    argv     the command's words.
    caller   see Command.caller.
    failure  how it failed.
    guessed  it did not fail, but was not silent as before (engine/silence), or did something else
             than its words say.
    """

    argv: bytes
    caller: bytes
    failure: Failure
    guessed: bool = False

    @property
    def told(self) -> str:
        """What went wrong, for people."""
        command = self.failure.record.brief
        if self.guessed:
            if self.failure.record.reason == Reason.UNCHECKED:
                return f"did not do what its words say ({self.failure.why}): {command}"
            return f"{self.failure.why}, unlike in an earlier build: {command}"
        return f"failed after its success was promised: {command}"


_MOST_SHARED: Final = 1000


@dataclass(slots=True)
class Build:
    """State of one build.

    id             its name on the wire, unique among the builds of a server.
    rules          what the user decided for it.
    driver_output  which files the driver has as stdout and stderr, where that is known.
    began          when it began, wall clock, s.
    transcript     restores the order of output of the serial build; None where output is live.
    broken         the first command whose promised success was wrong.
    stopping       128+n once signal n ended the build.
    refused        a shim has been told why nothing is run any more: it is said once.
    lost           outputs of commands that have failed: who needs one is waited for.
    present        commands of this build that have not left the engine.
    done           jobs that have ended.
    empty          set while none is present.
    records        of all its commands, in the order of issue.
    failures       promises of success that were wrong.
    reported       other failures: the driver learned of them.
    notices        what the user is to be told at the end.
    stalls         who waited for pending commands.
    promised       what its deferred commands were to write, so far.
    known_failures the commands whose status is known to matter.
    silence        the commands that said nothing in earlier builds; None: nothing is predicted.
    wrong          the promises of success that were wrong, by the commands' digests.
    distrusted     programs that did not write what their words say: they run in place from then on.
    shared         files that one command makes for many, with what those have in common.
    headers        how many of its commands wrote what could be a header.
    wmakes         there is a wmake in it: what that looks at by itself matters.
    driver         the command that is the build, empty where nobody knows it.
    parallel       what below it runs commands in parallel by itself ("make -j2"), "" for nothing.
    looks, together, beside, brought  how that is found out: engine/parallel.py.
    outer          the build in which this one was started, if that can be taken back.
    undo           the journal by which what it did can be taken back; None where nothing can.
    finished       commands that have succeeded, as long as what they made may be needed again.
    tells_folders  a make has said which folder it enters, as an inner one does.
    makes         which were looked at for that: environments with folders, hashed.
    reusable       results of a run that was undone.
    on_squash      called once, when a promise was wrong and what followed is to be taken back.
    squashed       that has happened.
    awaited        callers whose commands are all waited for, because a promise to one was wrong.
    repeats        how often the driver has been run again.
    patient        every command is waited for.
    owed           failures whose very command is still to be told, or to succeed.
    environments   the environments of its commands, each once, by its bytes.
    texts          texts that its commands have in common, each once.
    launcher_logs  descriptors of launchers' logs, by name; -1: it is to keep none.
    said           characters of output that its records hold (engine/diagnostics.py).
    behind         what stands behind the driver's output where we stand in between.
    on_told        called when the driver is told of one of the failures that it did not know.
    shown          what its commands have printed, as long as the driver may be run again.
    """

    id: str
    rules: Settings
    driver_output: tuple[FileId, FileId] | None = None
    began: float = 0.0
    transcript: Transcript | None = None
    broken: Job | None = None
    stopping: int = 0
    refused: bool = False
    lost: set[str] = field(default_factory=set)
    present: int = 0
    done: int = 0
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    records: list[CommandRecord] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    reported: list[Failure] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    promised: set[str] = field(default_factory=set)
    known_failures: KnownFailures | None = None
    silence: KnownSilence | None = None
    wrong: dict[str, Misprediction] = field(default_factory=dict)
    distrusted: set[str] = field(default_factory=set)
    shared: dict[str, str] = field(default_factory=dict)
    headers: int = 0
    wmakes: bool = False
    driver: list[str] = field(default_factory=list)
    parallel: str = ""
    looks: int = 0
    together: int = 0
    beside: set[int] = field(default_factory=set)
    brought: set[int] = field(default_factory=set)
    outer: Build | None = None
    undo: UndoJournal | None = None
    finished: list[Finished] = field(default_factory=list)
    tells_folders: bool = False
    makes: set[int] = field(default_factory=set)
    reusable: Reusable | None = None
    on_squash: Callable[[], None] | None = None
    squashed: bool = False
    awaited: set[bytes] = field(default_factory=set)
    repeats: int = 0
    patient: bool = False
    owed: dict[str, Failure] = field(default_factory=dict)
    environments: dict[bytes, Environment] = field(default_factory=dict)
    texts: dict[bytes, bytes] = field(default_factory=dict)
    launcher_logs: dict[str, int] = field(default_factory=dict)
    said: int = 0
    behind: dict[FileId, int] = field(default_factory=dict)
    on_told: Callable[[], None] | None = None
    shown: Shown = field(default_factory=Shown)
    _undone: int = 0
    _news: set[str] = field(default_factory=set)
    _unsaid: list[Callable[[], None]] | None = None

    def __post_init__(self) -> None:
        self.empty.set()

    def add(self, record: CommandRecord) -> None:
        """One more command."""
        self.records.append(record)

    def spare_memory(self) -> None:
        """What commands have in common is few things, as a rule."""
        for kept in (self.environments, self.texts):
            if len(kept) >= _MOST_SHARED:
                kept.clear()

    def entered(self) -> None:
        """A command of this build entered the engine."""
        self.present += 1
        self.empty.clear()

    def left(self) -> None:
        """A command of this build left the engine."""
        self.present -= 1
        if self.present == 0:
            self.empty.set()

    def hold_replies(self) -> None:
        """Its driver is being told that it ends, and is told nothing else until `speak`."""
        self._unsaid = self._unsaid or []

    def flush_replies(self) -> None:
        """Who is still there is answered."""
        unsaid, self._unsaid = self._unsaid, None
        for answer in unsaid or ():
            answer()

    def answer(self, give: Callable[[], None]) -> None:
        """Gives somebody of the driver's an answer, as soon as it may have one."""
        if self._unsaid is None:
            give()
        else:
            self._unsaid.append(give)

    def squash(self) -> None:
        """A promise was wrong: from now on nobody goes on by it."""
        if self.outer is not None:
            told = self.outer.failures
            told += [failure for failure in self.failures if failure not in told]
            self.outer.wrong |= self.wrong
            self.outer.squash()
        elif not self.squashed and self.on_squash is not None:
            self.squashed = True
            self.on_squash()

    @property
    def squashing(self) -> bool:
        """Whether all is about to be undone: nobody is answered any more but jobs that run."""
        return self.squashed or (self.outer is not None and self.outer.squashed)

    def join(self, outer: Build) -> None:
        """This build is part of another: what becomes of that becomes of it."""
        self.outer = outer.outer or outer
        self.undo = outer.undo
        self.known_failures = outer.known_failures
        self.awaited = outer.awaited
        self.owed = outer.owed
        self.finished = outer.finished
        self.reusable = outer.reusable
        self.patient = outer.patient
        self.behind = outer.behind
        self.shown = outer.shown

    def start_over(self, *, whole: bool) -> None:
        """The driver is run again, and waits for the truth of what failed.

        whole  as if it had never been run; else it must come to what failed, and is to be told.
        """
        if whole:
            for record in self.records[self._undone :]:
                if record.state in ("done", "failed"):
                    record.state = "undone"
        else:
            owed = {d: wrong.failure for d, wrong in self.wrong.items() if not wrong.guessed}
            self.owed |= owed
        self._undone = len(self.records)
        killed = self.squashed
        self._news = set(self.wrong)
        self.broken, self.refused, self.squashed = None, False, False
        self.lost.clear()
        guessed = [wrong.failure for wrong in self.wrong.values() if wrong.guessed]
        self.reported += [failure for failure in self.failures if failure not in guessed]
        if self.silence is not None:
            self.silence.forget_new()
        self.finished.clear()
        self.shown.start_over(killed=killed)
        self.patient |= self.repeats > 0  # the caller's commands were waited for, in vain
        self.repeats += 1
        self.awaited.update(wrong.caller for wrong in self.wrong.values() if wrong.caller)
        self.failures.clear()
        self.wrong.clear()

    def is_told(self, digest: str) -> None:
        """The driver is about to hear how a command went."""
        build = self.outer or self
        if digest in build._news and build.on_told is not None:
            build.on_told()

    def environment_of(self, invoke: Invoke) -> Environment:
        """The invocation's environment; most commands share it and more, once in memory."""
        known = self.environments.get(invoke.env)
        if known is None:
            self.spare_memory()
            known = self.environments[invoke.env] = Environment(invoke.env)
        share = self.texts.setdefault
        invoke.env = known.blob
        invoke.real = share(invoke.real, invoke.real)
        invoke.cwd = share(invoke.cwd, invoke.cwd)
        invoke.limits = share(invoke.limits, invoke.limits)
        invoke.tool = sys.intern(invoke.tool)
        invoke.build = sys.intern(invoke.build)
        return known

    def awaited_digest(self, command: Invoke, caller: bytes, *, deferred: bool) -> str:
        """The digest of a command whose driver is to be told how it went, "" of others.

        One that is not deferred tells it by itself.
        """
        if not (self.known_failures or self.patient or self.awaited or self.owed):
            return ""
        digest = digest_of(command.cwd, command.argv)
        if not deferred:
            self.is_told(digest)
            self.owed.pop(digest, None)
            return ""
        known = self.known_failures is not None and digest in self.known_failures
        is_awaited = known or self.patient or caller in self.awaited
        return digest if is_awaited else ""
