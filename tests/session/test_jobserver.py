"""A make above us has a job server: never more compilers than it allows, and its tokens come back
(P6, P9)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.commands.reading.makes import without_jobs
from smpmake.session.jobserver import JobServer, NotPassedError, named_in, of_caller
from smpmake.session.setup import SessionSetup, SetupOptions
from tests.support.bench import Bench
from tests.support.counting import COUNTING, MEETING, counted, most_at_once
from tests.support.space import SMPMAKE, Space, objects
from tests.support.variants import often

RULES = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -c -o $@ $<\n"
#: How an inner make's objects are made: by jobs, and in place.
INNER = ["gcc -c -o $@ $<", "out=`gcc -c -o $@ $<`"]


@pytest.mark.parametrize(
    ("flags", "named", "rest"),
    [
        ("", "", ""),
        ("k", "", "k"),
        (" -j2 --jobserver-auth=3,4", "3,4", ""),
        ("kw -j2 --jobserver-fds=3,4 -l2 -- A=1 B=-j", "3,4", "kw -l2 -- A=1 B=-j"),
        ("-j8 --jobserver-auth=3,4 --jobserver-auth=fifo:/tmp/a", "fifo:/tmp/a", ""),
        ("-kj4 -Ij -w", "", "-k -Ij -w"),
        (" -- X=--jobserver-auth=3,4", "", " -- X=--jobserver-auth=3,4"),
    ],
)
def test_what_makeflags_say(flags: str, named: str, rest: str) -> None:
    assert named_in(flags) == named
    assert without_jobs(flags) == rest


class Pipe:
    """A job server's two ends."""

    def __init__(self) -> None:
        self.ends = os.pipe()
        os.set_blocking(self.ends[0], False)

    @property
    def named(self) -> str:
        return "{},{}".format(*self.ends)

    def left(self) -> bytes:
        """What is in it, which is taken out."""
        try:
            return os.read(self.ends[0], 100)
        except BlockingIOError:
            return b""


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    for end in made.ends:
        os.close(end)


def test_tokens_are_taken_as_needed_and_come_back_as_they_were(pipe: Pipe, tmp_path: Path) -> None:
    os.write(pipe.ends[1], b"ab")
    server = JobServer(pipe.named, tmp_path)
    assert [server.most_slots(wanted) for wanted in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert sorted(server.held) == [b"a", b"b"]
    assert (tmp_path / "tokens").read_bytes()[:6] == b"\2\0\0\0ab"
    server.settle_tokens(2, None)
    assert (pipe.left(), server.held) == (b"b", [b"a"])
    server.close()
    assert pipe.left() == b"a"
    assert (tmp_path / "tokens").read_bytes()[:4] == bytes(4)


def test_a_server_that_is_gone_gives_nothing(tmp_path: Path) -> None:
    ends = os.pipe()
    server = JobServer("{},{}".format(*ends), tmp_path)
    for end in ends:
        os.close(end)
    os.close(server._write)
    server._write = -1
    assert server.most_slots(2) == 1
    server.settle_tokens(1, lambda: None)  # nobody watches what is at its end for ever
    server.close()


@pytest.mark.parametrize(
    "named", ["-2,-2", "198,199", "0,x", "7", "fifo:/nowhere/at/all", "9999999999,1"]
)
def test_what_is_not_passed(tmp_path: Path, named: str) -> None:
    with pytest.raises(NotPassedError):
        of_caller({"MAKEFLAGS": f" -j2 --jobserver-auth={named}"}, tmp_path)
    assert of_caller({"MAKEFLAGS": "k"}, tmp_path) is None


@pytest.mark.parametrize(("program", "kept"), [("make", False), ("/usr/bin/ninja", True)])
def test_who_is_told_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, kept: bool
) -> None:
    """A make issues one command after the other, ninja would not."""
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("MAKEFLAGS", f"k -j2 --jobserver-auth=fifo:{tmp_path}/fifo")
    stage = SessionSetup(program, SetupOptions(guard=False, budget=-1))
    try:
        assert stage.jobserver is not None
        assert stage.environment["MAKEFLAGS"] == (os.environ["MAKEFLAGS"] if kept else "k")
    finally:
        stage.close()


def test_cargo_hands_on_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the build scripts of crates."""
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    monkeypatch.setenv("CARGO_MAKEFLAGS", f"-j --jobserver-auth=fifo:{tmp_path}/fifo")
    stage = SessionSetup("make", SetupOptions(guard=False, budget=-1))
    try:
        assert stage.jobserver is not None
        assert "CARGO_MAKEFLAGS" not in stage.environment
    finally:
        stage.close()
    monkeypatch.setenv("CARGO_MAKEFLAGS", "-j --jobserver-fds=198,199 --jobserver-auth=198,199")
    stage = SessionSetup("make", SetupOptions(guard=False, budget=-1))
    try:
        assert stage.jobserver is None
        assert "cargo" in stage.alone
    finally:
        stage.close()


class Counted:
    """Tokens of which there are few."""

    contended = True

    def __init__(self, free: int) -> None:
        self.free = free
        self.wake: object = None
        self.peak = 0

    def most_slots(self, wanted: int) -> int:
        found = min(wanted, self.free + 1)
        self.peak = max(self.peak, found)
        return found

    def settle_tokens(self, busy: int, wake: object) -> None:
        self.wake = wake

    def tell(self, running: int, waiting: int, why: object) -> None:
        """Nobody asks."""


def test_a_slot_without_a_token_is_none(tmp_path: Path) -> None:
    tokens = Counted(1)
    bench = Bench(tmp_path, 4, tokens=tokens)
    for name in "abcd":
        bench.run(f"gcc -c {name}.c")
    assert len(bench.workers.running) == 2
    assert callable(tokens.wake)
    tokens.free = 2
    tokens.wake()
    assert len(bench.workers.running) == 3
    bench.workers.end(0)
    assert len(bench.workers.running) == 3
    assert tokens.wake is None
    for number in (1, 2, 3):
        bench.workers.end(number)
    assert tokens.peak == 3


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [2, 4])
def test_p6_three_builds_below_one_make(space: Space, jobs: int) -> None:
    counted(space, COUNTING)
    space.write({"Makefile": ".PHONY: a b c\nall: a b c\na b c:\n\t+smp -j4 make -C $@\n"})
    for name in "abc":
        space.write({f"{name}/{path}": text for path, text in objects(6).items()})
        space.write({f"{name}/Makefile": RULES})
    smp = space.root / "tools" / "smp"
    smp.symlink_to(SMPMAKE)
    ended = space.run("make", f"-j{jobs}")
    assert ended.status == 0, ended.err
    assert "jobserver" not in ended.err + ended.out  # make counts its tokens at the end
    assert len(list(space.folder.glob("?/*.o"))) == 18
    assert most_at_once(space) <= jobs
    # An inner make issues one after the other: it is we who take tokens.
    assert ended.out.count("6 in parallel") + ended.err.count("6 in parallel") == 3


@pytest.mark.parametrize("recipe", often(["gcc -c -o $@ $<"], INNER))
def test_p6_a_make_inside_with_jobs_of_its_own(space: Space, recipe: str) -> None:
    """What it runs at once waits for our slots, be it in place or not."""
    counted(space, COUNTING)
    rules = RULES.replace("gcc -c -o $@ $<", recipe)
    space.write({"Makefile": "all:\n\t$(MAKE) -j6 -C a\n"})
    space.write({f"a/{path}": text for path, text in objects(8).items()})
    space.write({"a/Makefile": rules})
    ended = space.smpmake("-j2", "make")
    assert ended.status == 0, ended.err
    assert len(list(space.folder.glob("a/*.o"))) == 8
    assert most_at_once(space) <= 2


@pytest.fixture
def fifo(space: Space) -> Iterator[int]:
    """A job server with one token, besides the slot of who is called."""
    os.mkfifo(space.root / "fifo")
    end = os.open(space.root / "fifo", os.O_RDWR | os.O_NONBLOCK)
    os.write(end, b"t")
    yield end
    os.close(end)


def below_make(space: Space, *options: str) -> subprocess.Popen[bytes]:
    auth = f" -j2 --jobserver-auth=fifo:{space.root / 'fifo'}"
    return space.start(SMPMAKE, *options, "make", MAKEFLAGS=auth)


@pytest.mark.slow
@pytest.mark.parametrize("end", [0, signal.SIGTERM, signal.SIGKILL])
def test_p9_a_token_is_used_and_comes_back(space: Space, fifo: int, end: int) -> None:
    counted(space, MEETING)
    go = space.root / "go"
    os.mkfifo(go)
    space.write({**objects(4), "Makefile": RULES})
    process = below_make(space, "-j4")
    with open(go, "w") as gate:  # somebody reads: two have met
        with pytest.raises(BlockingIOError):
            os.read(fifo, 1)
        if end:
            process.send_signal(end)
        else:
            gate.write("go\n" * 4)
    if end:
        go.unlink()
    else:
        while process.poll() is None:
            with open(os.open(go, os.O_RDWR), "w") as gate:
                gate.write("go\n")
    ended = space.finish(process)
    assert ended.status == -end, ended.err
    assert select.select([fifo], [], [], 60)[0]
    assert os.read(fifo, 10) == b"t"


@pytest.mark.slow
def test_who_is_not_passed_it_is_told(space: Space) -> None:
    counted(space, COUNTING)
    smp = space.root / "tools" / "smp"
    smp.symlink_to(SMPMAKE)
    space.write({"Makefile": "all:\n\tsmp sh -c 'gcc -c f0.c; gcc -c f1.c'\n", **objects(2)})
    # From 4.4 on it has a FIFO, which anybody can open; pipes have to be passed.
    pipes = "--jobserver-style=pipe"
    known = space.run("make", pipes, "--version").status == 0
    ended = space.run("make", "-j2", *([pipes] if known else []))
    assert ended.status == 0
    assert "counted apart" in ended.err
