"""What held a build back, in words, the costliest first."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from smpmake import units
from smpmake.records import BuildRecord, CommandRecord
from smpmake.timing.model import Timing
from smpmake.timing.spans import Span, length, union, without

_LEAST: Final = 0.02  # share of the wall time below which nothing is worth a sentence
_MOST: Final = 8


@dataclass(frozen=True, slots=True)
class Finding:
    """seconds of wall time (or of waiting), and a sentence about them."""

    seconds: float
    text: str


def label(command: CommandRecord) -> str:
    """A command by what it makes."""
    if command.outputs:
        return f"{command.tool} {posixpath.basename(command.outputs[0])}"
    return command.tool


def find(
    record: BuildRecord, timing: Timing, what_if: tuple[tuple[int, float], ...]
) -> tuple[Finding, ...]:
    """Sentences about what would be worth changing."""
    found = [
        *_stalls(record, timing),
        *_gaps(record, timing),
        *_tail(record, timing),
        *_foreground(record, timing),
        *_memory(timing),
        *_cpus(timing, what_if),
    ]
    worth = [each for each in found if each.seconds >= _LEAST * timing.wall]
    worth.sort(key=lambda finding: -finding.seconds)
    return tuple(worth[:_MOST])


def _stalls(record: BuildRecord, timing: Timing) -> list[Finding]:
    """For each result that somebody came to too early: who, and how long."""
    by_number = {command.number: command for command in record.commands}
    waits: dict[str, list[tuple[Span, str]]] = {}
    base = record.started
    for stall in timing.stalls:
        span = ((stall.began - base) / 1e9, (stall.ended - base) / 1e9)
        name = posixpath.basename(stall.path) or stall.path
        waits.setdefault(name, []).append((span, stall.who))
    for wait in timing.waits:
        if wait.cause is None or wait.for_slot > wait.seconds / 2:
            continue
        span = ((wait.waiter.issued - base) / 1e9, (wait.waiter.started - base) / 1e9)
        cause = by_number.get(wait.cause.number, wait.cause)
        outputs = cause.outputs or (cause.tool,)
        who = "links" if wait.waiter.kind == "link" else label(wait.waiter)
        waits.setdefault(posixpath.basename(outputs[0]), []).append((span, who))
    found = []
    for name, entries in waits.items():
        seconds = length(union(span for span, _ in entries))
        who, count = Counter(who for _, who in entries).most_common(1)[0]
        others = " and others" if count < len(entries) else ""
        more = f", {len(entries)} times" if len(entries) > 1 else ""
        text = f"{name} kept {who}{others} waiting for {units.seconds(seconds)}{more}"
        found.append(Finding(seconds, text))
    return found


def _gaps(record: BuildRecord, timing: Timing) -> list[Finding]:
    """Where the driver did not bring enough: CPUs idle and nothing queued, while it was at work."""
    busy = _enough(timing)
    idle = [
        hole
        for span in timing.line.driver
        for hole in without(span, busy)
        if hole[1] - hole[0] > 0.05
    ]
    if not idle:
        return []
    issued = sorted((c.issued - record.started) / 1e9 for c in record.commands)
    names = sorted(((c.issued - record.started) / 1e9, label(c), c.cwd) for c in record.commands)
    found = []
    for start, end in sorted(idle, key=lambda hole: hole[0] - hole[1])[:3]:
        before = [name for name in names if name[0] <= start]
        after = [name for name in names if name[0] >= end - 0.01]
        if before and after:
            where = f"between {before[-1][1]} and {after[0][1]}"
            if before[-1][2] != after[0][2]:
                folder = posixpath.relpath(after[0][2], record.cwd)
                where += f" (on the way into {folder})"
        elif after:
            where = f"before its first command ({after[0][1]})"
        else:
            where = "after its last command"
        seconds = end - start
        idle_for = units.seconds(seconds)
        text = f"the driver brought nothing to do for {idle_for} {where}"
        if not timing.loaded:  # else others had it
            text += ": a CPU stood idle"
        found.append(Finding(seconds, text))
    total = length(idle)
    if len(idle) > 3 and total > 1.5 * sum(finding.seconds for finding in found) and issued:
        text = (
            f"the driver by itself left CPUs idle for {units.seconds(total)}, in {len(idle)} places"
        )
        found.append(Finding(total, text))
    return found


def _enough(timing: Timing) -> list[Span]:
    """When jobs alone kept all CPUs busy but the driver's own."""
    wanted = max(1, timing.extra_cpus - 1)
    steps = [*timing.concurrency.steps, (timing.wall, 0)]
    return union(
        (start, end) for (start, running), (end, _) in pairwise(steps) if running >= wanted
    )


def _tail(record: BuildRecord, timing: Timing) -> list[Finding]:
    """Something alone at the end."""
    steps = timing.concurrency.steps
    if timing.extra_cpus < 2 or not steps:
        return []
    start = timing.wall
    for when, running in reversed(steps):
        if running > 1:
            break
        start = when
    jobs = [
        number
        for number, spans in timing.line.work.items()
        if any(end > start + 0.01 for _, end in spans)
    ]
    seconds = timing.wall - start
    by_number = {command.number: command for command in record.commands}
    if not jobs or len(jobs) > 3:
        return []
    names = ", ".join(label(by_number[number]) for number in jobs)
    return [Finding(seconds, f"at the end {names} ran alone for {units.seconds(seconds)}")]


def _foreground(record: BuildRecord, timing: Timing) -> list[Finding]:
    """Commands that were not deferred, by reason."""
    sums: dict[str, list[float]] = {}
    for command in record.commands:
        if (
            command.verdict != "deferred"
            and not command.light
            and command.number in timing.line.work
        ):
            row = sums.setdefault(command.reason, [0, 0.0])
            row[0] += 1
            row[1] += length(timing.line.work[command.number])
    return [
        Finding(
            seconds,
            f"{int(count)} command{'s' if count > 1 else ''} ran in the foreground ({reason}): "
            f"{units.seconds(seconds)}",
        )
        for reason, (count, seconds) in sums.items()
    ]


def _memory(timing: Timing) -> list[Finding]:
    if not timing.held:
        return []
    return [Finding(timing.held, f"memory, not CPUs, limited you for {units.seconds(timing.held)}")]


def _cpus(timing: Timing, what_if: tuple[tuple[int, float], ...]) -> list[Finding]:
    """Whether more CPUs would help."""
    here = min(
        (seconds for size, seconds in what_if if size <= timing.extra_cpus), default=timing.wall
    )
    more = [(size, seconds) for size, seconds in what_if if size > timing.extra_cpus]
    if not more or here <= 0:
        return []
    size, seconds = more[0]
    best = min(value for _, value in more)
    enough = next(s for s, value in what_if if value <= best * 1.05 + 0.001)
    gain = here - seconds
    if gain < _LEAST * here:
        return []
    text = (
        f"{size} CPUs would take about {seconds / here:.0%} of the time; more than {enough} "
        f"would gain nothing"
    )
    return [Finding(gain, text)]
