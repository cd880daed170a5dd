"""A shell's job server: tokens for its tools, which are slots of the table that builds share."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from smpmake.capacity.neighbours import SharedSlots
from smpmake.capacity.table import members
from smpmake.cli import jobserver as tool
from smpmake.server import shell_jobserver
from smpmake.server.shell_jobserver import ShellJobserver
from smpmake.session.jobserver import leave_shells
from tests.support.counting import COUNTING, counted, most_at_once
from tests.support.space import SMPMAKE, Space, objects

#: A make, as far as tokens go: takes one for each `t`, and gives one back for each `g`.
CLIENT = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
print("open", flush=True)
for line in sys.stdin:
    if line == "t\\n":
        os.read(fd, 1)
    else:
        os.write(fd, b"+")
    print("done", flush=True)
"""
SLOTS = 4


class Client:
    """A process that has the FIFO open."""

    def __init__(self, fifo: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(fifo)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._heard()

    def _heard(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() in ("open\n", "done\n")

    async def do(self, what: str) -> None:
        """Returns when it is done, which may be when there is a token."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        await asyncio.to_thread(self._heard)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Shell:
    """A job server of four slots, the table, and another build in it."""

    def __init__(self, folder: Path) -> None:
        self.table = folder / "slots"
        self.fifo = folder / "fifo"
        os.mkfifo(self.fifo)
        self.server = ShellJobserver(self.fifo, SharedSlots(self.table, SLOTS), SLOTS)
        self.other = SharedSlots(self.table, SLOTS)
        self.clients: list[Client] = []

    def client(self) -> Client:
        self.clients.append(Client(self.fifo))
        return self.clients[-1]

    @property
    def held(self) -> list[int]:
        """Slots that the job server has, and the other build."""
        return [each.held for each in members(self.table)]

    async def until(self, is_so: Callable[[], bool]) -> None:
        async def turn() -> None:
            while not is_so():
                await asyncio.sleep(0)

        await asyncio.wait_for(turn(), 60)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_jobserver, "_TURN", 0.01)


@asynccontextmanager
async def shell(folder: Path) -> AsyncIterator[Shell]:
    found = Shell(folder)
    try:
        yield found
    finally:
        for each in found.clients:
            each.kill()
        found.server.close()
        found.other.close()


def test_who_opens_it_gets_what_is_free_and_gives_it_back(tmp_path: Path) -> None:
    async def play() -> None:
        async with shell(tmp_path) as there:
            assert there.held == [0, 0]
            client = there.client()
            await there.until(lambda: there.held == [SLOTS, 0])
            for _ in range(SLOTS - 1):  # its first job needs no token
                await client.do("t")
            await client.do("g")
            assert client.process.stdin is not None
            client.process.stdin.close()
            await there.until(lambda: there.held == [0, 0])
            assert there.server.is_idle
            client.process.wait()

    asyncio.run(play())


def test_tokens_of_who_is_killed_are_there_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with shell(tmp_path) as there:
            for _ in range(5):
                client = there.client()
                for _ in range(SLOTS - 1):
                    await client.do("t")
                client.kill()
                await there.until(lambda: there.held == [0, 0])

    asyncio.run(play())


def test_what_nobody_uses_is_others(tmp_path: Path) -> None:
    async def play() -> None:
        async with shell(tmp_path) as there:
            client = there.client()
            await client.do("t")
            await there.until(lambda: there.held == [SLOTS, 0])
            # Another build wants all: one token stays in the FIFO, to see whether anybody takes it.
            there.other.settle_tokens(1, lambda: None)
            await there.until(lambda: there.held[0] == 2)
            assert there.other.most_slots(SLOTS) == 2
            there.other.settle_tokens(0, None)
            await there.until(lambda: there.held == [SLOTS, 0])

    asyncio.run(play())


def test_a_token_that_is_given_back_goes_to_who_has_less_than_his_share(tmp_path: Path) -> None:
    async def play() -> None:
        async with shell(tmp_path) as there:
            client = there.client()
            for _ in range(SLOTS - 1):
                await client.do("t")
            there.other.settle_tokens(1, lambda: None)
            assert there.held == [SLOTS, 0]
            await client.do("g")
            await there.until(lambda: there.held[0] == SLOTS - 1)

    asyncio.run(play())


# ------------------------------------------------------------------ what a shell is told


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("GNU Make 4.4.1\nBuilt for x", (4, 4)),
        ("GNU Make 4.3", (4, 3)),
        ("GNU Make 3.81", (3, 81)),
        ("bmake", ()),
    ],
)
def test_which_make_it_is(tmp_path: Path, said: str, version: tuple[int, ...]) -> None:
    make = tmp_path / "make"
    make.write_text(f"#!/bin/sh\necho '{said}'\n")
    make.chmod(0o755)
    assert tool._version(str(make)) == version
    assert tool._version(str(tmp_path / "none")) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "{}"),
        ("k", "'k {}'"),
        ("k -- CC=gcc", "'k {} -- CC=gcc'"),
        ("-- CC=gcc", "'{} -- CC=gcc'"),
        ("-j9 --jobserver-auth=fifo:/old/smpmake-tokens", "{}"),
    ],
)
def test_what_makeflags_become(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    monkeypatch.setenv("MAKEFLAGS", before)
    shell, export = tool.told(tmp_path, 7, (4, 4))
    assert shell == f"echo $$ >{tmp_path}/shell"
    ours = f"-j7 --jobserver-auth=fifo:{tmp_path}/smpmake-tokens"
    quoted = after.format(ours) if after.startswith("'") else f"'{after.format(ours)}'"
    assert export == f"export MAKEFLAGS={quoted}"


@pytest.mark.parametrize(("version", "option"), [((4, 3), "auth"), ((3, 81), "fds")])
def test_an_older_make_gets_descriptors_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], option: str
) -> None:
    """Not from the shell: what a script does with the same numbers is its own affair."""
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    _, export, function = tool.told(tmp_path, 7, version)
    assert export.startswith("export CARGO_MAKEFLAGS=")
    assert f"--jobserver-{option}=8,9" in function
    make = tmp_path / "make"
    make.write_text("#!/bin/sh\necho $MAKEFLAGS $1; ls -l /proc/self/fd/8 /proc/self/fd/9\n")
    make.chmod(0o755)
    os.mkfifo(tmp_path / "smpmake-tokens")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script = f"{function}; exec 8<&0; MAKEFLAGS=k; make 'a b'; readlink /proc/self/fd/8; sh -c make"
    for shell in ("dash", "bash"):
        told = subprocess.run(
            [shell, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL
        ).stdout.splitlines()
        assert told[0] == f"k -j7 --jobserver-{option}=8,9 a b"
        assert [line.endswith("/smpmake-tokens") for line in told[1:3]] == [True, True]
        assert told[3] == "/dev/null"  # the shell's own
        assert not any("smpmake-tokens" in line for line in told[4:])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("-j2 --jobserver-auth=fifo:/tmp/x/smpmake-tokens", None),
        ("ks -l3 -j22 --jobserver-auth=fifo:/a/smpmake-tokens -- CC=gcc", "ks -l3 -- CC=gcc"),
        ("-j2 --jobserver-auth=fifo:/tmp/GMfifo7", "-j2 --jobserver-auth=fifo:/tmp/GMfifo7"),
        ("-j2 --jobserver-auth={0},{0}", None),
        ("-j2 --jobserver-auth=99999,7", "-j2 --jobserver-auth=99999,7"),
        ("-j4", "-j4"),
    ],
)
def test_a_build_with_smpmake_leaves_it(tmp_path: Path, before: str, after: str | None) -> None:
    fifo = tmp_path / "smpmake-tokens"
    os.mkfifo(fifo)
    fd = os.open(fifo, os.O_RDWR)
    environment = {"MAKEFLAGS": before.format(fd), "CARGO_MAKEFLAGS": "x"}
    leave_shells(environment)
    os.close(fd)
    assert environment.get("MAKEFLAGS") == after
    assert environment["CARGO_MAKEFLAGS"] == "x"


def in_shell(space: Space, script: str, before: str = ":") -> str:
    """What a shell with a job server prints."""
    ended = space.run("sh", "-c", f'{before}; eval "$({SMPMAKE} env --jobserver)"; {script}')
    assert ended.status == 0, ended.err
    return ended.out


RULES = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\t@gcc -c -o $@ $<\n"


@pytest.mark.chaos
def test_makes_and_builds_in_such_a_shell_share_the_slots(space: Space) -> None:
    counted(space, COUNTING)
    for name in "ab":
        space.write({f"{name}/{path}": text for path, text in objects(12).items()})
        space.write({f"{name}/Makefile": RULES})
    in_shell(space, f"make -s -C a & {SMPMAKE} -q make -s -C b; wait")
    assert len(list(space.folder.glob("?/*.o"))) == 24
    slots = len(os.sched_getaffinity(0))
    assert most_at_once(space) <= slots + 2  # a first job each does not wait
    while any(space.temporary.iterdir()):  # until the shell's server has gone
        os.sched_yield()


@pytest.mark.chaos
def test_a_serial_make_stays_one_below_smpmake(space: Space) -> None:
    """Which has slots of the same table, and runs the compiles in parallel itself."""
    space.write({"Makefile": "all:\n\t@echo [$(MAKEFLAGS)]\n"})
    told = in_shell(space, f"{SMPMAKE} make; {SMPMAKE} sh -c make; make -s")
    first, second, plain = told.split("[")[1:]
    for each in (first, second):
        assert each.startswith("]") and "--jobserver" not in each.splitlines()[0]
    assert "--jobserver-auth" in plain


@pytest.mark.chaos
def test_the_shells_files_stay_its_own(space: Space) -> None:
    """A lock that it gives back is free."""
    lock = space.root / "lock"
    done = in_shell(
        space, f"exec 9>&-; flock -n {lock} true && echo free", f"exec 9>{lock}; flock 9"
    )
    assert done == "free\n"


@pytest.mark.chaos
def test_a_folder_with_blanks_is_not_taken(space: Space) -> None:
    blanks = space.root / "a b"
    blanks.mkdir()
    told = space.run(SMPMAKE, "env", "--jobserver", TMPDIR=str(blanks))
    assert told.status == 0 and "a b" not in told.out and "/tmp/" in told.out


@pytest.mark.chaos
def test_it_has_the_settings_of_a_build(space: Space) -> None:
    refused = space.run(SMPMAKE, "env", "--jobserver", SMPMAKE_OWN_POOL="1")
    assert refused.status == 125 and "own-pool must be off" in refused.err
    assert "-j3 " in space.ok(SMPMAKE, "env", "--jobserver", "-j3").out
    assert "-j5 " in space.run(SMPMAKE, "env", "--jobserver", SMPMAKE_JOBS="5").out


@pytest.mark.chaos
def test_a_killed_make_leaves_all_slots(space: Space) -> None:
    go = space.root / "go"
    os.mkfifo(go)
    recipe = f"@echo $$PPID >pid; echo at work; read x < {go}"
    space.write({"Makefile": f"all: a b c d\na b c d:\n\t{recipe}\n"})
    process = space.start("sh", "-c", f'eval "$({SMPMAKE} env --jobserver)"; make -s; make -s')
    assert process.stdout is not None
    jobs = len(os.sched_getaffinity(0))
    for _ in range(min(jobs, 4)):
        assert process.stdout.readline() == b"at work\n"
    os.kill(int((space.folder / "pid").read_text()), signal.SIGKILL)
    for _ in range(min(jobs, 4)):  # as many as before
        assert process.stdout.readline() == b"at work\n"
    with open(os.open(go, os.O_RDWR), "w") as gate:
        while process.poll() is None:
            gate.write("go\n")
            gate.flush()
    assert space.finish(process).status == 0
