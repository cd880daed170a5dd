"""The disk as analyses are to see it: as it will be when what is pending has ended."""

from __future__ import annotations

import functools
import os
from typing import Final

from smpmake.commands.model import Files
from smpmake.commands.pending_files import Foretold, ForetoldFiles
from smpmake.disk.paths import FolderFiles, Paths
from smpmake.guard.pending import Pending
from smpmake.schedule.hazards import Hazards

_MOST_LINKS: Final = 40  # as the kernel follows


class Foresight:
    """One per engine."""

    def __init__(self, hazards: Hazards, pending: Pending, paths: Paths) -> None:
        self._hazards = hazards
        self._pending = pending
        self._paths = paths

    def files_foreseen(self, cwd: str) -> Files:
        """The disk for a command that is issued now in a folder (its canonical name)."""
        if not self._hazards.deferred:
            return FolderFiles(cwd)
        disk = FolderFiles(cwd, self._is_rewritten)
        return ForetoldFiles(disk, functools.partial(self._look, cwd))

    def is_to_come(self, path: str) -> bool:
        """Whether a pending command makes a file of that canonical name, or may."""
        told = self._told(path)
        return told is not None and told is not Foretold.GONE

    def _look(self, cwd: str, path: str) -> Foretold | str:
        """See foretold.Look.  Links are followed, as whoever asks the disk follows them."""
        if path.rpartition("/")[2] in ("", ".", "..") or "\0" in path:
            return path  # a folder, if anything: of these none is pending
        name = self._paths.canonical(cwd, path)
        for _ in range(_MOST_LINKS):
            told = self._told(name)
            if isinstance(told, Foretold):
                return told
            if told is None:
                try:
                    target = os.readlink(name)
                except OSError:
                    return name
                told = self._paths.canonical(os.path.dirname(name), target)
            name = told
        return path

    def _told(self, name: str) -> Foretold | str | None:
        """What is foretold of a canonical name, the name that a link leads to, or nothing."""
        if not self._hazards.is_written(name):
            return None
        promise = self._pending.promise_at(name)
        if promise is None:
            return None
        if promise.absent:
            return Foretold.GONE
        if promise.leads_to:
            return promise.leads_to
        return Foretold.UNSURE if promise.perhaps or promise.unsure else Foretold.THERE

    def _is_rewritten(self, file: tuple[int, int]) -> bool:
        """Whether a pending command may write to a file, by whatever name."""
        return any(map(self.is_to_come, self._pending.names_of(file)))
