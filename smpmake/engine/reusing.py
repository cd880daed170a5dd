"""What a job need not do: its results are there from a run that was undone."""

from __future__ import annotations

from smpmake.engine import diagnostics
from smpmake.engine.command import Command
from smpmake.protocol.working import Result
from smpmake.schedule.job import Job
from smpmake.undo.reuse import key_of


def results_of(job: Job, command: Command, now: int) -> Result | None:
    """How it went then, if it has its results back; None where it is to be run."""
    build, invoke = command.build, command.invoke
    if build.reusable is None or build.undo is None or not build.undo.is_whole:
        return None  # nobody knows any more what has appeared since
    key = key_of(invoke, command.argv)
    again = build.reusable.take(key, job.number, job.issued_ns, build.undo)
    if again is None:
        return None
    diagnostics.reuse(command.record, again.record)
    command.wrote, command.traced = tuple(again.made), True
    is_shown = build.transcript is None and not command.is_awaited
    out, err = (
        b"" if is_shown and file in (build.driver_output or ()) else text
        for file, text in ((invoke.out, again.result.out), (invoke.err, again.result.err))
    )
    return again.result._replace(
        id=job.number, start_ns=now, end_ns=now, user_us=0, system_us=0, out=out, err=err
    )
