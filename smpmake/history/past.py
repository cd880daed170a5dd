"""Looks for a project's earlier builds in the history, and at what they took."""

from __future__ import annotations

from smpmake.forecast import Forecast
from smpmake.history.store import GARBAGE, History, HistoryError
from smpmake.records import BuildRecord
from smpmake.timing import analyse  # the face first: threads import it at the same time
from smpmake.timing.calibration import calibrated
from smpmake.timing.graph import build_graph
from smpmake.timing.tails import tails


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


def with_order(known: Forecast, cwd: str, history: History) -> Forecast:
    """The same with what hangs on each command, which takes longer to find out."""
    try:
        fullest = history.fullest(cwd)
        record = history.load(fullest) if fullest is not None else None
    except HistoryError:
        return known
    if record is None:
        return known
    try:
        return _with_order(known, record)
    except GARBAGE:  # numbers that no build has had
        return known


def _with_order(known: Forecast, record: BuildRecord) -> Forecast:
    timing = analyse(record)
    graph = build_graph(record, timing.line, timing.serial)
    outputs = {c.number: c.outputs[0] for c in record.commands if c.outputs}
    found = {outputs[n]: tail for n, tail in tails(graph).items() if n in outputs}
    jobs = [c for c in record.commands if c.verdict == "deferred" and c.outputs]
    return Forecast(known.past, found, tuple((c.outputs[0], c.duration) for c in jobs))
