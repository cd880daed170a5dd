"""Which recipes cannot run before which others, by what the makes were told."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from smpmake.checking.events import Make, Recipe, canonical, chain
from smpmake.checking.words import WAIT, Said


class Meeting(NamedTuple):
    """The make that decides about the order of two recipes, and what each of them is to it: they
    themselves, or recipes that run the makes of which they are.
    """

    make: Make
    earlier: Recipe
    later: Recipe


class Order:
    """The order that all makes of a build have declared."""

    def __init__(self) -> None:
        self._graphs: dict[int, _Graph] = {}

    def meeting(self, earlier: Recipe, later: Recipe) -> Meeting | None:
        """Where two recipes' order is decided; None where a command outside of all makes does."""
        above = {id(each.make): each for each in chain(later) if each.make is not None}
        for each in chain(earlier):
            if each.make is not None and id(each.make) in above:
                return Meeting(each.make, each, above[id(each.make)])
        return None

    def holds(self, earlier: Recipe, later: Recipe) -> bool:
        """Whether the one has ended before the other begins, however many jobs are run."""
        met = self.meeting(earlier, later)
        if met is None or met.make.said is None:
            return True  # scripts say nothing of their order
        first, then = met.earlier, met.later
        if not first.target or not then.target:
            return True  # a make reads its makefiles; or it is not known
        if first.image < then.image or met.make.said.is_serial:
            return True
        return self.graph(met.make).is_before(first.target, then.target)

    def names(self, reader: Recipe, path: str) -> bool:
        """Whether a reader's target needs a file by its name."""
        make = reader.make
        if make is None:
            return True
        return path in self.graph(make).files_below(reader.target)

    def needs(self, reader: Recipe, path: str) -> bool:
        """Whether a reader's target, or one whose make it is of, needs the file by its name, and
        that has a recipe."""
        for each in chain(reader):
            if each.make is None or not each.target:
                continue
            named = self.graph(each.make).recipes_of(path)
            if not named.isdisjoint(self.graph(each.make).below(each.target)):
                return True
        return False

    def makers(self, makes: Iterable[Make]) -> dict[str, list[Recipe]]:
        """By file, the recipes that are to make it, where a make wanted it: they have not run if
        the file was there in time.
        """
        found: dict[str, list[Recipe]] = defaultdict(list)
        for make in makes:
            for path, name in self.graph(make).wanted() if make.said is not None else ():
                found[path].append(Recipe(0, make, name, make.image))
        return found

    def are_free(self, one: Recipe, other: Recipe) -> bool:
        """Whether either of two may come first."""
        if one is other or (one.make is other.make and one.target == other.target):
            return False
        return not self.holds(one, other) and not self.holds(other, one)

    def graph(self, make: Make) -> _Graph:
        """A make's targets."""
        assert make.said is not None
        found = self._graphs.get(id(make))
        if found is None:
            found = self._graphs[id(make)] = _Graph(make.said)
        return found


class _Graph:
    """The targets of one make; those that one recipe makes are one."""

    def __init__(self, said: Said) -> None:
        self._one: dict[str, str] = {}
        for rule in said.rules.values():
            for other in rule.also:
                self._one.setdefault(self.name(other), self.name(rule.name))
        self._needs: dict[str, set[str]] = {}
        self._waits: list[tuple[list[str], list[str]]] = []
        for rule in said.rules.values():
            found = self._needs.setdefault(self.name(rule.name), set())
            found |= {self.name(each) for each in (*rule.needs, *rule.first) if each != WAIT}
            for at, each in enumerate(rule.needs):
                if each == WAIT:
                    parts = rule.needs[:at], rule.needs[at + 1 :]
                    self._waits.append(
                        ([n for n in parts[0] if n != WAIT], [n for n in parts[1] if n != WAIT])
                    )
        self._below: dict[str, frozenset[str]] = {}
        self._recipes: dict[str, set[str]] = {}
        self._files: dict[str, frozenset[str]] = {}
        self._folder = said.folder
        # Makefiles are wanted, too, but before everything else.
        self._wanted = {self.name(rule.name) for rule in said.rules.values() if rule.is_updated}
        self._wanted -= {self.name(name) for name in said.makefiles}
        for rule in said.rules.values():
            if rule.has_recipe and not rule.is_phony:
                for each in (rule.name, *rule.also):
                    path = canonical(os.path.normpath(os.path.join(said.folder, each)))
                    self._recipes.setdefault(path, set()).add(self.name(each))

    def name(self, target: str) -> str:
        """What a target is called here: as the first of those that are made with it."""
        seen = set()
        target = target.removeprefix("./") or target
        while target in self._one and target not in seen:
            seen.add(target)
            target = self._one[target]
        return target

    def recipes_of(self, path: str) -> set[str]:
        """The targets of recipes that are to make a file."""
        return self._recipes.get(path, set())

    def wanted(self) -> Iterator[tuple[str, str]]:
        """The files that the build needed and that have a recipe, with its target."""
        for path, names in self._recipes.items():
            for name in sorted(names & self._wanted):
                yield path, name

    def files_below(self, target: str) -> frozenset[str]:
        """The paths of all that a target needs."""
        name = self.name(target)
        found = self._files.get(name)
        if found is None:
            paths = (os.path.normpath(os.path.join(self._folder, n)) for n in self.below(target))
            found = self._files[name] = frozenset(map(canonical, paths))
        return found

    def below(self, target: str) -> frozenset[str]:
        """All that a target needs, itself too."""
        name = self.name(target)
        found = self._below.get(name)
        if found is None:
            seen, waiting = {name}, [name]
            while waiting:
                for each in self._needs.get(waiting.pop(), ()):
                    if each not in seen:
                        seen.add(each)
                        waiting.append(each)
            found = self._below[name] = frozenset(seen)
        return found

    def is_before(self, earlier: str, later: str) -> bool:
        """Whether a target's recipe waits for another's."""
        first, then = self.name(earlier), self.name(later)
        if first in self.below(then):
            return True
        return any(
            any(first in self.below(each) for each in before)
            and any(then in self.below(each) for each in behind)
            for before, behind in self._waits
        )
