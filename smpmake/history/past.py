"""Looks for a project's earlier builds in the history, and at what they took."""

from __future__ import annotations

from smpmake.forecast import Forecast
from smpmake.history.store import GARBAGE, History, HistoryError
from smpmake.records import BuildRecord
from smpmake.timing.calibration import calibrated


def of_commands(cwd: str, history: History) -> Forecast:
    """What each command of a folder took.  A history that cannot be read tells nothing."""
    try:
        return Forecast(history.past(cwd))
    except HistoryError:
        return Forecast()


def calibration(record: BuildRecord, history: History) -> float | None:
    """By how much several CPUs at once make CPU time longer, if builds with one slot can tell."""
    if record.slots < 2:
        return None
    try:
        return calibrated(record, history.single(record.cwd))
    except (HistoryError, *GARBAGE):
        return None


def with_sequel(known: Forecast, cwd: str, history: History) -> Forecast:
    """The same with the jobs of the fullest build, which takes longer to read."""
    try:
        fullest = history.fullest(cwd)
        record = history.load(fullest) if fullest is not None else None
    except HistoryError:
        return known
    if record is None:
        return known
    jobs = [c for c in record.commands if c.verdict == "deferred" and c.outputs]
    return known._replace(sequel=tuple((c.outputs[0], c.duration) for c in jobs))
