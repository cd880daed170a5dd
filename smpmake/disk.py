"""What the server asks of the file system: canonical names, times of issue, stale copies set aside.

Every question here costs a system call or two on the path of each command, so answers that can be
checked cheaply are remembered.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

_LONGEST_RESPONSE_FILE: Final = 8 << 20


class Paths:
    """Canonical names for operands: absolute, with the folder's links followed.

    A folder's canonical name is remembered and checked by one stat: the same name still leading
    to the same inode.  The last component is not followed, because tools replace links.
    """

    def __init__(self) -> None:
        self._folders: dict[str, tuple[int, int, str]] = {}

    def canonical(self, cwd: str, path: str) -> str:
        """The name of `path` as seen from `cwd`, which must itself be canonical (getcwd's)."""
        folder, slash, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return self.folder(os.path.join(cwd, path))
        if not slash:
            return f"{cwd}/{name}" if cwd != "/" else f"/{name}"
        parent = self.folder(os.path.join(cwd, folder or "/"))
        return f"{parent}/{name}" if parent != "/" else f"/{name}"

    def forget(self) -> None:
        """A folder was moved: what a name leads to by links is to be looked up anew."""
        self._folders.clear()

    def folder(self, path: str) -> str:
        """The canonical name of a folder, which need not exist."""
        try:
            info = os.stat(path)
        except OSError:
            return os.path.realpath(path)
        known = self._folders.get(path)
        if known is not None and known[0] == info.st_ino and known[1] == info.st_dev:
            return known[2]
        real = os.path.realpath(path)
        self._folders[path] = (info.st_ino, info.st_dev, real)
        return real


class FolderFiles:
    """The disk as a command line's analysis sees it: names relative to one folder.

    pending  whether a file is still to be written; what stands in it is then not to be believed.
    """

    __slots__ = ("_cwd", "_pending")

    def __init__(self, cwd: str, pending: Callable[[str], bool] = lambda path: False) -> None:
        self._cwd = cwd
        self._pending = pending

    def read_text(self, path: str) -> str | None:
        """A response file's text, or None where it cannot be read (or is no plain file)."""
        if self._pending(path):
            return None
        try:
            with open(os.path.join(self._cwd, path), "rb", opener=_open_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                data = file.read(_LONGEST_RESPONSE_FILE + 1)
                if len(data) > _LONGEST_RESPONSE_FILE:
                    return None
                return data.decode(errors="surrogateescape")
        except (OSError, ValueError):
            return None

    def is_dir(self, path: str) -> bool:
        """Whether path is a folder, links followed."""
        return os.path.isdir(os.path.join(self._cwd, path))

    def exists(self, path: str) -> bool:
        """Whether path exists, links followed."""
        return os.path.exists(os.path.join(self._cwd, path))


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


class FileClock:
    """The time that the file system would give a file made now, ns.

    The kernel's clock for files is not the one that programs read, so a file of ours is touched on
    the file system in question and its time read.  It has no name: nothing is ever left behind.
    """

    def __init__(self) -> None:
        self._stamps: dict[int, int] = {}

    def now(self, folder: str) -> int:
        """Raises OSError where nothing can be written near `folder`."""
        device = os.stat(folder).st_dev
        stamp = self._stamps.get(device)
        if stamp is None:
            stamp = self._stamps[device] = self._make(folder)
        os.utime(stamp)
        return os.fstat(stamp).st_mtime_ns

    def close(self) -> None:
        """Gives the descriptors back."""
        for stamp in self._stamps.values():
            os.close(stamp)
        self._stamps.clear()

    @staticmethod
    def _make(folder: str) -> int:
        try:
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError:
            stamp, name = tempfile.mkstemp(dir=folder, prefix=".smpmake-")
            os.unlink(name)
            return stamp


class Asides:
    """Stale copies of targets, out of the driver's sight while their commands are pending.

    A journal in the session's folder lets the keeper put them back if the server is killed.  Its
    entries: a letter, then two NUL-ended texts (native/keeper.c reads them).
    """

    def __init__(self, journal: Path) -> None:
        self._journal = os.open(
            journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        self._count = 0

    def set_aside(self, path: str) -> str:
        """Renames `path`; returns the copy's name, or "" where there was nothing to set aside."""
        folder, name = os.path.split(path)
        self._count += 1
        aside = f"{folder}/.smpmake-aside-{os.getpid()}-{self._count}-{name}"[:4000]
        if len(os.fsencode(os.path.basename(aside))) > 255:
            aside = f"{folder}/.smpmake-aside-{os.getpid()}-{self._count}"
        # The journal first: a name in it without a file is harmless, the other way round is not.
        self.note("A", path, aside)
        try:
            os.rename(path, aside)
        except OSError:
            return ""
        return aside

    def note(self, kind: str, path: str, text: str) -> None:
        """Adds an entry to the journal."""
        os.write(self._journal, b"%c%b\0%b\0" % (ord(kind), os.fsencode(path), os.fsencode(text)))

    @staticmethod
    def put_back(path: str, aside: str) -> None:
        """Undoes `set_aside` for a command that was cancelled."""
        with contextlib.suppress(OSError):
            if os.path.lexists(path):
                os.unlink(aside)
            else:
                os.rename(aside, path)

    def close(self) -> None:
        """Closes the journal; it goes with the session's folder."""
        os.close(self._journal)


def remove(paths: list[str], unlink: Callable[[str], None] = os.unlink) -> None:
    """Removes what is there of `paths`."""
    for path in paths:
        with contextlib.suppress(OSError):
            unlink(path)
