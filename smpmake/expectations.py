"""What earlier builds of a project let us expect of its commands: their order, their memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smpmake.history import History, HistoryError, Past
from smpmake.timing import analyse
from smpmake.timing.graph import build_graph
from smpmake.timing.priority import tails


@dataclass(frozen=True, slots=True)
class Expectations:
    """By first output.

    tails   seconds to the build's end (timing.priority).
    sequel  the fullest build's jobs in order of issue: output and seconds.
    """

    past: Mapping[str, Past] = field(default_factory=dict)
    tails: Mapping[str, float] = field(default_factory=dict)
    sequel: tuple[tuple[str, float], ...] = ()

    def tail(self, output: str) -> float | None:
        """Seconds that hang on a command; None if it is new."""
        return self.tails.get(output)

    def memory(self, output: str) -> int | None:
        """KiB that a command took at most; None if it is new."""
        known = self.past.get(output)
        return known.max_rss if known is not None else None


def of_commands(cwd: str, history: History) -> Expectations:
    """What each command of a folder took.  A history that cannot be read tells nothing."""
    try:
        return Expectations(history.past(cwd))
    except HistoryError:
        return Expectations()


def with_order(known: Expectations, cwd: str, history: History) -> Expectations:
    """The same with what hangs on each command, which takes longer to find out."""
    try:
        fullest = history.fullest(cwd)
        record = history.load(fullest) if fullest is not None else None
    except HistoryError:
        return known
    if record is None:
        return known
    timing = analyse(record)
    graph = build_graph(record, timing.line, max(0.0, 1 - timing.utilisation))
    outputs = {c.number: c.outputs[0] for c in record.commands if c.outputs}
    found = {outputs[n]: tail for n, tail in tails(graph).items() if n in outputs}
    jobs = [c for c in record.commands if c.verdict == "deferred" and c.outputs]
    return Expectations(known.past, found, tuple((c.outputs[0], c.duration) for c in jobs))
