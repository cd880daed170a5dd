"""Whether a job has its results without a run.  It is asked once, as the job starts:

1. of the same build, from a run that was undone (`former_results`: there is nothing to start);
2. from another machine, which an engine of such has the worker's program ask (`Elsewhere`);
3. of an earlier build, remembered (native/recall/recall.c, which a worker starts for it).

What a shim found remembered before it asked for anything never comes here (`Intake`).
"""

from __future__ import annotations

import os

from smpmake import variables
from smpmake.commands.remembered import is_remembered
from smpmake.engine.command import Command, command_of
from smpmake.engine.elsewhere import Elsewhere
from smpmake.engine.worker_requests import Order, worker_request
from smpmake.protocol.working import Result
from smpmake.records import REUSED, CommandRecord
from smpmake.schedule.job import Job


def former_results(job: Job, command: Command, now: int) -> Result | None:
    """How a job went before all was undone, if it has its results back; None: it is to be run."""
    build, invoke = command.build, command.invoke
    again = build.undoing.results_of(invoke, command.argv, job.number, job.dated_ns)
    if again is None:
        return None
    reuse_record(command.record, again.record)
    command.wrote, command.traced = tuple(again.made), True
    is_shown = build.output.transcript is None and not command.is_awaited
    out, err = (
        b"" if is_shown and build.output.is_drivers(file) else text
        for file, text in ((invoke.out, again.result.out), (invoke.err, again.result.err))
    )
    return again.result._replace(
        id=job.number, start_ns=now, end_ns=now, user_us=0, system_us=0, out=out, err=err
    )


def reuse_record(record: CommandRecord, before: CommandRecord) -> None:
    """A command gets the results that the same one had before all was undone."""
    record.detail = REUSED
    record.reads, record.surprises = before.reads, before.surprises
    record.warnings, record.errors, record.said = before.warnings, before.errors, before.said


def order_of(job: Job, trace: bytes, lent: bytes, elsewhere: Elsewhere) -> Order:
    """How a job starts, whoever has its results.

    trace  the file in which its guards take notes, or b"".
    lent   the FIFO of its job server, or b"".
    """
    here = worker_request(job, trace, lent)
    order = elsewhere.start(job, here)
    return _remembered(order) if order is here and trace and not lent else order


def _remembered(order: Order) -> Order:
    """The same, looked up among remembered results first, if the session has some.

    What looks them up runs in the tool's place, under the guard, and becomes it where there is
    nothing to give back (native/recall/recall.c).
    """
    command, real = command_of(order.job), os.fsdecode(order.invoke.real)
    environment = command.build.tools.environment_of(command.invoke)
    program = environment.get(variables.RECALL)
    if program is None or command.analysis.printed or not is_remembered(os.path.basename(real)):
        return order
    first, _, rest = order.argv.partition(b"\0")
    return order._replace(
        invoke=order.invoke.of(os.fsencode(program)),
        argv=b"\0".join((first, order.invoke.real, rest)),
    )
