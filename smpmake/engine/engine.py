"""The out-of-order machine: who brings an invocation or a question comes here.

It knows builds and puts the rooms of this package together; `intake` decides, `execute` performs
what the scheduler orders.  It knows no socket: whoever brings an invocation also brings a `Reply`.
All of it runs in one thread, the event loop's.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Sequence
from typing import Final

from smpmake import native
from smpmake.capacity.capacity import Capacity
from smpmake.capacity.memory import Memory
from smpmake.capacity.pressure import Pressure
from smpmake.capacity.table import Wait
from smpmake.capacity.tokens import Tokens
from smpmake.engine.build import Build
from smpmake.engine.command import command_of
from smpmake.engine.computer import Computer
from smpmake.engine.elsewhere import Elsewhere, Here, Nowhere
from smpmake.engine.execute import Executor
from smpmake.engine.expectations import Expectations
from smpmake.engine.intake import Intake
from smpmake.engine.issuing import Issuing
from smpmake.engine.observer import Observer
from smpmake.engine.outcome import Outcome
from smpmake.engine.output import JobOutput
from smpmake.engine.pool import Hire
from smpmake.engine.programs import Programs
from smpmake.engine.replies import Reply
from smpmake.engine.sinks import Printer
from smpmake.forecast import Forecast
from smpmake.guard.pending import Pending
from smpmake.guard.proofs import Proofs
from smpmake.guard.questions import GO_ON, Questions
from smpmake.guard.scoreboard import Scoreboard
from smpmake.guard.snapshots import Snapshots
from smpmake.guard.traces import Traces
from smpmake.guard.versioned_paths import VersionedPaths
from smpmake.guard.versions import Versions
from smpmake.protocol import layout, wire
from smpmake.protocol.wire import Given, Invoke, Question
from smpmake.schedule.classes import Class
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.scheduler import Scheduler
from smpmake.units import seconds

log = logging.getLogger("smpmake")

_WEIGHTS: Final = {
    Wait.PRESSURE: "memory or disks were too busy (pressure)",
    Wait.LOAD: "too many processes ran on this machine (load-average)",
}
_MOMENT: Final = 0.3  # s that a signal takes at most to its processes


class Engine:
    """One per server.

    board      the scoreboard, which guards look at from the driver's start.
    hire       starts the workers.
    reserve    bytes of memory to be left free, -1 not to look at memory at all.
    pressure   tells when the machine has too much to do.
    classes    of which only so many jobs run at once.
    elsewhere  makes what sends jobs to other machines.
    proofs     which programs are known to take a guard; without, those that this engine sees.
    """

    def __init__(
        self,
        computer: Computer,
        board: Scoreboard,
        hire: Hire,
        slots: int,
        *,
        reserve: int = -1,
        pressure: Pressure | None = None,
        classes: Sequence[Class] = (),
        tokens: Tokens | None = None,
        elsewhere: Callable[[Here], Elsewhere] = Nowhere,
        proofs: Proofs | None = None,
    ) -> None:
        disk, clock, processes = computer.disk, computer.clock, computer.processes
        self.builds: dict[str, Build] = {}
        self.printer = Printer()
        self.expectations = Expectations()
        self.elsewhere = elsewhere(
            Here(
                slots,
                clock.now,
                self.expectations.work_of,
                pause=lambda job: self._executor.perform(self.scheduler.pause(job)),
                resume=lambda job: self._executor.perform(self.scheduler.resume(job)),
                wake=self._dispatch,
                say=self._tell_all,
            )
        )
        self.capacity = Capacity(
            slots,
            Memory(slots, reserve, self.expectations.memory_needed),
            pressure or Pressure(),
            tokens,
            disk.folder,
            board,
            processes,
            clock.later,
            self._dispatch,
            self.elsewhere.waits,
        )
        self.classes = classes
        self.scheduler = Scheduler(slots, computer.chaos.rank, self.capacity.room, classes)
        hazards = self.scheduler.hazards
        self._computer = computer
        self._pending = Pending(hazards, board, str(disk.folder))
        self._traces = Traces(disk.folder, self.elsewhere.litter)
        kept = VersionedPaths(board)
        versions = Versions(hazards, disk.folder / "versions", kept, self._may_have_open)
        snapshots = Snapshots(disk.paths, self._pending, versions, self._traces, computer.journal)
        self._questions = Questions(
            *(self.scheduler, disk.paths, self._pending, versions, kept, snapshots),
            *(disk.folder, clock.now),
        )
        proofs = proofs or Proofs(native.guard(), None)
        observer = Observer(hazards, self._pending, self._traces, versions, proofs)
        programs = Programs(disk.folder / "questions", disk.paths, hazards.is_written)
        self._output = JobOutput(self.printer)
        self._executor = Executor(
            computer,
            hire,
            self.scheduler,
            self._pending,
            self._questions,
            outcome=Outcome(computer, self._output),
            output=self._output,
            observer=observer,
            expectations=self.expectations,
            capacity=self.capacity,
            elsewhere=self.elsewhere,
        )
        self.workers = self._executor.workers
        issuing = Issuing(
            computer,
            self._executor,
            hazards,
            self._pending,
            output=self._output,
            observer=observer,
            elsewhere=self.elsewhere,
            programs=programs,
            classes=classes,
        )
        self._intake = Intake(
            computer,
            issuing,
            hazards,
            self._pending,
            observer=observer,
            workers=self.workers,
            elsewhere=self.elsewhere,
            programs=programs,
        )

    # ------------------------------------------------------------------ what its parts ask of it

    def _dispatch(self) -> None:
        self._executor.dispatch()

    def _may_have_open(self, job: Job, path: str) -> bool:
        return job.slot is None or self._traces.has_opened(job.slot, path)

    def _tell_all(self, text: str) -> None:
        for build in self.builds.values():
            build.notice(text)

    # ------------------------------------------------------------------ builds and their commands

    def add_build(self, build: Build) -> None:
        """A build begins: its commands may come."""
        self.builds[build.id] = build

    def build_of(self, invoke: Invoke) -> Build | None:
        """The build that a shim names."""
        return self.builds.get(invoke.build)

    def invoke(
        self, build: Build | None, invoke: Invoke, reply: Reply, out: int, err: int, shim: int = 0
    ) -> None:
        """A command line has come.  `out` and `err` are descriptors that are ours now.

        build  whose it is, None where nobody knows.
        shim   the process that brings it, if that is known.
        """
        if build is not None:
            environment = build.tools.environment_of(invoke)
            lends = self.capacity.lending.has_external
            processes = self._computer.processes
            build.parallel.look_at_callers(processes, invoke, environment, shim, lends=lends)
            self._intake.take_command(build, invoke, reply, out, err, shim)
            return
        log.warning("a shim of unknown build %r runs its real tool", invoke.build)
        os.close(out)
        os.close(err)
        reply.become(Job(-1, "", Mode.FOREGROUND, Operands(), light=True))

    def note_given(self, build: Build | None, given: Given) -> None:
        """A shim has given a remembered result back (native/shim/remember.c)."""
        if build is not None:
            self._intake.note_given(build, given)

    def ask(self, question: Question, settle: Callable[[bytes], None]) -> Callable[[], None] | None:
        """A guard asks.  Returns what to call if it goes away before the answer, which may have
        been given already (then None)."""
        build = self.builds.get(question.build)
        job = self._pending.running_job(question.command)
        is_job = job is not None and job.mode is Mode.DEFERRED
        if question.kind == layout.ASK_ROOM:  # also where the asker's build has ended
            build = next((b for b in self.builds.values() if b.undoing.journal is not None), None)
        if build is not None and build.undoing.journal is not None:
            if question.kind == layout.ASK_COMMIT and is_job:  # it cannot wait for itself
                build.undoing.journal.mark_incomplete()
            build.undoing.journal.grow(wanted=question.kind == layout.ASK_ROOM)
            if build.undoing.squashed and not is_job:
                return lambda: None  # it will not live to hear the answer
            if question.kind == layout.ASK_COMMIT and is_job:
                settle(GO_ON)
                return None
        if question.kind == layout.ASK_ROOM:  # it is there now; or there is no journal
            settle(GO_ON)
            return None
        if question.kind == layout.ASK_TOKENS:
            fifo = self.capacity.lending.begin_process(question.pid)
            settle(wire.encode_guard_answer(layout.GUARD_ELSEWHERE, path=fifo) if fifo else GO_ON)
            self._dispatch()
            return None

        def answer(data: bytes) -> None:
            if build is not None and build.undoing.squashed and not is_job:
                return  # what it waited for has come to nothing, and so will it
            if build is not None and question.kind == layout.ASK_COMMIT:
                self._executor.make_final(build)
            give = functools.partial(self._computer.chaos.later, lambda: settle(data))
            if build is not None and not is_job:
                build.replies.answer_driver(give)
            else:
                give()

        ignored = build.rules.without if build is not None else ()
        actions, waiter = self._questions.ask(question, answer, ignored)
        if waiter is not None and build is not None:
            build.note_stall(waiter.stall)
        self._executor.perform(actions)
        return (lambda: self._executor.withdraw_waiter(waiter)) if waiter is not None else None

    def lease_ended(self, job: Job) -> None:
        """A foreground tool ended; how, only the driver knows."""
        if job.number >= 0:
            self._executor.lease_ended(job)

    def stop_build(self, build: Build, number: int) -> None:
        """Ends a build: nothing more starts, what runs is ended, the first time gently."""
        build.replies.stop_build(number)
        self._computer.clock.later(_MOMENT, build.replies.send_held)
        self._executor.stop_build(build)

    def start_over(self, build: Build, *, whole: bool) -> None:
        """A build's driver is run again (Build.start_over)."""
        build.start_over(whole=whole)
        self._pending.unblock()
        if build.promises.owes_truth:
            self._pending.query_all()

    def forget_build(self, build: Build) -> None:
        """A build is over: drops it, and all that was remembered for its sake."""
        self.builds.pop(build.id, None)
        self._computer.disk.paths.forget()
        self._traces.drop_names()
        if not any(each.rules.guard for each in self.builds.values()):
            self._questions.drop_listings()  # no make is left that could be reading a listing

    def take_forecast(self, forecast: Forecast) -> None:
        """Takes in what earlier builds tell: how long jobs take, and how much memory they need."""
        self.expectations.forecast = forecast
        self.capacity.memory.awaits_forecast = False
        self._executor.perform(self.scheduler.dispatch())

    @property
    def counts(self) -> tuple[int, int, int]:
        """Commands that run, commands that wait, and those of them that wait for memory."""
        running = self.scheduler.busy
        held = self.scheduler.held if self.capacity.lacks_memory else 0
        begun = running + self._executor.jobs_away
        return running, max(0, len(self.scheduler.hazards) - begun), held

    def waits(self) -> list[str]:
        """What jobs waited for that is neither a CPU nor another job, in sentences."""
        found = [
            f"jobs waited {seconds(each.waited_ns / 1e9)} for a {each.name} slot "
            f"(slots: {each.name} = {each.most})"
            for each in self.classes
            if each.waited_ns
        ]
        for why, cause in _WEIGHTS.items():
            waited = self.capacity.pressed[why]
            found += [f"jobs waited {seconds(waited)} because {cause}"] if waited else []
        return found

    def close(self) -> list[str]:
        """Ends the workers; returns what was left over that should not be (promise P9)."""
        self.capacity.close()
        self.elsewhere.close()
        leftovers = [
            f"still claimed by '{command_of(job).record.command}' ({job.state.value})"
            for job in self.scheduler.hazards.present()
        ]
        if self.scheduler.busy:
            leftovers.append(f"{self.scheduler.busy} slots are not free")
        leftovers += self.workers.close()
        self._output.close()
        self.printer.close()
        self._computer.disk.let_go()
        self._pending.close()
        self._traces.close()
        return leftovers
