"""Proofs: the order that no rule forbids is tried, and what the reader then finds is looked at."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from smpmake.checking.advice import Advice
from smpmake.checking.events import Build, Make, Recipe, canonical, chain
from smpmake.checking.findings import Kind
from smpmake.checking.order import Order
from smpmake.checking.trial import Trial, attempt, sum_of_file

PROVED, NOT_SHOWN = "proved", "not shown"
#: Kinds of which the reader's target does not come to its end without the other.
_LACKS: Final = frozenset({Kind.READS, Kind.MADE_ELSEWHERE, Kind.FOLDER})
#: How often two recipes are run at once that neither order shows to be in each other's way.
_AT_ONCE: Final = 3
#: How many readers of one advice are tried before it counts as not shown.
_READERS: Final = 3
_WRITES: Final = frozenset("wRas")


def prove(advices: Iterable[Advice], build: Build, top: str, clean: str = "") -> None:
    """Says of each advice whether a trial shows it.  Raises NoTrialError.

    clean  a command that leaves the tree as before the build, in place; "": an overlay is used.
    """
    advices = list(advices)
    for each in advices:
        why = _obstacle(each, top, clean)
        each.proof = f"{NOT_SHOWN}: {why}" if why else ""
    last = {event.path: event.recipe for event in build.events if event.kind in _WRITES}
    cases = [
        _Case(each, reader, last, top)
        for each in advices
        if not each.proof
        for reader in each.readers[:_READERS]
    ]
    for case in cases:  # in place the first trial changes what the others are compared with
        if case.is_done:
            continue
        case.proves(build, clean, [])
        more = case.missing(advices)
        if more and not case.is_shown:
            case.proves(build, clean, more)
        for _ in range(_AT_ONCE if case.may_meet else 0):
            if not case.is_shown:
                case.proves(build, clean, ["-j2", *more])


def _obstacle(each: Advice, top: str, clean: str) -> str:
    """Why there is no trial; "" if there is one."""
    if each.kind is Kind.SOURCE:
        return "it matters for the next build, not for the order of this one"
    if each.make is None or each.make.said is None:
        return "smpmake does not know how to make this alone"
    if not clean and not f"{each.make.folder}/".startswith(f"{top}/"):
        return f"its make works outside of {top}, where a trial would change files"
    return ""


class _Case:
    """One advice: its reader is made alone, or behind the other."""

    def __init__(self, advice: Advice, reader: str, last: dict[str, Recipe], top: str) -> None:
        assert advice.make is not None
        self._advice, self._top, self._make = advice, top, advice.make
        self._reader = reader
        self._goals = _goals(advice, reader)
        self.is_shown = False
        self._paths = set(advice.paths)
        self._made = [
            path for path, recipe in last.items() if _is_of(recipe, self._make, self._reader)
        ]
        wanted = dict.fromkeys((*self._made, *advice.paths))
        self._before = {path: sum_of_file(path) for path in wanted if os.path.isfile(path)}

    @property
    def is_done(self) -> bool:
        """Whether another reader has shown it."""
        return self._advice.proof.startswith(PROVED)

    @property
    def may_meet(self) -> bool:
        """Whether it matters that two recipes run at once, and not in which order."""
        return self._advice.kind in (Kind.REMOVES, Kind.BOTH_WRITE) and len(self._goals) > 1

    def missing(self, advices: Iterable[Advice]) -> list[str]:
        """What the goals, or what they need, lack by other advices: without it the trial fails
        before its time.
        """
        graph = Order().graph(self._make)
        needed = {name for goal in self._goals for name in graph.below(goal)}
        found = [
            each.other
            for each in advices
            if each.make is self._make
            and each.kind in _LACKS
            and each.other != self._advice.other
            and not needed.isdisjoint(map(graph.name, each.readers))
        ]
        return [name for name in dict.fromkeys(found) if name not in self._goals]

    def proves(self, build: Build, clean: str, first: list[str]) -> None:
        """Runs the trial, behind other words, and writes into the advice what it shows."""
        goals = [*first, *self._goals]

        def made(words: list[str]) -> Trial:
            return attempt(self._make, words, build, self._top, clean, list(self._before))

        trial = made(goals)
        # Made as in the build, to be compared with.
        usual = self._goals[::-1] if len(self._goals) > 1 else [self._advice.other, *self._goals]
        self._as_usual = partial(made, [*(w for w in first if not w.startswith("-")), *usual])
        self._always: list[str] = []
        self._status, self._sums = trial.build.status, trial.sums
        self._done: dict[str, set[str]] = {}
        makes = [make for make in trial.build.makes if make.folder == self._make.folder]
        self._lost: set[str] = set()  # what one of both had written, and does not find again
        wrote: set[tuple[str, str]] = set()
        self._born: set[str] = set()  # by whomever
        self._cleared: set[str] = set()  # by the other one
        for event in trial.build.events:
            if event.kind in "wRaskK":
                self._born.add(event.path)
            for target in (self._reader, self._advice.other):
                if not any(_is_of(event.recipe, make, target) for make in makes):
                    continue
                if target == self._advice.other and event.kind == "d":
                    self._cleared.add(event.path)
                if target == self._reader:
                    self._done.setdefault(event.kind, set()).add(event.path)
                if event.kind in "wRs":
                    wrote.add((target, event.path))
                elif event.kind == "v" and (target, event.path) in wrote:
                    self._lost.add(event.path)
        for make in trial.build.makes:
            if lacked := self._paths & self._named(make, makes) - self._born:
                self._done.setdefault("v", set()).update(lacked)
        for event in trial.build.events:  # a make notes a program that it cannot start
            own = event.recipe.make if not event.recipe.target else None
            if event.kind == "v" and event.path in self._paths and own in makes:
                self._done.setdefault("v", set()).add(event.path)
        shown = self._shown() if self._done else ""
        words = f"`make {' '.join(goals)}`"
        state = PROVED if shown else NOT_SHOWN
        self.is_shown = bool(shown)
        if shown or self._reader == self._advice.readers[0]:
            self._advice.proof = f"{state}: {words} {shown or self._excuse()}"

    def _named(self, make: Make, makes: Collection[Make]) -> AbstractSet[str]:
        """The files that a make's rules need for the reader: it fails if nobody makes them."""
        if make.said is None:
            return frozenset()
        if make in makes:
            return Order().graph(make).files_below(self._reader)
        if make.parent is None or not any(_is_of(make.parent, e, self._reader) for e in makes):
            return frozenset()
        names = (name for rule in make.said.rules.values() for name in (*rule.needs, *rule.first))
        return {canonical(os.path.normpath(os.path.join(make.folder, name))) for name in names}

    def _did(self, kinds: str) -> set[str]:
        return set().union(*(self._done.get(kind, set()) for kind in kinds))

    def _changed(self, paths: Iterable[str]) -> list[str]:
        """Which files have other bytes than where the reader is made as in the build."""
        known = [path for path in paths if path in self._before]
        found = [path for path in known if self._sums.get(path) != self._before[path]]
        if not found:
            return []
        once = self._as_usual().sums
        twice = once
        if any(once.get(path) != self._before[path] for path in found):
            twice = self._as_usual().sums
        self._always = [path for path in found if once.get(path) != twice.get(path)]
        kept = [path for path in found if path not in self._always]
        if self._advice.kind is Kind.OLD:  # no trial has the old file: the build alone had
            return kept
        return [path for path in kept if self._sums.get(path) != once.get(path)]

    def _name(self, paths: Collection[str]) -> str:
        return os.path.relpath(min(paths), self._top)

    def _shown(self) -> str:
        """What the reader did that it does not do in a serial build; "" for nothing."""
        kind = self._advice.kind
        if kind is Kind.BOTH_WRITE:
            return self._shows_two_writers()
        if kind is Kind.FOLDER:
            return self._shows_no_folder()
        if kind is Kind.CLEARS:
            found = self._cleared & self._paths
            return f"has {self._advice.other} remove {self._name(found)}" if found else ""
        if kind in (Kind.OLD, Kind.IN_VAIN):
            found = self._did("rR") & self._paths
            how = f"has {self._reader} read {self._name(found)}" if found else ""
        else:
            found = self._did("v") & self._paths
            how = f"does not find {self._name(found)}" if found else ""
        if found and self._status:
            return f"{how}, and fails"
        changed = self._changed(self._made) if found else []
        return f"{how}, and {self._name(changed)} has other bytes" if changed else ""

    def _shows_two_writers(self) -> str:
        wrote = self._did("wRs") & self._paths
        if wrote and any(finding.reader.pid == 0 for finding in self._advice.findings):
            return f"runs a second recipe that writes {self._name(wrote)}"
        if wrote and (other := self._changed(self._advice.paths)):
            return f"leaves other bytes in {self._name(other)}"
        lost = self._lost & self._paths
        return f"does not find {self._name(lost)}, and fails" if lost and self._status else ""

    def _shows_no_folder(self) -> str:
        lacking = self._paths - self._born
        inside = {path for path in self._did("vk") if os.path.dirname(path) in lacking}
        if inside and self._status:
            return f"fails, for {self._name(inside)} has no folder yet"
        if (found := self._did("v") & lacking) and self._status:
            return f"does not find the folder {self._name(found)}, and fails"
        files = self._did("w") & self._paths
        return f"makes a file of {self._name(files)}" if files else ""

    def _excuse(self) -> str:
        if not self._done:
            return f"did not come to the recipe of {self._reader}"
        if self._status:
            return "fails for another reason"
        if self._always:
            return f"shows nothing: {self._name(self._always)} has other bytes each time"
        return "has the same result"


def _is_of(recipe: Recipe, make: Make, target: str) -> bool:
    """Whether a recipe is that of a target, or is of a make below it."""
    return any(each.make is make and each.target == target for each in chain(recipe))


def _goals(each: Advice, reader: str) -> list[str]:
    """What is made, in this order: another than that of the serial build."""
    if each.kind is Kind.CLEARS:
        return [reader, each.other]
    if each.kind in (Kind.OLD, Kind.IN_VAIN, Kind.REMOVES):
        return [each.other, reader]
    if each.kind is Kind.BOTH_WRITE and each.findings[0].reader.pid:
        return [reader, each.other]
    return [reader]
