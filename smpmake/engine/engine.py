"""The out-of-order machine: takes invocations, decides, and performs what the scheduler orders.

It knows builds, jobs, the pool and the disk, but no socket: whoever brings an invocation also
brings a `Reply`.  All of it runs in one thread, the event loop's.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import logging
import os
import signal
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from smpmake import native
from smpmake.commands import families
from smpmake.commands.model import Analysis, Invocation, Keep, Kind, Reason
from smpmake.decide import policy
from smpmake.decide.known_failures import digest_of
from smpmake.decide.procfs import Processes
from smpmake.disk.journal import Asides, remove
from smpmake.disk.paths import FolderFiles, Paths
from smpmake.disk.stamps import stamp_of
from smpmake.engine.admission import Admission
from smpmake.engine.build import Build
from smpmake.engine.chaos import Chaos
from smpmake.engine.command import Command, Group, Place, Reply, command_of, replaced
from smpmake.engine.context import Context, Environment, make_keeps_going, wmake_above
from smpmake.engine.operands import OperandResolver
from smpmake.engine.output import Printer, Sinks
from smpmake.engine.pool import Pool, describe_exit, end_strays
from smpmake.engine.priority import Priority
from smpmake.forecast import Forecast
from smpmake.guard.questions import Gate, Promise, Waiter
from smpmake.guard.scoreboard import Scoreboard
from smpmake.guard.traces import Traces, surprises
from smpmake.protocol import wire
from smpmake.protocol.wire import Invoke, Question, Result
from smpmake.records import CommandRecord, Failure
from smpmake.schedule.hazards import could_be_read
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.scheduler import Action, Cancelled, Grant, Resume, Scheduler, Start

log = logging.getLogger("smpmake")
_SECOND_LOOK: Final = 0.1  # s until memory is looked at again


class Engine:
    """One per server.

    folder  the session's private folder: journal, traces, intermediate objects.
    board   the scoreboard, which guards look at from the driver's start.
    reserve bytes of memory to be left free, -1 not to look at memory at all.
    """

    def __init__(
        self,
        folder: Path,
        board: Scoreboard,
        slots: int,
        *,
        cpus: list[int] | None = None,
        niceness: int = 0,
        alive: int = -1,
        chaos: Chaos | None = None,
        reserve: int = -1,
    ) -> None:
        native.become_subreaper()
        self.folder = folder
        self._chaos = chaos or Chaos()
        self.priority = Priority(self._chaos, Admission(reserve))
        self.scheduler = Scheduler(slots, self.priority.rank, self.priority.admits)
        self._second_look: asyncio.TimerHandle | None = None
        self.builds: dict[str, Build] = {}
        self.paths = Paths()
        self.processes = Processes()
        self.printer = Printer()
        self._sinks = Sinks(self.printer)
        self.keeper_pids: set[int] = set()
        self._asides = Asides(folder / "journal")
        self._operands = OperandResolver(folder, self.scheduler.hazards, self.paths, self._asides)
        self.gate = Gate(self.scheduler, self.paths, board, folder)
        self._traces = Traces(folder)
        self._pool = Pool(
            slots, self._on_result, self._on_lost, cpus=cpus, niceness=niceness, alive=alive
        )
        self._running: dict[int, Job] = {}
        self._names: dict[int, str] = {}
        self._environments: dict[bytes, Environment] = {}
        self._shared: dict[bytes, bytes] = {}
        self._by_caller: dict[int, dict[Job, None]] = {}
        self._count = 0
        self._pool.start(min(slots, 8))

    # ------------------------------------------------------------------ what comes in

    def invoke(self, invoke: Invoke, reply: Reply, out: int, err: int) -> None:
        """A command line has come.  `out` and `err` are descriptors that are ours now."""
        build = self.builds.get(invoke.build)
        if build is None:
            log.warning("a shim of unknown build %r runs its real tool", invoke.build)
            _close(out, err)
            reply.become(Job(-1, "", Mode.FOREGROUND, Operands(), light=True))
            return
        if build.stopping or build.broken is not None:
            _close(out, err)
            self._refuse(build, reply)
            return
        words = tuple(invoke.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))
        cwd = os.fsdecode(invoke.cwd)
        environment = self._environment(invoke)
        files = FolderFiles(cwd, lambda path: self._is_pending(cwd, path))
        analysis = families.analyse(Invocation(words, cwd, environment.get, files))
        build.wmakes |= analysis.kind is Kind.BUILD
        context = Context(
            self.scheduler.hazards, self.paths, self.processes, build, invoke, cwd, analysis
        )
        rules = build.rules.without_guard() if invoke.unguarded else build.rules
        decision = policy.decide(analysis, rules, invoke.tool, os.fsdecode(invoke.real), context)
        digest = ""
        if decision.deferred and build.known_failures:
            digest = digest_of(invoke.cwd, invoke.argv)
            if digest in build.known_failures:
                decision = replace(decision, reason=Reason.STATUS_MATTERS)
            else:
                digest = ""
        if build.lost and self._needs_lost(build, cwd, analysis):
            _close(out, err)
            self._refuse(build, reply)
            return
        waits_to_link = decision.reason is Reason.LINK_WAITS
        if not decision.deferred and not digest:
            _close(out, err)
            out = err = -1
        if analysis.split is not None and (decision.deferred or waits_to_link) and not digest:
            self._split(build, invoke, cwd, analysis, decision, reply, out, err)
            return
        command = self._command(build, invoke, invoke.argv, cwd, analysis, decision)
        command.reply, command.digest = reply, digest
        analysis = self._operands.share(build, cwd, analysis)
        if analysis.argv is not None and (decision.deferred or analysis.kind is Kind.BUILD):
            self._replace_argv(command, analysis.argv)
        if decision.light and invoke.parent in self._by_caller:
            self._note_stamps(invoke, cwd, analysis)
        if decision.deferred or digest:
            self._take_sinks(command, out, err)
            self._defer(command, cwd, analysis, decision)
        else:
            self._in_foreground(command, cwd, analysis, decision)

    def ask(self, question: Question, settle: Callable[[bytes], None]) -> Callable[[], None] | None:
        """A guard asks.  Returns what to call if it goes away before the answer, which may have
        been given already (then None)."""
        build = self.builds.get(question.build)

        def answer(data: bytes) -> None:
            self._chaos.later(lambda: settle(data))

        ignored = build.rules.ignored if build is not None else frozenset()
        actions, waiter = self.gate.ask(question, answer, ignored)
        if waiter is not None and build is not None:
            build.stalls.append(waiter.stall)
        self._perform(actions)
        return (lambda: self._withdraw_waiter(waiter)) if waiter is not None else None

    def _withdraw_waiter(self, waiter: Waiter) -> None:
        self._perform(self.scheduler.withdraw(waiter.carrier, time.monotonic_ns()))

    def withdraw(self, job: Job) -> None:
        """A shim went away before it was answered."""
        now = time.monotonic_ns()
        self._perform(self.scheduler.cancel(lambda j: j is job, now))

    def lease_ended(self, job: Job) -> None:
        """A foreground tool ended; how, only the driver knows."""
        if job.number < 0:
            return
        command = command_of(job)
        now = time.monotonic_ns()
        command.record.ended = now
        command.record.state = "done"
        self._leave(job)
        self._perform(self.scheduler.finished(job, ok=True, now=now))

    def stop(self, build: Build, number: int) -> None:
        """Ends a build: nothing more starts, what runs gets `number`, the first time gently."""
        build.stopping = build.stopping or 128 + number
        now = time.monotonic_ns()
        self._perform(self.scheduler.cancel(lambda j: j.build == build.id, now))
        for job in list(self._running.values()):
            command = command_of(job)
            if command.build is build and job.slot is not None:
                kind = signal.SIGKILL if command.signalled else signal.SIGTERM
                command.signalled = True
                self._pool.signal(job.slot, kind)

    def end_strays(self, *, keep_keepers: bool = True) -> None:
        """Kills descendants that nobody holds any more: their worker or keeper was killed."""
        end_strays(self._pool.pids() | (self.keeper_pids if keep_keepers else set()))

    def expect(self, forecast: Forecast) -> None:
        """Earlier builds of the project have been looked at."""
        self.priority.expect(forecast)
        self._perform(self.scheduler.dispatch())

    @property
    def counts(self) -> tuple[int, int, int]:
        """Commands that run, commands that wait, and those of them that wait for memory."""
        running = self.scheduler.busy
        return running, max(0, len(self.scheduler.hazards) - running), self.scheduler.held

    # ------------------------------------------------------------------ deciding

    def _environment(self, invoke: Invoke) -> Environment:
        """The invocation's environment; most commands share it and more, once in memory."""
        known = self._environments.get(invoke.env)
        if known is None:
            known = self._environments[invoke.env] = Environment(invoke.env)
        invoke.env = known.blob
        share = self._shared.setdefault
        invoke.real = share(invoke.real, invoke.real)
        invoke.cwd = share(invoke.cwd, invoke.cwd)
        invoke.limits = share(invoke.limits, invoke.limits)
        invoke.tool = sys.intern(invoke.tool)
        invoke.build = sys.intern(invoke.build)
        return known

    def _needs_lost(self, build: Build, cwd: str, analysis: Analysis) -> bool:
        reads = (self.paths.canonical(cwd, path) for path in analysis.reads)
        return any(path in build.lost and not os.path.lexists(path) for path in reads)

    def _refuse(self, build: Build, reply: Reply) -> None:
        if build.stopping:
            reply.leave(build.stopping)
            return
        message = b""
        if not build.told:
            build.told = True
            first = min(build.failures, key=lambda f: f.record.number, default=None)
            what = first.record.command if first is not None else "an earlier command"
            message = f"smpmake: not run, because this failed: {what}\n".encode()
        reply.leave(1, message)

    def _replace_argv(self, command: Command, argv: Callable[[Keep], tuple[str, ...]]) -> None:
        """What is run is not what was issued; records and messages show what was issued."""
        kept: list[str] = []

        def keep(text: str) -> str:
            kept.append(self._operands.keep(text))
            return kept[-1]

        command.argv = wire.join_strings(os.fsencode(word) for word in argv(keep))
        command.kept = tuple(kept)

    def _command(
        self,
        build: Build,
        invoke: Invoke,
        argv: bytes,
        cwd: str,
        analysis: Analysis,
        decision: policy.Decision,
    ) -> Command:
        record = CommandRecord(
            self._count,
            invoke.tool,
            analysis.kind.value,
            "deferred" if decision.deferred else "barrier" if decision.barrier else "foreground",
            decision.reason.value if decision.reason is not None else "",
            decision.detail,
            cwd,
            argv,
            issued=time.monotonic_ns(),
            light=decision.light,
        )
        self._count += 1
        build.records.append(record)
        guarded = build.rules.guard and not invoke.unguarded
        if build.rules.guard and invoke.unguarded:
            caller = self.processes.caller(invoke.unguarded)
            record.unguarded = caller.name if caller is not None else "?"
        return Command(build, invoke, argv, record, guarded=guarded)

    def _is_pending(self, cwd: str, path: str) -> bool:
        return bool(self.scheduler.hazards.writers(self.paths.canonical(cwd, path)))

    def _defer(
        self, command: Command, cwd: str, analysis: Analysis, decision: policy.Decision
    ) -> None:
        """Table first, then the answer, then the start: in this order nobody sees a gap."""
        aside = not command.guarded  # a guard hides what is stale
        operands, places = self._operands.operands(cwd, analysis, everything=False, aside=aside)
        if analysis.rename is not None:
            source, destination = (self.paths.canonical(cwd, path) for path in analysis.rename)
            command.rename = (source, destination)
        job = self._job(command, Mode.DEFERRED, operands, decision)
        job.issued_ns = self._operands.issue_time(places, cwd)
        self._by_caller.setdefault(command.invoke.parent, {})[job] = None
        command.outputs = b"".join(
            wire.encode_output(
                os.fsencode(place.name),
                os.fsencode(place.stale),
                timed=place.write.timed and not place.write.removed,
                made=place.made,
            )
            for place in places
        )
        command.made = tuple(place.name for place in places if place.made)
        command.asides = tuple((place.name, place.stale) for place in places if place.stale)
        command.record.outputs = tuple(p.name for p in places if not p.write.removed)
        command.record.inputs = operands.reads
        build = command.build
        build.made.update(command.record.outputs)
        promises = {place.name: self._promise(command, place, job) for place in places}
        if build.transcript is not None:
            build.transcript.reserve(job.number)
        if build.lost:
            build.lost.difference_update(operands.writes)
        actions = self._issue(job)
        self.gate.entered(job, promises, replaced(places) + self._printed(command))
        if command.digest:
            assert command.reply is not None
            command.reply.wait(lambda: None)  # the job goes on, whoever waits for it
        elif command.reply is not None:
            reply, command.reply = command.reply, None
            self._chaos.later(lambda: reply.leave(0))
        self._perform(actions)

    @staticmethod
    def _printed(command: Command) -> list[tuple[int, int]]:
        """Files that a job's output goes to: who reads such a log must find it there."""
        files: dict[tuple[int, int], None] = {}
        for sink in (command.invoke.out, command.invoke.err):
            if sink not in (command.build.driver_output or ()) and sink in command.log_files:
                files[sink.device, sink.inode] = None
        return list(files)

    def _promise(self, command: Command, place: Place, job: Job) -> Promise:
        """What a make is told of an output while it is pending."""
        if place.write.removed:
            return Promise(None, absent=True)
        mode = 0o755 if command.record.kind == Kind.LINK else 0o644
        if place.write.kept:
            written = self.scheduler.hazards.writers(place.name)
            if written or os.path.lexists(place.name):
                return Promise(None)
        if place.write.timed and command.invoke.tool != "ln":  # who looks, looks through a link
            return Promise(job.issued_ns, mode & ~command.invoke.mask)
        if command.rename is not None:
            source = command.rename[0]
            known = self.gate.promise(source)
            if known is not None:
                return known
            try:
                info = os.stat(source)
            except OSError:
                return Promise(None)
            return Promise(info.st_mtime_ns, stat.S_IMODE(info.st_mode))
        return Promise(None)

    def _in_foreground(
        self, command: Command, cwd: str, analysis: Analysis, decision: policy.Decision
    ) -> None:
        operands, places = self._operands.operands(
            cwd, analysis, everything=decision.barrier, aside=False
        )
        job = self._job(command, Mode.FOREGROUND, operands, decision)
        if analysis.undeclared:
            job.issued_ns = self._operands.issue_time([], cwd)
        command.record.outputs = tuple(p.name for p in places if not p.write.removed)
        command.record.inputs = operands.reads
        self._perform(self._issue(job))
        if command.reply is not None:
            command.reply.wait(lambda: self.withdraw(job))

    def _note_stamps(self, invoke: Invoke, cwd: str, analysis: Analysis) -> None:
        """A light command of a caller whose jobs are pending: does it vouch for them?"""
        for write in analysis.writes:
            name = self.paths.canonical(cwd, write.path)
            stamp = stamp_of(invoke.tool, write, name)
            if stamp is None:
                continue
            for job in self._by_caller[invoke.parent]:
                command = command_of(job)
                command.stamps += (stamp,)
                for product in command.made[:1]:
                    self._asides.note(stamp.journal_kind, name, stamp.journal_text(product))

    @staticmethod
    def _take_back(command: Command) -> None:
        """The command will not have been done: what vouches for it must not stand."""
        for stamp in command.stamps:
            stamp.take_back()

    def _job(
        self, command: Command, mode: Mode, operands: Operands, decision: policy.Decision
    ) -> Job:
        return Job(
            command.record.number,
            command.build.id,
            mode,
            operands,
            light=decision.light if mode is Mode.FOREGROUND else command.rename is not None,
            exclusive=decision.exclusive,
            payload=command,
        )

    def _issue(self, job: Job) -> list[Action]:
        build = command_of(job).build
        build.entered()
        build.headers += could_be_read(job.operands)
        return self.scheduler.issue(job, time.monotonic_ns())

    def _split(
        self,
        build: Build,
        invoke: Invoke,
        cwd: str,
        analysis: Analysis,
        decision: policy.Decision,
        reply: Reply,
        out: int,
        err: int,
    ) -> None:
        """Several sources in one command: a job each, and the link behind them if there is one."""
        assert analysis.split is not None
        folder = str(self.folder / "parts" / str(self._count))
        os.makedirs(folder, mode=0o700)
        parts = analysis.split(folder)
        waits = not decision.deferred
        group = Group(folder)
        later = policy.Decision(None, exclusive=decision.exclusive)
        for part in parts[:-1] if waits else parts:
            argv = wire.join_strings(os.fsencode(word) for word in part.argv)
            meaning = self._operands.share(build, cwd, part.analysis)
            command = self._command(build, invoke, argv, cwd, meaning, later)
            if waits:
                command.group = group
            else:
                self._take_sinks(command, os.dup(out), os.dup(err))
            self._defer(command, cwd, meaning, later)
        if not waits:
            _close(out, err)
            reply.leave(0)
            return
        last = parts[-1]
        argv = wire.join_strings(os.fsencode(word) for word in last.argv)
        command = self._command(build, invoke, argv, cwd, last.analysis, decision)
        command.reply = reply
        command.group = group
        self._in_foreground(command, cwd, last.analysis, decision)

    # ------------------------------------------------------------------ performing

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            job = action.job
            if isinstance(job.payload, Waiter):
                granted = isinstance(action, Grant)
                gate = self.gate
                self._perform((gate.granted if granted else gate.withdrawn)(job.payload))
                continue
            command = command_of(job)
            record = command.record
            record.ready = job.ready_at
            if job.waited_for is not None:
                record.waited_for = job.waited_for.number
            match action:
                case Start() if job.slot is None:
                    self._rename(job, command)
                case Start():
                    assert job.slot is not None
                    self._running[job.slot] = job
                    record.slot = job.slot
                    record.started = time.monotonic_ns()  # until the worker says it exactly
                    self.gate.runs(job)
                    slot, order = job.slot, self._order(job, command)
                    self._chaos.later(functools.partial(self._pool.send, slot, order))
                case Resume():
                    self.gate.resumed(job)
                case Grant():
                    self.gate.runs(job)
                    record.started = time.monotonic_ns()
                    record.slot = job.slot if job.slot is not None else -1
                    self._grant(job, command)
                case Cancelled():
                    self._cancelled(job, command)
        self.gate.show()
        if self.scheduler.held and self._second_look is None:
            loop = asyncio.get_running_loop()
            self._second_look = loop.call_later(_SECOND_LOOK, self._look_again)

    def _look_again(self) -> None:
        """KnownFailures may have become free by other means than the end of a job."""
        self._second_look = None
        self._perform(self.scheduler.dispatch())

    def _rename(self, job: Job, command: Command) -> None:
        """Does what mv would, in a hundredth of the time; where that fails, mv is to say so."""
        assert command.rename is not None
        record = command.record
        record.started = time.monotonic_ns()
        try:
            os.rename(*command.rename)
        except OSError:
            self._perform(self.scheduler.again(job))
            return
        record.ended = time.monotonic_ns()
        record.state, record.status = "done", 0
        command.build.done += 1
        self._print(command, job, b"", b"")
        self._leave(job)
        self._perform(self.scheduler.finished(job, ok=True, now=record.ended))

    def _order(self, job: Job, command: Command) -> bytes:
        assert job.slot is not None
        more = b""
        if command.build.rules.guard:  # its caller may have none, and the tool may have one
            more = b"SMPMAKE_COMMAND=%d\0" % (job.number + 1)
        if command.guarded:
            trace = self._traces.begin(job.slot)
            if trace:
                more += b"SMPMAKE_TRACE=%b\0" % trace
            elif self._traces.fault not in command.build.notices:
                command.build.notices.append(self._traces.fault)
        return wire.encode_job(
            job.number,
            job.issued_ns,
            command.invoke,
            command.argv,
            command.outputs,
            merged=command.invoke.out == command.invoke.err,
            more_env=more,
        )

    def _grant(self, job: Job, command: Command) -> None:
        reply, command.reply = command.reply, None
        assert reply is not None
        argv = command.argv if command.argv != command.invoke.argv else b""
        reply.become(job, argv, b"".join(command.group.output) if command.group else b"")
        if job.light:  # its lease is not watched
            command.record.ended = command.record.started
            command.record.state = "done"
            self._leave(job)
            self._perform(self.scheduler.finished(job, ok=True, now=command.record.ended))

    def _cancelled(self, job: Job, command: Command) -> None:
        build = command.build
        command.record.state = "cancelled"
        for path, aside in command.asides:
            self._asides.put_back(path, aside)
        self._take_back(command)
        if job.mode is Mode.DEFERRED:
            build.lost.update(command.made)
            if build.transcript is not None:
                build.transcript.fill(job.number, b"")
        self._leave(job)
        if command.reply is not None:
            reply, command.reply = command.reply, None
            if command.group is not None and command.group.status:
                reply.leave(command.group.status, b"".join(command.group.output))
            else:
                self._refuse(build, reply)

    def _leave(self, job: Job) -> None:
        command = command_of(job)
        command.build.left()
        self.gate.left(job)
        self.priority.ended(job)
        if job.mode is Mode.DEFERRED:
            mates = self._by_caller[command.invoke.parent]
            del mates[job]
            if not mates:
                del self._by_caller[command.invoke.parent]
        if command.has_sinks:
            self._sinks.give_back(command.invoke.out)
            self._sinks.give_back(command.invoke.err)
        remove(list(command.kept))
        if command.group is not None and job.mode is Mode.FOREGROUND:
            remove([entry.path for entry in os.scandir(command.group.folder)])
            remove([command.group.folder], os.rmdir)

    def _on_result(self, slot: int, result: Result) -> None:
        self._chaos.later(lambda: self._ended(slot, result))

    def _ended(self, slot: int, result: Result) -> None:
        job = self._running.pop(slot)
        command = command_of(job)
        record = command.record
        record.started, record.ended = result.start_ns, result.end_ns
        record.user_us, record.system_us = result.user_us, result.system_us
        record.max_rss = result.max_rss_kib
        record.minor_faults, record.major_faults = result.minor_faults, result.major_faults
        record.voluntary, record.involuntary = result.voluntary, result.involuntary
        if command.guarded:
            self._note_trace(slot, job, command)
        ok = result.ok
        record.status, why = describe_exit(result)
        record.state = "done" if ok else "failed"  # last: then it is written down
        command.build.done += 1
        now = time.monotonic_ns()
        actions: list[Action] = []
        if ok:
            if command.digest and command.build.known_failures is not None:
                command.build.known_failures.discard(command.digest)
                self._tell(command, 0, result)
            else:
                self._print(command, job, result.out, result.err)
            if result.missing:
                command.build.notices.append(
                    f"{record.command}: succeeded without making {result.missing} of its outputs"
                )
        else:
            actions += self._failed(job, command, result, why, now)
        self._leave(job)
        actions += self.scheduler.finished(job, ok=ok, now=now)
        self._perform(actions)

    def _note_trace(self, slot: int, job: Job, command: Command) -> None:
        """What the job was seen to do, beside what its command line said."""
        trace = self._traces.end(slot)
        command.record.reads = trace.reads
        command.record.surprises = surprises(trace, job.operands, command.build.made)

    def _failed(
        self, job: Job, command: Command, result: Result, why: str, now: int
    ) -> list[Action]:
        build, record = command.build, command.record
        status = record.status or 0
        self._take_back(command)
        build.lost.update(command.made)
        if build.transcript is not None:
            build.transcript.fill(job.number, b"")
        if command.signalled:
            return []  # we ended it ourselves
        output = result.out + result.err
        if command.digest:
            build.reported.append(Failure(record, output, why))
            self._tell(command, status, result)
            return []
        if command.group is not None:
            command.group.status = command.group.status or status
            command.group.output.append(output)
            return []
        build.failures.append(Failure(record, output, why))
        argv = command.invoke.argv
        build.wrong[digest_of(command.invoke.cwd, argv)] = argv
        if build.keep_going or self._make_keeps_going(command):
            return []
        if build.broken is None or job.number < build.broken.number:
            build.broken = job
        return self.scheduler.cancel(
            lambda j: j.build == build.id and j.number > job.number, now, job
        )

    def _make_keeps_going(self, command: Command) -> bool:
        invoke = command.invoke
        if make_keeps_going(invoke.env):
            return True
        make = wmake_above(self.processes, invoke.parent) if command.build.wmakes else None
        return make is not None and make.keeps_going

    @staticmethod
    def _tell(command: Command, status: int, result: Result) -> None:
        """The driver waited for the truth about this one."""
        reply, command.reply = command.reply, None
        assert reply is not None
        reply.leave(status, result.out + result.err)

    def _on_lost(self, slot: int) -> None:
        """A worker died under us: end what it ran, and run that again on a new one."""
        self.end_strays()
        job = self._running.pop(slot, None)
        if job is None:
            return
        command = command_of(job)
        remove(list(command.made))
        log.warning("the worker of slot %d died under: %s", slot, command.record.command)
        if command.told or command.signalled:
            lost = wire.failed_result(job.number, errno.ECHILD)
            self._running[slot] = job
            self._ended(slot, lost)
            return
        command.told = True
        self._perform(self.scheduler.again(job))

    # ------------------------------------------------------------------ output

    def _take_sinks(self, command: Command, out: int, err: int) -> None:
        for sink, fd in ((command.invoke.out, out), (command.invoke.err, err)):
            if command.guarded and stat.S_ISREG(os.fstat(fd).st_mode):
                command.log_files += (sink,)
        self._sinks.take(command.invoke.out, out)
        self._sinks.take(command.invoke.err, err)
        command.has_sinks = True

    def _print(self, command: Command, job: Job, out: bytes, err: bytes) -> None:
        transcript = command.build.transcript
        if command.group is not None:
            command.group.output.append(out + err)
            out = err = b""  # its shim prints it
        if transcript is not None:
            transcript.fill(job.number, out + err)
        elif out or err:
            head = f"smpmake: {command.record.command}\n".encode(errors="replace")
            for sink, text, first in (
                (command.invoke.out, out, not err),
                (command.invoke.err, err, True),
            ):
                # A log that somebody may read holds what it would hold serially, and in time.
                is_log = sink in command.log_files
                if text:
                    shown = head + text if first and not is_log else text
                    self._sinks.write(sink, shown, at_once=is_log)

    # ------------------------------------------------------------------ the end

    def close(self) -> list[str]:
        """Ends the workers; returns what was left over that should not be (promise P9)."""
        if self._second_look is not None:
            self._second_look.cancel()
        leftovers = [
            f"still claimed by '{command_of(job).record.command}' ({job.state.value})"
            for job in self.scheduler.hazards.present()
        ]
        if self.scheduler.busy:
            leftovers.append(f"{self.scheduler.busy} slots are not free")
        leftovers += self._pool.close()
        self._sinks.close()
        self.printer.close()
        self._operands.close()
        self._asides.close()
        self.gate.close()
        self._traces.close()
        return leftovers


def _close(*fds: int) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)
