"""Folders as a make would list them in a serial build: pending names included.

A make reads names alone from such a listing (and whether each is a folder), so it gets a folder of
empty files under the same names, made once for each state of the real one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from smpmake.disk.trees import remove_tree


class Listings:
    """Listings lie in `folder`, which goes with the session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[int, frozenset[str], frozenset[str], str]] = {}
        self._count = 0

    def listing_of(self, folder: str, come: set[str], go: set[str]) -> str:
        """A folder with the names in `folder`, those that will come added, those that will go left
        out.  Raises OSError."""
        changed = os.stat(folder).st_mtime_ns
        known = self._known.get(folder)
        state = (changed, frozenset(come), frozenset(go))
        if known is not None and known[:3] == state:
            return known[3]
        with os.scandir(folder) as entries:
            listing = self.listing_of_entries(entries, come, go)
        self._known[folder] = (*state, listing)
        return listing

    def drop_listings(self) -> None:
        """Removes all listings: no process reads one."""
        self._known.clear()
        remove_tree(self._folder)

    def listing_of_entries(
        self, entries: Iterable[os.DirEntry[str]], come: set[str], go: set[str]
    ) -> str:
        """The same of a folder's entries as they were at one moment.  Raises OSError."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        file = self._folder / "file"
        file.touch()
        self._count += 1
        listing = f"{self._folder}/{self._count}"
        os.mkdir(listing, 0o700)
        missing = set(come)
        for entry in entries:
            missing.discard(entry.name)
            if entry.name in go:
                continue
            name = f"{listing}/{entry.name}"
            if entry.is_symlink():
                os.symlink("/", name) if entry.is_dir() else os.symlink("x", name)
            elif entry.is_dir():
                os.mkdir(name, 0o700)
            else:
                os.link(file, name)
        for name in missing:
            os.link(file, f"{listing}/{name}")
        return listing
