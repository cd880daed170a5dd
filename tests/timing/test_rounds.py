"""What rounds can tell, and what they cannot."""

from __future__ import annotations

import random

import pytest

from smpmake.timing.rounds import Range, ratio, spread, verdict


def test_medians_and_ranges() -> None:
    assert spread([3.0, 1.0, 100.0]) == Range(3.0, 1.0, 100.0)
    assert ratio([4.0, 9.0, 4.0], [2.0, 3.0, 4.0]) == Range(2.0, 1.0, 3.0)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([10, 11, 12], [7, 8, 9], -1),
        ([7, 8, 9], [10, 11, 12], 1),
        ([10, 11, 12], [9, 10.5, 8], 0),  # three rounds that overlap
        ([10], [5], 0),  # one round tells nothing
        ([10, 14, 18, 22, 26, 30], [9, 13, 17, 21, 25, 29], -1),  # drift, but each round agrees
        ([10, 14, 18, 22, 26, 30], [9, 13, 17, 21, 25, 31], 0),
        ([5, 5, 5], [5, 5, 5], 0),
    ],
)
def test_which_is_faster(before: list[float], after: list[float], told: int) -> None:
    assert verdict(before, after) == told


@pytest.mark.parametrize("rounds", [3, 5, 10, 20])
def test_the_same_twice_is_seldom_told_apart(rounds: int) -> None:
    chance = random.Random(rounds)
    told = 0
    for _ in range(1000):
        before = [chance.gauss(10, 1) for _ in range(rounds)]
        after = [chance.gauss(10, 1) for _ in range(rounds)]
        told += verdict(before, after) != 0
    assert told <= 130  # of three rounds a tenth are apart by chance
