"""What held a build back, in words, the costliest first."""

from __future__ import annotations

import bisect
import posixpath
from collections import Counter
from collections.abc import Collection
from itertools import pairwise
from typing import Final, NamedTuple

from smpmake import units
from smpmake.commands.model import Reason
from smpmake.commands.reading.makes import GNU, READERS
from smpmake.records import BuildRecord, CommandRecord
from smpmake.timing.figures import Timing
from smpmake.timing.spans import Span, length, subtract, union

_LEAST: Final = 0.02  # share of the wall time below which nothing is worth a sentence
_MOST: Final = 8


class Finding(NamedTuple):
    """seconds of wall time (or of waiting), and a sentence about them, with one thing to do.

    kind      "stall", "gap", "gaps", "alone", "in-place", "memory" or "cpus".
    commands  the numbers of those that it is about; path: the file, "" for none.
    is_cause  whether it cost this very build something; else it is good to know.
    """

    kind: str
    seconds: float
    text: str
    commands: tuple[int, ...] = ()
    path: str = ""
    is_cause: bool = True


def _named(command: CommandRecord, record: BuildRecord) -> str:
    """A command by the place of what it makes."""
    if command.outputs:
        return f"{command.tool} {units.seen_from(record.cwd, command.outputs[0])}"
    return command.tool


def _driver(record: BuildRecord) -> str:
    return posixpath.basename(record.command[0])


def hint_to_check(record: BuildRecord, paths: Collection[str]) -> str:
    """Where to learn whether a wait for one of these files is declared: a serial driver calls the
    reader behind the maker in any case.  "" where only a make waited, or where no make can tell.
    """
    name = _driver(record)
    asked = (s for s in record.stalls if s.path in paths and s.ended and s.who not in READERS)
    if name not in GNU or not any(asked):
        return ""
    return f"if another rule makes it, `smpmake check {name}` tells whether the makefile says so"


def find(
    record: BuildRecord, timing: Timing, what_if: tuple[tuple[int, float], ...]
) -> tuple[Finding, ...]:
    """Sentences about what would be worth changing: causes first, each kind the costliest first."""
    found = [
        *_stalls(record, timing),
        *_gaps(record, timing),
        *_tail(record, timing),
        *_foreground(record, timing),
        *_memory(timing),
        *_cpus(timing, what_if),
    ]
    worth = [each for each in found if each.seconds >= _LEAST * timing.wall]
    worth.sort(key=lambda finding: (not finding.is_cause, -finding.seconds))
    return tuple(worth[:_MOST])


def _stalls(record: BuildRecord, timing: Timing) -> list[Finding]:
    """For each result that somebody came to too early: who, and how long.

    It cost what CPUs stood idle meanwhile.
    """
    by_number = {command.number: command for command in record.commands}
    busy = _enough(timing, timing.extra_cpus)  # whoever stands still leaves a CPU to the jobs
    waits: dict[str, list[tuple[Span, str, tuple[int, ...]]]] = {}
    base = record.started
    for stall in timing.stalls:
        span = ((stall.began - base) / 1e9, (stall.ended - base) / 1e9)
        numbers = tuple(n for n in (stall.waited_for, stall.command) if n in by_number)
        waits.setdefault(stall.path, []).append((span, stall.who, numbers))
    for wait in timing.waits:
        if wait.cause is None or wait.for_slot > wait.seconds / 2:
            continue
        span = ((wait.waiter.issued - base) / 1e9, (wait.waiter.started - base) / 1e9)
        cause = by_number.get(wait.cause.number, wait.cause)
        path = cause.outputs[0] if cause.outputs else cause.tool
        who = "links" if wait.waiter.kind == "link" else _named(wait.waiter, record)
        numbers = (cause.number, wait.waiter.number)
        waits.setdefault(path, []).append((span, who, numbers))
    found = []
    for path, entries in waits.items():
        spans = union(span for span, _, _ in entries)
        seconds, cost = length(spans), sum(length(subtract(span, busy)) for span in spans)
        who, count = Counter(who for _, who, _ in entries).most_common(1)[0]
        numbers = tuple(dict.fromkeys(n for _, _, several in entries for n in several))
        others = " and others" if count < len(entries) else ""
        more = f", {len(entries)} times" if len(entries) > 1 else ""
        place = units.seen_from(record.cwd, path)
        idle = (
            "" if cost > 0.9 * seconds else f", and a CPU was idle for {units.seconds(cost)} of it"
        )
        text = (
            f"{who}{others} waited {units.seconds(seconds)}{more} for {place}{idle}: "
            "build it earlier, or use it later"
        )
        file = path if path.startswith("/") else ""
        found.append(Finding("stall", cost, text, numbers, file))
    found.sort(key=lambda finding: -finding.seconds)
    for at, each in enumerate(found):
        if hint := hint_to_check(record, (each.path,)):
            found[at] = each._replace(text=f"{each.text} ({hint})")
            break  # once is enough
    return found


def _gaps(record: BuildRecord, timing: Timing) -> list[Finding]:
    """Where the driver did not bring enough: CPUs idle and nothing queued, while it was at work."""
    busy = _enough(timing, max(1, timing.extra_cpus - 1))
    idle = [
        hole
        for span in timing.line.driver
        for hole in subtract(span, busy)
        if hole[1] - hole[0] > 0.05
    ]
    if not idle:
        return []
    commands = sorted(record.commands, key=lambda c: c.issued)
    issued = [(c.issued - record.started) / 1e9 for c in commands]
    places: dict[int, float] = {}
    for start, end in idle:
        behind = bisect.bisect_right(issued, start)
        places[behind] = places.get(behind, 0.0) + end - start
    found = []
    for behind, seconds in sorted(places.items(), key=lambda place: -place[1])[:3]:
        where = _between(record, commands, behind)
        numbers = tuple(c.number for c in commands[max(0, behind - 1) : behind + 1])
        text = f"{_driver(record)} took {units.seconds(seconds)} {where}"
        if not timing.busy:  # else others had it
            text += ", and a CPU was idle: see what it does there"
        found.append(Finding("gap", seconds, text, numbers))
    total = length(idle)
    if len(places) > 3 and total > 1.5 * sum(finding.seconds for finding in found):
        text = (
            f"CPUs were idle for {units.seconds(total)} in {len(places)} places, while "
            f"{_driver(record)} worked between two commands"
        )
        found.append(Finding("gaps", total, text))
    return found


def _between(record: BuildRecord, commands: list[CommandRecord], behind: int) -> str:
    """The place in the order of issue behind so many commands."""
    if behind == len(commands):
        return "to end after its last command"
    after = commands[behind]
    name = _named(after, record)
    if behind == 0:
        return f"to start its first command ({name})"
    before = commands[behind - 1]
    where = f"from {_named(before, record)} to {name}"
    if before.cwd != after.cwd:
        where += f" (on the way into {posixpath.relpath(after.cwd, record.cwd)})"
    return where


def _enough(timing: Timing, wanted: int) -> list[Span]:
    """When so many jobs ran, or more."""
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
    left = {
        number: [(max(start, begin), end) for begin, end in spans if end > start + 0.01]
        for number, spans in timing.line.work.items()
    }
    jobs = [number for number, spans in left.items() if spans]
    if not jobs or len(jobs) > 3:
        return []
    seconds = length(union(span for number in jobs for span in left[number]))
    by_number = {command.number: command for command in record.commands}
    first, *others = (_named(by_number[number], record) for number in jobs)
    names, how, them = first, "alone", "it"
    if others:
        names = f"{', '.join((first, *others[:-1]))} and {others[-1]}"
        how, them = "one after the other", "them"
    text = (
        f"{names} ran {how} at the end, for {units.seconds(seconds)}: start {them} earlier, or "
        f"split {them}"
    )
    return [Finding("alone", seconds, text, tuple(jobs))]


def _foreground(record: BuildRecord, timing: Timing) -> list[Finding]:
    """Commands that did not run in parallel, by reason."""
    sums: dict[str, dict[int, float]] = {}
    for command in record.commands:
        if (
            command.verdict != "deferred"
            and not command.light
            and command.number in timing.line.work
        ):
            row = sums.setdefault(command.reason, {})
            row[command.number] = length(timing.line.work[command.number])
    return [
        Finding(
            "in-place",
            sum(each.values()),
            f"{len(each)} command{'s' if len(each) > 1 else ''} ran in place, for "
            f"{units.seconds(sum(each.values()))}: {Reason.text_of(reason)} "
            f"({reason}; `smpmake why` lists them)",
            tuple(each),
        )
        for reason, each in sums.items()
    ]


def _memory(timing: Timing) -> list[Finding]:
    if not timing.held:
        return []
    text = (
        f"jobs waited {units.seconds(timing.held)} for memory, not for a CPU: `--memory` sets how "
        "much smpmake leaves free"
    )
    return [Finding("memory", timing.held, text)]


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
    enough = next((s for s, value in what_if if value <= best * 1.05 + 0.001), size)
    gain = here - seconds
    if gain < _LEAST * here:
        return []
    text = (
        f"{size} CPUs would take about {seconds / here:.0%} of the time; more than {enough} "
        f"would gain nothing"
    )
    return [Finding("cpus", gain, text, is_cause=False)]
