"""When a machine has too much to do for one more job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpmake.capacity.pressure import OpenFiles, Pressure, stalled_us
from smpmake.capacity.table import Wait
from smpmake.server.factory import _load


class Machine:
    """What its files say, and the clock."""

    def __init__(self, stalls: int = 0, load: float | None = None) -> None:
        self.files: dict[str, str] = {}
        self.totals = {"memory": 10**9, "io": 10**10}
        self.now = 0.0
        self.looks = 0
        self.pressure = Pressure(stalls, load, self._read, lambda: self.now)
        self.passes("io", 0)

    def _read(self, path: str) -> str:
        self.looks += 1
        return self.files.get(path, "")

    def passes(self, what: str, full: float) -> Wait:
        """What follows from two seconds in which so much of the time was lost."""
        self.now += 2
        self.totals[what] += int(full * 2e6)
        for name, total in self.totals.items():
            self.files[f"/proc/pressure/{name}"] = (
                "some avg10=99.00 avg60=99.00 avg300=99.00 total=99\n"
                f"full avg10=99.00 avg60=99.00 avg300=99.00 total={total}\n"
            )
        return self.pressure.holds()


@pytest.mark.parametrize("what", ["memory", "io"])
def test_it_holds_until_it_is_half_as_much(what: str) -> None:
    machine = Machine(40)
    for full, expected in (
        (0.39, Wait.NOTHING),
        (0.41, Wait.PRESSURE),
        (0.21, Wait.PRESSURE),
        (0.19, Wait.NOTHING),
        (0.39, Wait.NOTHING),
    ):
        assert machine.passes(what, full) is expected, full


def test_who_named_no_limit_looks_at_nothing() -> None:
    machine = Machine()
    assert machine.passes("io", 1) is Wait.NOTHING
    assert machine.looks == 0


def test_a_short_time_tells_nothing() -> None:
    machine = Machine(40)
    machine.passes("io", 0)
    machine.now -= 1.4
    assert machine.passes("io", 1) is Wait.NOTHING


def test_one_look_holds_for_a_moment() -> None:
    machine = Machine(40)
    machine.passes("io", 0)
    looks = machine.looks
    machine.now += 0.4
    assert machine.pressure.holds() is Wait.NOTHING
    assert machine.looks == looks


def test_a_load_counts_others_only() -> None:
    machine = Machine(load=2)
    for running, expected in ((1, Wait.NOTHING), (2, Wait.NOTHING), (3, Wait.LOAD)):
        machine.files["/proc/loadavg"] = f"9.00 9.00 9.00 {running}/321 4711\n"
        machine.now += 1
        assert machine.pressure.holds() is expected


@pytest.mark.parametrize("text", ["", "some total=80", "full", "full total=", "full total=x y"])
def test_what_says_nothing_holds_nobody_up(text: str) -> None:
    assert stalled_us(text) == 0


def test_files_are_opened_once(tmp_path: Path) -> None:
    path = tmp_path / "io"
    path.write_text("one")
    files = OpenFiles()
    assert files.read(str(path)) == "one"
    descriptors = os.listdir("/proc/self/fd")
    path.write_text("two")
    assert files.read(str(path)) == "two"
    assert files.read(str(tmp_path / "none")) == ""
    assert len(os.listdir("/proc/self/fd")) == len(descriptors)
    files.close()
    assert len(os.listdir("/proc/self/fd")) == len(descriptors) - 1


@pytest.mark.parametrize(
    ("named", "makeflags", "load"),
    [
        ("", "", None),
        ("", "k -j2 -l3 --jobserver-auth=3,4", 3.0),
        ("", " -l2.5 -- CFLAGS=-l9", 2.5),
        ("", "--load-average=4", 4.0),
        ("7", " -l3", 7.0),
        ("", "w -llib", None),
    ],
)
def test_whose_load_counts(
    named: str, makeflags: str, load: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", makeflags)
    assert _load(named) == load
