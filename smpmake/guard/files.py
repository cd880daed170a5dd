"""Which of the names in use lead to one file."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

_SYSTEM: Final = ("/usr/", "/bin/", "/sbin/")

File = tuple[int, int]
"""A file whatever its name: device and inode."""


def file_of(path: str) -> File | None:
    """Which file a name leads to now."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino


def changed_ns_of(path: str) -> int | None:
    """When a file was last changed; 0 if nothing is there, None for what is no file."""
    try:
        info = os.lstat(path)
    except OSError:
        return 0
    is_file = stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)
    return info.st_ctime_ns if is_file else None


def programs_of_system(search: str) -> list[File]:
    """Those folders of a PATH that are the system's own: no build removes them, or makes them."""
    folders = (os.path.realpath(folder) for folder in search.split(":") if folder.startswith("/"))
    found = (file_of(folder) for folder in folders if f"{folder}/".startswith(_SYSTEM))
    return [file for file in dict.fromkeys(found) if file is not None]


class Files:
    """Which operands are one file: an index by device and inode of the names in use.

    A name's file changes when a command that writes it ends, deferred or not: then it is looked at
    again, and whenever somebody new uses the name.
    """

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()
        self._file: dict[str, File] = {}
        self._names: dict[File, dict[str, None]] = {}

    def names_entered(self, paths: Iterable[str], known: Mapping[str, File]) -> None:
        """A command uses names; `known` says which file they lead to, where there is one."""
        for path in paths:
            self._uses[path] += 1
            if path in known and self._file.get(path) != known[path]:
                self._drop(path)
                self._put(path, known[path])

    def names_left(self, written: Iterable[str], paths: Iterable[str]) -> None:
        """A command uses `paths` no more, and has written `written`."""
        for path in paths:
            self._uses[path] -= 1
            if self._uses[path] == 0:
                del self._uses[path]
                self._drop(path)
        for path in written:
            if path in self._uses:
                self._drop(path)
                file = file_of(path)
                if file is not None:
                    self._put(path, file)

    def names_of(self, file: File) -> Iterable[str]:
        """The names in use that lead to a file."""
        return self._names.get(file, ())

    def _put(self, path: str, file: File) -> None:
        self._file[path] = file
        self._names.setdefault(file, {})[path] = None

    def _drop(self, path: str) -> None:
        file = self._file.pop(path, None)
        if file is not None:
            names = self._names[file]
            del names[path]
            if not names:
                del self._names[file]
