"""Builds whose driver runs commands in parallel by itself: that is seen, said at once, and no
factor is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from smpmake.commands.reading.makes import jobs_option, runs_in_parallel
from smpmake.decide.procfs import Caller, Processes, Usage
from smpmake.engine.environment import Environment
from smpmake.engine.parallel import ParallelDriver, advice
from smpmake.protocol.wire import FileId, Invoke
from tests.support.space import Space, objects

DRIVER, KEEPER = 10, 5
_IGNORED = 0b110  # SIGINT and SIGQUIT, as a shell's background commands have it


@dataclass
class Family(Processes):
    """Processes by number: name and parent."""

    members: dict[int, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.members = {1: ("init", 0), KEEPER: ("smpmake-keeper", 1), **self.members}

    def caller(self, pid: int) -> Caller | None:
        found = self.members.get(pid)
        return Caller(pid, found[0], found[1], 0.0) if found is not None else None

    def above(self, pid: int, most: int) -> Iterator[Caller]:
        while (caller := self.caller(pid)) is not None:
            yield caller
            pid = caller.parent

    def children(self, pid: int) -> set[int]:
        return {number for number, (_, parent) in self.members.items() if parent == pid}

    def usage(self, pid: int) -> Usage | None:
        found = self.members.get(pid)
        return Usage(found[1], found[0] == "over", 0, 0, 0, 0) if found is not None else None

    def command_line(self, pid: int) -> list[bytes]:
        return [self.members[pid][0].encode()]


def invocation(parent: int, env: bytes = b"", ignored: int = 0) -> Invoke:
    null = FileId(0, 0)
    return Invoke(
        parent,
        0,
        null,
        null,
        "gcc",
        b"/usr/bin/gcc",
        b"/",
        "b",
        b"gcc\0",
        env,
        b"",
        ignored=ignored,
    )


def look(
    driver: ParallelDriver, family: Family, invoke: Invoke, shim: int, *, lends: bool = False
) -> None:
    driver.look_at_callers(family, invoke, Environment(invoke.env), shim, lends=lends)


def seen(family: Family, commands: list[list[tuple[int, int]]], *, ignored: int = 0) -> str:
    """What is found where processes (number, parent) come together, and all bring commands, before
    the next ones do."""
    driver = ParallelDriver()
    for together in commands:
        for pid, parent in together:
            family.members[pid] = ("smpmake-shim", parent)
        for pid, parent in together:
            look(driver, family, invocation(parent, ignored=ignored), pid)
            del family.members[pid]  # it has been answered, and its parent heard of its end
    return driver.found


def one_by_one(count: int, parent: int = DRIVER) -> list[list[tuple[int, int]]]:
    return [[(100 + n, parent)] for n in range(count)]


def two_by_two(count: int, parent: int = DRIVER) -> list[list[tuple[int, int]]]:
    return [[(100 + 2 * n, parent), (101 + 2 * n, parent)] for n in range(count)]


def test_commands_that_are_there_at_once() -> None:
    python = {DRIVER: ("python3", KEEPER)}
    assert seen(Family(python), one_by_one(60)) == ""
    assert seen(Family(python), two_by_two(1)) == ""  # once is a program's own affair
    assert seen(Family(python), two_by_two(2)) == "python3"
    # Late, after a long time of one by one.
    assert seen(Family(python), [*one_by_one(300), *two_by_two(40)]) == "python3"


def test_a_helper_that_lives_beside_commands_is_no_command() -> None:
    family = Family({DRIVER: ("python3", KEEPER), 20: ("tee", DRIVER)})
    assert seen(family, one_by_one(60)) == ""


def test_commands_whose_end_nobody_asks_for_are_over_all_the_same() -> None:
    family = Family({DRIVER: ("python3", KEEPER)})
    driver = ParallelDriver()
    for pid in range(100, 120):
        family.members[pid] = ("smpmake-shim", DRIVER)
        look(driver, family, invocation(DRIVER), pid)
        family.members[pid] = ("over", DRIVER)
    assert driver.found == ""


def test_a_pipe_is_no_parallel_build_and_the_background_is() -> None:
    for shell in ("sh", "bash"):
        family = {DRIVER: (shell, KEEPER)}
        assert seen(Family(family), two_by_two(5)) == ""
        assert seen(Family(family), two_by_two(5), ignored=_IGNORED) == shell
    # A recipe's shell that has something in the background is no parallel driver's.
    below = {DRIVER: ("make", KEEPER), 20: ("sh", DRIVER)}
    assert seen(Family(below), two_by_two(5, parent=20), ignored=_IGNORED) == ""


def test_what_is_below_a_command_is_not_beside_it() -> None:
    """A wrapper that brings a command, and its compiler another."""
    family = Family({DRIVER: ("python3", KEEPER), 20: ("libtool", DRIVER)})
    driver = ParallelDriver()
    for n in range(5):
        look(driver, family, invocation(DRIVER), 20)
        family.members[30 + n] = ("smpmake-shim", 20)
        look(driver, family, invocation(20), 30 + n)
        del family.members[30 + n]
    assert driver.found == ""


@pytest.mark.parametrize(
    ("flags", "option"),
    [
        ("", ""),
        (" -j1", ""),
        ("ks -j2 --jobserver-auth=3,4", "-j2"),
        (" --jobserver-fds=3,4 -j", "-j"),
        (" -j --jobserver-auth=fifo:/tmp/x", "-j"),
        ("--jobs=8", "-j8"),
        ("-kj4 -w", "-j4"),
        ("-Ij4 -Oj", ""),
        (" -j 3 -J 15,16", "-j3"),
        ("s -- CC=gcc -j2", ""),
    ],
)
def test_makeflags_say_how_many_jobs_a_make_runs(flags: str, option: str) -> None:
    assert jobs_option(flags) == option
    family = Family({DRIVER: ("make", KEEPER)})
    for lends in (False, True):  # what is below our own job server is ours
        driver = ParallelDriver()
        environment = f"MAKEFLAGS={flags}\0".encode()
        look(driver, family, invocation(DRIVER, environment), 0, lends=lends)
        assert driver.found == (f"make {option}" if option and not lends else "")


def test_a_ninja_below_the_driver_is_known_by_its_name() -> None:
    family = Family({DRIVER: ("sh", KEEPER), 20: ("ninja", DRIVER)})
    assert seen(family, one_by_one(1, parent=20)) == "ninja"
    assert runs_in_parallel(["/usr/bin/ninja", "-C", "x"])
    for one in (["ninja", "-j1"], ["ninja", "-j", "1"], ["make"]):
        assert not runs_in_parallel(one)


def test_it_is_said_once_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    family, driver = Family({DRIVER: ("make", KEEPER)}), ParallelDriver()
    with caplog.at_level(logging.WARNING, "smpmake"):
        for _ in range(3):
            look(driver, family, invocation(DRIVER, b"MAKEFLAGS= -j2\0"), 0)
    said = "make -j2 is parallel already; leave -j out to let smpmake do it"
    assert [record.getMessage() for record in caplog.records] == [said]
    assert "DEB_BUILD_OPTIONS=parallel=1 smpmake dpkg-buildpackage -b" in advice(
        ["dpkg-buildpackage", "-b"], "make -j2"
    )
    assert "DEB_BUILD_OPTIONS=parallel=1 smpmake debian/rules build" in advice(
        ["debian/rules", "build"], "make -j2", debian=True
    )
    assert "one command at a time" in advice(["./build.py"], "python3")


@pytest.mark.slow
def test_make_j2_says_no_factor(space: Space) -> None:
    space.write(objects(4))
    space.write({"Makefile": "all: f0.o f1.o f2.o f3.o\n"})
    done = space.smpmake("make", "-j2")
    assert done.status == 0
    line = "smpmake: make -j2 is parallel already; leave -j out to let smpmake do it\n"
    assert done.err.startswith(line) and done.err.count("leave -j out") == 1
    figures = json.loads(space.smpmake("report", "--json").out)["figures"]
    assert (figures["why_not"], figures["speedup"]) == ("parallel-driver", None)
    assert figures["parallel_driver"] == "make -j2"
    assert "times as fast" not in space.smpmake("report").out
    assert " x " not in space.smpmake("history").out.splitlines()[1]
