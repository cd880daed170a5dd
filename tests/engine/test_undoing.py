"""Builds whose changes are written down, on a bench: what is final, held, or another build's."""

from __future__ import annotations

import signal
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.engine.build import Build
from smpmake.protocol import layout
from smpmake.protocol.wire import Question
from smpmake.undo.journal import UndoJournal
from tests.support.bench import RULES, Bench, Guard

FAILED = 1 << 8  # as wait(2) gives exit status 1


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.write("a.c", "b.c", "c.c")
    made.journal.begin(str(made.folder), 1 << 20)
    made.build.undoing.begin(made.journal, lambda: None)
    yield made
    assert made.close() == []


def inner_build(bench: Bench) -> Build:
    """A build that was started inside the bench's."""
    return bench.begin("inner", outer=bench.build)


def pending(bench: Bench) -> int:
    """How much is pending, as guards see it."""
    board = (bench.folder.parent / "session" / "board").read_bytes()
    return int(struct.unpack_from("=Q", board)[0])


def undo_of(bench: Bench) -> UndoJournal:
    undo = bench.build.undoing.journal
    assert undo is not None
    return undo


def test_what_was_lost_is_final_once_nothing_is_pending(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    undo = undo_of(bench)
    undo.mark_incomplete()
    bench.workers.end(0)
    assert undo.is_incomplete
    bench.workers.end(1)
    assert not undo.is_incomplete
    assert not undo.is_whole


def test_what_was_lost_behind_a_failure_stays_lost(bench: Bench) -> None:
    bench.build = bench.begin("b", RULES._replace(keep_going=True))
    bench.build.undoing.begin(bench.journal, lambda: None)
    bench.run("gcc -c a.c")
    undo_of(bench).mark_incomplete()
    bench.workers.end(0, FAILED)
    assert undo_of(bench).is_incomplete
    bench.build.promises.failures.clear()
    bench.engine.start_over(bench.build, whole=False)


def test_the_failures_of_an_inner_build_are_told_once(bench: Bench) -> None:
    inner_build(bench)
    bench.run("gcc -c a.c", "inner")
    bench.run("gcc -c b.c", "inner")
    bench.workers.end(1, FAILED)
    bench.workers.end(0, FAILED)
    assert [failure.record.number for failure in bench.build.promises.failures] == [1, 0]


def test_an_inner_build_that_is_stopped_holds_nobody(bench: Bench) -> None:
    inner = inner_build(bench)
    bench.run("gcc -c a.c", "inner")
    assert pending(bench) == 1
    bench.engine.stop_build(inner, signal.SIGTERM)
    bench.workers.end(0, signal.SIGTERM)
    assert pending(bench) == 0


def test_an_inner_build_that_goes_on_behind_a_failure_holds_nobody(bench: Bench) -> None:
    bench.begin("inner", RULES._replace(keep_going=True), outer=bench.build)
    bench.run("gcc -c a.c", "inner")
    bench.workers.end(0, FAILED)
    assert pending(bench) == 0


def test_what_is_to_be_taken_back_is_held(bench: Bench) -> None:
    squashes: list[bool] = []
    bench.build.undoing.begin(bench.journal, lambda: squashes.append(True))
    inner_build(bench)
    bench.run("gcc -c a.c", "inner")
    bench.workers.end(0, FAILED)
    assert squashes == [True]
    assert pending(bench) == 1
    bench.engine.start_over(bench.build, whole=True)
    assert pending(bench) == 0


def test_a_stopped_build_is_held(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.engine.stop_build(bench.build, signal.SIGTERM)
    bench.workers.end(0, signal.SIGTERM)
    assert pending(bench) == 1


@pytest.mark.parametrize("name", ["b", "inner", "over"])
def test_room_is_made_whoever_asks(bench: Bench, name: str) -> None:
    """Also for a process that has outlived its build, which was inside another."""
    inner_build(bench)
    guard = Guard()
    bench.engine.ask(Question(layout.ASK_ROOM, 1, -1, name, "/", ""), guard.settle)
    assert guard.answers == [layout.GUARD_GO_ON]


def test_room_is_asked_for_where_nothing_is_written_down(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.ask(layout.ASK_ROOM, "any").answers == [layout.GUARD_GO_ON]
    assert bench.close() == []


@pytest.mark.parametrize("name", ["b", "over"])
def test_nobody_gets_room_who_is_about_to_be_killed(bench: Bench, name: str) -> None:
    bench.run("gcc -c a.c")
    bench.workers.end(0, FAILED)
    guard = Guard()
    bench.engine.ask(Question(layout.ASK_ROOM, 1, -1, name, "/", ""), guard.settle)
    assert guard.answers == []
