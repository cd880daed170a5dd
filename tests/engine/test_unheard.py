"""Checks that nobody has heard of: what tells the server that one is at work."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.decide.procfs import Processes
from smpmake.engine.unheard import Unheard
from smpmake.guard.questions import Waiter
from smpmake.guard.scoreboard import CHECK, Scoreboard
from smpmake.protocol import layout
from smpmake.protocol.wire import Question
from smpmake.records import Stall
from smpmake.schedule.job import Job, Mode, Operands
from tests.support.bench import HandClock

HOLDS = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def at_work(folder: Path) -> Iterator[int]:
    """A process that has the lock, by its number."""
    command = [sys.executable, "-c", HOLDS, str(folder / CHECK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as check:
        assert check.stdout is not None
        assert check.stdin is not None
        assert check.stdout.readline() == b"held\n"
        yield check.pid
        check.stdin.close()


def waiter(pid: int) -> Job:
    """Who waits: a process of the driver's, by its number."""
    question = Question(layout.ASK_READ, pid, -1, "main", "/a.o", "")
    payload = Waiter(question, lambda answer: None, None, Stall("cat", "reads", "/a.o", 0, 1))
    return Job(-1, "main", Mode.WAITER, Operands(), payload=payload)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def test_a_check_counts_while_its_process_is_there(tmp_path: Path, clock: HandClock) -> None:
    unheard = Unheard(tmp_path, Scoreboard(tmp_path / "board"), clock, Processes())
    woken: list[int] = []
    unheard.wake = lambda: woken.append(unheard.at_work())
    assert unheard.at_work() == 0
    with at_work(tmp_path):
        assert unheard.at_work() == 1
        clock.ring()
    clock.ring()
    assert woken == [1, 0]
    unheard.close()


def test_one_that_waits_itself_does_not_count(tmp_path: Path, clock: HandClock) -> None:
    unheard = Unheard(tmp_path, Scoreboard(tmp_path / "board"), clock, Processes())
    with at_work(tmp_path) as check:
        assert unheard.at_work([waiter(os.getpid())]) == 1
        assert unheard.at_work([waiter(os.getpid()), waiter(check)]) == 0
    unheard.close()


def test_none_begins_from_where_the_server_has_looked(tmp_path: Path, clock: HandClock) -> None:
    board = Scoreboard(tmp_path / "board")
    unheard = Unheard(tmp_path, board, clock, Processes())
    before = (tmp_path / "board").read_bytes()
    unheard.at_work()
    assert (tmp_path / "board").read_bytes() != before
    board.at_work(0)
    assert (tmp_path / "board").read_bytes() == before
    unheard.close()


def test_where_there_are_no_locks_nobody_has_one(
    tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> bytes:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    unheard = Unheard(tmp_path, Scoreboard(tmp_path / "board"), clock, Processes())
    monkeypatch.setattr(fcntl, "fcntl", refuses)
    assert unheard.at_work() == 0
    unheard.close()
