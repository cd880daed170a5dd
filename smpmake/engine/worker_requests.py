"""What a worker is told: a command in the surroundings that it came from, and what ours add."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from smpmake import variables
from smpmake.commands.families import mark_of_alone
from smpmake.disk.elf import is_static
from smpmake.engine.command import Command, command_of
from smpmake.engine.environment import changed, serial
from smpmake.engine.framing import terminal_size
from smpmake.protocol import frames, layout
from smpmake.protocol.wire import Invoke
from smpmake.protocol.working import Inherited, Terminal, encode_job
from smpmake.schedule.job import Job

_COMMAND: Final = os.fsencode(variables.COMMAND)
_TRACE: Final = os.fsencode(variables.TRACE)
#: The descriptors at which a worker opens a job's FIFOs (native/worker/worker.c).  The caller's own
#: flags are for his make: gcc keeps them from its own where it is a client of no job server.
_LENT: Final = " -j --jobserver-auth=3,4"


class Order(NamedTuple):
    """How a job is run.

    invoke       the invocation; `real` is the program.
    argv         its words, as it is run.
    environment  what the program gets.
    """

    job: Job
    invoke: Invoke
    argv: bytes
    environment: bytes

    def by(self, program: str, argv: Iterable[str], environment: Mapping[str, str]) -> Order:
        """The same by another program, with more in its environment."""
        return self._replace(
            invoke=self.invoke.of(os.fsencode(program)),
            argv=frames.join_strings(map(os.fsencode, argv)),
            environment=changed(self.environment, environment),
        )

    def frame(self, terminal: Terminal | None, lent: bytes, inherited: Inherited) -> bytes:
        """What has a worker start it.

        terminal   what it prints to, if its output would go to one.
        lent       the FIFO of its job server, or b"".
        inherited  what it gets from its worker.
        """
        command = command_of(self.job)
        undo = command.build.undoing.journal
        return encode_job(
            self.job.number,
            self.job.dated_ns,
            self.invoke,
            self.argv,
            command.outputs.encoded,
            merged=self.invoke.out == self.invoke.err,
            journaled=undo is not None and not undo.is_incomplete,
            awaited=command.is_awaited,
            terminal=terminal,
            environment=self.environment,
            lent=lent,
            nicer=max(0, self.invoke.nice - inherited.nice) if self.invoke.inherited else 0,
        )


def worker_request(job: Job, trace: bytes, lent: bytes) -> Order:
    """How a job is run here.

    trace  the file in which its guards take notes, or b"".
    lent   the FIFO of its job server, or b"".
    """
    command = command_of(job)
    environment = _environment(job, command, trace)
    if lent:
        environment = changed(environment, {"MAKEFLAGS": _LENT})
    return Order(job, command.invoke, command.argv, environment)


def _environment(job: Job, command: Command, trace: bytes) -> bytes:
    real = os.fsdecode(command.invoke.real)
    mark = mark_of_alone(real)
    if mark and is_static(real, mark):
        return serial(command.invoke.env)
    parts = [command.invoke.env]
    if command.build.rules.guard:  # its caller may have none, and the tool may have one
        parts.append(b"%b=%d\0" % (_COMMAND, job.number + 1))
    if trace:
        parts.append(b"%b=%b\0" % (_TRACE, trace))
    return b"".join(parts)


def terminal_of(invoke: Invoke, out: int, err: int, *, printed: bool = False) -> Terminal | None:
    """What a tool would see of a terminal; `out` and `err` are what it would print to.

    On a terminal tools print in colours, and cut long lines.  A job's output is caught, so it gets
    a terminal of its own, and what that says goes to the user's.

    Two different ones are one too many: then it is that of stderr, where messages go.
    printed: stdout is an output of its own, and no terminal.
    """
    of_err = terminal_size(err)
    of_out = of_err if invoke.out == invoke.err else terminal_size(out)
    size = of_err or of_out
    if size is None:
        return None
    flags = layout.JOB_TERMINAL_ERR if of_err else layout.JOB_TERMINAL_OUT
    if invoke.out == invoke.err and not printed:
        flags |= layout.JOB_TERMINAL_OUT
    return Terminal(flags, size.lines, size.columns)
