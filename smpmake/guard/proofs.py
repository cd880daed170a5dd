"""Which programs are known to take a guard: those that have been seen to run with one, and those
of which their loader says so.

That a file looks as if it did is no proof, and a name is none at all.  A program that was seen is
remembered beyond the build, as long as its file is the very same.  Another build of the guard
begins anew.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from smpmake import private

_LARGEST: Final = 1 << 18  # bytes of the file; beyond that it begins anew
_LINE: Final = re.compile(rb"(?:-?\d{1,20} ){9}-?\d{1,20}")


class Identity(NamedTuple):
    """A file and its state; times in ns."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


def identity(path: str) -> Identity | None:
    """Which file a path leads to, as it is now; None where there is none."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return Identity(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


class Proofs:
    """One per engine.

    guard  the library that is preloaded.
    file   where programs are remembered, None for nowhere.  What cannot be read or written there
           is done without: it costs the next build's first moments, and no more.
    """

    def __init__(self, guard: str, file: Path | None) -> None:
        self._guard = identity(guard)
        self._file = file
        self._seen: set[Identity] | None = None
        self._asked: set[Identity] = set()

    def has_seen(self, program: str) -> bool:
        """Whether a program, as it is now, has been seen with a guard."""
        itself = identity(program)
        return itself is not None and itself in self._known()

    def ask_about(self, programs: Iterable[str], ask: Callable[[list[str]], Iterable[str]]) -> None:
        """Has the loader asked about programs that nobody has seen: once about each.

        ask  which of them are loaded with the guard.
        """
        unseen = {}
        for program in programs:
            itself = identity(program)
            if itself is not None and not (itself in self._known() or itself in self._asked):
                unseen[program] = itself
        if unseen:
            self._asked.update(unseen.values())
            # One that was exchanged meanwhile may be another one.
            self._add({each for each in map(identity, ask(list(unseen))) if each in self._asked})

    def add_programs(self, programs: Iterable[str], begun_ns: int) -> bool:
        """Programs have run with a guard.  Returns whether any of them is new.

        begun_ns  before which time: a file that has changed since may be another one.
        """
        found = {identity(program) for program in programs}
        return self._add({each for each in found if each is not None and each.changed < begun_ns})

    def _add(self, found: set[Identity]) -> bool:
        new = found - self._known()
        if new:
            self._known().update(new)
            self._write(new)
        return bool(new)

    def _known(self) -> set[Identity]:
        if self._seen is None:
            self._seen = set()
            try:
                self._seen = self._read()
            except private.SharedError as error:
                private.complain(error, "smpmake watches each compiler anew", private.ANOTHER_CACHE)
            except OSError:
                pass
        return self._seen

    def _read(self) -> set[Identity]:
        """Raises OSError."""
        if self._file is None or self._guard is None:
            return set()
        with open(self._file, "rb", opener=private.opened) as file:
            lines = file.read(2 * _LARGEST).split(b"\n")[:-1]
        rows = [tuple(map(int, line.split())) for line in lines if _LINE.fullmatch(line)]
        return {Identity(*row[5:]) for row in rows if row[:5] == self._guard}

    def _write(self, new: set[Identity]) -> None:
        if self._file is None or self._guard is None:
            return
        with contextlib.suppress(OSError):
            fd = private.opened(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, make=True)
            try:
                if os.fstat(fd).st_size > _LARGEST:
                    os.ftruncate(fd, 0)
                # In one piece: several builds may write.
                os.write(fd, b"".join(_line(self._guard, each) for each in sorted(new)))
            finally:
                os.close(fd)


def _line(guard: Identity, program: Identity) -> bytes:
    return (" ".join(map(str, (*guard, *program))) + "\n").encode()
