"""Whether somebody has a file open: the kernel grants a write lease only on one that nobody has."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
from typing import Final

_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def is_held(file: str | int) -> bool | None:
    """Whether anybody has a regular file open or mapped; None where the kernel does not say: the
    file is another user's, or its file system knows no leases.

    file  its path, or a descriptor: then whether anybody has it open otherwise than by this one.
    """
    if isinstance(file, int):
        return _is_open(file)
    try:
        fd = os.open(file, _FLAGS)
    except OSError:
        return None
    try:
        return _is_open(fd)
    finally:
        os.close(fd)


def _is_open(fd: int) -> bool | None:
    try:
        # Whoever opens it in this moment has us signalled: by what nobody is ended by.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    else:
        return False
    finally:
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
