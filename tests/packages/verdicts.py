"""How a step under smpmake differs from the same step done serially."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from .project import Project
from .trees import Entries, Lens, differences, matches
from .trials import Result, Step, Trial, steps_of


@dataclass(frozen=True)
class Verdict:
    """What was compared after one step, what was not, and all that differs, a line for each."""

    step: Step
    compared: int
    hidden: int
    problems: tuple[str, ...]


def judged(project: Project, serial: tuple[Trial, Trial], trial: Trial) -> list[Verdict]:
    """The verdict on each step."""
    steps = zip(steps_of(project), *serial, trial, strict=True)
    return [_judged(project, step, (one, other), result) for step, one, other, result in steps]


def _judged(project: Project, step: Step, twins: tuple[Result, Result], result: Result) -> Verdict:
    one, other = twins
    patterns = tuple(excuse.pattern for excuse in project.ignored)
    lens = Lens.between(one.tree.entries, other.tree.entries, patterns)
    expected = lens.view(one.tree.entries)
    compared = len(expected.keys() - lens.blurred)
    problems = [
        *_status(one, result),
        *_products(project, result.tree.entries),
        *differences(expected, lens.view(result.tree.entries)),
        *_changed(lens, twins, result),
        *_order(lens, twins, result),
        *_left(twins, result),
    ]
    hidden = len(one.tree.entries.keys() | other.tree.entries.keys()) - compared
    return Verdict(step, compared, hidden, tuple(problems))


def _status(one: Result, result: Result) -> Iterator[str]:
    if result.status != one.status:
        yield f"status: is {result.status}, should be {one.status}"


def _products(project: Project, entries: Entries) -> Iterator[str]:
    for product in project.products:
        if not any(matches(path, [product]) for path in entries):
            yield f"{product}: is absent, should have been built"


def _changed(lens: Lens, twins: tuple[Result, Result], result: Result) -> Iterator[str]:
    """What both serial builds write must be written, and what none of them does must not."""
    one, other = (twin.changed for twin in twins)
    for path in sorted((one & other) - result.changed):
        if not lens.hides(path) and path in result.tree.entries:
            yield f"{path}: was not written, should have been"
    for path in sorted(result.changed - (one | other)):
        if not lens.hides(path):
            yield f"{path}: was written, should not have been"


def _order(lens: Lens, twins: tuple[Result, Result], result: Result) -> Iterator[str]:
    """Where both serial builds write one file before another its time must not be the later.

    Of the two ways to put it, files that are too new and files that are too old, the shorter.
    """
    written = twins[0].changed & twins[1].changed & result.changed
    known = (twin.tree.times for twin in (*twins, result))
    times = {
        path: moments
        for path, *moments in _joined(sorted(written), list(known))
        if not lens.hides(path)
    }
    too_new, too_old = defaultdict(list), defaultdict(list)
    for earlier, (first, second, actual) in times.items():
        for later, (third, fourth, other) in times.items():
            if first < third and second < fourth and actual > other:
                too_new[earlier].append(later)
                too_old[later].append(earlier)
    if len(too_new) <= len(too_old):
        yield from (_out_of_order(path, "newer", paths, times) for path, paths in too_new.items())
    else:
        yield from (_out_of_order(path, "older", paths, times) for path, paths in too_old.items())


def _joined(paths: list[str], known: list[dict[str, int]]) -> Iterator[tuple[str, int, int, int]]:
    """Each path that all builds have, with the time of each."""
    one, other, actual = known
    for path in paths:
        if path in one and path in other and path in actual:
            yield path, one[path], other[path], actual[path]


def _out_of_order(path: str, word: str, others: list[str], times: dict[str, list[int]]) -> str:
    """One file's place among those on the wrong side of it."""
    worst = max(others, key=lambda other: abs(times[other][-1] - times[path][-1]))
    gap = abs(times[worst][-1] - times[path][-1]) / 1e9
    turn = {"newer": "later", "older": "earlier"}[word]
    return f"{path}: is {word} than {len(others)} written {turn}, by {gap:.3f} s than {worst}"


def _left(twins: tuple[Result, Result], result: Result) -> Iterator[str]:
    """Nothing outlives a build, unless it outlives the serial one too."""
    if not twins[0].left:
        yield from (f"process left behind: {line}" for line in result.left)
    if not twins[0].litter:
        yield from (f"temporary file left behind: {line}" for line in result.litter)
