"""Who had to wait for whom: the recorded build as a graph, as a serial build means it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set
from typing import NamedTuple

from smpmake.records import BuildRecord, CommandRecord
from smpmake.timing.serial import Serial
from smpmake.timing.spans import Span, Timeline, length, union


class Job(NamedTuple):
    """A command with a slot: its work in seconds, as if alone, and the jobs it needs."""

    number: int
    work: float
    needs: frozenset[int]


class Event(NamedTuple):
    """Something that the driver comes to after `work` more seconds of its own.

    issues    a job that it then hands over, or -1.
    needs     jobs that must have ended before it goes on.
    """

    work: float
    issues: int
    needs: frozenset[int]
    number: int = -1


class Graph(NamedTuple):
    """A build: the driver's events in order, and the jobs.  `work` is the sum of all, seconds."""

    events: tuple[Event, ...]
    jobs: dict[int, Job]
    work: float


def build_graph(record: BuildRecord, line: Timeline, serial: Serial) -> Graph:
    """The graph of a recorded build.

    What a parallel driver ran at the same time are jobs too: it waits for them on its own terms.
    """
    needs = _needs(record)
    jobs = {
        c.number: Job(c.number, serial.works[c.number], needs[c.number])
        for c in record.commands
        if c.number in serial.works and (c.verdict == "deferred" or serial.parallel)
    }
    through = _Through(needs, jobs)
    jobs = {n: Job(n, job.work, through.of(n)) for n, job in jobs.items()}
    events = _events(record, line, jobs, through, serial)
    total = sum(event.work for event in events) + sum(job.work for job in jobs.values())
    return Graph(tuple(events), jobs, total)


def _needs(record: BuildRecord) -> dict[int, frozenset[int]]:
    """For each command the earlier ones whose results it reads, replaces, or must not change."""
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    found: dict[int, frozenset[int]] = {}
    waits: dict[int, set[int]] = {}
    for stall in record.stalls:
        if stall.command >= 0:
            waits.setdefault(stall.command, set()).add(stall.waited_for)
    everybody: list[int] = []
    for command in record.commands:
        number = command.number
        if command.verdict == "barrier":
            needs = set(everybody)
        else:
            needs = {writer[p] for p in (*command.inputs, *command.reads) if p in writer}
            for path in command.outputs:
                needs.update(readers.get(path, ()))
                if path in writer:
                    needs.add(writer[path])
        needs |= waits.get(number, set())
        if command.waited_for >= 0:
            needs.add(command.waited_for)
        found[number] = frozenset(n for n in needs if n < number)
        for path in dict.fromkeys((*command.inputs, *command.reads)):
            readers.setdefault(path, []).append(number)
        for path in command.outputs:
            writer[path] = number
            readers.pop(path, None)
        everybody.append(number)
    return found


class _Through:
    """What commands need, as jobs: through moves and the like, which take no slot of their own."""

    def __init__(self, needs: dict[int, frozenset[int]], jobs: dict[int, Job]) -> None:
        self._known: dict[int, frozenset[int]] = {}
        for number in sorted(needs):  # what a command needs has a lower number
            found: set[int] = set()
            for need in needs[number]:
                if need in jobs:
                    found.add(need)
                else:
                    found |= self._known.get(need, frozenset())
            self._known[number] = frozenset(found)

    def of(self, number: int) -> frozenset[int]:
        return self._known.get(number, frozenset())


def _events(
    record: BuildRecord, line: Timeline, jobs: dict[int, Job], through: _Through, serial: Serial
) -> list[Event]:
    base, begin = record.started, record.driver_started

    def at(time: int) -> float:
        return max(0, time - base) / 1e9

    tools = [c for c in record.commands if c.verdict != "deferred" and c.number in line.work]
    beside = [span for c in tools if c.number in jobs for span in line.work[c.number]]
    clock = _Clock(union([*line.stalled, *beside]) if beside else line.stalled)
    # The driver's own clock goes as fast as what it runs in the foreground.
    inline = {c.number for c in tools} - jobs.keys()
    scale = _scale(line, serial, inline)
    marks: list[tuple[float, int, int, frozenset[int]]] = []
    for command in record.commands:
        number = command.number
        if command.state == "undone":
            continue
        if number in jobs:
            marks.append((at(command.issued), number, number, frozenset()))
        elif command.verdict != "deferred":
            needs = through.of(number)
            if needs:
                marks.append((at(command.issued), number, -1, needs))
    ends = sorted((c.ended, c.number) for c in record.commands if c.number in jobs and c.ended)
    times = [ended for ended, _ in ends]
    for stall in record.stalls:
        if stall.command < 0 and stall.ended and stall.began >= begin:
            waited = {stall.waited_for} & jobs.keys() or set(through.of(stall.waited_for))
            # Of several the one that ended last is what it really waited for.
            place = bisect_right(times, stall.ended) - 1
            if stall.count > 1 and place >= 0 and ends[place][0] > stall.began:
                last = ends[place][1]
                if last <= stall.waited_for:
                    waited.add(last)
            marks.append((at(stall.began), len(record.commands), -1, frozenset(waited)))
    marks.sort(key=lambda mark: mark[:2])
    events, before = [], clock.of(at(begin)) if begin else 0.0
    for when, number, issues, needs in marks:
        now = max(before, clock.of(when))
        events.append(Event((now - before) * scale, issues, needs, number))
        before = now
    end = clock.of(at(record.driver_ended) if record.driver_ended else line.wall)
    events.append(Event(max(0.0, end - before) * scale, -1, frozenset()))
    return events


def _scale(line: Timeline, serial: Serial, inline: Set[int]) -> float:
    """What a second of the driver's own clock, foreground commands included, is alone."""
    own = length(line.driver)
    wall = own + sum(length(line.work[number]) for number in inline)
    work = own * serial.scale + sum(serial.works.get(number, 0.0) for number in inline)
    # What its processes did beside each other is not longer for that.
    return min(1.0, work / wall) if wall > 0 else 1.0


class _Clock:
    """The driver's own clock, which stands still while it waits."""

    def __init__(self, stalled: list[Span]) -> None:
        self._starts = [start for start, _ in stalled]
        self._ends = [end for _, end in stalled]
        self._before = [0.0]
        for start, end in stalled:
            self._before.append(self._before[-1] + end - start)

    def of(self, time: float) -> float:
        place = bisect_right(self._starts, time)
        lost = self._before[place]
        if place:
            lost -= max(0.0, self._ends[place - 1] - time)
        return time - lost


def is_job(command: CommandRecord) -> bool:
    """Whether a command ran in a slot, deferred."""
    return command.verdict == "deferred" and command.slot >= 0 and command.started > 0
