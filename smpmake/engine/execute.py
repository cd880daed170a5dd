"""Performs what the scheduler orders: starts, renames, ends, failures, cancellations.

A command comes here when it is issued and leaves when it has ended or will not run.
"""

from __future__ import annotations

import errno
import functools
import logging
import resource
import signal
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from smpmake.capacity.capacity import Capacity
from smpmake.commands.model import Divides, Kind
from smpmake.engine.build import Build
from smpmake.engine.command import Command, command_of
from smpmake.engine.computer import Computer
from smpmake.engine.elsewhere import Elsewhere
from smpmake.engine.expectations import Expectations
from smpmake.engine.observer import Observer
from smpmake.engine.outcome import Outcome, tell_shim
from smpmake.engine.output import JobOutput
from smpmake.engine.pool import Hire, describe_exit
from smpmake.engine.results import former_results, order_of
from smpmake.guard.pending import Pending
from smpmake.guard.questions import Questions, Waiter
from smpmake.protocol import working
from smpmake.protocol.working import Result
from smpmake.records import DIVIDED, WAITED_FOR
from smpmake.schedule.job import Job, Mode
from smpmake.schedule.scheduler import Action, Cancelled, Grant, Resume, Scheduler, Start

log = logging.getLogger("smpmake")
_FEW_FILES: Final = 64  # a link that may have no more is not to have two taken from it


class Executor:
    """One per engine.

    workers  who runs the jobs; `hire` starts them.
    """

    def __init__(
        self,
        computer: Computer,
        hire: Hire,
        scheduler: Scheduler,
        pending: Pending,
        questions: Questions,
        *,
        outcome: Outcome,
        output: JobOutput,
        observer: Observer,
        expectations: Expectations,
        capacity: Capacity,
        elsewhere: Elsewhere,
    ) -> None:
        self.workers = hire(self._on_result, self._on_lost)
        self._disk = computer.disk
        self._journal = computer.journal
        self._clock = computer.clock
        self._chaos = computer.chaos
        self._scheduler = scheduler
        self._pending = pending
        self._questions = questions
        self._outcome = outcome
        self._output = output
        self._observer = observer
        self._expectations = expectations
        self._capacity = capacity
        self._elsewhere = elsewhere
        self._running: dict[int, Job] = {}  # by slot
        self._by_caller: dict[int, dict[Job, None]] = {}  # deferred ones, by the shim's parent
        self._todo: deque[Action] = deque()
        self._performing = False

    # ------------------------------------------------------------------ issuing

    def enter(self, job: Job, announce: Callable[[], None] | None = None) -> None:
        """A command enters the engine.

        announce  what is to be seen of it before it, or what it lets go, starts: nobody may see
                  a gap between its answer and its entry on the board.
        """
        command = command_of(job)
        command.build.commands.command_entered()
        made = Kind(command.record.kind)
        if not job.operands.objects and made not in (Kind.LINK, Kind.ARCHIVE):
            command.build.tools.note_header()
        if command.is_awaited or (job.mode is Mode.FOREGROUND and not job.light):
            self._capacity.lending.issued(job, command.invoke.parent)
        if job.mode is Mode.DEFERRED:
            self._by_caller.setdefault(command.invoke.parent, {})[job] = None
        actions = self._scheduler.issue(job, self._clock.now())
        if announce is not None:
            announce()
        self.perform(actions)

    def issued_by(self, caller: int) -> list[Command]:
        """Deferred commands of a process that have not ended."""
        return [command_of(job) for job in self._by_caller.get(caller, ())]

    @property
    def jobs_away(self) -> int:
        """Jobs that other machines have, and that need no slot."""
        return sum(command_of(job).record.sent > 0 for job in self._running.values())

    # ------------------------------------------------------------------ performing

    def perform(self, actions: list[Action]) -> None:
        """Does what the scheduler ordered, and what follows from it, in order.

        What follows is put behind, never done within: chains of renames may be long.
        """
        if not self._scheduler.hazards.deferred:  # an umount has waited for that
            self._disk.let_go()
        self._todo.extend(actions)
        if self._performing:
            return
        self._performing = True
        try:
            while self._todo:
                self._act(self._todo.popleft())
            if not self._scheduler.hazards.deferred:  # those too are over that were cancelled
                self._journal.rest()
        except Exception as error:
            # A fault of ours, whose rest nobody would do: the handler of the loop ends the build.
            self._clock.later(0, functools.partial(_raise, error))
        finally:
            self._performing = False
        self._pending.show_counts()
        self._observer.drop_versions()
        turn = self._scheduler
        self._capacity.settle(
            turn.busy,
            short=turn.short,
            held=turn.held > 0,
            waiting=turn.wanting,
            crowded=turn.crowded,
        )

    def _act(self, action: Action) -> None:
        job = action.job
        if isinstance(job.payload, Waiter):
            granted = isinstance(action, Grant)
            answer = self._questions.waiter_granted if granted else self._questions.waiter_withdrawn
            self._todo.extend(answer(job.payload))
            return
        command = command_of(job)
        record = command.record
        record.ready = job.ready_at
        if job.waited_for is not None:
            record.waited_for = job.waited_for.number
        if job.full is not None and not isinstance(action, Cancelled):
            job.full.waited_ns += self._clock.now() - job.ready_at
            record.detail = record.detail or f"{WAITED_FOR}a {job.full.name} slot"
            job.full = None
        match action:
            case Start() if job.slot is None:
                self._rename(job, command)
            case Start():
                self._start(job, command)
            case Resume():
                self._questions.job_resumed(job)
            case Grant():
                self._grant(job, command)
            case Cancelled():
                self._cancelled(job, command)

    def dispatch(self) -> None:
        """Starts what can start: there may be room for one more job."""
        self.perform(self._scheduler.dispatch())

    def _start(self, job: Job, command: Command) -> None:
        slot = job.slot
        assert slot is not None
        result = former_results(job, command, self._clock.now())
        if result is not None:
            self._conclude(job, command, result)
            return
        self._running[slot] = job
        command.record.slot = slot
        command.record.started = self._clock.now()  # until the worker says it exactly
        self._pending.job_runs(job)
        trace = self._observer.job_starts(slot, job, command) if command.guarded else b""
        lent = self._lends(job, command)
        order = order_of(job, trace, lent, self._elsewhere)
        frame = order.frame(self._output.terminal_for(command), lent, self.workers.inherited)
        self._chaos.later(functools.partial(self.workers.send, slot, frame))

    def _lends(self, job: Job, command: Command) -> bytes:
        """The FIFO of a job that can divide its work, by which it is lent slots; b"" for others."""
        files = command.invoke.limit(resource.RLIMIT_NOFILE)
        if command.analysis.divides is Divides.NEVER or files < _FEW_FILES:
            return b""
        fifo = self._capacity.lending.begin(job)
        if fifo and command.analysis.divides is Divides.IF_LET:
            command.record.detail = DIVIDED
        return fifo

    def _rename(self, job: Job, command: Command) -> None:
        """Does what mv would, in a hundredth of the time; where that fails, mv is to say so."""
        assert command.rename is not None
        record = command.record
        record.started = self._clock.now()
        undo = command.build.undoing.journal
        try:
            if not self._observer.keep_renamed(job, *command.rename):
                raise BlockingIOError  # mv will wait
            if undo is not None:
                undo.renames(job.number, *command.rename)
            self._disk.rename(*command.rename, job.issued_ns)
        except OSError:
            self._todo.extend(self._scheduler.again(job))
            return
        record.ended = self._clock.now()
        record.state, record.status = "done", 0
        command.build.commands.job_ended()
        self._output.print_result(command, job.number, b"", b"")
        command.keep_promise(self._journal)
        self._retire(job, ok=True, now=record.ended)

    def _grant(self, job: Job, command: Command) -> None:
        """The shim becomes the real tool."""
        record = command.record
        self._pending.job_runs(job)
        record.started = self._clock.now()
        record.slot = job.slot if job.slot is not None else -1
        reply, command.reply = command.reply, None
        assert reply is not None
        argv = command.argv if command.argv != command.invoke.argv else b""
        reply.become(job, argv, b"".join(command.group.output) if command.group else b"")
        if job.light:  # its lease is not watched
            self.lease_ended(job, record.started)

    def lease_ended(self, job: Job, now: int | None = None) -> None:
        """A foreground tool ended; how, only the driver knows."""
        record = command_of(job).record
        record.ended = self._clock.now() if now is None else now
        record.state = "done"
        self._retire(job, ok=True, now=record.ended)

    def _retire(self, job: Job, *, ok: bool, now: int, first: Iterable[Action] = ()) -> None:
        """It leaves the engine; behind `first`, what waited for it goes on or will not run."""
        self._leave(job)
        told = command_of(job).is_awaited
        actions = self._scheduler.finished(job, ok=ok, now=now, told=told)
        self._find_again(command_of(job).build)
        self.perform([*first, *actions])

    def _find_again(self, build: Build) -> None:
        """Makes changes that could not be written down final as soon as nothing is pending."""
        if build.undoing.journal is not None and build.undoing.journal.is_incomplete:
            self.make_final(build)

    def _leave(self, job: Job) -> None:
        command = command_of(job)
        command.build.commands.command_left()
        self._observer.command_left(job, command)
        self._capacity.ended(job)
        self._pending.job_left(job)
        self._expectations.job_left(job)
        if job.mode is Mode.DEFERRED:
            mates = self._by_caller[command.invoke.parent]
            del mates[job]
            if not mates:
                del self._by_caller[command.invoke.parent]
        self._output.give_back_descriptors(command)
        self._disk.remove(*command.private_texts)
        if command.group is not None and job.mode is Mode.FOREGROUND:
            self._disk.remove_folder(command.group.folder)

    # ------------------------------------------------------------------ how it went

    def _on_result(self, slot: int, result: Result) -> None:
        self._chaos.later(lambda: self._ended(slot, result))

    def _ended(self, slot: int, result: Result) -> None:
        job = self._running.pop(slot)
        command = command_of(job)
        if command.guarded and self._observer.job_ended(slot, job, command):
            self.perform(self._scheduler.drop_assumed_blockers(self._clock.now()))
            self.perform(self._questions.look_again())
        if not self._elsewhere.holds(job, result):
            self._outcome.remove_outputs(job, command)
            self.perform(self._scheduler.again(job))
            return
        self._conclude(job, command, result)

    def _conclude(self, job: Job, command: Command, result: Result) -> None:
        record = command.record
        record.started, record.ended = result.start_ns, result.end_ns
        record.user_us, record.system_us = result.user_us, result.system_us
        record.max_rss = result.max_rss_kib
        record.minor_faults, record.major_faults = result.minor_faults, result.major_faults
        record.voluntary, record.involuntary = result.voluntary, result.involuntary
        record.status, why = describe_exit(result)
        command.build.output.note_complaints(record, result)
        record.state = "done" if result.ok else "failed"  # last: then it is written down
        command.build.commands.job_ended()
        now = self._clock.now()
        build = command.build
        ok, stops = self._outcome.job_ended(job, command, result, why)
        if not ok and build.promises.failures:
            self._hold(build)
        stop = self._cancel_after(job, build, now) if stops else []
        self._retire(job, ok=ok, now=now, first=stop)
        tell_shim(command, result)

    def _cancel_after(self, failed: Job, build: Build, now: int) -> list[Action]:
        """What was issued behind a wrong promise will not run, and ends where it runs already."""
        build.squash()
        if build.undoing.squashed:
            self._pending.block_all()
            for slot, job in self._running.items():
                command = command_of(job)
                later = job.number > failed.number and command.build.undoing is build.undoing
                if later and not command.signalled:
                    command.signalled = True
                    self.workers.signal(slot, signal.SIGTERM)
        return self._scheduler.cancel(
            lambda j: j.number > failed.number and _is_of(j, build), now, failed
        )

    def _cancelled(self, job: Job, command: Command) -> None:
        self._outcome.job_cancelled(job, command)
        self._leave(job)
        self._find_again(command.build)
        if command.reply is not None:
            reply, command.reply = command.reply, None
            if command.group is not None and command.group.status:
                reply.leave(command.group.status, b"".join(command.group.output))
            else:
                command.build.replies.refuse_shim(reply)

    # ------------------------------------------------------------------ from outside

    def make_final(self, build: Build) -> None:
        """Makes all that was done so far final, if every promise before has been kept."""
        undo = build.undoing.journal
        if undo is None or build.undoing.squashed:
            return
        if self._scheduler.hazards.deferred or build.promises.failures:
            undo.mark_incomplete()
        else:
            build.undoing.make_final()

    def _hold(self, build: Build) -> None:
        """Until all is taken back nothing is final that its driver still does."""
        if build.undoing.journal is not None and build.outer is None:  # else nobody releases it
            self._pending.block_all()

    def withdraw_job(self, job: Job) -> None:
        """A shim went away before it was answered."""
        self.perform(self._scheduler.cancel(lambda j: j is job, self._clock.now()))

    def withdraw_waiter(self, waiter: Waiter) -> None:
        """A process that asked went away before the answer."""
        self.perform(self._scheduler.withdraw(waiter.carrier, self._clock.now()))

    def stop_build(self, build: Build) -> None:
        """Ends what runs of a build, the first time gently; nothing more of it starts."""
        now = self._clock.now()
        self._hold(build)
        self.perform(self._scheduler.cancel(lambda j: j.build == build.id, now))
        for slot, job in list(self._running.items()):
            command = command_of(job)
            if command.build is build:
                kind = signal.SIGKILL if command.signalled else signal.SIGTERM
                command.signalled = True
                self.workers.signal(slot, kind)

    def _on_lost(self, slot: int) -> None:
        """A worker died under us: end what it ran, and run that again on a new one."""
        self.workers.end_strays()
        job = self._running.pop(slot, None)
        if job is None:
            return
        command = command_of(job)
        self._outcome.remove_outputs(job, command)
        log.warning("the worker of slot %d died under: %s", slot, command.record.command)
        if command.restarted or command.signalled:
            self._running[slot] = job
            self._ended(slot, working.failed_result(job.number, errno.ECHILD))
            return
        command.restarted = True
        self._elsewhere.holds(job, None)
        self.perform(self._scheduler.again(job))


def _raise(error: Exception) -> None:
    raise error


def _is_of(job: Job, build: Build) -> bool:
    """Whether a command goes when a build is to be undone (or, where it cannot be, to stop)."""
    if not build.undoing.squashed:
        return job.build == build.id
    return isinstance(job.payload, Command) and job.payload.build.undoing is build.undoing
