"""What a caller is, as /proc tells."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from smpmake.decide.procfs import (
    Caller,
    Processes,
    asks_for_status,
    callers_below_make,
    is_limited,
)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("gcc -o p p.c && strip p", True),
        ("gcc -o p p.c || true", True),
        ("if gcc -o p p.c; then echo; fi", True),
        ("! gcc -o p p.c", True),
        ("set -x; ( if gcc -o p p.c; then :; fi )", True),
        ("while gcc -o p p.c; do :; done", True),
        ("gcc -o p p.c", False),
        ("cd d && gcc -o p p.c", False),
        ("gcc -o p p.c; ./p && echo ran", False),
        ("test -f p || gcc -o p p.c", False),
    ],
)
def test_whose_status_decides(text: str, asks: bool) -> None:
    assert asks_for_status([b"/bin/sh", b"-c", text.encode()], b"gcc", b"p.c") is asks
    assert not asks_for_status([b"/bin/sh", b"build.sh"], b"gcc", b"p.c")
    assert not asks_for_status([b"python3", b"-c", text.encode()], b"gcc", b"p.c")


class Chain(Processes):
    """Each process is the next one's parent; they began 10 s apart, the first at 0."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.callers = [Caller(pid, name, pid - 1, pid * 10.0, 1) for pid, name in enumerate(names)]

    def caller(self, pid: int) -> Caller | None:
        return self.callers[pid] if 0 <= pid < len(self.callers) else None


@pytest.mark.parametrize(
    ("names", "since", "limited"),
    [
        (("timeout", "sh"), 0.0, True),
        (("timeout", "sh"), 10.0, False),  # the build began below it
        (("timeout", "make", "sh"), 0.0, False),
        (("timeout", "smpmake-keeper", "sh"), 0.0, False),
        (("sh", "timeout"), 0.0, True),
        (("sh", "sh"), 0.0, False),
    ],
)
def test_whose_time_is_limited(names: tuple[str, ...], since: float, limited: bool) -> None:
    chain = Chain(*names)
    callers, _ = callers_below_make(chain, chain.callers[-1], since)
    assert is_limited(callers) is limited


def test_children_are_those_of_all_threads_until_their_end_was_heard_of() -> None:
    """A parallel driver starts its commands in several threads."""
    here, found = Processes(), []
    started = [threading.Event() for _ in range(2)]
    go_on = threading.Event()

    def start(at: int) -> None:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            found.append(child.pid)
            started[at].set()
            go_on.wait()

    threads = [threading.Thread(target=start, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for each in started:
        each.wait()
    assert set(found) <= here.children(os.getpid())
    os.kill(found[0], signal.SIGKILL)
    assert found[0] in here.children(os.getpid())
    go_on.set()
    for thread in threads:
        thread.join()
    assert here.children(os.getpid()).isdisjoint(found)
    assert here.children(found[0]) == set()
