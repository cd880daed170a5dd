"""What a worker is told: a command in the surroundings that it came from, and what ours add."""

from __future__ import annotations

import os

from smpmake.commands.families import mark_of_alone
from smpmake.disk.elf import is_static
from smpmake.engine import launchers
from smpmake.engine.command import Command, command_of
from smpmake.engine.environment import serial
from smpmake.protocol.wire import Terminal, encode_job
from smpmake.schedule.job import Job


def order_for(job: Job, trace: bytes, terminal: Terminal | None) -> bytes:
    """The frame that has a job started.

    trace     the file in which its guards take notes, or b"".
    terminal  what it prints to, if its output would go to one.
    """
    command = command_of(job)
    undo = command.build.undo
    return encode_job(
        job.number,
        job.issued_ns,
        command.invoke,
        command.argv,
        command.outputs,
        merged=command.invoke.out == command.invoke.err,
        journaled=undo is not None and not undo.is_lost,
        terminal=terminal,
        environment=_environment(job, command, trace),
    )


def _environment(job: Job, command: Command, trace: bytes) -> bytes:
    real = os.fsdecode(command.invoke.real)
    mark = mark_of_alone(real)
    if mark and is_static(real, mark):
        return serial(command.invoke.env)
    parts = [command.invoke.env, launchers.environment(command)]
    if command.build.rules.guard:  # its caller may have none, and the tool may have one
        parts.append(b"SMPMAKE_COMMAND=%d\0" % (job.number + 1))
    if trace:
        parts.append(b"SMPMAKE_TRACE=%b\0" % trace)
    return b"".join(parts)
