"""How a step under smpmake differs from the same step done serially."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import lt
from typing import Protocol

from .project import Project
from .trees import Entries, Lens, differences, matches
from .trials import Result, Step, Trial, steps_of

MOST_SERIAL = 3
"""Serial builds at most, before a difference counts."""


@dataclass(frozen=True)
class Verdict:
    """What was compared after one step, what was not, and all that differs, a line for each."""

    step: Step
    compared: int
    hidden: int
    problems: tuple[str, ...]


class Place(Protocol):
    """Where a project is built: a `Stand`, as far as a verdict needs one."""

    project: Project

    def serial(self, count: int) -> tuple[Trial, ...]:
        """So many serial trials, or more."""
        ...


def verdicts(place: Place, trial: Trial) -> list[Verdict]:
    """The verdict on each step.

    One serial build is enough for what is the same.  A difference counts when no more serial builds
    disagree on it: what programs stamp with the time, or write at the same time as others.
    """
    for count in range(1, MOST_SERIAL + 1):
        found = judged(place.project, place.serial(count), trial)
        if not any(verdict.problems for verdict in found):
            break
    return found


def judged(project: Project, serial: Sequence[Trial], trial: Trial) -> list[Verdict]:
    """The verdict on each step, by these serial trials."""
    steps = zip(steps_of(project), zip(*serial, strict=True), trial, strict=True)
    return [_judged(project, step, twins, result) for step, twins, result in steps]


def _judged(project: Project, step: Step, twins: Sequence[Result], result: Result) -> Verdict:
    patterns = tuple(excuse.pattern for excuse in project.ignored)
    lens = Lens.of([twin.tree.entries for twin in twins], patterns)
    one = twins[0]
    expected = lens.view(one.tree.entries)
    compared = len(expected.keys() - lens.blurred)
    problems = [
        *_status(one, result),
        *_products(project, result.tree.entries),
        *differences(expected, lens.view(result.tree.entries)),
        *_changed(lens, twins, result),
        *_order(project, lens, twins, result),
        *_left(twins, result),
    ]
    hidden = len({path for twin in twins for path in twin.tree.entries}) - compared
    return Verdict(step, compared, hidden, tuple(problems))


def _status(one: Result, result: Result) -> Iterator[str]:
    if result.status != one.status:
        yield f"status: is {result.status}, should be {one.status}"


def _products(project: Project, entries: Entries) -> Iterator[str]:
    for product in project.products:
        if not any(matches(path, [product]) for path in entries):
            yield f"{product}: is absent, should have been built"


def _changed(lens: Lens, twins: Sequence[Result], result: Result) -> Iterator[str]:
    """What all serial builds write must be written, and what none of them does must not."""
    always = frozenset.intersection(*(twin.changed for twin in twins))
    ever = frozenset.union(*(twin.changed for twin in twins))
    for path in sorted(always - result.changed):
        if not lens.hides(path) and path in result.tree.entries:
            yield f"{path}: was not written, should have been"
    for path in sorted(result.changed - ever):
        if not lens.hides(path):
            yield f"{path}: was written, should not have been"


def _order(project: Project, lens: Lens, twins: Sequence[Result], result: Result) -> Iterator[str]:
    """Where all serial builds write one file before another its time must not be the later.

    But for what one program writes at once: serial builds may agree on that by chance.  Of the two
    ways to put it, files that are too new and files that are too old, the shorter.
    """
    every = [*twins, result]
    written = frozenset.intersection(*(each.changed for each in every))
    times = {
        path: [each.tree.times[path] for each in every]
        for path in sorted(written)
        if not lens.hides(path) and all(path in each.tree.times for each in every)
    }
    too_new, too_old = defaultdict(list), defaultdict(list)
    for earlier, (*before, actual) in times.items():
        for later, (*after, other) in times.items():
            if (
                actual > other
                and all(map(lt, before, after))
                and not _at_once(project, earlier, later)
            ):
                too_new[earlier].append(later)
                too_old[later].append(earlier)
    if len(too_new) <= len(too_old):
        yield from (_out_of_order(path, "newer", paths, times) for path, paths in too_new.items())
    else:
        yield from (_out_of_order(path, "older", paths, times) for path, paths in too_old.items())


def _at_once(project: Project, *paths: str) -> bool:
    """Do the same threads write them all?"""
    return any(all(matches(path, [excuse.pattern]) for path in paths) for excuse in project.at_once)


def _out_of_order(path: str, word: str, others: list[str], times: dict[str, list[int]]) -> str:
    """One file's place among those on the wrong side of it."""
    worst = max(others, key=lambda other: abs(times[other][-1] - times[path][-1]))
    gap = abs(times[worst][-1] - times[path][-1]) / 1e9
    turn = {"newer": "later", "older": "earlier"}[word]
    return f"{path}: is {word} than {len(others)} written {turn}, by {gap:.3f} s than {worst}"


def _left(twins: Sequence[Result], result: Result) -> Iterator[str]:
    """Nothing outlives a build, unless it outlives the serial one too."""
    if not twins[0].left:
        yield from (f"process left behind: {line}" for line in result.left)
    if not twins[0].litter:
        yield from (f"temporary file left behind: {line}" for line in result.litter)
