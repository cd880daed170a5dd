"""The out-of-order machine: who brings an invocation or a question comes here.

It knows builds and puts the rooms of this package together; `intake` decides, `execute` performs
what the scheduler orders.  It knows no socket: whoever brings an invocation also brings a `Reply`.
All of it runs in one thread, the event loop's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Final

from smpmake import native
from smpmake.capacity.capacity import Capacity
from smpmake.capacity.memory import Memory
from smpmake.capacity.tokens import Tokens
from smpmake.decide.procfs import Processes
from smpmake.disk.disk import Disk
from smpmake.engine import launcher_logs
from smpmake.engine.build import Build
from smpmake.engine.chaos import Chaos
from smpmake.engine.clock import Clock
from smpmake.engine.command import Reply, command_of
from smpmake.engine.elsewhere import Elsewhere, Here, Nowhere
from smpmake.engine.execute import Executor
from smpmake.engine.intake import Intake
from smpmake.engine.issuing import Issuing
from smpmake.engine.observer import Observer
from smpmake.engine.output import JobOutput
from smpmake.engine.parallel import ParallelDrivers
from smpmake.engine.pool import Workers
from smpmake.engine.priority import Priority
from smpmake.engine.programs import Programs
from smpmake.engine.silence import SilencePredictor
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
from smpmake.protocol.wire import Invoke, Question
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.scheduler import Scheduler
from smpmake.undo.journal import UndoJournal

log = logging.getLogger("smpmake")

_MOMENT: Final = 0.3  # s that a signal takes at most to its processes


class Engine:
    """One per server.

    disk, pool, clock  the computer that it works with; tests bring their own.
    journal  what its builds change, as far as it can be undone.
    board    the scoreboard, which guards look at from the driver's start.
    reserve  bytes of memory to be left free, -1 not to look at memory at all.
    elsewhere  makes what sends jobs to other machines.
    proofs   which programs are known to take a guard; without, those that this engine sees.

    build_of tells whose build a command is; a server that knows callers may set it.
    """

    def __init__(
        self,
        disk: Disk,
        journal: UndoJournal,
        board: Scoreboard,
        pool: Workers,
        clock: Clock,
        slots: int,
        *,
        processes: Processes | None = None,
        chaos: Chaos | None = None,
        reserve: int = -1,
        tokens: Tokens | None = None,
        elsewhere: Callable[[Here], Elsewhere] = Nowhere,
        proofs: Proofs | None = None,
    ) -> None:
        self.builds: dict[str, Build] = {}
        self.build_of: Callable[[Invoke], Build | None] = lambda i: self.builds.get(i.build)
        self.printer = Printer()
        self._disk = disk
        self._pool = pool
        self._clock = clock
        self._chaos = chaos or Chaos()
        self.priority = Priority(self._chaos)
        processes = processes or Processes()
        self.elsewhere = elsewhere(
            Here(
                slots,
                clock.now,
                self.priority.work,
                lambda job: self._executor.perform(self.scheduler.pause(job)),
                lambda job: self._executor.perform(self.scheduler.resume(job)),
                lambda: self._executor.dispatch(),
                self._tell_all,
            )
        )
        self.capacity = Capacity(
            slots,
            Memory(slots, reserve, self.priority.needs),
            tokens,
            disk.folder,
            board,
            processes,
            clock.later,
            lambda: self._executor.dispatch(),
            self.elsewhere.waits,
        )
        self.scheduler = Scheduler(slots, self.priority.rank, self.capacity.room)
        hazards = self.scheduler.hazards
        self._pending = Pending(hazards, board)
        self._traces = Traces(disk.folder, self.elsewhere.litter)
        kept = VersionedPaths(board)
        versions = Versions(
            hazards,
            disk.folder / "versions",
            kept,
            lambda job, path: job.slot is None or self._traces.has_opened(job.slot, path),
        )
        self._questions = Questions(
            self.scheduler,
            disk.paths,
            self._pending,
            versions,
            kept,
            Snapshots(disk.paths, self._pending, versions, self._traces, journal),
            disk.folder,
            clock.now,
        )
        silence = SilencePredictor(hazards, disk.paths)
        self._output = JobOutput(self.printer)
        self._proofs = proofs or Proofs(native.guard(), None)
        observer = Observer(hazards, self._pending, self._traces, versions, self._proofs)
        programs = Programs(disk.folder / "questions", disk.paths, hazards.is_written)
        self._executor = Executor(
            self.scheduler,
            self._pending,
            self._questions,
            disk=disk,
            journal=journal,
            pool=pool,
            clock=clock,
            processes=processes,
            output=self._output,
            observer=observer,
            priority=self.priority,
            chaos=self._chaos,
            capacity=self.capacity,
            elsewhere=self.elsewhere,
            silence=silence,
        )
        issuing = Issuing(
            self._executor,
            hazards,
            self._pending,
            disk=disk,
            journal=journal,
            clock=clock,
            processes=processes,
            output=self._output,
            observer=observer,
            chaos=self._chaos,
            elsewhere=self.elsewhere,
            programs=programs,
        )
        self._intake = Intake(
            issuing,
            observer,
            hazards,
            self._pending,
            disk.paths,
            processes=processes,
            workers=pool,
            elsewhere=self.elsewhere,
            programs=programs,
            silence=silence,
        )
        self._drivers = ParallelDrivers(processes, lambda: self.capacity.lending.has_external)

    def _tell_all(self, text: str) -> None:
        for build in self.builds.values():
            build.notices.append(text)

    def invoke(self, invoke: Invoke, reply: Reply, out: int, err: int, shim: int = 0) -> None:
        """A command line has come.  `out` and `err` are descriptors that are ours now.

        shim  the process that brings it, if that is known.
        """
        build = self.build_of(invoke)
        if build is not None:
            self._drivers.look(build, invoke, shim)
            self._intake.take(build, invoke, reply, out, err)
            return
        log.warning("a shim of unknown build %r runs its real tool", invoke.build)
        os.close(out)
        os.close(err)
        reply.become(Job(-1, "", Mode.FOREGROUND, Operands(), light=True))

    def ask(self, question: Question, settle: Callable[[bytes], None]) -> Callable[[], None] | None:
        """A guard asks.  Returns what to call if it goes away before the answer, which may have
        been given already (then None)."""
        build = self.builds.get(question.build)
        job = self._pending.running(question.command)
        is_job = job is not None and job.mode is Mode.DEFERRED
        if question.kind == layout.ASK_ROOM:  # also where the asker's build has ended
            build = next((each for each in self.builds.values() if each.undo is not None), None)
        if build is not None and build.undo is not None:
            if question.kind == layout.ASK_COMMIT and is_job:  # it cannot wait for itself
                build.undo.mark_incomplete()
            build.undo.grow(wanted=question.kind == layout.ASK_ROOM)
            if build.squashing and not is_job:
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
            self._executor.dispatch()
            return None

        def answer(data: bytes) -> None:
            if build is not None and build.squashing and not is_job:
                return  # what it waited for has come to nothing, and so will it
            if build is not None and question.kind == layout.ASK_COMMIT:
                self._executor.commit(build)
            if build is not None and not is_job:
                build.answer(lambda: self._chaos.later(lambda: settle(data)))
            else:
                self._chaos.later(lambda: settle(data))

        ignored = build.rules.without if build is not None else ()
        actions, waiter = self._questions.ask(question, answer, ignored)
        if waiter is not None and build is not None:
            build.stalls.append(waiter.stall)
        self._executor.perform(actions)
        return (lambda: self._executor.withdraw_waiter(waiter)) if waiter is not None else None

    def lease_ended(self, job: Job) -> None:
        """A foreground tool ended; how, only the driver knows."""
        if job.number >= 0:
            self._executor.lease_ended(job)

    def stop(self, build: Build, number: int) -> None:
        """Ends a build: nothing more starts, what runs is ended, the first time gently."""
        build.stopping = build.stopping or 128 + number
        build.hold_replies()
        self._clock.later(_MOMENT, build.flush_replies)
        self._executor.stop(build)

    def start_over(self, build: Build, *, whole: bool) -> None:
        """A build's driver is run again (Build.start_over)."""
        build.start_over(whole=whole)
        self._pending.unblock()
        if build.owed:
            self._pending.query_all()

    def forget(self, build: Build) -> None:
        """A build is over, and with it what was remembered for its sake."""
        self.builds.pop(build.id, None)
        launcher_logs.close(build)
        self._disk.paths.forget()
        self._traces.forget()
        if not any(each.rules.guard for each in self.builds.values()):
            self._questions.forget()  # no make is left that could be reading a listing

    def expect(self, forecast: Forecast) -> None:
        """Earlier builds of the project have been looked at."""
        self.priority.expect(forecast)
        self.capacity.memory.awaits_forecast = False
        again = self.scheduler.dispatch if self._chaos.active else self.scheduler.reorder
        self._executor.perform(again())

    def keep(self, keeper: int) -> None:
        """A process is ours, though it is no worker."""
        self._pool.keepers.add(keeper)

    def end_strays(self) -> None:
        """Kills all that was started, keepers included: the driver's own was killed."""
        self._pool.end_strays(keep_keepers=False)

    def rest(self) -> None:
        """Keeps no process that has nothing to do."""
        self._pool.rest()

    @property
    def counts(self) -> tuple[int, int, int]:
        """Commands that run, commands that wait, and those of them that wait for memory."""
        running = self.scheduler.busy
        held = self.scheduler.held if self.capacity.lacks_memory else 0
        begun = running + self._executor.away
        return running, max(0, len(self.scheduler.hazards) - begun), held

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
        leftovers += self._pool.close()
        self._output.close()
        self.printer.close()
        self._disk.close()
        self._pending.close()
        self._traces.close()
        return leftovers
