"""What follows from how a command went: for its build, its shim, and what it was to make."""

from __future__ import annotations

import os

from smpmake.commands.model import Reason
from smpmake.decide.known_failures import digest_of
from smpmake.decide.procfs import Processes
from smpmake.disk.disk import Disk
from smpmake.engine import settling
from smpmake.engine.build import Build, Misprediction
from smpmake.engine.command import Command, Reply
from smpmake.engine.context import make_keeps_going, wmake_above
from smpmake.engine.environment import Environment
from smpmake.engine.output import JobOutput
from smpmake.engine.silence import SilencePredictor
from smpmake.protocol.working import Result
from smpmake.records import Failure
from smpmake.schedule.job import Job, Mode
from smpmake.undo.journal import UndoJournal
from smpmake.undo.reuse import Finished, prints_of


class Outcome:
    """One per engine."""

    def __init__(
        self,
        disk: Disk,
        journal: UndoJournal,
        output: JobOutput,
        processes: Processes,
        silence: SilencePredictor,
    ) -> None:
        self._disk = disk
        self._journal = journal
        self._output = output
        self._processes = processes
        self._silence = silence

    def ended(self, job: Job, command: Command, result: Result, why: str) -> tuple[bool, bool]:
        """A job has ended; `why` it failed, if so.

        Returns whether it did what was promised, and if not, whether what followed must stop.
        """
        wrong = self._silence.ended(command, result)
        if wrong:
            return False, self._guessed_wrong(job, command, result, wrong, Reason.MISPREDICTED)
        if result.ok and command.checked:
            wrong = self._unforetold(job, command, result)
        if wrong:
            command.build.distrusted.add(os.fsdecode(command.invoke.real))
            return False, self._guessed_wrong(job, command, result, wrong, Reason.UNCHECKED)
        if not result.ok:
            return False, self._failed(job, command, result, why)
        self._succeeded(job, command, result)
        return True, False

    def _succeeded(self, job: Job, command: Command, result: Result) -> None:
        """A job did what was promised."""
        build = command.build
        settling.fulfilled(command, self._journal)
        is_plain = not command.prints and not command.invoke.is_line
        if build.undo is not None and build.undo.is_whole and is_plain:
            build.finished.append(_finished(command, result))  # else nothing is reused
        if command.is_awaited:
            if command.digest and build.known_failures is not None:
                build.known_failures.discard(command.digest)
            command.verdict = 0
            self._output.skip(command, job.number)  # its shim prints it, behind that place
        else:
            self._output.print(command, job.number, result.out, result.err)
        if result.missing:
            text = f"succeeded without making {result.missing} of its outputs"
            build.notices.append(f"{command.record.command}: {text}")

    def _failed(self, job: Job, command: Command, result: Result, why: str) -> bool:
        """A job failed; the worker has removed what it made.

        Returns whether success had been promised, so that what followed must stop.
        """
        build, record = command.build, command.record
        status = record.status or 0
        self._journal.withdraw(job.number)
        if os.WIFSIGNALED(result.wait_status) and not command.signalled:
            self.remove(job, command)  # its own end: nobody may come to undo it
        build.lost.update(command.makes)
        promised = not (command.signalled or command.is_awaited or command.group)
        if not promised or build.undo is None:
            self._output.skip(command, job.number)  # else what comes behind is not to be shown
        if command.signalled:  # we ended it ourselves
            if build.undo is not None and build.undo.is_incomplete:
                self._disk.remove(*command.makes)  # else what is older would be believed
            return False
        output = result.out + result.err
        if command.is_awaited or command.group is not None:
            settling.fulfilled(command, self._journal)  # as it does serially
        if command.digest:
            build.reported.append(Failure(record, output, why))
        if command.is_awaited:
            command.verdict = status
            return False
        if command.group is not None:
            command.group.status = command.group.status or status
            command.group.output.append(output)
            return False
        _was_wrong(command, Failure(record, output, why))
        if build.rules.keep_going or self._make_keeps_going(command):
            settling.release(command, self._journal)
            return False
        _breaks(build, job)
        return True

    def _unforetold(self, job: Job, command: Command, result: Result) -> str:
        """What a command has done that its words do not say; "" if nothing."""
        if command.signalled:
            return ""
        if not command.traced:
            return "not all of it was seen"
        if result.missing:
            return f"without {result.missing} of its outputs"
        for path in command.wrote:
            name = self._disk.paths.canonical("/", path)
            if name not in job.operands.writes and os.path.lexists(name):
                return f"wrote {name}"
        return ""

    def _guessed_wrong(
        self, job: Job, command: Command, result: Result, why: str, reason: Reason
    ) -> bool:
        """A command did something else than was foretold; returns True: all is to be undone."""
        build = command.build
        command.record.state = "failed"
        command.record.reason, command.record.detail = reason.value, why
        self._journal.withdraw(job.number)
        build.lost.update(command.makes)
        if build.undo is None:
            self._output.skip(command, job.number)
        failure = Failure(command.record, result.out + result.err, why)
        _was_wrong(command, failure, guessed=True)
        _breaks(build, job)
        return True

    def remove(self, job: Job, command: Command) -> None:
        """What a command has left half-made goes, and comes back if all is undone."""
        for path in command.makes:
            if command.build.undo is not None:
                command.build.undo.removes(job.number, path)
            self._disk.remove(path)

    def cancelled(self, job: Job, command: Command) -> None:
        """A command will not run."""
        command.record.state = "cancelled"
        self._journal.withdraw(job.number)
        if job.mode is Mode.DEFERRED:
            command.build.lost.update(command.makes)
            self._output.skip(command, job.number)

    def _make_keeps_going(self, command: Command) -> bool:
        invoke = command.invoke
        if make_keeps_going(Environment(invoke.env)):
            return True
        make = wmake_above(self._processes, invoke.parent) if command.build.wmakes else None
        return make is not None and make.keeps_going


def _finished(command: Command, result: Result) -> Finished:
    """What is to be known of a command whose results may be used again."""
    return Finished(
        command.record,
        command.invoke,
        command.argv,
        result,
        prints_of({*command.record.outputs, *command.wrote}),
        command.traced,
    )


def _was_wrong(command: Command, failure: Failure, *, guessed: bool = False) -> None:
    """What was promised of a command does not hold."""
    build, invoke = command.build, command.invoke
    build.failures.append(failure)
    wrong = Misprediction(invoke.argv, command.caller, failure, guessed)
    build.wrong[digest_of(invoke.cwd, invoke.argv)] = wrong


def _breaks(build: Build, job: Job) -> None:
    """Nothing behind a job is to go on; behind the first of them, if there are several."""
    if build.broken is None or job.number < build.broken.number:
        build.broken = job


def tell(command: Command, result: Result) -> None:
    """The driver waited for the truth about this one, if there is a verdict.

    Not before nothing is pending of it any more: a make would be told of what was promised, and
    take an older target for a new one that it has to delete.
    """
    if command.verdict is None:
        return
    command.build.owed.pop(command.digest, None)
    reply, command.reply = command.reply, None
    assert reply is not None
    verdict = command.verdict
    command.build.is_told(command.digest)
    command.build.answer(lambda: reply.leave(verdict, result.err, command.said + result.out))


def refuse(build: Build, reply: Reply) -> None:
    """A shim is told that nothing is run any more, so that its driver stops."""
    if build.squashing:  # its driver is being ended, and is not to print anything about it
        reply.wait(lambda: None)
        return
    if build.stopping:
        reply.wait(lambda: None)
        build.answer(lambda: reply.leave(build.stopping))
        return
    message = b""
    if not build.refused:
        build.refused = True
        first = min(build.failures, key=lambda f: f.record.number, default=None)
        what = first.record.brief if first is not None else "an earlier command"
        message = f"smpmake: not run, because this failed: {what}\n".encode()
    reply.leave(1, message)
