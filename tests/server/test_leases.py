"""What a foreground tool has used, though its parent reaps it."""

from __future__ import annotations

import os

import pytest

from smpmake.decide.procfs import Processes, Usage
from smpmake.history import History
from smpmake.server.leases import Cpu, Meter
from tests.support.space import Space


class Table(Processes):
    """Processes made by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Usage] = {}

    def usage(self, pid: int) -> Usage | None:
        return self.known.get(pid)


def make(children: int) -> Usage:
    return Usage(1, False, 7, 7, children, children // 10)


def test_who_waits_to_be_reaped_is_asked_itself() -> None:
    table = Table()
    table.known[5] = make(100)
    meter = Meter(table)
    meter.begin(9, 5)
    table.known[9] = Usage(5, True, 30, 3, 400, 40)
    assert meter.end(9) == Cpu(430, 43)


def test_who_is_gone_is_in_what_its_parents_children_used() -> None:
    table = Table()
    table.known[5] = make(100)
    meter = Meter(table)
    meter.begin(9, 5)
    table.known[5] = make(350)
    assert meter.end(9) == Cpu(250, 25)


def test_two_children_at_once_cannot_be_told_apart_behind() -> None:
    table = Table()
    table.known[5] = make(100)
    meter = Meter(table)
    meter.begin(9, 5)
    table.known[9] = Usage(5, False, 0, 0, 0, 0)
    meter.begin(10, 5)
    del table.known[9]
    table.known[5] = make(350)
    table.known[10] = Usage(5, True, 30, 3, 0, 0)
    assert meter.end(9) is None
    assert meter.end(10) == Cpu(30, 3)


def test_who_comes_next_is_not_beside_who_has_ended() -> None:
    table = Table()
    table.known[5] = make(100)
    meter = Meter(table)
    meter.begin(9, 5)
    table.known[5] = make(350)
    meter.begin(10, 5)  # we hear of this one first
    table.known[5] = make(400)
    assert meter.end(10) == Cpu(50, 5)
    assert meter.end(9) == Cpu(250, 25)


def test_another_process_of_the_same_number_is_not_it() -> None:
    table = Table()
    meter = Meter(table)
    meter.begin(9, 5)
    table.known[9] = Usage(77, True, 30, 3, 0, 0)
    assert meter.end(9) is None


def test_who_claims_to_have_become_two_tools_has_used_nothing_more() -> None:
    meter = Meter(Table())
    for _ in range(2):
        meter.begin(9, 5)
    meter.end(9)
    assert meter.end(9) is None


def test_what_a_process_has_used() -> None:
    one = Processes().usage(os.getpid())
    assert one is not None
    assert one.parent == os.getppid() and not one.is_over and one.user > 0
    assert Processes().usage(2**22 + 1) is None


@pytest.mark.slow
def test_foreground_commands_have_cpu_times(space: Space) -> None:
    source = "#define R(x) x x x x x x x x\nint f(int a){R(R(R(R(a+=a*3;))))return a;}\n"
    space.write({"a.c": source, "Makefile": "all:\n\tgcc -O1 -c a.c -o a.o\n\tgcc -dumpversion\n"})
    assert space.smpmake("--foreground", "gcc", "make").status == 0
    last = History(space.root / "state" / "smpmake" / "history.db").last()
    assert last is not None
    one = last.commands[0]  # when the next is answered its end is known
    assert one.verdict != "deferred" and one.cpu > 0
    assert one.cpu <= (last.driver_user_us + last.driver_system_us) / 1e6 + 0.05
