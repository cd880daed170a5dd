"""Memory that processes share by way of a file, every page of it really there.

A sparse file promises pages that a full disk cannot give: whoever touches one then dies of SIGBUS,
be it the server or a compiler.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from pathlib import Path
from typing import Final

from smpmake.errors import SmpmakeError

_BLOCK: Final = 1 << 16


class NoRoomError(SmpmakeError):
    """A shared file cannot be had; the message says why, and what to do."""


def shared_map(path: Path, size: int) -> mmap.mmap:
    """A new file of `size` zeros, mapped.  Raises NoRoomError, and leaves no file then."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _allocate(fd, size)
            return mmap.mmap(fd, size)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise NoRoomError(
            f"{path}: no {size >> 10} KiB to be shared: {why} (make room there, or set TMPDIR)"
        ) from None


def _allocate(fd: int, size: int) -> None:
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        done = 0
        while done < size:  # not every file system can do it in one
            done += os.pwrite(fd, bytes(min(_BLOCK, size - done)), done)
