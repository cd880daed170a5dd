"""What several rounds of two ways to do something can tell: medians, ranges, the faster one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_CHANCE: Final = 0.05  # what chance alone would bring about more rarely is believed
#: Rounds that can tell a difference by agreeing with each other, all of them.
ENOUGH: Final = 1 + math.ceil(-math.log2(_CHANCE))


@dataclass(frozen=True, slots=True)
class Range:
    """A median with the lowest and highest value."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Range:
    """Of at least one value."""
    return Range(statistics.median(values), min(values), max(values))


def ratio(before: Sequence[float], after: Sequence[float]) -> Range:
    """How many times faster the second way is, round by round: the machine drifts between them."""
    return spread([b / a for b, a in zip(before, after, strict=True)])


def verdict(before: Sequence[float], after: Sequence[float]) -> int:
    """-1: the second way is faster, 1: slower, 0: these rounds cannot tell.

    It is told where each time of one way is below all of the other's, in two rounds at least; or
    where so many rounds agree that by chance they would do so once in twenty times (sign test).
    """
    if len(before) < 2:
        return 0
    if max(after) < min(before):
        return -1
    if min(after) > max(before):
        return 1
    faster = sum(a < b for b, a in zip(before, after, strict=True))
    slower = sum(a > b for b, a in zip(before, after, strict=True))
    rounds = faster + slower
    fewer = min(faster, slower)
    chance = sum(math.comb(rounds, k) for k in range(fewer + 1)) / 2 ** max(0, rounds - 1)
    if chance > _CHANCE:
        return 0
    return -1 if faster > slower else 1
