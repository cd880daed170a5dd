"""No wait is for a thread that has died unseen."""

from __future__ import annotations

import _thread
import asyncio
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smpmake import threads
from smpmake.engine.sinks import Printer
from smpmake.history import History, Recorder
from smpmake.redact import Redactor
from smpmake.threads import Thread, Worker, run_in_thread
from tests.support.made import build, ran
from tests.support.space import Space

#: Threads that are started and die before a line of theirs is run, as for want of memory.
STILLBORN = """
import _thread, sys, threading
def start(function, args=(), kwargs=None, **more):
    return 1
_thread.start_new_thread = threading._start_new_thread = start
_thread.start_joinable_thread = threading._start_joinable_thread = start
from smpmake.cli import main
sys.exit(main())
"""


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Threads that are started and do not come; called, they come after all."""
    begun: list[Callable[[], None]] = []

    def start(function: Callable[..., None], arguments: tuple[Any, ...]) -> int:
        begun.append(lambda: function(*arguments))
        return 1

    monkeypatch.setattr(_thread, "start_new_thread", start)
    monkeypatch.setattr(threads, "_PATIENCE", 0.0)
    return begun


def test_a_thread_that_does_not_come_is_none(late: list[Callable[[], None]]) -> None:
    done: list[int] = []
    with pytest.raises(RuntimeError, match="did not start"):
        Thread(lambda: done.append(1))
    for come in late:
        come()
    assert done == []


def test_a_thread_that_is_refused_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> int:
        raise MemoryError

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(RuntimeError, match="no memory"):
        Thread(lambda: None)


def test_a_thread_that_comes_in_the_last_moment_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has begun when its starter is about to give it up."""
    begun = _thread.start_new_thread
    monkeypatch.setattr(threads, "_PATIENCE", 0.0)
    at_work = threading.Event()

    def start(function: Callable[..., None], arguments: tuple[Any, ...]) -> int:
        number = begun(function, arguments)
        at_work.wait()
        return number

    monkeypatch.setattr(_thread, "start_new_thread", start)
    thread = Thread(at_work.set)
    thread.join()
    assert thread.is_over


def test_what_a_thread_that_died_has_left_is_done() -> None:
    done: list[int] = []
    go = threading.Event()

    def die() -> None:
        go.wait()
        sys.exit()

    worker = Worker()
    worker.submit(lambda: done.append(1))
    worker.submit(die)
    worker.submit(lambda: done.append(2))
    go.set()
    worker.close()
    assert done == [1, 2]
    with pytest.raises(RuntimeError, match="died"):
        worker.submit(lambda: None)


def test_beside_the_loop_or_in_its_way(late: list[Callable[[], None]]) -> None:
    assert asyncio.run(run_in_thread(lambda: 7)) == 7


def test_what_is_raised_beside_the_loop() -> None:
    def fail() -> None:
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        asyncio.run(run_in_thread(fail))


def test_a_thread_that_dies_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of what it was to do is done, and it cannot say so."""
    monkeypatch.setattr(threads, "_LOOK", 0.001)
    monkeypatch.setattr(Thread, "_run", lambda self: (self._came.release(), self._works.release()))
    with pytest.raises(MemoryError):
        asyncio.run(run_in_thread(lambda: 7))


def test_p8_output_is_written_without_a_thread(
    late: list[Callable[[], None]], tmp_path: Path
) -> None:
    said = os.open(tmp_path / "said", os.O_WRONLY | os.O_CREAT)
    printer = Printer()
    for piece in (b"one\n", b"two\n"):
        printer.write(said, piece)
    printer.discard(said)
    printer.close()
    assert (tmp_path / "said").read_bytes() == b"one\ntwo\n"
    assert len(late) == 1  # it is not tried again


def test_a_record_is_lost_and_no_more(late: list[Callable[[], None]], tmp_path: Path) -> None:
    recorder = Recorder(History(tmp_path / "h.db"), build(ran(0, 0, 1, 2)), Redactor())
    recorder.turn()
    assert recorder.end() == 0
    assert "did not start" in recorder.fault


def test_a_record_outlives_its_thread(tmp_path: Path) -> None:
    """What it had been given to write is written, and its connection closed."""
    history = History(tmp_path / "h.db")
    recorder = Recorder(history, build(ran(0, 0, 1, 2)), Redactor())
    recorder.turn()
    assert recorder._worker is not None
    go = threading.Event()
    recorder._worker.submit(lambda: (go.wait(), sys.exit()))
    recorder._submit(lambda: recorder._write(last=True))
    go.set()
    recorder._close()
    assert recorder.fault == ""
    last = history.last()
    assert last is not None and last.complete


@pytest.mark.chaos  # it waits for some seconds
def test_p5_a_build_whose_threads_die_at_their_start(space: Space) -> None:
    space.write({"a.c": "int a;\n", "b.c": "int b = 1;\n#warning so\n"})
    command = ("-j2", "--", "sh", "-c", "gcc -c a.c; gcc -c b.c; echo > made")
    ended = space.run(sys.executable, "-c", STILLBORN, *command)
    assert ended.status == 0, ended.err
    assert {"a.o", "b.o", "made"} <= set(space.tree())
    assert "so" in ended.err
    space.expect_clean()
