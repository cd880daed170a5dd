"""Builds of the same thing: which of them can be compared, and how a new one stands among them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from smpmake.records import BuildRecord

_BUILDS: Final = 5  # that a build is compared with
_ALIKE: Final = 2.0  # times as much work is another build: all of it, as against two files


@dataclass(frozen=True, slots=True)
class Trend:
    """median  wall seconds of so many (builds) builds before that did the same."""

    median: float
    builds: int

    def difference(self, wall: float) -> float:
        """By which share of it a build took longer."""
        return wall / self.median - 1 if self.median > 0 else 0.0


def wall(head: BuildRecord) -> float:
    """Seconds."""
    return (head.ended - head.started) / 1e9


def alike(one: BuildRecord, other: BuildRecord) -> bool:
    """Whether two builds are of the same command in the same folder, both succeeded, and had about
    as much to do, by the estimate of their serial work."""
    if (one.command, one.cwd) != (other.command, other.cwd):
        return False
    if not all(each.complete and each.known_status == 0 for each in (one, other)):
        return False
    if not one.estimate or not other.estimate:
        return False
    return 1 / _ALIKE <= one.estimate / other.estimate <= _ALIKE


def before(head: BuildRecord, heads: Iterable[BuildRecord], most: int) -> list[BuildRecord]:
    """The last builds before one that are alike, the newest first."""
    found = [each for each in heads if each.id < head.id and alike(head, each)]
    found.sort(key=lambda each: -each.id)
    return found[:most]


def trend(head: BuildRecord, heads: Sequence[BuildRecord]) -> Trend | None:
    """Where a build stands among `heads`; None where none before is alike."""
    found = before(head, heads, _BUILDS)
    if not found:
        return None
    return Trend(statistics.median(map(wall, found)), len(found))
