"""The command line: what is usual of a build begins at once, all else is for a parser.

How errors become statuses.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from smpmake.cli import quick
from smpmake.cli.exit import ENDINGS, by_signal, leave
from smpmake.cli.names import FAULT
from smpmake.console import say
from smpmake.errors import SmpmakeError
from smpmake.libc import require_glibc

_COERCED: Final = ("C.UTF-8", "C.utf8", "UTF-8")
#: What a write to a file or a device that takes no more fails with.
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point.  Usage errors and our own faults end with status 125."""
    gc.disable()  # what is loaded stays; who runs for long has it enabled again
    give_back_the_locale()
    open_standard_streams()
    words = sys.argv[1:] if argv is None else list(argv)
    status = guarded(lambda: _start(words))
    if argv is None:
        leave(status)
    sys.exit(status)


def _start(words: list[str]) -> Any:
    require_glibc()
    if any(word.startswith("-C") for word in words):
        from smpmake.cli import folder

        words = folder.go(words)
    asked = quick.read(words, os.environ)
    if asked is not None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing has begun that is to be ended
        from smpmake.cli.early import start

        return start(asked.given, asked.command)
    gc.enable()
    from smpmake.cli.group import parsed

    return parsed(words)


def give_back_the_locale() -> None:
    """Builds see what we were given: where the locale was C Python has set LC_CTYPE (PEP 538)."""
    if os.environ.get("LC_CTYPE") not in _COERCED:
        return
    del os.environ["LC_CTYPE"]
    with contextlib.suppress(OSError), open("/proc/self/environ", "rb") as file:
        for variable in file.read().split(b"\0"):
            if variable.startswith(b"LC_CTYPE="):
                os.environ["LC_CTYPE"] = os.fsdecode(variable.partition(b"=")[2])


def open_standard_streams() -> None:
    """Streams that our caller closed become /dev/null: else their numbers would go to sockets."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
    # Python leaves out what was closed; all our own words go to these two.
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def guarded(call: Callable[[], Any]) -> int:
    """The status of a call: what it returns or exits with, 125 for errors of ours.

    What it has printed is out by then: an answer that nobody got is no success.
    """
    try:
        status = call()
        sys.stdout.flush()
    except ENDINGS as error:
        return by_signal(error)
    except OSError as error:
        if error.errno == errno.ENOENT and _is_nowhere():
            say("the current folder is gone: change to another one")
            return FAULT
        if error.errno not in _FULL:
            raise
        say(f"the answer could not be written: {error.strerror}")
        return FAULT
    except SmpmakeError as error:
        say(str(error))
        return FAULT
    return status if isinstance(status, int) else 0


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False
