"""The names of results, in the order in which a serial build makes them.

Some file systems list a folder's names by age, and some builds take them in that order: an archive
of all that `find` prints.  So where a job ends before an earlier one of its folder, its results are
made the youngest of the folder when that one has ended.  Until then whoever lists the folder waits,
and so does whoever makes a name in it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from smpmake.disk.ages import make_youngest, order_of_listing
from smpmake.guard.files import File, file_of

_Left = tuple[int, list[str]]
"""A job that has ended, by its number, and the names that it has made in a folder."""


class NamesInOrder:
    """One per engine.  own: the session's folder."""

    def __init__(self, own: str) -> None:
        self._own = own
        self._orders: dict[int, int] = {}  # of listings, by device
        self._pending: dict[str, dict[int, dict[str, File | None]]] = {}
        self._early: dict[str, list[_Left]] = {}
        self._begun: dict[str, set[int]] = {}  # which may have made names before an earlier job

    @property
    def pending(self) -> int:
        """In how many folders names are still to be made."""
        return len(self._pending)

    def job_entered(self, number: int, folder: str, device: int, was: Mapping[str, File]) -> None:
        """A job will make names in a folder.

        was  what its operands were at its issue, those that were there.
        """
        order = self._orders.get(device)
        if order is None:
            order = self._orders[device] = order_of_listing(folder, self._own)
        if order:
            self._pending.setdefault(folder, {})[number] = dict(was)

    def job_left(self, number: int, written: Iterable[str], running: Iterable[int]) -> None:
        """It has ended, or will not run.

        written  all that it was to write.
        running  those that may have begun to write.
        """
        if not self._pending:
            return
        for folder in set(map(os.path.dirname, written)):
            jobs = self._pending.get(folder)
            if jobs is None or number not in jobs:
                continue
            was = jobs.pop(number)
            made = [p for p in written if os.path.dirname(p) == folder and _is_new(p, was)]
            first = next(iter(jobs), None)
            early = self._early.setdefault(folder, [])
            begun = self._begun.setdefault(folder, set())
            begun.update(each for each in running if each > number and each in jobs)
            if number in begun or (first is not None and first < number):
                early.append((number, made))
            if early and (first is None or first > number):
                self._renew(folder, first)
            if not jobs:
                for table in (self._pending, self._early, self._begun):
                    del table[folder]

    def _renew(self, folder: str, before: int | None) -> None:
        """What came too early comes last now, up to what an earlier job is still to make."""
        early = sorted(self._early[folder])
        ready = [each for each in early if before is None or each[0] < before]
        self._early[folder] = early[len(ready) :]
        try:
            order = self._orders[os.stat(folder).st_dev]
            listed = os.listdir(folder)[::order]
        except (KeyError, OSError):  # the folder is another one by now
            return
        place = {name: number for number, name in enumerate(listed)}
        for _, paths in ready:
            names = {os.path.basename(path): path for path in paths}
            for name in sorted(names.keys() & place.keys(), key=place.__getitem__):
                with contextlib.suppress(OSError):
                    make_youngest(names[name])


def _is_new(path: str, was: Mapping[str, File | None]) -> bool:
    """Whether a name has been made, and not only written to."""
    now = file_of(path)
    return now is not None and now != was.get(path)
