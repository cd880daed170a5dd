"""The one answer to "may one more run?": the least that any source says."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from smpmake.capacity.checks import UntrackedChecks
from smpmake.capacity.lending import Lending
from smpmake.capacity.memory import Memory
from smpmake.capacity.pressure import Pressure
from smpmake.capacity.table import Wait
from smpmake.capacity.tokens import NoJobserver, Tokens
from smpmake.decide.procfs import Processes
from smpmake.guard.scoreboard import Scoreboard
from smpmake.schedule.job import Job, State
from smpmake.schedule.scheduler import Room

#: s until it is looked again at a check that was there, and at memory that was short.
_CHECK_AGAIN: Final = 0.01
_MEMORY_AGAIN: Final = 0.1
_PRESSURE_AGAIN: Final = 1.0  # and at what weighs upon the machine


class Capacity:
    """One per engine.

    The sources, and when what they say changes:

    - CPUs: `slots`, which never changes.
    - lending: what its clients use is not for commands; their FIFOs tell when they have done.
    - checks of configure scripts: one is a slot in use; looked at again after a moment.
    - tokens of a job server, or of other builds: their file tells when there may be more.
    - memory: about one job, since each needs another amount; looked at again after a moment.
    - pressure on the machine: looked at again after a moment.
    - other machines: about one job, too, which may rather wait for a place there.

    later  does something after so many seconds.
    wake   is called when there may be room for one more.
    waits  whether a job waits for a place on another machine instead.

    lacks_memory  whether the last job for which there was no room was too large.
    pressed  s in which jobs waited for pressure, or a load, to be less.
    """

    def __init__(
        self,
        slots: int,
        memory: Memory,
        pressure: Pressure,
        tokens: Tokens | None,
        folder: Path,
        board: Scoreboard,
        processes: Processes,
        later: Callable[[float, Callable[[], None]], None],
        wake: Callable[[], None],
        waits: Callable[[Job], bool],
    ) -> None:
        self.memory = memory
        self.lending = Lending(slots, folder, processes, wake)
        self._tokens = tokens or NoJobserver()
        self._checks = UntrackedChecks(folder, board, processes)
        self._later = later
        self._wake = wake
        self._waits = waits
        self.lacks_memory = False
        self._pressure = pressure
        self.pressed = dict.fromkeys((Wait.PRESSURE, Wait.LOAD), 0.0)
        self._why = Wait.NOTHING
        self._since = 0.0
        self._weight = Wait.NOTHING  # which kept the last job from starting
        self._refused = False  # by who gives tokens
        self._due: set[float] = set()  # looks, by their delay

    def room(self, job: Job, busy: int, waiting: Collection[Job]) -> Room:
        """Whether a job may have a slot beside `busy` commands; see Scheduler."""
        self._refused = False
        self._weight = Wait.NOTHING
        checks = self._checks.at_work(waiting)
        if checks:
            self._look_again(_CHECK_AGAIN)
        used = busy + checks
        alone = used == 0
        if not alone:
            self._weight = self._pressure.holds()
            if self._weight:
                self._look_again(_PRESSURE_AGAIN)
            if self._weight or job.exclusive or self._most(used + 1) <= used:
                return Room.NONE
        if job.state is State.READY:
            waits = not alone and self._waits(job)
            if waits or not self.memory.fits(job, alone=alone):
                self.lacks_memory = not waits
                return Room.SMALLER
        return Room.FREE

    def _most(self, wanted: int) -> int:
        """How many may be in use beside what is lent, if `wanted` are to be."""
        most = self.lending.most(wanted)
        if most < wanted:  # then no token is taken
            return most
        lent = self.lending.lent
        tokens = self._tokens.most_slots(wanted + lent)
        self._refused = tokens < wanted + lent
        return min(most, tokens - lent)

    def settle(
        self, busy: int, *, short: bool, held: bool, waiting: int = 0, crowded: bool = False
    ) -> None:
        """So many commands have a slot now: what they do not need is others'.

        short    somebody wants one that is not there.
        held     somebody has none for lack of memory, or waits for a place elsewhere.
        waiting  how many want one.
        crowded  some of these wait for a class that is full.
        """
        if not self.lending.is_idle:
            if held or self._tokens.contended:
                self.lending.take_back()
            elif not short:
                self.lending.share_out(busy, lambda used: self._tokens.most_slots(used + 1) > used)
        used = busy + self.lending.lent
        self._tokens.settle_tokens(used, self._wake if short and self._refused else None)
        self._checks.others_use(used)
        why = Wait.NOTHING
        if waiting:
            why = (
                (self._weight if short else Wait.NOTHING)
                or (Wait.MEMORY if held and self.lacks_memory else Wait.NOTHING)
                or (Wait.SLOTS if short and self._refused else Wait.NOTHING)
                or (Wait.CLASS if crowded else Wait.NOTHING)
            )
        self._note(why)
        self._tokens.tell(busy, waiting, why)
        if held:
            self._look_again(_MEMORY_AGAIN)

    def _note(self, why: Wait) -> None:
        if why is not self._why:
            now = time.monotonic()
            if self._why in self.pressed:
                self.pressed[self._why] += now - self._since
            self._why, self._since = why, now

    def _look_again(self, seconds: float) -> None:
        """Of what changes without a word: neither memory nor a check's end is told to us."""

        def look() -> None:
            self._due.remove(seconds)
            self._wake()

        if seconds not in self._due:
            self._due.add(seconds)
            self._later(seconds, look)

    def ended(self, job: Job) -> None:
        """A job has left, or will not run."""
        self.memory.ended(job)
        self.lending.ended(job)

    def close(self) -> None:
        """Nobody asks any more."""
        self._wake = lambda: None
        self._checks.close()
        self._pressure.close()
        self.lending.close()
