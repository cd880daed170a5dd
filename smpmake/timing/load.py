"""What the machine did while a build ran: how idle it was, and what others took and wanted of it.

A build knows its own CPU time; the samples say what all CPUs did.  What was busy and was not the
build's own was others'.  How long a job waited for a CPU its guards have told; of what has no guard
it is inferred from how idle the machine was.

How a plain build would have fared beside the same load cannot be told: schedulers share CPUs
between sessions and cgroups by weights, not between runnable processes.  So where others wanted
much (BUSY) nothing is said of speed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from smpmake.records import BuildRecord, Sample
from smpmake.timing.spans import Span, Timeline, length

#: Share of the CPUs that others may want before nothing can be said of how much was gained.
BUSY: Final = 0.25
_LITTLE: Final = 0.1  # share of the CPUs that matters to nobody
_LATE: Final = 0.01  # s that the last sample may come behind the build's end


class Piece(NamedTuple):
    """Something of the build that was at work.

    spans    when.
    cpu      its seconds of CPU, divided by its `threads`: a serial build's tools have them too.
    delay    for how long it waited for a CPU; None where nobody measured it.
    """

    spans: Sequence[Span]
    cpu: float
    delay: float | None = None
    threads: float = 1.0

    @property
    def wall(self) -> float:
        """Seconds at work."""
        return length(self.spans)

    @property
    def wanted(self) -> float:
        """The share of its time in which it wanted a CPU, had or waited for."""
        wall = self.wall
        return 1.0 if self.delay is None else min(1.0, (self.cpu + self.delay) / wall)


class Load(NamedTuple):
    """The machine over a build's time.

    others  share of the build's CPUs that other programs took; None where that cannot be told.
    wanted  the share that they wanted, at most 1; it is more than they took where both waited.
    stolen  share that the host of a virtual machine kept.
    host    by how much that made CPU time longer: factor.
    share   of the CPU time that the same work takes where nothing of the build runs beside it.
    idle    see `alone`.
    """

    others: float | None
    wanted: float | None
    stolen: float
    host: float
    idle: Course
    share: float = 1.0

    @property
    def elsewhere(self) -> float:
        """The share of the CPUs that others wanted, the host of a virtual machine among them."""
        return min(1.0, (self.wanted or 0.0) + self.stolen)

    @property
    def busy(self) -> bool:
        """Whether others wanted so much that nothing can be said of how much was gained."""
        return self.elsewhere > BUSY

    def alone(self, piece: Piece) -> float:
        """Seconds that a piece would take with the machine for itself.

        Its CPU time; and of what it waited that part which was not waiting for a CPU.
        """
        return piece.cpu * self.share + self._slept(piece)

    def _slept(self, piece: Piece) -> float:
        """Seconds in which it wanted no CPU."""
        if piece.delay is None:
            return max(0.0, piece.wall - piece.cpu) * self.idle.mean(piece.spans)
        return max(0.0, piece.wall - piece.cpu * self.host - piece.delay)


class Course:
    """A value over time: constant between edges, and before the first and after the last."""

    __slots__ = ("_edges", "_sums", "_values")

    def __init__(self, edges: Sequence[float], values: Sequence[float]) -> None:
        self._edges = edges
        self._values = values
        steps = ((b - a) * value for (a, b), value in zip(pairwise(edges), values, strict=True))
        self._sums = [0.0, *accumulate(steps)]

    def mean(self, spans: Sequence[Span]) -> float:
        """Its mean over some time; over all where that is none."""
        seconds = length(spans)
        if seconds <= 0:
            spans = [(self._edges[0], self._edges[-1])]
            seconds = length(spans)
        return sum(self._until(end) - self._until(start) for start, end in spans) / seconds

    def _until(self, time: float) -> float:
        place = min(max(0, bisect_right(self._edges, time) - 1), len(self._values) - 1)
        return self._sums[place] + (time - self._edges[place]) * self._values[place]


def constant(wall: float, value: float) -> Course:
    """The same all the time."""
    return Course((0.0, wall), (value,))


def load(record: BuildRecord, line: Timeline, pieces: Sequence[Piece]) -> Load:
    """What was beside the build; `pieces` is all that was at work for it."""
    wall, server = line.wall, record.server_cpu_us / 1e6
    share = record.calibration or 1.0
    # The first has nothing before it.
    samples = [sample for sample in record.samples[1:] if 0 < sample.at <= wall + _LATE]
    if not samples:  # then nobody looked; the build itself is all that is known
        mine = sum(piece.cpu * piece.threads for piece in pieces) + server
        idle = max(0.0, 1 - mine / (wall * record.cpus))
        return Load(None, None, 0.0, 1.0, constant(wall, idle), share)
    # A script's machine is not looked at before its first job.
    first = min(max(0.0, record.samples[0].at), samples[0].at)
    edges = [first, *(sample.at for sample in samples[:-1]), wall]
    watched = record.watched or record.cpus
    seconds = [end - start for start, end in pairwise(edges)]
    rates = _rates(pieces, edges)
    free = [_freedom(each, *rate) for each, rate in zip(samples, rates, strict=True)]
    others = wanted = None
    kept = _over(seconds, [sample.stolen * watched for sample in samples])
    used = _over(seconds, [sample.cpu * watched for sample in samples])
    host = used / (used - kept) if kept < used else 1.0
    if _is_accounted(record):
        mine = server + sum(own * each for (own, _), each in zip(rates, seconds, strict=True))
        taken = used - kept - mine / (wall - first) - (watched - record.cpus)
        others = min(1.0, max(0.0, taken / record.cpus))
        wanted = _wanted(others, pieces)
    return Load(others, wanted, min(1.0, kept / watched), host, Course(edges, free), share)


def _over(seconds: Sequence[float], values: Sequence[float]) -> float:
    """The mean of values, each of which held for so long."""
    total = sum(value * each for value, each in zip(values, seconds, strict=True))
    return total / sum(seconds)


def _wanted(others: float, pieces: Iterable[Piece]) -> float:
    """The share of the CPUs that others wanted who took so much.

    The build's own processes had less than they wanted, and others that wanted CPUs at the same
    time had about as much less.  Who took next to nothing did not wait for it: the kernel prefers
    what sleeps mostly.
    """
    told = [piece for piece in pieces if piece.delay is not None]
    cpu = sum(piece.cpu * piece.threads for piece in told)
    delay = sum(piece.delay or 0.0 for piece in told)
    if others <= _LITTLE or cpu <= 0:
        return others
    return min(1.0, others * (cpu + delay) / cpu)


def _is_accounted(record: BuildRecord) -> bool:
    """Whether the build's own CPU time is known: of what is killed some is lost, and of a driver
    that ended unseen all."""
    return (
        record.complete
        and record.driver_ended > 0
        and record.status < 128
        and all(c.ended for c in record.commands if c.started and c.verdict == "deferred")
    )


def _freedom(sample: Sample, own: float, at_work: float) -> float:
    """Of the time that the build's things did not run, the share in which they could have.

    That is at least the share in which a CPU was idle; and where nobody waited for a CPU, and the
    host took none, whoever did not run did not want to.
    """
    free = 1 - sample.cpu
    running = min(1.0, own / at_work) if at_work > 0 else 0.0
    if sample.pressure >= 0 and running < 1:
        stolen = sample.stolen / sample.cpu if sample.cpu > 0 else 0.0
        free = max(free, (1 - running - sample.pressure - stolen) / (1 - running))
    return free


def _rates(pieces: Iterable[Piece], edges: Sequence[float]) -> list[tuple[float, float]]:
    """Between edges: the CPUs' worth that the pieces got, and how many wanted a CPU."""
    events: list[tuple[float, float, float]] = []
    for piece in pieces:
        wall = piece.wall
        if wall <= 0:
            continue
        rate, wanted = piece.threads * piece.cpu / wall, piece.threads * piece.wanted
        for start, end in piece.spans:
            events += [(start, rate, wanted), (end, -rate, -wanted)]
    events += [(edge, 0.0, 0.0) for edge in edges]
    events.sort(key=lambda event: event[0])
    rate, count, before = 0.0, 0.0, edges[0]
    work = [0.0] * (len(edges) - 1)
    seconds = [0.0] * (len(edges) - 1)
    place = 0
    for when, more, things in events:
        when = min(max(when, edges[0]), edges[-1])
        while place < len(work) - 1 and before >= edges[place + 1]:
            place += 1
        work[place] += rate * (when - before)
        seconds[place] += count * (when - before)
        rate, count, before = rate + more, count + things, when
    widths = [max(1e-9, end - start) for start, end in pairwise(edges)]
    return [(w / d, s / d) for w, s, d in zip(work, seconds, widths, strict=True)]
