"""What pending commands make of the names that an analysis asks about.

What stands on the disk while a command is issued is not what that command will find: commands
before it are still to write, or to remove.  So each question is first put to what is foretold.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from smpmake.commands.model import Files
from smpmake.commands.options import Marker


class Foretold(Marker):
    """What a name will be when the commands that are pending on it have ended."""

    THERE = enum.auto()  # a file, of whose text nothing is known yet
    GONE = enum.auto()
    UNSURE = enum.auto()  # a file or nothing


class PendingAnswerError(Exception):
    """The answer depends on a command that is pending; the argument is the name in question."""


#: Of a name: what is foretold of it, or else the name by which the disk can be asked.
Look = Callable[[str], Foretold | str]


class ForetoldFiles:
    """A disk (see model.Files) as it will be when what is pending has ended."""

    __slots__ = ("_disk", "_look")

    def __init__(self, disk: Files, look: Look) -> None:
        self._disk = disk
        self._look = look

    def read_text(self, path: str) -> str | None:
        """See model.Files."""
        found = self._look(path)
        if isinstance(found, str):
            return self._disk.read_text(found)
        if found is Foretold.GONE:
            return None
        raise PendingAnswerError(path)

    def is_dir(self, path: str) -> bool:
        """See model.Files.  No pending command makes a folder, or removes one."""
        found = self._look(path)
        return isinstance(found, str) and self._disk.is_dir(found)

    def exists(self, path: str) -> bool:
        """See model.Files."""
        found = self._look(path)
        if isinstance(found, str):
            return self._disk.exists(found)
        if found is Foretold.UNSURE:
            raise PendingAnswerError(path)
        return found is Foretold.THERE
