"""Copies that cannot be told from what they were made of, but by when and where they lie."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from typing import Final

_CLONE: Final = 0x40049409  # FICLONE: the same blocks for both, where the file system can do it
_GET_FLAGS: Final = 0x80086601
_SET_FLAGS: Final = 0x40086602
_SHOWN_FLAGS: Final = 0x40 | 0x20 | 0x10  # no dump, append only, immutable
_NO_DUMP: Final = 0x40
_MOST_NAMES: Final = 64


def copy_whole(path: str, to: str, info: os.stat_result, names: int, most: int) -> bool:
    """Makes `to` a copy of a regular file that has all of the file that a process can look at.

    That is contents, mode, owner, group, times, number of names, extended attributes, access lists.
    Returns whether it could; where not, nothing is left.

    info   the file as it was before.
    names  how many it is to have: beside `to` there are `to`.1, `to`.2 ...
    most   bytes that may be copied, where the two cannot have the same blocks.
    """
    try:
        if names <= _MOST_NAMES:
            _copy(path, to, info, names, most)
            if _is_alike(os.stat(to), info, names):
                return True
    except OSError:
        pass
    remove_whole(to)
    return False


def remove_whole(copy: str) -> None:
    """Removes a copy, under all its names."""
    with contextlib.suppress(OSError):
        for n in range(1, os.stat(copy).st_nlink):
            with contextlib.suppress(OSError):
                os.unlink(f"{copy}.{n}")
        os.unlink(copy)


def _copy(path: str, to: str, info: os.stat_result, names: int, most: int) -> None:
    """Raises OSError."""
    source = _open(path)
    try:
        target = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if info.st_size:
                _contents(source, target, info.st_size, most)
            _attributes(source, target, info)
        finally:
            os.close(target)
    finally:
        os.close(source)
    for n in range(1, names):
        os.link(to, f"{to}.{n}")
    os.utime(to, ns=(info.st_atime_ns, info.st_mtime_ns))


def _open(path: str) -> int:
    """For reading, of which its own time of access is to tell nothing."""
    how = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, how | os.O_NOATIME)
    except PermissionError:  # it is another user's
        return os.open(path, how)


def _contents(source: int, target: int, size: int, most: int) -> None:
    try:
        fcntl.ioctl(target, _CLONE, source)
        return
    except OSError:
        if size > most:
            raise
    os.truncate(target, size)
    at = 0
    with contextlib.suppress(OSError):  # nothing but a hole is left
        while at < size:
            at = os.lseek(source, at, os.SEEK_DATA)
            end = os.lseek(source, at, os.SEEK_HOLE)
            os.lseek(target, at, os.SEEK_SET)
            while at < end and (copied := os.sendfile(target, source, at, end - at)) > 0:
                at += copied


def _attributes(source: int, target: int, info: os.stat_result) -> None:
    mine = os.fstat(target)
    if (mine.st_uid, mine.st_gid) != (info.st_uid, info.st_gid):
        os.fchown(target, info.st_uid, info.st_gid)
    wanted, there = _extended(source), _extended(target)
    for name in there.keys() - wanted.keys():
        os.removexattr(target, name)
    for name, value in wanted.items():
        if there.get(name) != value:
            os.setxattr(target, name, value)
    os.fchmod(target, info.st_mode & 0o7777)  # last: a new owner, or a list, changes it
    flags = _flags(source) & _SHOWN_FLAGS
    if flags != _flags(target) & _SHOWN_FLAGS:
        if flags != _NO_DUMP:  # it could not be removed
            raise PermissionError
        fcntl.ioctl(target, _SET_FLAGS, struct.pack("l", _flags(target) | _NO_DUMP))


def _extended(fd: int) -> dict[str, bytes]:
    """All attributes, access lists among them; none where the file system has none."""
    try:
        return {name: os.getxattr(fd, name) for name in os.listxattr(fd)}
    except NotImplementedError:
        return {}
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return {}
        raise


def _flags(fd: int) -> int:
    """What lsattr(1) shows; 0 where the file system has no such thing."""
    try:
        return int(struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, bytes(struct.calcsize("l"))))[0])
    except OSError:
        return 0


def _is_alike(copy: os.stat_result, info: os.stat_result, names: int) -> bool:
    return (
        (copy.st_mode, copy.st_uid, copy.st_gid, copy.st_size, copy.st_nlink)
        == (info.st_mode, info.st_uid, info.st_gid, info.st_size, names)
        and copy.st_mtime_ns == info.st_mtime_ns
        and copy.st_atime_ns == info.st_atime_ns
    )
