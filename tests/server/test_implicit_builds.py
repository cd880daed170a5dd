"""Builds through shims on PATH alone: when they begin and end, whose they are, and what is told."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from smpmake.config import Settings
from smpmake.decide.procfs import Caller, Processes
from smpmake.protocol.wire import FileId
from smpmake.records import BuildRecord
from smpmake.server.callers import SHELL_BUILD, is_above, origin_of
from smpmake.server.implicit_builds import ImplicitBuilds, State
from tests.support.bench import Bench
from tests.support.notes import Notes

SINCE = 1000.0
BASH, MAKE, INNER, CODE = 10, 20, 30, 40


class Table(Processes):
    """Processes as a test says."""

    def __init__(self, *callers: Caller) -> None:
        super().__init__()
        self.output: tuple[FileId, FileId] | None = None
        self.callers = {caller.pid: caller for caller in callers}

    def caller(self, pid: int) -> Caller | None:
        return self.callers.get(pid)

    def output_ids(self, pid: int) -> tuple[FileId, FileId] | None:
        return self.output

    def folder(self, pid: int) -> str:
        return f"/of/{pid}" if pid in self.callers else ""

    def command_line(self, pid: int) -> list[bytes]:
        return [self.callers[pid].name.encode(), b"all"]


def terminal(shell_since: float = 2000.0) -> Table:
    """A shell in a terminal, a make in it, and an inner make."""
    return Table(
        Caller(1, "init", 0, 0.0, 1),
        Caller(BASH, "bash", 1, shell_since, BASH),
        Caller(MAKE, "make", BASH, 3000.0, BASH),
        Caller(INNER, "make", MAKE, 3001.0, BASH),
    )


def test_the_driver_is_the_topmost_below_the_shell() -> None:
    origin = origin_of(terminal(), INNER, "/w", SINCE)
    assert origin.driver is not None
    folder = origin.folder(terminal())
    assert (origin.driver.pid, origin.session, folder) == (MAKE, BASH, f"/of/{BASH}")
    assert origin.words(terminal()) == ["make", "all"]
    assert origin.is_make


def test_what_is_typed_into_a_shell_has_no_driver() -> None:
    origin = origin_of(terminal(), BASH, "/w", SINCE)
    assert (origin.driver, origin.folder(terminal()), origin.session) == (None, "/w", BASH)
    assert origin.is_same(origin_of(terminal(), BASH, "/w", SINCE))
    assert not origin.is_same(origin_of(terminal(), BASH, "/other", SINCE))
    assert not origin.is_same(origin_of(terminal(), MAKE, "/w", SINCE))


def test_what_is_older_than_the_server_is_no_driver() -> None:
    """A script that has started the server, and then make."""
    table = Table(
        Caller(5, "runner", 1, 1.0, 5),
        Caller(BASH, "bash", 5, 999.0, 5),
        Caller(MAKE, "make", BASH, 3000.0, 5),
    )
    origin = origin_of(table, MAKE, "/w", SINCE)
    assert origin.driver is not None
    assert origin.driver.pid == MAKE


def test_a_number_that_was_used_is_another_driver() -> None:
    first = origin_of(terminal(), MAKE, "/w", SINCE)
    table = terminal()
    table.callers[MAKE] = Caller(MAKE, "make", BASH, 4000.0, BASH)
    assert not first.is_same(origin_of(table, MAKE, "/w", SINCE))


def test_who_is_above() -> None:
    assert is_above(terminal(), MAKE, INNER)
    assert is_above(terminal(), MAKE, MAKE)
    assert not is_above(terminal(), INNER, MAKE)


class World:
    """Implicit builds on a bench, with drivers that are real processes."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)
        self.bench.write("a.c", "b.c", "c.c")
        self.table = Table(Caller(BASH, "bash", 1, 2000.0, BASH))
        self.table.output = (self.bench.output,) * 2
        self.time = 10**18
        self.notes: list[Notes] = []
        self.records: list[BuildRecord] = []
        self.guests = ImplicitBuilds(
            self.bench.engine,
            Settings(idle=7),
            self.note,
            lambda: State(0.5, 100, 0.0, -1.0, 2),
            processes=self.table,
            now=lambda: self.time,
        )
        self.guests._since = SINCE
        self.bench.build_of = self.guests.build_of
        self.drivers: list[subprocess.Popen[bytes]] = []

    def note(self, record: BuildRecord) -> Notes:
        self.records.append(record)
        self.notes.append(Notes())
        return self.notes[-1]

    def driver(self, name: str = "make") -> int:
        """A process that lives until it is ended."""
        process = subprocess.Popen(["sleep", "1000"])
        self.drivers.append(process)
        self.table.callers[process.pid] = Caller(process.pid, name, BASH, time.time(), BASH)
        return process.pid

    def end(self, pid: int) -> None:
        for process in self.drivers:
            if process.pid == pid:
                process.kill()
                process.wait()

    def run(self, line: str, parent: int) -> None:
        assert self.bench.run(line, SHELL_BUILD, parent=parent).status == 0

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await asyncio.sleep(0)

    @property
    def builds(self) -> list[int]:
        """How many commands each of the builds has that are there."""
        return [len(guest.record.commands) for guest in self.guests.present()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    for process in world.drivers:
        process.kill()
        process.wait()


def play(part: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(part(), 30)

    asyncio.run(main())


def test_a_build_begins_with_its_first_command_and_ends_with_its_driver(world: World) -> None:
    async def part() -> None:
        make = world.driver()
        world.run("gcc -c a.c", make)
        world.run("gcc -c b.c", make)
        assert world.builds == [2]
        world.guests.turn()
        world.end(make)
        await world.until(lambda: world.guests.present()[0].gone != 0)
        assert world.builds == [2], "its jobs are still there"
        world.bench.workers.end(0)
        world.bench.workers.end(1)
        world.guests.turn()
        await world.until(lambda: world.notes[0].ended == 1)
        record = world.records[0]
        assert world.builds == []
        assert (record.by_shims, record.status, record.known_status) == (True, 0, None)
        assert record.driver_ended
        assert record.ended >= record.driver_ended
        assert [sample.cpu for sample in record.samples] == [0.5, 0.5]
        assert "make was not run by smpmake" in record.notices[0]
        assert world.bench.engine.builds.keys() == {"b"}

    play(part)


def test_a_make_may_be_silent_and_an_editor_not(world: World) -> None:
    async def part() -> None:
        make, editor = world.driver(), world.driver("code")
        world.run("gcc -c a.c", make)
        world.run("gcc -c b.c", editor)
        for number in (0, 1):
            world.bench.workers.end(number)
        world.guests.turn()
        world.time += 6 * 10**9
        world.guests.turn()
        assert world.builds == [1, 1]
        world.time += 2 * 10**9
        world.guests.turn()
        assert world.builds == [1]
        assert world.records[0].ended == 0
        world.run("gcc -c c.c", editor)
        assert world.builds == [1, 1], "another build of the same editor"
        world.bench.workers.end(2)
        await world.guests.close()
        assert [notes.ended for notes in world.notes] == [1, 1, 1]

    play(part)


def test_builds_are_told_apart_by_their_drivers(world: World) -> None:
    async def part() -> None:
        makes = [world.driver(), world.driver()]
        for name, make in zip("abc", (*makes, makes[0]), strict=True):
            world.run(f"gcc -c {name}.c", make)
        assert world.builds == [2, 1]
        for number in range(3):
            world.bench.workers.end(number)
        await world.guests.close()

    play(part)


def test_who_waits_hears_of_failures_once(world: World) -> None:
    async def part() -> None:
        make = world.driver()
        world.run("gcc -c a.c", make)
        world.bench.workers.end(0, 1 << 8)
        world.end(make)
        await world.until(lambda: world.notes[0].ended == 1)
        heard = await world.guests.wait(BASH)
        assert [failure.record.command for failure in heard.failures] == ["gcc -c a.c"]
        assert heard.summary == ["smpmake: a line"]
        assert world.records[0].status == world.records[0].known_status == 1
        again = await world.guests.wait(BASH)
        assert (again.failures, again.summary) == ([], [])
        world.guests.untold(BASH, heard)
        (same,), (failure,) = (await world.guests.wait(BASH)).failures, heard.failures
        told = (failure.record, failure.output, failure.why)
        assert (same.record, same.output, same.why) == told

    play(part)


def test_failures_are_told_in_their_session(world: World) -> None:
    async def part() -> None:
        other = 11
        world.table.callers[other] = Caller(other, "bash", 1, 2000.0, other)
        for number, session in enumerate((BASH, other)):
            make = world.driver()
            before = world.table.callers[make]
            world.table.callers[make] = before._replace(session=session)
            world.run(f"gcc -c {'ab'[number]}.c", make)
            world.bench.workers.end(number, (1 - number) << 8)
            world.end(make)
        await world.until(lambda: [notes.ended for notes in world.notes] == [1, 1])
        assert (await world.guests.wait(other)).failures == []
        heard = await world.guests.wait(BASH)
        assert [failure.record.command for failure in heard.failures] == ["gcc -c a.c"]

    play(part)


def test_a_failure_is_told_while_its_make_goes_on(world: World) -> None:
    async def part() -> None:
        make = world.driver()
        world.run("gcc -c a.c", make)
        world.bench.workers.end(0, 1 << 8)
        assert len((await world.guests.wait(BASH)).failures) == 1
        assert (await world.guests.wait(BASH)).failures == []
        assert world.builds == [1]
        shim = world.bench.run("gcc -c b.c", SHELL_BUILD, parent=make)
        assert shim.status == 1, "nothing behind it is started"
        world.time += 60 * 10**9
        world.guests.turn()
        assert world.builds == [1]
        world.end(make)
        await world.until(lambda: world.builds == [])
        await world.guests.close()

    play(part)


def test_of_a_long_output_the_end_is_told(world: World) -> None:
    async def part() -> None:
        make = world.driver()
        world.run("gcc -c a.c", make)
        world.bench.workers.end(0, 1 << 8, err=b"x" * 10**6 + b"end")
        world.end(make)
        await world.until(lambda: world.builds == [])
        (failure,) = (await world.guests.wait(BASH)).failures
        assert failure.output.endswith(b"end")
        assert len(failure.output) <= 1 << 14

    play(part)


def test_who_waits_does_not_end_the_build_of_a_driver_that_goes_on(world: World) -> None:
    async def part() -> None:
        make = world.driver()
        world.run("gcc -c a.c", make)
        world.bench.workers.end(0)
        await world.guests.wait(BASH)
        assert world.builds == [1]
        await world.guests.wait(make)  # a recipe that waits
        assert world.builds == []

    play(part)


def test_what_was_promised_wrongly_is_known_the_next_time(world: World) -> None:
    async def part() -> None:
        for number in (0, 1):
            make = world.driver()
            shim = world.bench.run("gcc -c a.c", SHELL_BUILD, parent=make)
            assert (shim.status == 0) == (number == 0), "now it is waited for"
            world.bench.workers.end(number, 1 << 8)
            world.end(make)
            await world.until(lambda: world.guests.present() == [])
        await world.guests.close()

    play(part)


def test_a_driver_that_is_gone_already(world: World) -> None:
    async def part() -> None:
        make = world.driver()
        world.end(make)
        world.run("gcc -c a.c", make)
        world.bench.workers.end(0)
        world.guests.turn()
        assert world.builds == []
        await world.guests.close()

    play(part)


def test_there_are_no_more_builds_than_a_person_has(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smpmake.server.implicit_builds._MOST_GUESTS", 2)

    async def part() -> None:
        for name in "abc":
            world.run(f"gcc -c {name}.c", world.driver())
        assert world.builds == [1, 2]
        for number in range(3):
            world.bench.workers.end(number)
        await world.guests.close()

    play(part)


def test_a_build_without_end_is_cut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smpmake.server.implicit_builds._MOST_RECORDS", 2)

    async def part() -> None:
        make = world.driver()
        for name in "abc":
            world.run(f"gcc -c {name}.c", make)
        assert world.builds == [2, 1]
        for number in range(3):
            world.bench.workers.end(number)
        world.guests.turn()
        assert world.builds == [1]
        world.end(make)
        await world.until(lambda: world.builds == [])
        await world.guests.close()

    play(part)
