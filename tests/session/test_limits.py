"""When a build began: with the program, not with the process that became it."""

from __future__ import annotations

import os
import time

import pytest

from smpmake.session.limits import began_ns

MS = 1_000_000


def began(age_ms: int, worked_ms: int, waited_ms: int) -> int:
    """How long ago, in ms, for a process of that age."""
    boot, here = 5_000_000 * MS, 3_000_000 * MS
    tick = 1000 // os.sysconf("SC_CLK_TCK")
    ticks = (boot // MS - age_ms) // tick
    texts = {
        "/proc/self/stat": f"1 (a ) b) S {' '.join(['0'] * 18)} {ticks} 0 0",
        "/proc/self/schedstat": f"{worked_ms * MS} {waited_ms * MS} 17\n",
    }
    clocks = {time.CLOCK_BOOTTIME: boot, time.CLOCK_MONOTONIC: here}
    return (here - began_ns(texts.__getitem__, clocks.__getitem__)) // MS


@pytest.mark.parametrize(
    ("age", "worked", "waited", "ago"),
    [
        (150, 140, 0, 150),
        (900, 140, 0, 900),  # the disk was slow
        (4000, 200, 3500, 4000),  # many wanted the CPU
        (90_000, 160, 20, 180),  # a shell that ran configure and then became us
    ],
)
def test_how_long_ago_it_began(age: int, worked: int, waited: int, ago: int) -> None:
    assert began(age, worked, waited) == ago


def test_where_proc_says_nothing_it_begins_now() -> None:
    def nothing(path: str) -> str:
        raise FileNotFoundError(path)

    assert began_ns(nothing, {time.CLOCK_MONOTONIC: 77}.__getitem__) == 77


def test_the_real_one_is_in_the_past() -> None:
    assert 0 < began_ns() < time.monotonic_ns()
