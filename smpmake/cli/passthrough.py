"""Where no session can be had: the command runs as it is.  Our faults cost speed, never a build."""

from __future__ import annotations

import errno
import os
import signal

from smpmake.cli.exit import BySignal
from smpmake.cli.names import FAULT
from smpmake.console import say
from smpmake.protocol import layout
from smpmake.session.early_start import EarlyStart


def plainly(command: list[str]) -> int:
    """Becomes the command; returns only if it cannot be run."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; the command would inherit it
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        return refuse(command, error.errno or 0)


def go_on_plainly(ahead: EarlyStart, command: list[str], error: BaseException) -> int:
    """Where the driver runs already, and no session can be had; returns the exit status."""
    say(f"{str(error) or type(error).__name__}; the build goes on plainly")
    event = ahead.go_on_plainly()
    if event is None:
        say("left over: the process that keeps the driver was killed")
        return FAULT
    if event.event == layout.DRIVER_FAILED:
        return refuse(command, event.status)
    if os.WIFSIGNALED(event.status):
        return BySignal(128 + os.WTERMSIG(event.status))
    return os.WEXITSTATUS(event.status)


def refuse(command: list[str], error: int) -> int:
    """Says why a command cannot be run, and what was probably meant; returns the exit status."""
    from smpmake.cli.hints import hint

    missing = error == errno.ENOENT
    why = "not found on PATH" if missing and "/" not in command[0] else os.strerror(error)
    instead = hint(command) if missing else ""
    say(f"{command[0]}: cannot be run: {why}{f'; {instead}' if instead else ''}")
    return 127 if missing else 126
