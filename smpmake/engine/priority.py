"""What is expected of the jobs of this very build: which comes first, and what memory it needs.

Earlier builds tell (history/past.py); of commands that are new, those of the same tool so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from smpmake.engine.command import command_of
from smpmake.engine.computer import Chaos
from smpmake.forecast import Forecast
from smpmake.schedule.job import Job

_KIB: Final = 1024
_SHORTEST: Final = 0.01  # s, of a usual job
_LONGER: Final = 2.0  # usual jobs
_STEP: Final = math.log(1.5)


class Priority:
    """One per engine.

    forecast  what earlier builds tell.
    """

    def __init__(self, chaos: Chaos) -> None:
        self._chaos = chaos
        self.forecast = Forecast()
        self._usual_tail = 0.0
        self._usual = _SHORTEST
        self._seen: dict[str, tuple[int, int]] = {}  # by tool: how many, bytes of all together

    def take_forecast(self, forecast: Forecast) -> None:
        """Takes in what earlier builds of the project tell."""
        self.forecast = forecast
        self._usual_tail = _median(forecast.tails.values())
        self._usual = max(_SHORTEST, _median(seconds for _, seconds in forecast.sequel))

    def rank(self, job: Job) -> float:
        """What the queue is ordered by, least first: the order of issue, if nothing is known."""
        if self._chaos.active:
            return self._chaos.rank(job)
        if not self.forecast.tails:
            return job.number
        output = _output(job)
        tail = self.forecast.tail(output) if output else None
        return 0.0 if tail is None else -_step((tail - self._usual_tail) / self._usual)

    def memory_needed(self, job: Job) -> int:
        """Bytes that a job will need."""
        output = _output(job)
        known = self.forecast.memory(output) if output else None
        if known is not None:
            return known * _KIB
        count, total = self._seen.get(command_of(job).record.tool, (0, 0))
        return total // count if count else 0

    def work_of(self, job: Job) -> float | None:
        """Seconds of work that a job took in an earlier build, None if it is new."""
        output = _output(job)
        return self.forecast.work(output) if output else None

    def job_left(self, job: Job) -> None:
        """A job has left the engine; its memory tells of others by its tool."""
        record = command_of(job).record
        if record.max_rss:
            count, total = self._seen.get(record.tool, (0, 0))
            self._seen[record.tool] = (count + 1, total + record.max_rss * _KIB)


def _step(ahead: float) -> int:
    """How far a job goes to the front of which so many usual ones more hang than of a usual one.

    Jobs about as long go in the order of their issue, and longer ones by steps, each half as long
    again as the one before: who is ahead of many earlier ones has to ask about what it makes.
    """
    return 0 if ahead < _LONGER else round(math.log(ahead) / _STEP)


def _median(values: Iterable[float]) -> float:
    found = sorted(values)
    return found[len(found) // 2] if found else 0.0


def _output(job: Job) -> str:
    outputs = command_of(job).record.outputs
    return outputs[0] if outputs else ""
