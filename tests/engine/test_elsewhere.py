"""Another engine than this machine is one module that says what `Elsewhere` lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.commands.model import Analysis, Kind
from smpmake.engine.command import Command, command_of
from smpmake.engine.elsewhere import Here, Nowhere
from smpmake.engine.worker_requests import Order
from smpmake.protocol.working import Result
from smpmake.schedule.job import Job
from tests.support.bench import Bench


class Remote(Nowhere):
    """Takes each compile that has not been there, and needs no CPU here for it."""

    compiles = True

    def __init__(self, here: Here) -> None:
        self.here = here
        self.full = False
        self.closed = False
        self.lost: list[Job | None] = []

    def takes(self, command: Command, analysis: Analysis) -> object:
        return "a compile" if analysis.kind is Kind.COMPILE else None

    def waits(self, job: Job) -> bool:
        return self.full and command_of(job).elsewhere is not None

    def start(self, job: Job, order: Order) -> Order:
        if command_of(job).elsewhere is None or job in self.lost:
            return order
        return order.by("/usr/bin/remote", ("remote", "run"), {"REMOTE": "1"})

    def holds(self, job: Job, result: Result | None) -> bool:
        if result is None or result.ok:
            return True
        self.lost.append(job)
        return False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, 2, elsewhere=Remote)
    bench.write("a.c", "b.c", "x.o", "y.o")
    yield bench
    remote = remote_of(bench)
    assert bench.close() == []
    assert remote.closed


def remote_of(bench: Bench) -> Remote:
    found = bench.engine.elsewhere
    assert isinstance(found, Remote)
    return found


def is_remote(bench: Bench, number: int) -> bool:
    order = bench.workers.orders[number]
    return b"/usr/bin/remote\0" in order and b"REMOTE=1\0" in order


def test_it_changes_the_orders_of_what_it_takes(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc x.o -o x")
    assert [is_remote(bench, number) for number in (0, 1)] == [True, False]
    bench.workers.end(0)
    bench.workers.end(1)
    assert bench.states() == ["done", "done"]


def test_what_does_not_hold_runs_again_here(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.workers.end(0, 1 << 8, err=b"no such host\n")
    assert bench.build.promises.failures == []
    assert list(bench.workers.running.values()) == [0]
    assert not is_remote(bench, 0)
    bench.workers.end(0)
    assert bench.states() == ["done"]


def test_what_is_paused_needs_no_slot(bench: Bench) -> None:
    for line in ("gcc -c a.c", "gcc -c b.c", "gcc x.o -o x"):
        bench.run(line)
    assert sorted(bench.workers.running.values()) == [0, 1]
    first, *_ = bench.engine.scheduler.hazards.present()
    remote_of(bench).here.pause(first)
    assert sorted(bench.workers.running.values()) == [0, 1, 2]
    for number in range(3):
        bench.workers.end(number)


def test_who_waits_for_a_place_lets_others_go_first(bench: Bench) -> None:
    remote = remote_of(bench)
    bench.run("gcc x.o -o x")
    remote.full = True
    bench.run("gcc -c a.c")
    bench.run("gcc y.o -o y")
    assert sorted(bench.workers.running.values()) == [0, 2]
    assert bench.engine.counts == (2, 1, 0)  # that it waits is not for lack of memory
    bench.workers.end(2)
    remote.full = False
    remote.here.wake()
    assert sorted(bench.workers.running.values()) == [0, 1]
    for number in (0, 1):
        bench.workers.end(number)


def test_a_dead_workers_job_may_go_once_more(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.workers.lose(0)
    assert is_remote(bench, 0)
    bench.workers.end(0)


def test_the_user_is_told_what_it_says(bench: Bench) -> None:
    remote_of(bench).here.say("the far machine is down")
    assert bench.build.notices == ["the far machine is down"]
