"""What is expected of the jobs of this very build: how long each takes, and what memory it needs.

Earlier builds tell (history/past.py); of commands that are new, those of the same tool so far.
"""

from __future__ import annotations

from typing import Final

from smpmake.engine.command import command_of
from smpmake.forecast import Forecast
from smpmake.schedule.job import Job

_KIB: Final = 1024


class Expectations:
    """One per engine.

    forecast  what earlier builds tell.
    """

    def __init__(self) -> None:
        self.forecast = Forecast()
        self._seen: dict[str, tuple[int, int]] = {}  # by tool: how many, bytes of all together

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


def _output(job: Job) -> str:
    outputs = command_of(job).record.outputs
    return outputs[0] if outputs else ""
