"""Checks of configure scripts that run without asking: what tells the server of one."""

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

from smpmake.capacity.checks import UntrackedChecks
from smpmake.decide.procfs import Processes
from smpmake.guard.questions import Waiter
from smpmake.guard.scoreboard import CHECK, Scoreboard
from smpmake.protocol import layout
from smpmake.protocol.wire import Question
from smpmake.records import Stall
from smpmake.schedule.job import Job, Mode, Operands

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


def checks_of(folder: Path) -> UntrackedChecks:
    """As an engine has them."""
    return UntrackedChecks(folder, Scoreboard(folder / "board"), Processes())


def test_a_check_counts_while_its_process_is_there(tmp_path: Path) -> None:
    checks = checks_of(tmp_path)
    assert checks.at_work() == 0
    checks.others_use(0)
    with at_work(tmp_path):
        assert checks.at_work() == 1
    assert checks.at_work() == 0
    checks.close()


def test_one_that_waits_itself_does_not_count(tmp_path: Path) -> None:
    checks = checks_of(tmp_path)
    with at_work(tmp_path) as check:
        assert checks.at_work([waiter(os.getpid())]) == 1
        assert checks.at_work([waiter(os.getpid()), waiter(check)]) == 0
    checks.close()


def test_none_begins_from_where_the_server_has_looked(tmp_path: Path) -> None:
    checks = checks_of(tmp_path)
    before = (tmp_path / "board").read_bytes()
    checks.at_work()
    assert (tmp_path / "board").read_bytes() != before
    checks.others_use(0)
    assert (tmp_path / "board").read_bytes() == before
    checks.close()


def test_a_lock_is_looked_at_only_where_a_check_may_have_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job start beside others makes no system call for it."""
    looks: list[int] = []
    real = fcntl.fcntl

    def counts(fd: int, how: int, lock: bytes) -> bytes:
        looks.append(fd)
        return real(fd, how, lock)

    checks = checks_of(tmp_path)
    monkeypatch.setattr(fcntl, "fcntl", counts)
    assert checks.at_work() == 0
    (descriptor,) = looks
    for used in (1, 2, 1):
        checks.others_use(used)
        with at_work(tmp_path):  # its shim finds the word on the board, and asks
            assert checks.at_work() == 0
    assert looks == [descriptor]
    checks.others_use(0)
    with at_work(tmp_path):
        assert [checks.at_work(), checks.at_work()] == [1, 1]
        checks.others_use(1)
        assert checks.at_work() == 1  # it was there before
    assert checks.at_work() == 0
    assert set(looks) == {descriptor}
    checks.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_where_there_are_no_locks_nobody_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> bytes:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    checks = checks_of(tmp_path)
    monkeypatch.setattr(fcntl, "fcntl", refuses)
    assert checks.at_work() == 0
    checks.close()
