"""On the board: files of which some commands are to find an older version, or none.

A job asks about such a file before it opens it.  A build has many files that are called alike (a
job's shell looks for `mv` in a dozen folders, and a package of tools makes another), so the board
has the file itself, by its folder's inode and its name, and who is concerned: commands that were
issued behind the change find what is there.  Where the folder is not there, or goes, a name alone
tells.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Final

from smpmake.guard.files import file_of
from smpmake.guard.scoreboard import LIMITS, Scoreboard, output_hash, path_hash
from smpmake.protocol.layout import ROLE_ANYWHERE, ROLE_INPUT, ROLE_KEPT

_VERSIONS: Final = 0xFFFFFD
_PRODUCTS: Final = 0xFFFFFC


class VersionedPaths:
    """One per engine."""

    def __init__(self, board: Scoreboard) -> None:
        self._board = board
        self._names: Counter[int] = Counter()
        self._products: Counter[int] = Counter()
        self._marks: dict[str, tuple[int, int] | None] = {}  # hash and owner; None: its name alone
        self._gone: set[str] = set()

    def version_path(self, path: str, limit: int, *, linked: bool = False) -> None:
        """Commands below the number `limit` are to find something else at a path.  It may have
        been known of fewer.

        linked  the file that is written to has other names, in whatever folders.
        """
        name = path_hash(path)
        if path in self._marks:
            self._raise(path, LIMITS + limit)
            if linked:
                self._board.publish_claims(_VERSIONS, [(name, ROLE_ANYWHERE)])
            return
        self._names[name] += 1
        mark = self._marks[path] = None if linked else self._mark(path, limit)
        if mark is not None:  # first: who finds the name looks for it
            self._board.publish_claims(mark[1], [(mark[0], ROLE_KEPT)])
        self._board.publish_claims(
            _VERSIONS, [(name, ROLE_KEPT | (ROLE_ANYWHERE if mark is None else 0))]
        )
        self._board.count_versions(len(self._names))

    def _raise(self, path: str, owner: int) -> None:
        mark = self._marks[path]
        if mark is not None and mark[1] < owner:
            self._marks[path] = mark[0], owner
            self._board.publish_claims(owner, [(mark[0], ROLE_KEPT)])
            self._board.retract_claims(mark[1], [(mark[0], ROLE_KEPT)])

    def forget_paths(self, path: str) -> None:
        """All find what is there."""
        name, mark = path_hash(path), self._marks.pop(path)
        if _one_less(self._names, name):
            self._board.retract_claims(_VERSIONS, [(name, ROLE_KEPT)])
        if mark is not None:
            self._board.retract_claims(mark[1], [(mark[0], ROLE_KEPT)])
        self._board.count_versions(len(self._names))

    def folders_go(self, folders: Iterable[str]) -> None:
        """Folders are about to go, or to get other names: others may come in their place."""
        for folder in folders:
            self._gone.add(folder)
            for path, mark in self._marks.items():
                if mark is not None and path.startswith(f"{folder}/"):
                    self._board.publish_claims(_VERSIONS, [(path_hash(path), ROLE_ANYWHERE)])

    def note_made(self, path: str) -> None:
        """A file is a command's work, and may not be changed unasked."""
        name = path_hash(path)
        self._products[name] += 1
        self._board.publish_claims(_PRODUCTS, [(name, ROLE_INPUT)])

    def forget_made(self, path: str) -> None:
        """The inverse."""
        name = path_hash(path)
        if _one_less(self._products, name):
            self._board.retract_claims(_PRODUCTS, [(name, ROLE_INPUT)])

    def forget_folders(self) -> None:
        """Nobody is building: folders that went matter no more."""
        self._gone.clear()

    def _mark(self, path: str, limit: int) -> tuple[int, int] | None:
        folder, name = os.path.split(path)
        if os.path.realpath(folder) != folder or self._has_gone(folder):
            return None
        itself = file_of(folder)
        if itself is None:
            return None
        return output_hash(itself, os.fsencode(name)), LIMITS + limit

    def _has_gone(self, folder: str) -> bool:
        while folder not in self._gone:
            above = os.path.dirname(folder)
            if above == folder:
                return False
            folder = above
        return True


def _one_less(counter: Counter[int], name: int) -> bool:
    """Whether there is none left."""
    counter[name] -= 1
    if counter[name]:
        return False
    del counter[name]
    return True
