"""Folders that come, go or move under commands which may look for files in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from smpmake.disk.paths import Paths
from smpmake.guard.versions import Versions
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job, Search

_MOST: Final = 256  # files in a folder, for which versions are kept; beyond that is waited


class Searches:
    """One per engine."""

    def __init__(self, hazards: Hazards, paths: Paths, versions: Versions) -> None:
        self._hazards = hazards
        self._paths = paths
        self._versions = versions

    def through(self, folders: tuple[str, ...], before: int) -> set[Job]:
        """Who searches folders, or others below them: a compiler drops those that are not there."""

        def comes_near(search: Search) -> bool:
            cwd, places = search
            named = {os.path.normpath(os.path.join(cwd, each)) for each in (".", *places)}
            return any(
                name == folder or name.startswith(f"{folder}/")
                for name in named | set(map(self._paths.folder, named))
                for folder in folders
            )

        return self._hazards.searching(comes_near, before)

    def moved(self, folder: str, other: str, before: int) -> set[Job]:
        """Who may read, or look for, a file that goes with its folder to another name."""
        waits: set[Job] = set()
        for below in self._below(folder):
            if below is None:
                return waits | self._hazards.may_read(before)
            for path in (f"{folder}/{below}", f"{other}/{below}"):
                waits |= self._versions.keep(path, before, in_place=False)
        return waits

    def linked(self, target: str, link: str, before: int) -> set[Job]:
        """Who may look for a file in a folder to which a new link leads."""
        if not target or not os.path.isdir(target) or self._hazards.next_number == 0:
            return set()
        waits = self.through((link,), before)
        for below in self._below(target):
            if below is None:
                return waits | self._hazards.may_read(before)
            waits |= self._versions.keep(f"{link}/{below}", before, in_place=False)
        return waits

    @staticmethod
    def _below(folder: str) -> Iterator[str | None]:
        """The files in a folder and below, as seen from it; None when there are too many."""
        count = 0
        for where, _, names in os.walk(folder):
            for name in names:
                count += 1
                yield f"{where}/{name}"[len(folder) + 1 :] if count <= _MOST else None
