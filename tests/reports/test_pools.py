"""Which builds share CPUs, as `smpmake status` shows it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from smpmake.capacity.neighbours import SharedSlots
from smpmake.capacity.table import Member, Standing, Wait
from smpmake.reports import pools
from smpmake.reports.grid import Look
from smpmake.reports.pools import Process, Sharing
from tests.support.space import SMPMAKE, Space

PYTHON = "/usr/bin/python3"


def test_each_build_has_a_row_with_what_it_waits_for() -> None:
    here = Process((PYTHON, "/opt/bin/smpmake", "-j4", "make"), "/src/\x1b[2Ja", 40.0)
    table = Sharing(
        Path("/run/user/7/smpmake-slots-1"),
        (
            (Member(12, 3, Standing(4, 9, 3, 7, Wait.MEMORY)), here),
            (Member(0, 1, Standing(4, 4, 2, 0, 77)), Process()),
        ),
    )
    lines = pools.lines([table], 100.0, Look(120))
    assert lines[0] == "2 builds share 4 slots, 4 are taken"
    assert "\x1b" not in "".join(lines)
    (row,) = [line.split() for line in lines if "smpmake" in line]
    assert row[:9] == ["60.0", "s", "3", "3", "7", "memory", "smpmake", "-j4", "make"]
    assert "(another user, or a container)" in lines[-1]
    (page,) = json.loads(json.dumps(pools.document([table])))
    assert (page["slots"], page["table"]) == (4, "/run/user/7/smpmake-slots-1")
    mine, hers = page["builds"]
    assert (mine["command"], mine["waits_for"]) == (["smpmake", "-j4", "make"], "memory")
    assert (hers["process"], hers["command"], hers["waits_for"]) == (None, [], None)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ((PYTHON, "-m", "smpmake", "make"), ("smpmake", "make")),
        ((PYTHON, "-IB", "/x/smpmake/__main__.py", "make"), ("smpmake", "make")),
        (("make", "all", "smpmake"), ("make", "all", "smpmake")),
        (("/bin/notsmpmake", "x"), ("/bin/notsmpmake", "x")),
        ((), ()),
    ],
)
def test_a_command_as_it_was_typed(command: tuple[str, ...], shown: tuple[str, ...]) -> None:
    assert pools.shown(command) == shown


def test_status_needs_no_server(space: Space) -> None:
    assert "no build runs, and no server" in space.ok(SMPMAKE, "status").out
    other = SharedSlots(space.root / "pool" / "smpmake-slots-0", 2, common=True)
    other.most_slots(2)
    told = space.ok(SMPMAKE, "status").out
    assert told.startswith("one build has 2 slots, 2 are taken\n")
    page = json.loads(space.ok(SMPMAKE, "status", "--json").out)
    assert page["server"] is None
    assert page["tables"][0]["builds"][0]["process"] == os.getpid()
    other.close()
    assert space.run(SMPMAKE, "status", "--socket", "nonesuch").status != 0
