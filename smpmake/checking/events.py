"""What every recipe of a build did, in the order in which it did it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from smpmake.checking.watch import Watched
from smpmake.checking.words import Said, read
from smpmake.commands.reading.makes import jobs_option
from smpmake.protocol import layout


@dataclass(eq=False)
class Make:
    """One make of the build.

    parent  the recipe that started it; None for the build's own command.
    began_in  the folder from which it was called; -C leads from there.
    image   how often it has started itself again so far.
    at      when it began, as of events.
    """

    pid: int
    folder: str
    parent: Recipe | None
    said: Said | None
    began_in: str
    image: int = 0
    at: int = 0


@dataclass(eq=False)
class Recipe:
    """A line of a recipe: a process that a make started, with all that it started.

    make    whose; None for what no make started.
    target  "" for what a make reads while it reads its makefiles, and where it is not known.
    image   of its make.
    at      when it began, as of events.
    """

    pid: int
    make: Make | None
    target: str
    image: int = 0
    at: int = 0
    programs: list[str] = field(default_factory=list)

    @property
    def said(self) -> Said | None:
        """What its make said."""
        return self.make.said if self.make is not None else None


class Event(NamedTuple):
    """Something that was done with a path.

    kind  the guard's letter (native/layout/trace.h).
    held  of h: a number for what the file held (sum_of).
    """

    at: int
    kind: str
    path: str
    recipe: Recipe
    held: str = ""


@dataclass
class Build:
    """What was seen of a whole build.

    makes, recipes  in the order in which they began.
    unguarded       programs that took no guard.
    """

    events: list[Event]
    makes: list[Make]
    recipes: list[Recipe]
    unguarded: list[str]
    lost: int
    status: int


#: Letters that are followed by two numbers, or one and a folder.
_ORIGIN, _MAKE, _PROGRAM, _UNGUARDED = "c", "m", "p", "u"
_KINDS: Final = frozenset("wRarvdxhkKstn")


def is_parallel(make: Make) -> bool:
    """Whether a makefile has called it with -j."""
    return make.said is not None and bool(jobs_option(" ".join(make.said.argv)))


def build_of(watched: Watched) -> Build:
    """Puts the guards' notes and the makes' words together."""
    return _Reader(watched).build()


class _Reader:
    """Numbers are processes', which the system gives again to others."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._said: dict[int, list[Said]] = {pid: read(data) for pid, data in watched.words.items()}
        self._makes: dict[int, Make] = {}
        self._recipes: dict[int, Recipe] = {}
        self._own: dict[int, Recipe] = {}  # what makes do themselves
        self._targets: dict[tuple[int, int], list[str]] = {}
        self._there: dict[str, None] = {}  # what recipes have made
        self._links: set[str] = set()  # the same, where they lead elsewhere
        self._moved: dict[int, str] = {}  # by recipe, what it is about to rename
        self._found = Build([], [], [], [], watched.lost, watched.status)

    def build(self) -> Build:
        for at, note in enumerate(self._watched.notes):
            letter, number, text = _parted(os.fsdecode(note))
            if letter == _ORIGIN:
                self._begin(at, number, int(text.strip("/") or 0))
            elif letter == _MAKE:
                pid, _, folder = text[1:].partition("/")
                self._make(at, int(pid), number, f"/{folder}")
            elif letter in _KINDS or letter in (_PROGRAM, _UNGUARDED):
                self._add(at, letter, number, text)
        self._found.unguarded = list(dict.fromkeys(self._found.unguarded))
        return self._found

    def _begin(self, at: int, number: int, parent: int) -> None:
        known = self._makes.get(number)
        if known is not None and known.said is not None and self._is_again(known):
            return  # a make has become itself once more
        make = self._makes.get(parent)
        target = ""
        if make is not None:
            waiting = self._targets.get((id(make), number), [])
            target = waiting.pop(0) if waiting else ""
        recipe = Recipe(number, make, target, make.image if make is not None else 0, at)
        self._makes.pop(number, None)
        self._recipes[number] = recipe
        self._found.recipes.append(recipe)

    def _is_again(self, make: Make) -> bool:
        return make.said is not None and make.image + 1 < make.said.images

    def _make(self, at: int, pid: int, number: int, folder: str) -> None:
        known = self._makes.get(pid)
        if known is not None and self._is_again(known):
            known.image += 1
            return
        waiting = self._said.get(pid, [])
        said = waiting.pop(0) if waiting else None
        own = said.folder or folder if said else folder
        make = Make(pid, own, self._of(number), said, folder, at=at)
        targets: dict[tuple[int, int], list[str]] = defaultdict(list)
        for job in said.jobs if said is not None else ():
            targets[id(make), job.pid].append(job.target)
        self._targets.update(targets)
        self._makes[pid] = make
        self._own[pid] = Recipe(pid, make, "")
        self._found.makes.append(make)

    def _of(self, number: int) -> Recipe | None:
        if number in self._makes:
            return self._own[number]
        return self._recipes.get(number)

    def _add(self, at: int, letter: str, number: int, text: str) -> None:
        if letter == _UNGUARDED:
            self._found.unguarded.append(canonical(os.path.normpath(text)))
        recipe = self._of(number)
        if recipe is None:
            return
        held = ""
        if letter == "h":
            held, _, text = text[1:].partition("/")
            text = f"/{text}"
        path = canonical(text)
        if letter == _PROGRAM:
            recipe.programs.append(path)
        kind = "r" if letter in (_PROGRAM, _UNGUARDED) else letter
        moved = self._moved.pop(recipe.pid, "")
        if kind == "s":
            self._links.add(path)
        elif kind == "d" or (kind in "nh" and moved):
            self._moved[recipe.pid] = path if kind == "d" else moved
        elif kind == "w" and moved and self._move(at, moved, path, recipe):
            return
        self._note(Event(at, kind, path, recipe, held))
        if kind in "rv" and (other := led(path)) != path:
            self._note(Event(at, kind, other, recipe))
        for link in self._links if path != text else ():
            if text.startswith(f"{link}/"):
                self._note(Event(at, "r", link, recipe))

    def _note(self, event: Event) -> None:
        self._found.events.append(event)
        if event.kind in "wRas":
            self._there[event.path] = None
        elif event.kind == "d":
            self._there.pop(event.path, None)

    def _move(self, at: int, old: str, new: str, recipe: Recipe) -> bool:
        """What a folder held that has got another name is there by that name; whether it is one."""
        inside = [path for path in self._there if path.startswith(f"{old}/")]
        if inside:
            self._note(Event(at, "k", new, recipe))
        for path in inside:
            self._note(Event(at, "d", path, recipe))
            for kind in "nw":
                self._note(Event(at, kind, new + path[len(old) :], recipe))
        return bool(inside)


def _parted(note: str) -> tuple[str, int, str]:
    """A letter, a recipe's number and the rest, from its slash on."""
    digits, slash, rest = note[1:].partition("/")
    return note[:1], int(digits) if digits.isdigit() else 0, slash + rest


@lru_cache(maxsize=1 << 16)
def canonical(path: str) -> str:
    """A path whose folder is reached by no link, where the folder is still there."""
    folder, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        return os.path.normpath(path)
    return f"{_real(folder or '/').rstrip('/')}/{name}"


@lru_cache(maxsize=1 << 14)
def _real(folder: str) -> str:
    return os.path.realpath(folder)


@lru_cache(maxsize=1 << 16)
def led(path: str) -> str:
    """Where a link leads."""
    return os.path.realpath(path) if os.path.islink(path) else path


def sum_of(path: str) -> str:
    """The number that the guard would have for a file's contents; "" where it has none."""
    try:
        with open(path, "rb") as file:
            data = file.read(layout.TRACE_SUMMED + 1)
    except OSError:
        return ""
    if len(data) > layout.TRACE_SUMMED:
        return ""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def chain(recipe: Recipe) -> Iterator[Recipe]:
    """A recipe, that whose make started it, and so on outwards."""
    at: Recipe | None = recipe
    while at is not None:
        yield at
        at = at.make.parent if at.make is not None else None
