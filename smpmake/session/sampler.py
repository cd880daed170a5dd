"""Looks at the machine now and then: CPU, memory, running and queued jobs.

Needs no more than /proc, so that the first look is possible before anything else is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final

from smpmake.records import Sample
from smpmake.session import machine
from smpmake.session.machine import Machine, Moment

INTERVAL: Final = 0.5


class Sampler:
    """Appends to `samples` every `interval` seconds, and calls back each time.  The first sample,
    of when it is made, is there at once: of the machine before the build.

    memory  how much the machine has, bytes.
    """

    def __init__(
        self,
        samples: list[Sample],
        counts: Callable[[], tuple[int, int, int, int]],
        started: int,
        interval: float = INTERVAL,
    ) -> None:
        self._samples = samples
        self._counts = counts
        self._started = started
        self._interval = interval
        self._moment = Moment(0.0, 0.0, -1.0)
        self._memory = self.memory = 0
        self._machine: Machine | None = None
        with contextlib.suppress(OSError):
            self._machine = Machine()
        self.take_sample()

    @property
    def watched(self) -> int:
        """How many CPUs the samples are about; 0 where /proc could not be read."""
        return self._machine.count if self._machine is not None else 0

    def take_sample(self) -> Sample:
        """One sample, now."""
        with contextlib.suppress(OSError):  # no descriptor for a look at /proc: as it was
            if self._machine is not None:
                self._moment = self._machine.look()
            self.memory, self._memory = machine.memory()
        at = (time.monotonic_ns() - self._started) / 1e9
        busy, stolen, pressure = self._moment
        sample = Sample(at, busy, self._memory, *self._counts(), stolen, pressure)
        self._samples.append(sample)
        return sample

    async def take_samples(self, show: Callable[[Sample], None]) -> None:
        """Until cancelled."""
        show(self.take_sample())
        while True:
            await asyncio.sleep(self._interval)
            show(self.take_sample())
