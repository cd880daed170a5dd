"""What goes on beside a build: samples for its record, and a status line for its user."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from smpmake.config import Settings
from smpmake.records import BuildRecord, Sample
from smpmake.session.backend import Backend
from smpmake.session.sampler import INTERVAL, Sampler
from smpmake.session.unknown_tools import UnknownTools
from smpmake.status import Display, display
from smpmake.status.progress import Progress, Sequel
from smpmake.status.template import Wording


class Watch:
    """Of one build, from `watch_driver` to `stop_watching`; each run of the driver has a turn.

    sampler  has looked at the machine since the build began.  turn  called with each sample.
    shims    the folder of those that the build calls.
    """

    def __init__(
        self,
        record: BuildRecord,
        backend: Backend,
        settings: Settings,
        sampler: Sampler,
        turn: Callable[[], None],
        shims: str,
    ) -> None:
        self._record = record
        self._backend = backend
        self._settings = settings
        self._turn = turn
        self._progress = Progress(record.slots)
        self._sequel: Sequel = ()
        self._sampler = sampler
        self._display: Display
        self._task: asyncio.Task[None]
        self._unknown = UnknownTools(shims, INTERVAL)
        self._keeper = 0

    def watch_driver(self, keeper: int) -> None:
        """A driver runs, below its keeper's process: the status line and the samples begin."""
        self._keeper = keeper
        record, settings = self._record, self._settings
        record.watched, record.memory = self._sampler.watched, self._sampler.memory
        self._display = display(Wording(settings.status), quiet=settings.verbosity < 0)
        self._task = asyncio.create_task(self._sampler.take_samples(self._sampled))

    async def stop_watching(self) -> None:
        """All that the driver issued has ended: the status line goes."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._sampler.take_sample()
        self._display.close()

    def notices(self, passed: float) -> list[str]:
        """What was seen of a build that took so many seconds, and is to be told."""
        return self._unknown.notices(passed)

    def _sampled(self, sample: Sample) -> None:
        self._turn()
        self._unknown.look(self._keeper)
        sequel = self._backend.sequel()
        if sequel is not self._sequel:
            self._sequel = sequel
            self._progress.expect(sequel)
        record = self._record
        self._display.show(
            self._progress.facts(
                sample,
                record.commands,
                began=record.started,
                failed=len(record.failures),
                over=bool(record.driver_ended),
            )
        )
