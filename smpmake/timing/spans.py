"""What ran when: a sweep over a build's intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from smpmake.records import BuildRecord, CommandRecord

Span = tuple[float, float]
"""Start and end, seconds into the build."""

LINKERS: Final = ("link", "archive")


def union(spans: Iterable[Span]) -> list[Span]:
    """The same time as spans that neither touch nor overlap, in order."""
    merged: list[list[float]] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [(start, end) for start, end in merged]


def length(spans: Iterable[Span]) -> float:
    """Seconds in spans that do not overlap."""
    return sum(end - start for start, end in spans)


def subtract(span: Span, holes: Sequence[Span]) -> list[Span]:
    """What is left of a span; holes in order, not overlapping."""
    left, (start, end) = [], span
    for first, last in holes:
        if last <= start or first >= end:
            continue
        if first > start:
            left.append((start, first))
        start = max(start, last)
    if start < end:
        left.append((start, end))
    return left


class Timeline(NamedTuple):
    """A build's intervals, in seconds from its start.

    work      for each command that took a slot and ran: when its process was at work.
    stalled   when the driver waited (for a result, or for a slot).
    driver    when the driver itself was at work.
    undone    the same, in runs whose work was undone.
    """

    wall: float
    work: dict[int, list[Span]]
    stalled: list[Span]
    driver: list[Span]
    undone: list[Span]


class Split(NamedTuple):
    """Where the wall time went, in seconds; the parts add up to it.

    several  at least two things were at work (jobs, or the driver beside one).
    driver   the driver alone: nothing else had been issued, or nothing could run beside it.
    linker   one link or archive alone.
    one      one other command alone.
    nobody   nothing at all: starts, answers, waiting for the machine.
    """

    several: float = 0.0
    driver: float = 0.0
    linker: float = 0.0
    one: float = 0.0
    nobody: float = 0.0


class Concurrency(NamedTuple):
    """What the sweep found.

    split     see Split.
    seconds   for each number of running commands (the index), how long that many ran.
    weighted  for each command its seconds, each shared by all that ran in that moment: what the
              build would have been shorter without it, very nearly.
    steps     (second, commands that run from then on), in order.
    """

    split: Split
    seconds: tuple[float, ...]
    weighted: dict[int, float]
    steps: tuple[tuple[float, int], ...] = ()


def timeline(record: BuildRecord) -> Timeline:
    """The intervals of a build."""
    base = record.started

    def at(time: int) -> float:
        return max(0, time - base) / 1e9

    wall = max(1e-9, at(record.ended))
    pauses: dict[int, list[Span]] = {}
    stalls: list[Span] = []
    for stall in record.stalls:
        span = (at(stall.began), at(stall.ended) if stall.ended else wall)
        if stall.command >= 0:
            pauses.setdefault(stall.command, []).append(span)
        else:
            stalls.append(span)
    work: dict[int, list[Span]] = {}
    in_tools: list[Span] = []
    for command in record.commands:
        if not command.started:
            continue
        span = (at(command.started), at(command.ended) if command.ended else wall)
        if command.verdict != "deferred":
            stalls.append((at(command.issued), span[0]))
            if command.light:
                continue
            in_tools.append(span)
        elif command.slot < 0:
            continue  # a rename: done by the server
        holes = union(pauses.get(command.number, ()))
        work[command.number] = subtract(span, holes)
    stalled = union(stalls)
    end = at(record.driver_ended) if record.driver_ended else wall
    begin = at(record.driver_started) if record.driver_started else 0.0
    others = union([*stalled, *in_tools])
    undone = subtract((0.0, begin), others) if record.runs > 1 else []
    return Timeline(wall, work, stalled, subtract((begin, end), others), undone)


def concurrency(record: BuildRecord, line: Timeline) -> Concurrency:
    """One sweep over all intervals."""
    linkers = {c.number for c in record.commands if c.kind in LINKERS}
    events: list[tuple[float, int, int, int]] = []  # second, commands, linkers, driver
    for number, spans in line.work.items():
        link = int(number in linkers)
        for start, end in spans:
            events.append((start, 1, link, 0))
            events.append((end, -1, -link, 0))
    for start, end in (*line.undone, *line.driver):
        events.append((start, 0, 0, 1))
        events.append((end, 0, 0, -1))
    events.sort(key=lambda event: event[0])
    seconds: dict[int, float] = {}
    parts = {"several": 0.0, "driver": 0.0, "linker": 0.0, "one": 0.0, "nobody": 0.0}
    times, shares, steps = [0.0], [0.0], [(0.0, 0)]
    now, running, linking, driving = 0.0, 0, 0, 0
    for when, commands, links, driver in [*events, (line.wall, 0, 0, 0)]:
        when = min(when, line.wall)
        if when > now:
            passed = when - now
            seconds[running] = seconds.get(running, 0.0) + passed
            parts[_part(running, linking, driving)] += passed
            times.append(when)
            shares.append(passed / running if running else 0.0)
            if steps[-1][1] != running:
                steps.append((now, running))
            now = when
        running += commands
        linking += links
        driving += driver
    if steps[-1][1]:
        steps.append((line.wall, 0))
    sums = list(accumulate(shares))

    def share(moment: float) -> float:
        place = bisect_right(times, moment) - 1
        return sums[place] if place >= 0 else 0.0

    weighted = {
        number: sum(share(end) - share(start) for start, end in spans)
        for number, spans in line.work.items()
    }
    most = max(seconds, default=0)
    return Concurrency(
        Split(**parts),
        tuple(seconds.get(count, 0.0) for count in range(most + 1)),
        weighted,
        tuple(steps),
    )


def _part(running: int, linking: int, driving: int) -> str:
    if running + min(driving, 1) > 1:
        return "several"
    if driving:
        return "driver"
    if running == 0:
        return "nobody"
    return "linker" if linking else "one"


def queue_wait(commands: Iterable[CommandRecord]) -> float:
    """Seconds that jobs were ready to run and had no slot, all together."""
    waits = (c.started - max(c.ready, c.issued) for c in commands if c.started and c.slot >= 0)
    return sum(max(0, wait) for wait in waits) / 1e9
