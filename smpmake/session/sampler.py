"""Looks at the machine now and then: CPU, memory, running and queued jobs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final

from smpmake.records import Sample

INTERVAL: Final = 0.5


class Sampler:
    """Appends to `samples` every `interval` seconds, and calls back each time."""

    def __init__(
        self,
        samples: list[Sample],
        counts: Callable[[], tuple[int, int, int, int]],
        started: int,
        interval: float = INTERVAL,
    ) -> None:
        import psutil

        self._psutil = psutil
        self._samples = samples
        self._counts = counts
        self._started = started
        self._interval = interval
        self._machine = (0.0, 0)
        psutil.cpu_percent()  # the first call only sets its mark

    def take(self) -> Sample:
        """One sample, now."""
        with contextlib.suppress(OSError):  # no descriptor for a look at /proc: as it was
            self._machine = (
                self._psutil.cpu_percent() / 100,
                self._psutil.virtual_memory().used,
            )
        at = (time.monotonic_ns() - self._started) / 1e9
        sample = Sample(at, *self._machine, *self._counts())
        self._samples.append(sample)
        return sample

    async def run(self, show: Callable[[Sample], None]) -> None:
        """Until cancelled."""
        show(self.take())
        while True:
            await asyncio.sleep(self._interval)
            show(self.take())
