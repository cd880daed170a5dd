"""What is the user's alone: nobody else may change it, or put another one in its place.

smpmake runs programs from folders that earlier builds have made, and believes what they have
written down.  Each is opened here, name by name from the root: a folder on the way in which others
may write is good only if it is sticky, and whatever is passed has to be the user's, or root's.
So the name goes on leading to the same file, and programs may use it.

A build waits for this module: what few need is loaded there.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from pathlib import Path
from typing import Final

from smpmake.console import say

FOLDER: Final = os.O_PATH | os.O_DIRECTORY
#: What to do where the user's folders belong to somebody else.
ANOTHER_CACHE: Final = "let XDG_CACHE_HOME name a folder of yours"
ANOTHER_STATE: Final = "let XDG_STATE_HOME name a folder of yours"
#: What follows where earlier builds' notes may be anybody's.
LEARNS_NOTHING: Final = "smpmake learns nothing from earlier builds"
_STEP: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS: Final = 40  # as many as the kernel follows
_ROOT: Final = 0
_EVERYBODY: Final = 1 << 32  # users, without a namespace of them


class SharedError(PermissionError):
    """Others may change something, or put another one in its place.

    The text says what and why; `remedy` is what its user can do, if that is always the same.
    """

    def __init__(self, place: str, why: str, remedy: str = "") -> None:
        super().__init__(errno.EACCES, why, place)
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.filename} {self.strerror}"


def opened(
    path: str | os.PathLike[str],
    flags: int = os.O_RDONLY,
    *,
    make: bool = False,
    follow: bool = False,
    below: str | os.PathLike[str] = "",
) -> int:
    """A file, or with FOLDER a folder, that is the user's alone.

    make    folders that are not there are made, for the user alone.
    follow  whether the file may be a link; folders may.
    below   a folder where the way of a relative path begins; who could exchange that one is no
            question.
    Raises SharedError, and OSError where there is no such file.
    """
    place = os.fspath(below) or ("/" if os.path.isabs(path) else os.getcwd())
    names = _names(os.fspath(path))
    at = _start(place, is_passed=bool(names))
    try:
        links = 0
        while names:
            name = names.pop()
            is_end = not names
            follows = not is_end or follow or bool(flags & os.O_DIRECTORY)
            before = at
            at = _step(before, name, flags if is_end else FOLDER, make=make, follows=follows)
            here = os.path.normpath(os.path.join(place, name))
            try:
                info = os.fstat(at)
                _demand(info, at, here, is_passed=not is_end)
                if not stat.S_ISLNK(info.st_mode):
                    place = here
                    continue
                links += 1
                if links > _LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), here)
                target = os.readlink("", dir_fd=at)
                names += _names(target) or ["."]
                if target.startswith("/"):
                    root = _start("/", is_passed=True)
                    os.close(before)
                    before, place = root, "/"
                at, before = before, at
            finally:
                os.close(before)
        return at
    except BaseException:
        os.close(at)
        raise


def _names(path: str) -> list[str]:
    """The last one first."""
    return [name for name in reversed(path.split("/")) if name]


def _start(place: str, *, is_passed: bool) -> int:
    """A folder where a way begins."""
    at = os.open(place, FOLDER | os.O_CLOEXEC)
    try:
        _demand(os.fstat(at), at, place, is_passed=is_passed)
    except BaseException:
        os.close(at)
        raise
    return at


def _step(at: int, name: str, flags: int, *, make: bool, follows: bool) -> int:
    """What has a name in an open folder; of a link that is to be followed the link itself."""
    how = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, how, 0o600, dir_fd=at)
    except FileNotFoundError:
        if not make or not flags & os.O_DIRECTORY:
            raise
        with contextlib.suppress(FileExistsError):  # another build's, or a link to nowhere
            os.mkdir(name, 0o700, dir_fd=at)
        return os.open(name, how, dir_fd=at)
    except OSError as error:
        if not follows or error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        fd = os.open(name, _STEP, dir_fd=at)
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise


def demand_folder(path: str | os.PathLike[str], below: str | os.PathLike[str] = "") -> None:
    """Makes a folder, and those above it, where they are not there.  Raises as `opened`."""
    os.close(opened(path, FOLDER, make=True, below=below))


def fault_of(folder: Path, remedy: str) -> str:
    """Why a folder of the user's cannot be used, and what to do; "" if it can, or is to be made."""
    try:
        at = opened(folder, FOLDER)
    except SharedError as error:
        return f"{error} ({error.remedy or remedy})"
    except FileNotFoundError:
        return fault_of(folder.parent, remedy)
    except OSError as error:
        return f"{folder}: {error.strerror} ({remedy})"
    os.close(at)
    return "" if os.access(folder, os.W_OK) else f"{folder} cannot be written to ({remedy})"


def demand_own(folder: str | os.PathLike[str]) -> None:
    """Whether a folder is the user's own, and others cannot write to it, wherever it lies.

    Raises SharedError, or OSError where there is none.
    """
    at = _start(os.fspath(folder), is_passed=False)
    user = os.fstat(at).st_uid
    os.close(at)
    if user != os.geteuid():
        raise SharedError(os.fspath(folder), f"belongs to {_name_of(user)}")


def make_folder(path: Path) -> None:
    """The same without a look at whose it is.  Raises OSError."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def read(
    path: str | os.PathLike[str], *, follow: bool = False, below: str | os.PathLike[str] = ""
) -> bytes:
    """All of a file that is the user's alone.  Raises as `opened`."""
    with open(opened(path, follow=follow, below=below), "rb") as file:
        return file.read()


def lines_of(path: Path, consequence: str, remedy: str) -> list[str]:
    """The lines of such a file of text; none where it cannot be read, or others may change it,
    which is said with its `consequence` (see `complain`)."""
    try:
        return read(path).decode(errors="replace").splitlines()
    except SharedError as error:
        complain(error, consequence, remedy)
    except OSError:
        pass
    return []


_told: Final[set[str]] = set()


def complain(error: SharedError, consequence: str, remedy: str = "") -> None:
    """Says what is not used, why and what then; of one place once."""
    if error.filename not in _told:
        _told.add(error.filename)
        say(f"{error}: {consequence} ({error.remedy or remedy})")


# ---------------------------------------------------------------------- whose it is


def _demand(info: os.stat_result, fd: int, place: str, *, is_passed: bool) -> None:
    """Raises SharedError.

    is_passed  whether it is a folder on the way, in which all that counts is what comes next.
    """
    mode = info.st_mode
    if info.st_uid not in _believed() and not (is_passed and info.st_uid == _unmapped()):
        raise SharedError(place, f"belongs to {_name_of(info.st_uid)}")
    if stat.S_ISLNK(mode) or (is_passed and mode & stat.S_ISVTX):
        return
    remedy = f"chmod go-w {place}"
    if mode & stat.S_IWOTH:
        raise SharedError(place, "may be changed by anybody", remedy)
    if mode & stat.S_IWGRP and (not _is_own_group(info.st_uid, info.st_gid) or _has_list(fd)):
        raise SharedError(place, f"may be changed by {_group_of(info.st_gid)}", remedy)
    if not (is_passed or stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "is neither a file nor a folder", place)


def _believed() -> set[int]:
    """The user and root; but whoever has no number here is anybody."""
    user = os.geteuid()
    return {_ROOT} if user and user == _unmapped() else {_ROOT, user}


@functools.cache
def _unmapped() -> int:
    """Whose all is in a namespace that has no number for its owner; -1 where everybody has one."""
    try:
        with open("/proc/self/uid_map") as ranges, open("/proc/sys/kernel/overflowuid") as number:
            count = sum(int(line.split()[2]) for line in ranges)
            return -1 if count >= _EVERYBODY - 1 else int(number.read())
    except (OSError, ValueError, IndexError):
        return -1


@functools.cache
def _is_own_group(user: int, group: int) -> bool:
    """Whether a group is its user's own, as many systems make one for each: it has the user's
    number or name, and nobody else is in it."""
    import grp
    import pwd

    try:
        known = grp.getgrgid(group)
    except KeyError:
        return user == group
    believed = {user, os.geteuid(), _ROOT}
    if any(each.pw_gid == group and each.pw_uid not in believed for each in pwd.getpwall()):
        return False
    try:
        names = {pwd.getpwuid(each).pw_name for each in {user, os.geteuid()}}
        own = pwd.getpwuid(user).pw_name
    except KeyError:
        return user == group and not known.gr_mem
    return (user == group or known.gr_name == own) and {*known.gr_mem} <= {*names, "root"}


def _has_list(fd: int) -> bool:
    """Whether there is an access control list: then the group's rights are others', too."""
    try:
        return bool(os.getxattr(f"/proc/self/fd/{fd}", "system.posix_acl_access"))
    except OSError:
        return False


def _name_of(user: int) -> str:
    import pwd

    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"


def _group_of(group: int) -> str:
    import grp

    try:
        return f"group {grp.getgrgid(group).gr_name}"
    except KeyError:
        return f"group {group}"
