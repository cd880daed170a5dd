"""What the engine gets in place of the system's objects: states, files, maps, variables."""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self

from smpmake.recording.plain import text_of
from smpmake.recording.world import World


class Asked(Protocol):
    """What stands between the engine and the system (system.System)."""

    world: World

    def text(
        self, question: str, target: str, real: Callable[[], bytes], *, anew: bool = False
    ) -> bytes:
        """A question whose answer is bytes."""


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
    """What scandir gives."""

    def __init__(self, entries: Iterator[DirEntry]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[DirEntry]:
        return self._entries

    def __next__(self) -> DirEntry:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def close(self) -> None:
        """See os.scandir."""


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

    def inode(self) -> int:
        return os.lstat(self.path).st_ino


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


class View:
    """A file that is mapped to be read: its pieces, and where something stands in it."""

    def __init__(self, system: Asked, name: str, real: mmap.mmap | None) -> None:
        self._system = system
        self._name = name
        self._real = real

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        if self._real is not None:
            self._real.close()

    def __getitem__(self, part: slice) -> bytes:
        def real() -> bytes:
            assert self._real is not None
            return self._real[part]

        return self._system.text(f"mapped {part.start or 0} {part.stop}", self._name, real)

    def find(self, mark: bytes) -> int:
        """See mmap.find."""

        def real() -> int:
            assert self._real is not None
            return self._real.find(mark)

        question = f"find {text_of(mark)}"
        return int(self._system.world.ask(question, self._name, real, same, same))


class Variables(dict[str, str]):
    """Our own environment, of which each variable is a question."""

    def __init__(self, system: Asked, real: Any) -> None:
        super().__init__()
        self._system = system
        self._real = real

    def get(self, name: str, default: Any = None) -> Any:
        world = self._system.world
        if world.current is None:
            return self._real.get(name, default)
        found = world.ask("variable", name, lambda: self._real.get(name), same, same)
        return default if found is None else found

    def __getitem__(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return str(found)

    def __contains__(self, name: object) -> bool:
        return self.get(str(name)) is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setitem__(self, name: str, value: str) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def keys(self) -> Any:
        return self._real.keys()

    def items(self) -> Any:
        return self._real.items()

    def values(self) -> Any:
        return self._real.values()

    def copy(self) -> dict[str, str]:
        return dict(self._real)
