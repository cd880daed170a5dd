"""Issues commands: what they read and write is looked up, promised to the guards, and answered.

The decision is made before (engine/intake); what is issued is performed by engine/execute.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import Final

from smpmake.commands.model import Analysis, Keep
from smpmake.decide import policy
from smpmake.disk.elf import takes_guard
from smpmake.engine.build import Build
from smpmake.engine.command import Command, Group, OutputFile, outputs_of, replaced
from smpmake.engine.computer import Computer
from smpmake.engine.elsewhere import Elsewhere
from smpmake.engine.environment import temporary_folder
from smpmake.engine.execute import Executor
from smpmake.engine.observer import Observer
from smpmake.engine.operands import OperandResolver
from smpmake.engine.output import JobOutput, logs
from smpmake.engine.programs import Programs
from smpmake.engine.replies import Reply
from smpmake.engine.verdict import Verdict
from smpmake.engine.worker_requests import terminal_of
from smpmake.guard.pending import Pending
from smpmake.protocol import frames
from smpmake.protocol.wire import Given, Invoke
from smpmake.records import GIVEN_BACK, CommandRecord
from smpmake.schedule.classes import Class
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job, Mode, Operands

#: Where tools are that no build replaces.
_SYSTEM: Final = ("/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/store/")


class Issuing:
    """One per engine."""

    def __init__(
        self,
        computer: Computer,
        executor: Executor,
        hazards: Hazards,
        pending: Pending,
        *,
        output: JobOutput,
        observer: Observer,
        elsewhere: Elsewhere,
        programs: Programs,
        classes: Sequence[Class],
    ) -> None:
        self._disk = computer.disk
        self._paths = computer.disk.paths
        self._journal = computer.journal
        self._clock = computer.clock
        self._processes = computer.processes
        self._chaos = computer.chaos
        self._executor = executor
        self._hazards = hazards
        self._pending = pending
        self._output = output
        self._observer = observer
        self._elsewhere = elsewhere
        self._programs = programs
        self._classes = classes
        self._resolver = OperandResolver(hazards, pending, computer.disk)
        self._count = 0

    def make_command(
        self,
        build: Build,
        invoke: Invoke,
        argv: bytes,
        cwd: str,
        analysis: Analysis,
        verdict: Verdict,
    ) -> Command:
        decision = verdict.decision
        record = CommandRecord(
            self._count,
            analysis.tool or invoke.tool,
            analysis.kind.value,
            "deferred" if decision.deferred else "barrier" if decision.barrier else "foreground",
            decision.reason.value if decision.reason is not None else "",
            decision.detail,
            cwd,
            argv,
        )
        record.issued = self._clock.now()
        record.light = decision.light
        record.program = os.fsdecode(invoke.real)
        self._count += 1
        build.commands.add_record(record)
        if build.rules.guard and invoke.unguarded:
            caller = self._processes.caller(invoke.unguarded)
            record.unguarded = caller.name if caller is not None else "?"
        command = Command(build, invoke, argv, record, analysis, verdict)
        reads_unasked = command.guarded and decision.deferred and analysis.undeclared
        if reads_unasked and not takes_guard(record.program):
            record.unguarded = os.path.basename(record.program)
        # While nothing is pending nobody need know, and configure asks a lot.
        is_needed = decision.deferred or self._hazards.deferred
        if command.guarded and analysis.undeclared and is_needed:
            environment = build.tools.environment_of(invoke)
            runs = analysis.programs
            if runs is not None:
                command.programs = self._programs.programs_of(
                    record.program, runs, cwd, environment
                )
        return command

    def replace_argv(self, command: Command, argv: Callable[[Keep], tuple[str, ...]]) -> None:
        """What is run is not what was issued; records and messages show what was issued."""
        kept: list[str] = []

        def keep(text: str) -> str:
            kept.append(self._disk.private_text(text))
            return kept[-1]

        command.argv = frames.join_strings(os.fsencode(word) for word in argv(keep))
        command.private_texts = tuple(kept)

    def _job(self, command: Command, mode: Mode, operands: Operands) -> Job:
        decision = command.verdict.decision
        return Job(
            command.record.number,
            command.build.id,
            mode,
            operands,
            light=decision.light if mode is Mode.FOREGROUND else command.rename is not None,
            exclusive=decision.exclusive,
            classes=self._classes_of(command),
            guarded=self._is_guarded(command),
            payload=command,
        )

    def _classes_of(self, command: Command) -> tuple[Class, ...]:
        if not self._classes:
            return ()
        record = command.record
        about = (record.tool, record.program, record.words, command.analysis)
        return tuple(each for each in self._classes if policy.is_of(each.name, *about))

    def _is_guarded(self, command: Command) -> bool:
        """See Observer.  The loader is asked where that is not known yet, and only there."""
        if self._observer.is_guarded(command):
            return True
        if command.programs is None:
            return False
        environment = command.build.tools.environment_of(command.invoke)
        self._observer.ask_loader(command.programs, self._programs, environment)
        return self._observer.is_guarded(command)

    # ------------------------------------------------------------------ issuing it

    def defer_command(self, command: Command, cwd: str, out: int = -1, err: int = -1) -> None:
        """A command whose job runs later; its shim is answered now, unless it is awaited.

        out, err  descriptors for what it prints; ours now, also when this raises.
        """
        environment = command.build.tools.environment_of(command.invoke)
        places = (cwd, temporary_folder(environment, cwd))
        try:
            analysis = self._resolver.share_outputs(command.build, cwd, command.analysis)
            self._make_folders(command, cwd, analysis)
            operands, outputs, files = self._resolver.resolve_operands(
                cwd, analysis, everything=False, places=places
            )
        except BaseException:
            command.record.state = "cancelled"
            close_all(out, err)
            raise
        operands = operands._replace(through=(*operands.through, *self._own_programs(command)))
        outputs = self._write_down(command, outputs, (out, err))
        command.elsewhere = self._elsewhere.takes(command, analysis)
        if out >= 0:
            self._output.take_descriptors(command, out, err)
        # One that is waited for runs: mv itself says how it went.
        if analysis.rename is not None and not command.is_awaited:
            source, destination = (self._paths.canonical(cwd, path) for path in analysis.rename)
            command.rename = (source, destination)
        job = self._job(command, Mode.DEFERRED, operands)
        job.issued_ns = self._resolver.issue_time(outputs, cwd)
        job.dated_ns = self._resolver.output_time(job.issued_ns)
        self._pending.show_newest(job.dated_ns)
        job.urgent = command.is_awaited
        command.outputs = outputs_of(outputs)
        command.record.outputs = tuple(o.name for o in outputs if not o.write.removed)
        command.record.inputs = self._resolver.inputs_of(cwd, analysis, operands)
        build = command.build
        promises = self._resolver.promises_of(command, outputs, job)
        build.promises.promise_outputs(command.record.outputs, operands.writes)
        if build.output.transcript is not None:
            build.output.transcript.reserve_place(job.number)
        command.rest_on(operands.reads, self._hazards)
        asked = bool(build.rules.without)
        # What is updated through a link is what the link leads to.
        behind = {o.behind: promises[o.name] for o in outputs if o.behind and o.write.in_place}
        stale = replaced(outputs) + logs(command)

        def announce() -> None:
            self._pending.job_entered(job, promises, stale, files, behind=behind, asked=asked)
            self._answer(command)

        self._executor.enter(job, announce)

    def _answer(self, command: Command) -> None:
        """What the shim of a deferred command hears when its job has entered."""
        if command.is_awaited:
            assert command.reply is not None
            command.reply.wait(lambda: None)  # the job goes on, whoever waits for it
        elif command.reply is not None:
            reply, command.reply = command.reply, None
            if command.said:
                self._output.note_said(command)
            self._chaos.later(lambda: reply.leave(0, out=command.said))

    def _own_programs(self, command: Command) -> list[str]:
        """Those that it runs and that a build may make anew, or change, being its own."""
        programs = command.programs or (command.record.program,)
        own = [name for name in programs if name and not name.startswith(_SYSTEM)]
        found = (self._paths.canonical("/", name) for name in own)
        return [*found, *(os.path.realpath(name) for name in own if os.path.islink(name))]

    def _make_folders(self, command: Command, cwd: str, analysis: Analysis) -> None:
        """Done in the driver's own time, as mkdir is: whoever looks finds them."""
        undo = command.build.undoing.journal
        for path in (self._paths.canonical(cwd, folder) for folder in analysis.folders):
            if not os.path.isdir(path):
                if undo is not None:
                    undo.makes(command.record.number, path)
                self._disk.make_folder(path, command.invoke.mask)

    def _write_down(
        self, command: Command, outputs: list[OutputFile], sinks: tuple[int, int]
    ) -> list[OutputFile]:
        """What is to be known of a promise if it must be taken back.  Returns its outputs: where no
        guard hides what is stale, that is out of sight now."""
        journal, number = self._journal, command.record.number
        journal.issued(number)
        if not command.guarded:
            outputs = [self._set_aside(number, output) for output in outputs]
        journal.makes(
            number, *(o.name for o in outputs if o.made and (o.stale or o.before is None))
        )
        if journal.undoes:
            self._keep(command, outputs, sinks)
        return outputs

    def _set_aside(self, number: int, output: OutputFile) -> OutputFile:
        """An older target would be taken for what the command makes anew."""
        write, name, before = output.write, output.name, output.before
        if before is None or stat.S_IFMT(before.st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
            return output
        stays = write.in_place or not write.target or not output.made
        if stays or self._hazards.is_written(name):
            return output
        return output._replace(stale=self._journal.sets_aside(number, name, before))

    def _keep(self, command: Command, outputs: list[OutputFile], sinks: tuple[int, int]) -> None:
        """What no guard will: what a tool without one writes, and files that we print into."""
        if not takes_guard(os.fsdecode(command.invoke.real)):
            for output in outputs:
                if output.before is not None and not output.stale:
                    self._journal.keeps(command.record.number, output.name, output.before)
        for fd, file in zip(sinks, (command.invoke.out, command.invoke.err), strict=True):
            if fd >= 0 and not command.build.output.is_drivers(file):
                info = os.fstat(fd)
                if stat.S_ISREG(info.st_mode):
                    self._journal.grew(os.readlink(f"/proc/self/fd/{fd}"), info)

    def run_in_place(self, command: Command, cwd: str) -> None:
        analysis = self._resolver.share_outputs(command.build, cwd, command.analysis)
        operands, outputs, _ = self._resolver.resolve_operands(
            cwd, analysis, everything=command.verdict.decision.barrier
        )
        job = self._job(command, Mode.FOREGROUND, operands)
        if analysis.undeclared:
            job.issued_ns = self._resolver.issue_time([], cwd)
        command.record.outputs = tuple(o.name for o in outputs if not o.write.removed)
        command.record.inputs = self._resolver.inputs_of(cwd, analysis, operands)
        self._executor.enter(job)
        if command.reply is not None:
            command.reply.wait(lambda: self._executor.withdraw_job(job))

    def note_given(self, build: Build, given: Given, cwd: str, analysis: Analysis) -> None:
        """What has been done is written down: a command that took no slot and kept nobody."""
        invoke = given.invoke
        kind, tool = analysis.kind.value, analysis.tool or invoke.tool
        record = CommandRecord(
            *(self._count, tool, kind, "deferred", "", GIVEN_BACK, cwd, invoke.argv)
        )
        self._count += 1
        operands, outputs, _ = self._resolver.resolve_operands(cwd, analysis, everything=False)
        record.outputs = tuple(o.name for o in outputs if not o.write.removed and _is_made(o))
        record.inputs = self._resolver.inputs_of(cwd, analysis, operands)
        record.reads = tuple(os.path.join(cwd, name) for name in given.reads)
        record.issued = record.ready = record.started = given.start_ns
        record.ended = given.end_ns
        record.user_us, record.system_us = given.user_us, given.system_us
        record.program = os.fsdecode(invoke.real)
        record.state, record.status, record.slot = "done", 0, 0
        build.commands.add_record(record)
        build.commands.job_ended()

    def note_stamps(self, invoke: Invoke, cwd: str, analysis: Analysis) -> None:
        """A light command of a caller whose jobs are pending: does it say that they are done?"""
        pending = self._executor.issued_by(invoke.parent)
        for write in analysis.writes if pending else ():
            if write.vouches:
                path = self._paths.canonical(cwd, write.path)
                source = write.same_as and self._paths.canonical(cwd, write.same_as)
                self._journal.vouches([c.record.number for c in pending], path, source)

    def split_command(
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
        folder = self._disk.private_folder(self._count)
        parts = analysis.split(folder)
        waits = not decision.deferred
        group = Group(folder, terminal_of(invoke, out, err))
        later = Verdict(policy.Decision(None, exclusive=decision.exclusive))
        for part in parts[:-1] if waits else parts:
            argv = frames.join_strings(os.fsencode(word) for word in part.argv)
            command = self.make_command(build, invoke, argv, cwd, part.analysis, later)
            if waits:
                command.group = group
                self.defer_command(command, cwd)
            else:
                self.defer_command(command, cwd, os.dup(out), os.dup(err))
        close_all(out, err)
        if not waits:
            reply.leave(0)
            return
        last = parts[-1]
        argv = frames.join_strings(os.fsencode(word) for word in last.argv)
        command = self.make_command(build, invoke, argv, cwd, last.analysis, Verdict(decision))
        command.reply = reply
        command.group = group
        self.run_in_place(command, cwd)


def _is_made(output: OutputFile) -> bool:
    return not output.write.perhaps or os.path.lexists(output.name)


def close_all(*fds: int) -> None:
    """Closes those that are there (-1: none)."""
    for fd in fds:
        if fd >= 0:
            os.close(fd)
