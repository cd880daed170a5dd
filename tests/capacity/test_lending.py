"""Idle slots are lent to links that can use them, and there are never more than there are (P6)."""

from __future__ import annotations

import asyncio
import os
import resource
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from smpmake.capacity.tokens import NoJobserver
from smpmake.protocol import layout
from smpmake.protocol.wire import Question
from smpmake.records import DIVIDED
from smpmake.schedule.job import Job
from tests.support.bench import Bench, Shim

LINK = "gcc -flto -o p x.o"


class Borrower:
    """Processes that have a job server of their own, as they see it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        back = path.with_name(path.name + ".back")
        self._ends = [os.open(p, os.O_RDWR | os.O_NONBLOCK) for p in (path, back)]

    def take(self) -> bool:
        """One more of them begins, if it may."""
        try:
            return bool(os.read(self._ends[0], 1))
        except BlockingIOError:
            return False

    def give_back(self) -> None:
        """One of them ends."""
        os.write(self._ends[1], b"+")

    def takes(self) -> int:
        """How many begin, until none may."""
        count = 0
        while self.take():
            count += 1
        return count

    def close(self) -> None:
        for end in self._ends:
            os.close(end)


class Link(Borrower):
    """A link's processes."""

    def __init__(self, bench: Bench, line: str = LINK) -> None:
        bench.run(line)
        self.number = bench.build.commands.records[-1].number
        super().__init__(bench.folder.parent / "session" / f"lent-{self.number}")


def played(tmp_path: Path, slots: int, play: Callable[[Bench], None], **options: object) -> Bench:
    """A build in a loop of its own."""
    bench = Bench(tmp_path, slots, **options)  # type: ignore[arg-type]
    bench.write("x.o", "a.c", "b.c", "c.c")

    async def within() -> None:
        play(bench)

    asyncio.run(within())
    return bench


def test_what_is_idle_is_lent_and_is_a_slot_again_when_it_is_wanted(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        link = Link(bench)
        for name in "ab":
            bench.run(f"gcc -c {name}.c")
        assert len(bench.workers.running) == 3
        assert not link.take()
        first, second = (record.number for record in bench.build.commands.records[1:])
        bench.workers.end(first)
        bench.workers.end(second)
        assert link.takes() == 2
        link.close()

    played(tmp_path, 3, play)


def test_what_is_in_use_comes_back_in_its_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 2)
    bench.write("x.o", "a.c")

    async def play() -> None:
        link = Link(bench)
        assert link.takes() == 1
        bench.run("gcc -c a.c")
        assert len(bench.workers.running) == 1
        await asyncio.sleep(0)
        link.give_back()
        assert not link.take()  # though it is the first to ask
        while len(bench.workers.running) == 1:  # woken by the FIFO
            await asyncio.sleep(0)
        assert not link.take()
        bench.workers.end(1)
        assert link.takes() == 1
        link.close()

    asyncio.run(play())


def test_a_link_that_ends_has_nothing_any_more(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        link = Link(bench)
        assert link.takes() == 2
        for name in "abc":
            bench.run(f"gcc -c {name}.c")
        assert len(bench.workers.running) == 1
        bench.workers.end(link.number)
        assert len(bench.workers.running) == 3
        assert not list(link.path.parent.glob("lent-*"))
        link.close()

    played(tmp_path, 3, play)


def test_two_links_share(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        links = [Link(bench), Link(bench, "gcc -flto -o q x.o")]
        assert [link.takes() for link in links] == [3, 3]
        for link in links:
            link.close()

    played(tmp_path, 8, play)


def test_a_link_whose_worker_died_begins_anew(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        link = Link(bench)
        assert link.takes() == 2
        link.close()
        bench.workers.lose(link.number)
        assert bench.workers.running == {0: link.number}
        os.stat(link.path)
        bench.workers.end(link.number)
        assert bench.states() == ["done"]

    played(tmp_path, 3, play)


class Wanted(NoJobserver):
    """Somebody else has a use for what we do not need."""

    contended = True


def test_below_a_job_server_none_is_lent(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        link = Link(bench)
        assert not link.take()
        link.close()

    played(tmp_path, 4, play, tokens=Wanted())


def test_where_memory_is_short_none_is_lent(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        link = Link(bench)
        (job,) = bench.engine.scheduler.hazards.present()
        capacity = bench.engine.capacity
        lending = capacity.lending
        assert lending.lent == 3
        capacity.settle(1, short=False, held=True)
        assert lending.lent == 0
        capacity.settle(1, short=False, held=False)
        assert lending.lent == 3
        capacity.ended(job)
        assert lending.lent == 0
        link.close()

    played(tmp_path, 4, play)


@pytest.mark.parametrize(
    ("line", "detail"),
    [(LINK, DIVIDED), ("gcc -flto=1 -o p x.o", DIVIDED), ("gcc -flto=auto -o p x.o", "")],
)
def test_what_is_remembered(tmp_path: Path, line: str, detail: str) -> None:
    """Of one that has more processes than it would have serially."""

    def play(bench: Bench) -> None:
        Link(bench, line).close()

    assert played(tmp_path, 2, play).build.commands.records[0].detail == detail


@pytest.mark.parametrize(
    "line", ["gcc -o p x.o", "gcc -flto -c a.c", "gcc -flto -fno-lto -o p x.o"]
)
def test_who_needs_none_has_none(tmp_path: Path, line: str) -> None:
    def play(bench: Bench) -> None:
        bench.run(line)
        assert not list((tmp_path / "session").glob("lent-*"))

    played(tmp_path, 2, play)


def test_a_link_that_may_have_few_files_open_keeps_them(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        invocation = bench.invocation(LINK)
        limits = [(1 << 20, 1 << 20)] * 16
        limits[resource.RLIMIT_NOFILE] = (16, 16)
        invocation.limits = b"".join(struct.pack("<QQ", *limit) for limit in limits)
        bench.engine.invoke(bench.build, invocation, Shim(), -1, -1)
        assert len(bench.workers.running) == 1
        assert not list((bench.folder.parent / "session").glob("lent-*"))

    played(tmp_path, 3, play)


class Outside(Borrower):
    """A process of the driver's, as cargo is."""

    def __init__(self, bench: Bench) -> None:
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self._bench = bench
        assert os.fsencode(self.ask()) in self.answer
        super().__init__(self.ask())

    def ask(self) -> Path:
        """For its job server; the answer is kept."""
        path = str(self._bench.folder)
        question = Question(layout.ASK_TOKENS, self.process.pid, -1, "b", path, "cargo")
        answers: list[bytes] = []
        assert self._bench.engine.ask(question, answers.append) is None
        self.answer = answers[0]
        return self._bench.folder.parent / "session" / f"lent-to-{self.process.pid}"

    def starts(self, *children: int) -> None:
        """It has children of these numbers."""
        self._bench.processes.parents.update(dict.fromkeys(children, self.process.pid))

    def end(self) -> None:
        """With what it has in hand."""
        self.close()
        self.end_before_its_children()

    def end_before_its_children(self) -> None:
        """They have the FIFOs open."""
        self.process.communicate()

    def close(self) -> None:
        """Gives up the FIFOs."""
        super().close()
        self._ends.clear()

    def __enter__(self) -> Outside:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def test_a_process_is_lent_what_is_idle_but_for_one(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        with Outside(bench) as cargo:
            bench.run("gcc -c a.c")
            assert len(bench.workers.running) == 1
            bench.run("gcc -c b.c")
            assert len(bench.workers.running) == 2  # one token was in nobody's hands
            assert cargo.takes() == 1
            bench.run("gcc -c c.c")
            assert len(bench.workers.running) == 2

    played(tmp_path, 3, play)


async def one_of_two_waits_until(bench: Bench, done: Callable[[], None]) -> None:
    """The other slots are lent; what is `done` wakes the engine."""
    for name in "ab":
        bench.run(f"gcc -c {name}.c")
    assert len(bench.workers.running) == 1
    done()
    while len(bench.workers.running) == 1:
        await asyncio.sleep(0)


def test_a_process_that_ends_has_nothing_any_more(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 3)
    bench.write("a.c", "b.c")

    async def play() -> None:
        with Outside(bench) as cargo:
            assert cargo.takes() == 2
            await one_of_two_waits_until(bench, cargo.end)
        assert not list(cargo.path.parent.glob("lent-*"))

    asyncio.run(play())


def test_what_a_process_gives_back_is_a_slot(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 2)
    bench.write("a.c", "b.c")

    async def play() -> None:
        with Outside(bench) as cargo:
            assert cargo.takes() == 1
            await one_of_two_waits_until(bench, cargo.give_back)
            assert cargo.takes() == 0

    asyncio.run(play())


def test_what_a_process_has_started_keeps_what_it_uses(tmp_path: Path) -> None:
    """And no more: what it was lent and has not taken it cannot take now."""
    bench = Bench(tmp_path, 3)
    bench.write("a.c", "b.c", "c.c")

    async def play() -> None:
        with Outside(bench) as cargo:
            assert cargo.take()
            cargo.end_before_its_children()
            for name in "abc":
                bench.run(f"gcc -c {name}.c")
            while len(bench.workers.running) == 1:
                await asyncio.sleep(0)
            assert len(bench.workers.running) == 2
            assert not cargo.take()
            cargo.close()
            while len(bench.workers.running) == 2:
                await asyncio.sleep(0)
        assert not list(cargo.path.parent.glob("lent-*"))

    asyncio.run(play())


def test_who_has_closed_them_may_ask_anew(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 3)

    async def play() -> None:
        with Outside(bench) as cargo:
            assert cargo.takes() == 2
            cargo.close()
            while os.path.exists(cargo.path):
                await asyncio.sleep(0)
            Borrower.__init__(cargo, cargo.ask())
            assert cargo.takes() == 2

    asyncio.run(play())


def probes(bench: Bench, *callers: int) -> list[Shim]:
    """Commands whose callers wait."""
    bench.write("conftest.c")
    return [bench.run(f"gcc -c -o {n}.o conftest.c", parent=n) for n in callers]


def begun(shims: list[Shim]) -> list[Job]:
    """Those that run."""
    return [shim.became for shim in shims if shim.became is not None]


def test_who_waits_for_a_command_needs_no_other_slot(tmp_path: Path) -> None:
    """But for the one of them that was not lent any."""

    def play(bench: Bench) -> None:
        with Outside(bench) as cargo:
            assert cargo.takes() == 3
            cargo.starts(101, 102, 103)
            bench.processes.parents[1011] = 101
            shims = probes(bench, 1011, 101)
            assert len(begun(shims)) == 1  # one child, and so no token, waits for both
            shims += probes(bench, 102, 103)
            assert len(begun(shims)) == 3
            for job in begun(shims):
                bench.engine.lease_ended(job)
            assert len(begun(shims)) == 4
            assert cargo.takes() == 0

    played(tmp_path, 4, play)


def test_who_waits_elsewhere_has_no_token(tmp_path: Path) -> None:
    """Children of the driver, of which cargo is another one."""

    def play(bench: Bench) -> None:
        with Outside(bench) as cargo:
            assert cargo.takes() == 2
            bench.processes.parents.update({101: 1, 102: 1, 103: 1, cargo.process.pid: 1})
            assert len(begun(probes(bench, 101, 102, 103))) == 1

    played(tmp_path, 3, play)


def test_one_slot_is_not_lent(tmp_path: Path) -> None:
    def play(bench: Bench) -> None:
        with Outside(bench) as cargo:
            assert cargo.takes() == 0

    played(tmp_path, 1, play)
