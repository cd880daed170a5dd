"""How the process ends: with a status, or by the signal that has ended the build."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from typing import Final, NoReturn


class BySignal(int):
    """The status 128+n of a build that signal n has ended.

    A caller that is a shell goes on behind a command that left by itself, and ends with one that
    Ctrl-C has ended: it must see which it was.
    """


#: What a signal has us raise, and what reads no more; everything else is an error.
ENDINGS: Final = (KeyboardInterrupt, BrokenPipeError)


def by_signal(error: BaseException) -> BySignal:
    """The status for one of ENDINGS."""
    interrupted = isinstance(error, KeyboardInterrupt)
    return BySignal(128 + (signal.SIGINT if interrupted else signal.SIGPIPE))


def leave(status: int) -> NoReturn:
    """Ends the process at once: taking the interpreter apart would only keep the user waiting."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    if isinstance(status, BySignal):
        _end_by(status - 128)
    os._exit(status)


def _end_by(number: int) -> None:
    """Returns only if that cannot be."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core would be ours
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
