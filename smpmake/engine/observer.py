"""What jobs are seen to do, and what follows from it: for their tools, and for what they find.

A compiler driver may take a guard, and the compiler proper that it starts may be a static program,
which asks nobody and cannot be shown older files: that is seen, not guessed.
"""

from __future__ import annotations

import functools
import os
from typing import Final

from smpmake import variables
from smpmake.disk.elf import takes_guard
from smpmake.engine.command import Command, command_of
from smpmake.engine.environment import Environment
from smpmake.engine.programs import Programs
from smpmake.guard.pending import Pending
from smpmake.guard.proofs import Identity, Proofs, identity
from smpmake.guard.traces import Trace, Traces, surprises
from smpmake.guard.versions import Change, Versions
from smpmake.records import GIVEN_BACK
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job

_MOST: Final = 256  # commands to look at; who is so far ahead of his turn asks
_Tool = tuple[Identity | None, bytes, str]
"""A tool's file, its name, and the kind of its work: other parts of it do that."""


class Observer:
    """One per engine."""

    def __init__(
        self,
        hazards: Hazards,
        pending: Pending,
        traces: Traces,
        versions: Versions,
        proofs: Proofs,
    ) -> None:
        self._hazards = hazards
        self._pending = pending
        self._traces = traces
        self._versions = versions
        self._proofs = proofs
        # Of tools that nobody can ask what they run: whether all of it had a guard so far; and
        # those that wrote what they had not said.
        self._has_guard: dict[_Tool, bool] = {}
        self._writes_more: set[_Tool] = set()
        # Of those that can be asked: answers that turned out to lack something.
        self._doubted: set[tuple[str, ...]] = set()
        self._started_blind: set[Job] = set()

    def is_guarded(self, command: Command) -> bool:
        """Whether all of a command runs with a guard, by what was seen of its programs so far."""
        if not command.guarded or not takes_guard(os.fsdecode(command.invoke.real)):
            return False
        analysis = command.analysis
        if not analysis.undeclared or analysis.checked:  # of that it is seen whether it was so
            return True
        if command.programs is None:
            return self._has_guard.get(_tool_of(command), False)
        return command.programs not in self._doubted and all(
            map(self._proofs.has_seen, command.programs)
        )

    def ask_loader(
        self, runs: tuple[str, ...], programs: Programs, environment: Environment
    ) -> None:
        """Asks about the programs that a command runs: those that nobody has seen with a guard.

        A machine's first link would otherwise be one of which nobody knows what it reads.
        """
        guard = environment.get(variables.GUARD)
        if guard is not None:
            loaded = functools.partial(programs.loaded_with, guard, environment)
            self._proofs.ask_about(runs, loaded)

    def has_been_seen(self, tool: bytes, kind: str) -> bool:
        """Whether a tool of which nobody can tell what it runs has done such work."""
        return _tool(tool, kind) in self._has_guard

    def writes_more(self, tool: bytes, kind: str) -> bool:
        """Whether a tool has written what its words do not say."""
        return _tool(tool, kind) in self._writes_more

    def job_starts(self, slot: int, job: Job, command: Command) -> bytes:
        """A job is about to start; returns the file in which its guards take notes, or b""."""
        watched = job.operands.undeclared and not command.is_awaited
        if job.operands.undeclared and not _can_be_watched(job):
            self._started_blind.add(job)
        anew = [path for path in job.operands.writes if not self._versions.has_past(path)]
        own = self._pending.checks_of(anew)
        newest_ns, is_any_blind = self._issued_before(job)
        trace = self._traces.begin_trace(
            slot,
            job.issued_ns,
            watched=watched,
            own=own,
            inputs=self._pending.checks_of(job.operands.reads) if watched else (),
            older_ns=newest_ns,
            asks_own=is_any_blind,
        )
        if not trace and self._traces.fault not in command.build.notices:
            command.build.notice(self._traces.fault)
        return trace

    def _issued_before(self, job: Job) -> tuple[int, bool]:
        """Of those issued before a command that have not ended, and may read what they do not name:
        when the newest was, at the latest (0: there is none), and whether any is blind.

        Such a one is kept from what comes later by questions alone, of those that make it: it does
        not look at the age of what it finds.
        """
        newest_ns = 0
        for count, other in enumerate(self._hazards.undeclared(job.number)):
            newest_ns = other.issued_ns
            is_blind = other in self._started_blind or not _can_be_watched(other)
            if count == _MOST or is_blind:
                return job.issued_ns, True
        return newest_ns, False

    def job_ended(self, slot: int, job: Job, command: Command) -> bool:
        """A job has ended: its record gets what it did beside what its command line said.

        Returns whether smpmake knows now of more commands that they ask for what they read.
        """
        trace = self._traces.end_trace(slot)
        command.record.reads = trace.reads
        command.wrote, command.traced = trace.writes, trace.whole
        command.record.missed = trace.missed
        if trace.given_us:
            command.record.detail = GIVEN_BACK
        if trace.whole and trace.waited_us:  # 0: a kernel that does not tell
            command.record.delay_us = trace.waited_us
        if command.outputs.perhaps:
            missing = {path for path in command.outputs.perhaps if not os.path.lexists(path)}
            command.record.outputs = tuple(o for o in command.record.outputs if o not in missing)
        command.record.surprises = surprises(trace, job.operands, command.build.promises.promised)
        if not self._learn(job, command, trace):
            return False
        found = [
            other
            for other in self._hazards.present()
            if not other.guarded
            and isinstance(other.payload, Command)
            and self.is_guarded(command_of(other))
        ]
        for other in found:
            self._hazards.believe(other)
        return bool(found)

    def _learn(self, job: Job, command: Command, trace: Trace) -> bool:
        """Takes in what was seen; returns whether more is known than before."""
        is_new = self._proofs.add_programs(trace.programs, job.issued_ns)
        if not command.analysis.undeclared or trace.given_us:  # then the tool itself was not seen
            return is_new
        if command.programs is not None:
            if not trace.whole:
                self._doubted.add(command.programs)
            return is_new
        tool = _tool_of(command)
        before = self._has_guard.get(tool)
        self._has_guard[tool] = trace.whole and before is not False
        if any(surprise.startswith("wrote ") for surprise in command.record.surprises):
            self._writes_more.add(tool)
        return is_new or self._has_guard[tool] is not before

    def command_left(self, job: Job, command: Command) -> None:
        """A command has ended, or will not run: its outputs are files of this build now."""
        self._started_blind.discard(job)
        declared = job.operands.writes
        shared = set(command.wrote).difference(declared)
        self._versions.note_made(job.number, declared, shared)

    def keep_renamed(self, job: Job, source: str, target: str) -> bool:
        """smpmake renames for a command: whether earlier ones still find what they may read."""
        keep = self._versions.keep_version
        waits = keep(source, job.number, Change.MOVED) | keep(target, job.number, Change.GONE)
        return not waits

    def drop_versions(self) -> None:
        """Drops the older files that no pending command can look for any more."""
        self._versions.drop_versions()


def _can_be_watched(job: Job) -> bool:
    """Whether a command asks before it opens a file that came into being behind its issue.

    Who is waited for has nobody behind, and is to find what there is.
    """
    return job.guarded and not command_of(job).is_awaited


def _tool(tool: bytes, kind: str) -> _Tool:
    return identity(os.fsdecode(tool)), tool, kind


def _tool_of(command: Command) -> _Tool:
    return _tool(command.invoke.real, command.record.kind)
