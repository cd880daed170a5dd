"""When a machine has too much to do for one more job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpmake.capacity.pressure import LIMITS, OpenFiles, Pressure, full_of
from smpmake.capacity.table import Wait
from smpmake.server.factory import _load


class Machine:
    """What its files say, and the clock."""

    def __init__(self, load: float | None = None) -> None:
        self.files: dict[str, str] = {}
        self.now = 0.0
        self.looks = 0
        self.pressure = Pressure(load, self._read, lambda: self.now)

    def _read(self, path: str) -> str:
        self.looks += 1
        return self.files.get(path, "")

    def says(self, what: str, full: float, some: float = 99.0) -> Wait:
        """What follows half a second later from such a share of the last 10 s."""
        self.files[f"/proc/pressure/{what}"] = (
            f"some avg10={some} avg60=0.00 avg300=0.00 total=1\n"
            f"full avg10={full} avg60=0.00 avg300=0.00 total=1\n"
        )
        self.now += 0.5
        return self.pressure.holds()


@pytest.mark.parametrize("what", LIMITS)
def test_it_holds_until_it_is_much_less(what: str) -> None:
    above, below = LIMITS[what]
    machine = Machine()
    for full, expected in (
        (above - 1, Wait.NOTHING),
        (above, Wait.PRESSURE),
        (below, Wait.PRESSURE),
        (below - 1, Wait.NOTHING),
        (above - 1, Wait.NOTHING),
    ):
        assert machine.says(what, full) is expected, full


def test_one_look_holds_for_a_moment() -> None:
    machine = Machine()
    machine.says("io", 0)
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


@pytest.mark.parametrize("text", ["", "some avg10=80", "full", "full avg10=", "full avg10=x y"])
def test_what_says_nothing_holds_nobody_up(text: str) -> None:
    assert full_of(text) == 0


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
