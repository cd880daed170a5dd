"""What follows from how a command went: for its build, its shim, and what it was to make."""

from __future__ import annotations

import os

from smpmake.commands.model import Reason
from smpmake.engine.command import Command
from smpmake.engine.computer import Computer
from smpmake.engine.environment import Environment
from smpmake.engine.output import JobOutput
from smpmake.engine.tools import make_keeps_going, wmake_options_above
from smpmake.protocol.working import Result
from smpmake.records import Failure
from smpmake.schedule.job import Job, Mode
from smpmake.undo.reuse import Finished, prints_of


class Outcome:
    """One per engine."""

    def __init__(self, computer: Computer, output: JobOutput) -> None:
        self._disk = computer.disk
        self._journal = computer.journal
        self._processes = computer.processes
        self._output = output

    def job_ended(self, job: Job, command: Command, result: Result, why: str) -> tuple[bool, bool]:
        """A job has ended; `why` it failed, if so.

        Returns whether it did what was promised, and if not, whether what followed must stop.
        """
        if (
            result.ok
            and command.analysis.checked
            and (wrong := self._unforetold(job, command, result))
        ):
            command.build.tools.distrust(os.fsdecode(command.invoke.real))
            return False, self._guessed_wrong(job, command, result, wrong)
        if not result.ok:
            return False, self._failed(job, command, result, why)
        self._succeeded(job, command, result)
        return True, False

    def _succeeded(self, job: Job, command: Command, result: Result) -> None:
        """A job did what was promised."""
        build = command.build
        command.keep_promise(self._journal)
        is_plain = not command.analysis.printed and not command.invoke.is_line
        if build.undoing.reaches_back and is_plain:  # else nothing is reused
            build.undoing.keep_results(_finished(command, result))
        if command.is_awaited:
            build.promises.note_success(command.verdict.failure_key)
            command.told_status = 0
            self._output.skip_job(command, job.number)  # its shim prints it, behind that place
        else:
            self._output.print_result(command, job.number, result.out, result.err)
        if result.missing:
            text = f"succeeded without making {result.missing} of its outputs"
            build.notice(f"{command.record.command}: {text}")

    def _failed(self, job: Job, command: Command, result: Result, why: str) -> bool:
        """A job failed; the worker has removed what it made.

        Returns whether success had been promised, so that what followed must stop.
        """
        build, record = command.build, command.record
        status = result.ending
        self._journal.withdraw(job.number)
        is_own_end = os.WIFSIGNALED(result.wait_status) and not command.signalled
        if is_own_end and not command.is_awaited:
            self.remove_outputs(job, command)  # nobody may come to undo it
        build.promises.lose_outputs(command.outputs.makes)
        promised = not (command.signalled or command.is_awaited or command.group)
        if not promised or build.undoing.journal is None:
            self._output.skip_job(command, job.number)  # else what comes behind is not to be shown
        if command.signalled:  # we ended it ourselves
            if build.undoing.journal is not None and build.undoing.journal.is_incomplete:
                self._disk.remove(*command.outputs.makes)  # else what is older would be believed
            return False
        output = result.out + result.err
        if command.is_awaited or command.group is not None:
            command.keep_promise(self._journal)  # as it does serially
        if command.verdict.failure_key:
            build.promises.note_reported(Failure(record, output, why))
        if command.is_awaited:
            command.told_status = status
            return False
        if command.group is not None:
            command.group.status = command.group.status or status
            command.group.output.append(output)
            return False
        build.promises.note_wrong(
            command.invoke, command.verdict.caller, Failure(record, output, why)
        )
        if build.rules.keep_going or self._make_keeps_going(command):
            command.release_makers(self._journal)
            return False
        build.promises.stop_behind(job)
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

    def _guessed_wrong(self, job: Job, command: Command, result: Result, why: str) -> bool:
        """A command did something else than was foretold; returns True: all is to be undone."""
        build = command.build
        command.record.state = "failed"
        command.record.reason, command.record.detail = Reason.UNCHECKED.value, why
        self._journal.withdraw(job.number)
        build.promises.lose_outputs(command.outputs.makes)
        if build.undoing.journal is None:
            self._output.skip_job(command, job.number)
        failure = Failure(command.record, result.out + result.err, why)
        build.promises.note_wrong(command.invoke, command.verdict.caller, failure, guessed=True)
        build.promises.stop_behind(job)
        return True

    def remove_outputs(self, job: Job, command: Command) -> None:
        """What a command has left half-made goes, and comes back if all is undone."""
        for path in command.outputs.makes:
            if command.build.undoing.journal is not None:
                command.build.undoing.journal.removes(job.number, path)
            self._disk.remove(path)

    def job_cancelled(self, job: Job, command: Command) -> None:
        """A command will not run."""
        command.record.state = "cancelled"
        self._journal.withdraw(job.number)
        if job.mode is Mode.DEFERRED:
            command.build.promises.lose_outputs(command.outputs.makes)
            self._output.skip_job(command, job.number)

    def _make_keeps_going(self, command: Command) -> bool:
        invoke = command.invoke
        if make_keeps_going(Environment(invoke.env)):
            return True
        if not command.build.tools.has_wmake:
            return False
        options = wmake_options_above(self._processes, invoke.parent)
        return options is not None and bool(options & {"i", "k"})


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


def tell_shim(command: Command, result: Result) -> None:
    """The driver waited for the truth about this one, if there is a verdict.

    Not before nothing is pending of it any more: a make would be told of what was promised, and
    take an older target for a new one that it has to delete.
    """
    if command.told_status is None:
        return
    reply, command.reply = command.reply, None
    assert reply is not None
    status = command.told_status
    out = command.said + result.out
    command.build.promises.tell_driver(command.verdict.failure_key)
    command.build.replies.answer_driver(lambda: reply.leave(status, result.err, out))
