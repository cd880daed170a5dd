"""Folders that list their names by age, as tmpfs and btrfs do."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from typing import Final

from smpmake.disk.trees import remove_tree

_NAMES: Final = ("q", "b", "zz", "a", "m3", "c", "x", "k", "d", "p1", "e", "n")
_numbers = itertools.count()


def order_of_listing(folder: str, own: str) -> int:
    """1 where the file system of a folder lists the names that were made first before the others,
    -1 where it lists them last, and 0 where it has another order.

    Also 0 where a file that replaces another takes over its place.  Tried in a folder below `own`,
    which is ours, if that is on the same file system, else as far above as one can be made.
    """
    try:
        trial = _folder_near(folder, own)
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
        remove_tree(trial)


def make_youngest(path: str) -> None:
    """Has a name come last in its folder's listing: its file is replaced by a copy.

    A file of several names stays.  Raises OSError: then all is as it was.
    """
    folder = os.path.dirname(path)
    info, above = os.lstat(path), os.stat(folder)
    if not stat.S_ISLNK(info.st_mode) and not (stat.S_ISREG(info.st_mode) and info.st_nlink == 1):
        return
    import shutil  # few builds need it, all would wait for it

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


def _folder_near(folder: str, own: str) -> str:
    device = os.stat(folder).st_dev
    above = [folder]
    while above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    name = f".{os.path.basename(own)}-order"  # which nobody else has
    for each in (own, *reversed(above)):
        with contextlib.suppress(OSError):
            info = os.stat(each)
            if info.st_dev == device:
                trial = f"{each}/{name}"
                os.mkdir(trial, 0o700)
                os.utime(each, ns=(info.st_atime_ns, info.st_mtime_ns))
                return trial
    raise OSError(f"no folder can be made near {folder}")
