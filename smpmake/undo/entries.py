"""The entries of the undo journal, as native/layout/undo.h lays them out, and what they tell."""

# Annotations are no texts here: a NamedTuple would compile them, and the first takes 1 ms.
import contextlib
import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from smpmake.protocol import layout
from smpmake.protocol.layout import (
    UNDO_DATA,
    UNDO_GONE,
    UNDO_MARK,
    UNDO_META,
    UNDO_MOVE,
    UNDO_NEW,
    UNDO_SWAP,
)
from smpmake.undo.backup_dirs import move

ENTRY: Final = layout.UNDO_ENTRY_LAYOUT
_PROCESS: Final = list(layout.UNDO_ENTRY_CODES).index("process")  # the parent is behind it
_FARTHEST: Final = 4096  # from a text in an entry back to the entry's beginning


class Change(NamedTuple):
    """An entry: at which position, what kind of change, by whose process (-1: the driver's)."""

    at: int
    kind: int
    command: int
    path: str
    other: str

    @property
    def made(self) -> tuple[str, ...]:
        """Names that are new by it."""
        if self.kind == UNDO_NEW:
            return (self.path,)
        if self.kind == UNDO_MOVE:
            return (self.other,)
        return (self.path, self.other) if self.kind == UNDO_SWAP else ()

    @property
    def paths(self) -> set[str]:
        """The names that it changes."""
        return {self.path, self.other} - {"", "/"}


class Vow(NamedTuple):
    """An entry that is undone at once, while the build goes on, if its command comes to nothing:
    of an older target that was set aside, or of a file that says that the command is done.

    info  of what it is about, None for an empty file that was not there.
    kept  where the older target is.
    """

    kind: int
    path: str
    info: os.stat_result | None
    kept: str = ""

    def take_back(self) -> None:
        """Undoes it, where that loses nothing."""
        path, info = self.path, self.info
        with contextlib.suppress(OSError):
            if self.kind == UNDO_META and info is not None:
                os.utime(path, ns=(os.stat(path).st_atime_ns, info.st_mtime_ns))
            elif self.kind == UNDO_GONE and not os.path.lexists(path):
                move(self.kept, path)
            elif self.kind == UNDO_NEW and _is_it(path, info):
                os.unlink(path)


def _is_it(path: str, info: os.stat_result | None) -> bool:
    """Whether a file is the one that was renamed there, or else as empty as touch makes it."""
    return os.path.samestat(os.lstat(path), info) if info else os.stat(path).st_size == 0


def scan(data: bytes) -> Iterator[Change]:
    """The entries in a log, from one that begins where it does."""
    at = 0
    while at + ENTRY.size <= len(data):
        size, mark, position, kind, _, command, *_ = ENTRY.unpack_from(data, at)
        if size < ENTRY.size or size % 8 or at + size > len(data):
            at += 8
            continue
        if mark == UNDO_MARK:
            path, other = map(_path, data[at + ENTRY.size : at + size].split(b"\0")[:2])
            yield Change(position, kind, command - 1, path, other)
        at += size


def writer_of(path: str, log: bytes, start: int) -> tuple[int, int] | None:
    """The process that last made or changed a file, and its parent, as a piece of a log tells.

    start: the position of the piece's first byte.
    """
    folder, name = os.path.split(path)
    sought = b"/%b\0" % os.fsencode(name)
    found = log.rfind(sought)
    while found >= 0:
        at = _entry_around(log, found, start)
        for change in scan(log[at : at + _FARTHEST * 3]) if at >= 0 else ():
            for made in (change.path,) if change.kind == UNDO_DATA else change.made:
                if os.path.basename(made) == name and _is_same(os.path.dirname(made), folder):
                    process, parent = ENTRY.unpack_from(log, at)[_PROCESS : _PROCESS + 2]
                    return process, parent
            break
        found = log.rfind(sought, 0, found)
    return None


def _entry_around(log: bytes, text: int, start: int) -> int:
    """Where the entry of a guard's begins that has a text at a place; -1 if there is none.

    start: the position of the log's first byte.
    """
    for at in range((text - ENTRY.size) & ~7, max(-1, text - ENTRY.size - _FARTHEST), -8):
        _, mark, position, *_ = ENTRY.unpack_from(log, at)
        if mark == UNDO_MARK and position == start + at:
            return at
    return -1


def _is_same(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _path(text: bytes) -> str:
    return os.path.normpath(os.fsdecode(text)) if text.startswith(b"/") else ""
