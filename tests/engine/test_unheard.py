"""Checks that nobody has heard of: what tells the server that one is at work."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smpmake.engine.unheard import Unheard
from smpmake.guard.scoreboard import CHECK, Scoreboard
from tests.support.bench import HandClock

HOLDS = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def test_a_check_counts_while_its_process_is_there(tmp_path: Path, clock: HandClock) -> None:
    unheard = Unheard(tmp_path, Scoreboard(tmp_path / "board"), clock)
    woken: list[int] = []
    unheard.wake = lambda: woken.append(unheard.at_work())
    assert unheard.at_work() == 0
    command = [sys.executable, "-c", HOLDS, str(tmp_path / CHECK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as check:
        assert check.stdout is not None
        assert check.stdin is not None
        assert check.stdout.readline() == b"held\n"
        assert unheard.at_work() == 1
        clock.ring()
        check.stdin.close()
    clock.ring()
    assert woken == [1, 0]
    unheard.close()


def test_none_begins_from_where_the_server_has_looked(tmp_path: Path, clock: HandClock) -> None:
    board = Scoreboard(tmp_path / "board")
    unheard = Unheard(tmp_path, board, clock)
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

    unheard = Unheard(tmp_path, Scoreboard(tmp_path / "board"), clock)
    monkeypatch.setattr(fcntl, "fcntl", refuses)
    assert unheard.at_work() == 0
    unheard.close()
