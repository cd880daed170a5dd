"""What the engine gets in place of the system's objects: states, folders, files."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import Any, Self


def same(value: Any) -> Any:
    """An answer that JSON can hold as it is."""
    return value


def of_stat(info: os.stat_result) -> list[int]:
    """What is kept of a file's state."""
    return [
        *(info.st_mode, info.st_ino, info.st_dev, info.st_nlink, info.st_uid, info.st_gid),
        *(info.st_size, info.st_atime_ns, info.st_mtime_ns, info.st_ctime_ns),
    ]


def to_stat(found: list[int]) -> os.stat_result:
    """The inverse of `of_stat`."""
    *fixed, atime, mtime, ctime = found
    times = {"st_atime": atime, "st_mtime": mtime, "st_ctime": ctime}
    more = {name: ns / 1e9 for name, ns in times.items()}
    more |= {f"{name}_ns": ns for name, ns in times.items()}
    return os.stat_result((*fixed, *(ns // 10**9 for ns in (atime, mtime, ctime))), more)


class Entries:
    """What scandir gives; os.walk takes them one by one."""

    def __init__(self, entries: Iterable[DirEntry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[DirEntry]:
        return self._entries

    def __next__(self) -> DirEntry:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class DirEntry:
    """An entry of a folder; what else is asked of it is a question of its own."""

    __slots__ = ("_kind", "name", "path")

    def __init__(self, folder: str, name: str, kind: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)
        self._kind = kind

    def __fspath__(self) -> str:
        return self.path

    def is_symlink(self) -> bool:
        return self._kind == "l"

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        if self._kind == "l" and follow_symlinks:
            return os.path.isdir(self.path)
        return self._kind == "d"

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        if self._kind == "l" and follow_symlinks:
            return os.path.isfile(self.path)
        return self._kind == "f"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path, follow_symlinks=follow_symlinks)


def kind_of(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "l"
    if entry.is_dir(follow_symlinks=False):
        return "d"
    return "f" if entry.is_file(follow_symlinks=False) else "?"


class Raw(io.RawIOBase):
    """A file of the engine's, by its descriptor."""

    def __init__(self, fd: int, *, writes: bool) -> None:
        self._fd = fd
        self._writes = writes

    def fileno(self) -> int:
        return self._fd

    def readable(self) -> bool:
        return not self._writes

    def writable(self) -> bool:
        return self._writes

    def readinto(self, buffer: Any) -> int:
        data = os.read(self._fd, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        return os.write(self._fd, data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._fd)
