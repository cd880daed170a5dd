"""A file that a descriptor stands for, as a shell has just opened it for a command's output."""

from __future__ import annotations

import fcntl
import os
import stat


def fresh_file(fd: int) -> str:
    """The name of the regular file that all that is written to a descriptor will make up, or "".

    It is empty, nothing has been written, what comes goes to its beginning, and a name leads to it.
    """
    try:
        info = os.fstat(fd)
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        if not stat.S_ISREG(info.st_mode) or info.st_size or os.lseek(fd, 0, os.SEEK_CUR):
            return ""
        if flags & os.O_APPEND or flags & os.O_ACCMODE == os.O_RDONLY:
            return ""
        name = os.readlink(f"/proc/self/fd/{fd}")
        named = os.lstat(name)
    except OSError:
        return ""
    is_it = (named.st_dev, named.st_ino) == (info.st_dev, info.st_ino)
    return name if is_it and os.access(name, os.W_OK) else ""
