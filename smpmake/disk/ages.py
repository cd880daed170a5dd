"""Folders that list their names by age, as tmpfs and btrfs do."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import stat
import tempfile
from typing import Final

_NAMES: Final = ("q", "b", "zz", "a", "m3", "c", "x", "k", "d", "p1", "e", "n")
_numbers = itertools.count()


def order_of_listing(folder: str) -> int:
    """1 where the file system of a folder lists the names that were made first before the others,
    -1 where it lists them last, and 0 where it has another order.

    Also 0 where a file that replaces another takes over its place.  Tried in a folder of ours, as
    far above as one can be made on that file system.
    """
    try:
        trial = _folder_near(folder)
    except OSError:
        return 0
    try:
        for name in _NAMES:
            _touch(f"{trial}/{name}")
        listed = os.listdir(trial)
        order = {_NAMES[0]: 1, _NAMES[-1]: -1}.get(listed[0], 0)
        if listed[:: order or 1] != list(_NAMES):
            return 0
        _touch(f"{trial}/again")
        os.rename(f"{trial}/again", f"{trial}/{_NAMES[2]}")
        return order if os.listdir(trial)[:: order or 1][-1] == _NAMES[2] else 0
    except OSError:
        return 0
    finally:
        shutil.rmtree(trial, ignore_errors=True)


def make_youngest(path: str) -> None:
    """Has a name come last in its folder's listing: its file is replaced by a copy.

    A file of several names stays.  Raises OSError: then all is as it was.
    """
    folder = os.path.dirname(path)
    info, above = os.lstat(path), os.stat(folder)
    if not stat.S_ISLNK(info.st_mode) and not (stat.S_ISREG(info.st_mode) and info.st_nlink == 1):
        return
    copy = f"{folder}/.smpmake-{os.getpid()}-{next(_numbers)}"
    try:
        shutil.copy2(path, copy, follow_symlinks=False)
        if (info.st_uid, info.st_gid) != (os.geteuid(), os.getegid()):
            os.lchown(copy, info.st_uid, info.st_gid)
        os.rename(copy, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(copy)
        raise
    os.utime(folder, ns=(above.st_atime_ns, above.st_mtime_ns))


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _folder_near(folder: str) -> str:
    device = os.stat(folder).st_dev
    above = [folder]
    while above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    for each in reversed(above):
        with contextlib.suppress(OSError):
            info = os.stat(each)
            if info.st_dev == device:
                made = tempfile.mkdtemp(prefix=".smpmake-", dir=each)
                os.utime(each, ns=(info.st_atime_ns, info.st_mtime_ns))
                return made
    raise OSError(f"no folder can be made near {folder}")
