"""The computer that an engine works with: disk, journal, clock, processes; tests bring their own.

And disorder on purpose, for `--chaos SEED`: delays and shuffles what a correct build does not
depend on.  Faults in smpmake, and dependencies missing in users' makefiles, show under some seed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from smpmake.decide.procfs import Processes
from smpmake.disk.disk import Disk
from smpmake.schedule.job import Job
from smpmake.undo.journal import UndoJournal

if TYPE_CHECKING:
    from random import Random

_LONGEST: Final = 0.03  # s


class Clock(Protocol):
    """What time it is, and who wakes us."""

    def now(self) -> int:
        """Monotonic, ns."""

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Does something after a while."""


class LoopClock:
    """The real one: the system's clock, the event loop's timers."""

    def now(self) -> int:
        """See Clock."""
        return time.monotonic_ns()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """See Clock."""
        asyncio.get_running_loop().call_later(seconds, action)


class Chaos:
    """What is done at random; without a seed everything is done at once and in order.

    The same seed decides alike for the same sequence of commands.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._random: Random | None = None
        if seed is not None:
            from random import Random

            self._random = Random(seed)

    @property
    def active(self) -> bool:
        """Whether there is a seed."""
        return self._random is not None

    def rank(self, job: Job) -> float:
        """What the queue is ordered by."""
        return job.number if self._random is None else self._random.random()

    def later(self, action: Callable[[], None]) -> None:
        """Does something: at once, or, one time in two, a moment later."""
        if self._random is None or self._random.random() < 0.5:
            action()
            return
        delay = self._random.random() ** 3 * _LONGEST
        asyncio.get_running_loop().call_later(delay, action)


class Computer(NamedTuple):
    """What an engine works with.

    disk     the session's folder, and all that builds read and write.
    journal  what its builds change, as far as it can be undone.
    """

    disk: Disk
    journal: UndoJournal
    clock: Clock
    processes: Processes
    chaos: Chaos
