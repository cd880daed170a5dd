"""The terminal that a job's output goes to: there tools print in colours, and cut long lines.

A job's output is caught, so it gets a terminal of its own; what that says goes to the user's.
"""

from __future__ import annotations

import os

from smpmake.protocol import layout
from smpmake.protocol.wire import Invoke
from smpmake.protocol.working import Terminal


def terminal_of(invoke: Invoke, out: int, err: int, *, printed: bool = False) -> Terminal | None:
    """What a tool would see of a terminal; `out` and `err` are what it would print to.

    Two different ones are one too many: then it is that of stderr, where messages go.
    printed: stdout is an output of its own, and no terminal.
    """
    of_err = _size(err)
    of_out = of_err if invoke.out == invoke.err else _size(out)
    size = of_err or of_out
    if size is None:
        return None
    flags = layout.JOB_TERMINAL_ERR if of_err else layout.JOB_TERMINAL_OUT
    if invoke.out == invoke.err and not printed:
        flags |= layout.JOB_TERMINAL_OUT
    return Terminal(flags, size.lines, size.columns)


def _size(fd: int) -> os.terminal_size | None:
    try:
        return os.get_terminal_size(fd)
    except OSError:
        return None
