"""Folders that come, go or move under commands which may look for files in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from smpmake.disk.paths import Paths
from smpmake.guard.versions import Change, Versions
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job, Search

_MOST: Final = 256  # files in a folder, for which versions are kept; beyond that is waited


class SearchPaths:
    """One per engine."""

    def __init__(self, hazards: Hazards, paths: Paths, versions: Versions) -> None:
        self._hazards = hazards
        self._paths = paths
        self._versions = versions

    def jobs_looking_at(self, folder: str, before: int) -> set[Job]:
        """The commands that look whether a folder is there, and not only for files in it."""
        return self.jobs_searching((folder,), before, unsaid=False)

    def jobs_searching(
        self, folders: tuple[str, ...], before: int, *, unsaid: bool = True
    ) -> set[Job]:
        """The commands that search folders, or others below: compilers drop those that are missing.

        unsaid  those, too, who do not say where they look.
        """

        def comes_near(search: Search) -> bool:
            cwd, places = search
            if "/" in places:  # wherever it likes
                return True
            names = [name for each in (".", *places) for name in _on_the_way(each)]
            named = {os.path.normpath(os.path.join(cwd, each)) for each in names}
            return any(
                name == folder or name.startswith(f"{folder}/")
                for name in named | set(map(self._paths.folder, named))
                for folder in folders
            )

        return self._hazards.searching(comes_near, before, unsaid=unsaid)

    def jobs_reading_moved(self, folder: str, other: str, before: int) -> set[Job]:
        """The commands that may read, or look for, a file whose folder gets another name."""
        waits: set[Job] = set()
        for below in self._below(folder):
            if below is None:
                return waits | self._hazards.may_read(before)
            waits |= self._versions.keep_version(f"{folder}/{below}", before, Change.MOVED)
            waits |= self._versions.keep_version(f"{other}/{below}", before, Change.GONE)
        return waits

    def jobs_searching_link(self, target: str, link: str, before: int) -> set[Job]:
        """The commands that may look for a file in a folder to which a new link leads."""
        if not target or not os.path.isdir(target) or self._hazards.next_number == 0:
            return set()
        waits = self.jobs_searching((link,), before)
        for below in self._below(target):
            if below is None:
                return waits | self._hazards.may_read(before)
            waits |= self._versions.keep_version(f"{link}/{below}", before, Change.MOVED)
        return waits

    @staticmethod
    def _below(folder: str) -> Iterator[str | None]:
        """The files in a folder and below, as seen from it; None when there are too many."""
        count = 0
        for where, _, names in os.walk(folder):
            for name in names:
                count += 1
                yield f"{where}/{name}"[len(folder) + 1 :] if count <= _MOST else None


def _on_the_way(path: str) -> Iterator[str]:
    """A folder as it is named, and those that must be there for it, though `..` leads out again."""
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part == ".." and at > 0:
            yield "/".join(parts[:at])
    yield path
