"""Disorder on purpose: delays and shuffles what a correct build does not depend on.

For `--chaos SEED`: faults in smpmake, and dependencies missing in users' makefiles, show under some
seed.  The same seed decides alike for the same sequence of commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from smpmake.schedule.job import Job

if TYPE_CHECKING:
    from random import Random

_LONGEST: Final = 0.03  # s


class Chaos:
    """What is done at random.  Without a seed everything is done at once and in order."""

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
