"""What the server asks of the file system: canonical names, and texts.

Every question here costs a system call or two on the path of each command, so answers that can be
checked cheaply are remembered.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import BinaryIO, Final

from smpmake.commands.pending_files import PendingAnswerError
from smpmake.disk.elf import is_program

_LONGEST_RESPONSE_FILE: Final = 8 << 20
_LONG: Final = 1 << 15  # bytes; of such files the last few are remembered
_FEW: Final = 8
_SETTLED: Final = 1_000_000_000  # ns since a file was changed: once more would be another time


#: Device, inode, and the time of its last change.
_Version = tuple[int, int, int]


class Paths:
    """Canonical names for operands: absolute, with the folder's links followed.

    A folder's canonical name is remembered and checked by one stat: the same name still leading
    to the same inode.  The last component is not followed, because tools replace links.
    """

    def __init__(self) -> None:
        self._folders: dict[str, tuple[int, int, str]] = {}
        self._lacking: dict[str, tuple[_Version, set[str]]] = {}
        self._targets: dict[str, tuple[_Version, str]] = {}

    def canonical(self, cwd: str, path: str) -> str:
        """The name of `path` as seen from `cwd`, which must itself be canonical (getcwd's)."""
        folder, slash, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return self.folder(os.path.join(cwd, path))
        if not slash:
            return f"{cwd}/{name}" if cwd != "/" else f"/{name}"
        parent = self.folder(os.path.join(cwd, folder or "/"))
        return f"{parent}/{name}" if parent != "/" else f"/{name}"

    def links(self, cwd: str, folder: str) -> list[str]:
        """The symbolic links by which a folder is reached from `cwd`, by their canonical names."""
        spelled = os.path.normpath(os.path.join(cwd, folder))
        if self.folder(os.path.join(cwd, folder)) == spelled:
            return []
        found, at = [], "/" if folder.startswith("/") else cwd
        for part in folder.split("/"):
            name = self.canonical(at, part) if part else at
            if os.path.islink(name):
                found.append(name)
            at = self.folder(name)
        return found

    def on_path(self, path: str, name: str, is_pending: Callable[[str], bool]) -> str:
        """The program that a shell finds for a name, "" where that may change, or there is none.

        A folder that has no absolute name is looked up when the command runs, and dash has ideas of
        its own about a % in one.
        """
        folders = path.split(":") if "/" not in name else [os.path.dirname(name)]
        name = os.path.basename(name)
        if name in ("", ".", ".."):
            return ""
        for folder in folders:
            if not folder.startswith("/") or "%" in folder:
                return ""
            try:
                info = os.stat(folder)
            except OSError:
                continue  # nor is anything pending in it
            parent = self._followed(folder, info)
            if is_pending(f"{parent}/{name}" if parent != "/" else f"/{name}"):
                return ""
            lacking = self._lacking_in(folder, info)
            if name in lacking:
                continue
            file = f"{folder}/{name}"
            try:
                is_link = stat.S_ISLNK(os.lstat(file).st_mode)
            except OSError:
                if time.time() * 1e9 - info.st_ctime_ns > _SETTLED:
                    lacking.add(name)
                continue
            if is_link and is_pending(self._behind(file)):
                return ""
            if is_program(file):
                return file
        return ""

    def _behind(self, link: str) -> str:
        """What a link leads to: the same as before, if it is the same file."""
        try:
            info = os.stat(link)
        except OSError:
            return os.path.realpath(link)
        file = (info.st_dev, info.st_ino, info.st_ctime_ns)
        known = self._targets.get(link)
        if known is None or known[0] != file:
            known = self._targets[link] = (file, os.path.realpath(link))
        return known[1]

    def _lacking_in(self, folder: str, info: os.stat_result) -> set[str]:
        """Names that a folder is known not to have, for as long as nothing in it changes.

        Commands look for the same few programs, in vain in most of PATH.
        """
        version = (info.st_dev, info.st_ino, info.st_ctime_ns)
        known = self._lacking.get(folder)
        if known is None or known[0] != version:
            known = self._lacking[folder] = (version, set())
        return known[1]

    def forget(self) -> None:
        """A folder was moved: what a name leads to by links is to be looked up anew."""
        self._folders.clear()
        self._targets.clear()

    def folder(self, path: str) -> str:
        """The canonical name of a folder, which need not exist."""
        try:
            info = os.stat(path)
        except OSError:
            return os.path.realpath(path)
        return self._followed(path, info)

    def _followed(self, path: str, info: os.stat_result) -> str:
        known = self._folders.get(path)
        if known is not None and known[0] == info.st_ino and known[1] == info.st_dev:
            return known[2]
        real = os.path.realpath(path)
        self._folders[path] = (info.st_ino, info.st_dev, real)
        return real


class FolderFiles:
    """The disk as it is, for a command line's analysis: names relative to one folder.

    is_pending  of a file, by device and inode: whether its text is still to be written.
    """

    __slots__ = ("_cwd", "_is_pending")

    def __init__(
        self, cwd: str, is_pending: Callable[[tuple[int, int]], bool] = lambda file: False
    ) -> None:
        self._cwd = cwd
        self._is_pending = is_pending

    def read_text(self, path: str) -> str | None:
        """A file's text, or None where it cannot be read (or is no plain file).

        Raises PendingAnswerError.
        """
        try:
            with open(os.path.join(self._cwd, path), "rb", opener=_open_at_once) as file:
                info = os.fstat(file.fileno())
                if self._is_pending((info.st_dev, info.st_ino)):
                    raise PendingAnswerError(path)
                return _text(file, info)
        except (OSError, ValueError):
            return None

    def is_dir(self, path: str) -> bool:
        """Whether path is a folder, links followed."""
        return os.path.isdir(os.path.join(self._cwd, path))

    def exists(self, path: str) -> bool:
        """Whether path exists, links followed."""
        return os.path.exists(os.path.join(self._cwd, path))


_texts: dict[tuple[int, ...], str] = {}


def _text(file: BinaryIO, info: os.stat_result) -> str | None:
    """A regular file's text.  A libtool script is asked for with each command, and is long."""
    if not stat.S_ISREG(info.st_mode):
        return None
    key = (info.st_dev, info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size)
    if key in _texts:
        return _texts[key]
    data = file.read(_LONGEST_RESPONSE_FILE + 1)
    if len(data) > _LONGEST_RESPONSE_FILE:
        return None
    text = data.decode(errors="surrogateescape")
    if len(data) >= _LONG and time.time_ns() - info.st_ctime_ns > _SETTLED:
        while len(_texts) >= _FEW:
            del _texts[next(iter(_texts))]
        _texts[key] = text
    return text


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
