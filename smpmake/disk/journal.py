"""Stale copies set aside, and the journal by which they come back if the server is killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path


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
        """Adds an entry to the journal, whole or (where the disk is full) not at all.

        It is for a server that is killed: to do without it is better than to fail.
        """
        entry = b"%c%b\0%b\0" % (ord(kind), os.fsencode(path), os.fsencode(text))
        with contextlib.suppress(OSError):
            done = os.write(self._journal, entry)
            if done < len(entry):
                os.ftruncate(self._journal, os.fstat(self._journal).st_size - done)

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
