"""Whether one more may run: the least that any source says (P6)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from smpmake.capacity.capacity import Capacity
from smpmake.capacity.memory import Memory
from smpmake.capacity.pressure import Pressure
from smpmake.capacity.table import Wait
from smpmake.decide.procfs import Processes
from smpmake.guard.scoreboard import Scoreboard
from smpmake.schedule.job import Job, Mode, Operands, State
from smpmake.schedule.scheduler import Room
from tests.capacity.test_checks import at_work
from tests.support.bench import HandClock


@dataclass
class FakeTokens:
    """A job server that gives so many slots; what it was asked and told."""

    slots: int = 9
    contended: bool = False
    asked: list[int] = field(default_factory=list)
    wake: Callable[[], None] | None = None
    told: tuple[int, int, Wait] = (0, 0, Wait.NOTHING)

    def most_slots(self, wanted: int) -> int:
        self.asked.append(wanted)
        return min(wanted, self.slots)

    def settle_tokens(self, busy: int, wake: Callable[[], None] | None) -> None:
        self.wake = wake

    def tell(self, running: int, waiting: int, why: Wait) -> None:
        self.told = (running, waiting, why)


class House:
    """A capacity of four slots with all its sources; tests say what these say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokens = FakeTokens()
        self.clock = HandClock()
        self.free = 100
        self.needs = 10
        self.waits = False
        self.woken = 0
        self.files = {"/proc/loadavg": "0.00 0.00 0.00 1/99 7"}
        self.pressure = Pressure(0, 3.0, lambda path: self.files.get(path, ""), self.clock.now)
        memory = Memory(4, 0, lambda job: self.needs, lambda: self.free, lambda: self.clock.now())
        self.capacity = Capacity(
            *(4, memory, self.pressure, self.tokens, folder, Scoreboard(folder / "board")),
            Processes(),
            *(self.clock.later, self._wake, lambda job: self.waits),
        )

    def _wake(self) -> None:
        self.woken += 1

    def room(self, busy: int, *, exclusive: bool = False) -> Room:
        """For one more."""
        return self.capacity.room(ready(busy, exclusive=exclusive), busy, ())


def ready(number: int, *, exclusive: bool = False) -> Job:
    job = Job(number, "b", Mode.DEFERRED, Operands(), exclusive=exclusive)
    job.state = State.READY
    return job


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    found = House(tmp_path)
    yield found
    found.capacity.close()


def test_the_least_of_what_the_sources_say_holds(house: House) -> None:
    assert [house.room(busy) for busy in range(5)] == [*[Room.FREE] * 4, Room.NONE]
    house.tokens.slots = 2
    assert [house.room(busy) for busy in range(1, 4)] == [Room.FREE, Room.NONE, Room.NONE]


def test_the_first_asks_for_no_token_and_no_memory(house: House) -> None:
    house.tokens.slots, house.free, house.waits = 0, 0, True
    assert house.room(0) is Room.FREE
    assert house.tokens.asked == []


def test_a_check_that_runs_unasked_is_a_slot_in_use(house: House) -> None:
    with at_work(house.folder):
        assert house.room(0, exclusive=True) is Room.NONE
        assert house.room(2) is Room.FREE
        assert house.room(3) is Room.NONE
        house.clock.ring()
        assert house.woken == 1
    assert house.room(3) is Room.FREE
    assert house.room(0, exclusive=True) is Room.FREE


def test_a_job_that_is_too_large_leaves_room_for_smaller_ones(house: House) -> None:
    assert house.room(0) is Room.FREE
    house.needs = 60
    assert house.room(1) is Room.SMALLER
    house.needs = 10
    assert house.room(1) is Room.FREE
    house.waits = True
    assert house.room(2) is Room.SMALLER


def test_who_waits_for_memory_is_looked_at_again(house: House) -> None:
    house.capacity.settle(1, short=False, held=True)
    house.capacity.settle(1, short=False, held=True)
    house.clock.ring()
    assert (house.woken, house.clock.timers) == (1, [])
    house.capacity.settle(1, short=False, held=True)
    assert len(house.clock.timers) == 1


def test_tokens_wake_only_who_was_refused_one(house: House) -> None:
    house.tokens.slots = 2
    house.room(2)
    house.capacity.settle(2, short=True, held=False)
    assert house.tokens.wake is not None
    house.room(4)  # there is no CPU
    house.capacity.settle(4, short=True, held=False)
    assert house.tokens.wake is None
    assert house.tokens.asked == [3]


@contextlib.contextmanager
def lent(house: House, *, busy: int) -> Iterator[None]:
    """All that is idle is lent to a job; nobody takes it."""
    job = ready(0)
    assert house.capacity.lending.begin(job)
    house.capacity.settle(busy, short=False, held=False)
    yield
    house.capacity.ended(job)
    assert house.capacity.lending.lent == 0


def test_what_is_lent_counts_and_comes_back_for_commands(house: House) -> None:
    async def play() -> None:
        with lent(house, busy=1):
            assert house.capacity.lending.lent == 3
            assert house.room(1) is Room.FREE
            assert house.capacity.lending.lent == 2
            assert house.room(2) is Room.FREE
            assert house.capacity.lending.lent == 1

    asyncio.run(play())


def test_nothing_is_lent_that_a_command_wants(house: House) -> None:
    """As when a check has the slot, which will be free in a moment."""

    async def play() -> None:
        with lent(house, busy=1):
            house.capacity.lending.take_back()
            house.capacity.settle(3, short=True, held=False)
            assert house.capacity.lending.lent == 0

    asyncio.run(play())


def test_no_more_is_lent_than_there_are_tokens(house: House) -> None:
    async def play() -> None:
        house.tokens.slots = 3
        with lent(house, busy=1):
            assert house.capacity.lending.lent == 2
            house.tokens.contended = True
            house.capacity.settle(1, short=False, held=False)
            assert house.capacity.lending.lent == 0

    asyncio.run(play())


def test_a_closed_one_wakes_nobody(house: House) -> None:
    with at_work(house.folder):
        assert house.room(3) is Room.NONE
    house.capacity.settle(1, short=False, held=True)
    house.capacity.close()
    house.clock.ring()
    assert house.woken == 0


def test_a_load_lets_the_first_begin_and_no_second(house: House) -> None:
    house.files["/proc/loadavg"] = "0.00 0.00 0.00 9/99 7"
    assert (house.room(0), house.room(1)) == (Room.FREE, Room.NONE)
    assert house.tokens.asked == []  # a slot that is not used stays others'
    house.capacity.settle(1, short=True, held=False, waiting=4)
    assert house.tokens.told == (1, 4, Wait.LOAD)
    house.files.clear()
    house.clock.ring()
    assert house.woken == 1
    assert house.room(1) is Room.FREE


@pytest.mark.parametrize(
    ("short", "held", "crowded", "slots", "why"),
    [
        (True, False, False, 1, Wait.SLOTS),
        (False, True, False, 9, Wait.MEMORY),
        (False, False, True, 9, Wait.CLASS),
        (True, False, False, 9, Wait.NOTHING),  # its own slots
    ],
)
def test_others_are_told_what_jobs_wait_for(
    house: House, short: bool, held: bool, crowded: bool, slots: int, why: Wait
) -> None:
    house.tokens.slots = slots
    house.needs = 200 if held else 10
    house.room(0)
    house.room(1)
    house.capacity.settle(1, short=short, held=held, waiting=2, crowded=crowded)
    assert house.tokens.told == (1, 2, why)
