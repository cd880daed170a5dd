"""What a worker is told: a command in the surroundings that it came from, and what ours add."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Final

from smpmake import variables
from smpmake.commands.families import mark_of_alone
from smpmake.disk.elf import is_static
from smpmake.engine import launchers
from smpmake.engine.command import Command, command_of
from smpmake.engine.environment import changed, serial
from smpmake.protocol import frames
from smpmake.protocol.working import Inherited, Terminal, encode_job
from smpmake.schedule.job import Job

if TYPE_CHECKING:
    from smpmake.cluster.cluster import Errand

_COMMAND: Final = os.fsencode(variables.COMMAND)
_TRACE: Final = os.fsencode(variables.TRACE)
#: The descriptors at which a worker opens a job's FIFOs (native/worker.c).  The caller's own flags
#: are for his make: gcc keeps them from its own where it is a client of no job server.
_LENT: Final = " -j --jobserver-auth=3,4"


def order_for(
    job: Job,
    trace: bytes,
    terminal: Terminal | None,
    lent: bytes,
    errand: Errand | None,
    inherited: Inherited,
) -> bytes:
    """The frame that has a job started.

    trace     the file in which its guards take notes, or b"".
    terminal  what it prints to, if its output would go to one.
    lent      the FIFO of its job server, or b"".
    errand    how it is run if that is on another machine.
    inherited what it gets from its worker.
    """
    command = command_of(job)
    undo = command.build.undo
    invoke, argv = command.invoke, command.argv
    environment = _environment(job, command, trace)
    if lent:
        environment = changed(environment, {"MAKEFLAGS": _LENT})
    if errand is not None:
        invoke = dataclasses.replace(invoke, real=os.fsencode(errand.program))
        argv = frames.join_strings(os.fsencode(word) for word in errand.argv)
        environment = changed(environment, errand.environment)
    return encode_job(
        job.number,
        job.issued_ns,
        invoke,
        argv,
        command.outputs,
        merged=invoke.out == invoke.err,
        journaled=undo is not None and not undo.is_lost,
        terminal=terminal,
        environment=environment,
        lent=lent,
        nicer=max(0, invoke.nice - inherited.nice) if invoke.inherited else 0,
    )


def _environment(job: Job, command: Command, trace: bytes) -> bytes:
    real = os.fsdecode(command.invoke.real)
    mark = mark_of_alone(real)
    if mark and is_static(real, mark):
        return serial(command.invoke.env)
    parts = [command.invoke.env, launchers.environment(command)]
    if command.build.rules.guard:  # its caller may have none, and the tool may have one
        parts.append(b"%b=%d\0" % (_COMMAND, job.number + 1))
    if trace:
        parts.append(b"%b=%b\0" % (_TRACE, trace))
    return b"".join(parts)
