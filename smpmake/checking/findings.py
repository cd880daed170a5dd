"""What a makefile forgot: from what recipes did, and from the order that is declared."""

from __future__ import annotations

import enum
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from smpmake.checking.depfiles import ENDINGS, Declared
from smpmake.checking.events import Build, Event, Recipe, is_parallel, sum_of
from smpmake.checking.order import Order


class Kind(enum.StrEnum):
    """What is wrong; the worst first."""

    READS = "reads"
    MADE_ELSEWHERE = "made-elsewhere"
    OLD = "old"
    REMOVES = "removes"
    CLEARS = "clears"  # before the file is made
    BOTH_WRITE = "both-write"
    FOLDER = "folder"
    IN_VAIN = "in-vain"
    BACKGROUND = "background"  # the recipe has ended, what it started has not
    SOURCE = "source"  # what breaks rebuilding, not -j
    SAME_BYTES = "same-bytes"  # a note: two recipes write the same into one file


@dataclass(frozen=True)
class Finding:
    """Something that the order of a serial build hides.

    reader  whose result depends on the order: it reads, looks, or writes second.
    other   the recipe that makes, removes or writes the file.
    path    the file.
    """

    kind: Kind
    path: str
    reader: Recipe
    other: Recipe


@dataclass
class _History:
    """What was done with one path, in order.

    matters  it is neither temporary nor a log or cache.
    """

    matters: bool
    events: list[Event] = field(default_factory=list)
    is_made: bool = False  # some recipe has written it
    is_folder: bool = False


#: Names of caches and logs, which any recipe may write to.
_LITTER: Final = frozenset({"__pycache__", "autom4te.cache", ".ccache", ".cache"})
_LOGS: Final = frozenset({"config.log", "config.cache", ".DS_Store", "nohup.out"})
#: How names of headers end.
_HEADERS: Final = (
    *(".h", ".hh", ".hpp", ".hxx", ".h++", ".inc", ".inl", ".ipp", ".tcc", ".def", ".mod"),
)
_WRITES: Final = frozenset("wRas")
_READS: Final = frozenset("rR")


def findings(
    build: Build,
    order: Order,
    temporary: Sequence[str] = (),
    *,
    top: str = "",
) -> list[Finding]:
    """All of them, each once for each reader's target.

    temporary  folders whose files do not matter, but for a make's own folder within.
    top  a folder: headers below it that are no products are looked at, too; "" for none.
    """
    roots = {f"{make.folder}/" for make in build.makes}
    places = {
        f"{folder}/": tuple(root for root in roots if root.startswith(f"{folder}/"))
        for folder in temporary
    }
    histories: dict[str, _History] = {}
    for event in build.events:
        path = event.path
        known = histories.get(path)
        if known is None:
            is_temporary = any(
                path.startswith(place) and not path.startswith(within)
                for place, within in places.items()
            )
            known = histories[path] = _History(matters=not is_temporary and not is_litter(path))
        if not known.matters or (path.endswith(ENDINGS) and not event.recipe.target):
            continue  # a make reads what is written down for the next build
        known.events.append(event)
        known.is_made |= event.kind in _WRITES and bool(event.recipe.target)
        known.is_folder |= event.kind in "kK"
    found: dict[tuple[Kind, str, int, str, int, str], Finding] = {}
    everything = [*_all(histories, order, order.makers(build.makes))]
    everything += _gone_folders(histories, order)
    everything += _left_behind(build, histories, roots)
    if top:
        declared = Declared(build)
        for path, history in histories.items():
            if path.startswith(f"{top}/") and path.endswith(_HEADERS) and not history.is_made:
                everything += _sources(path, history.events, order, declared)
    for finding in everything:
        a, b = finding.reader, finding.other
        key = (finding.kind, finding.path, id(a.make), a.target, id(b.make), b.target)
        found.setdefault(key, finding)
    return list(found.values())


def is_litter(path: str) -> bool:
    """Whether a path is a log's or a cache's."""
    names = path.split("/")
    return names[-1] in _LOGS or not _LITTER.isdisjoint(names) or path.endswith((".pyc", "/"))


def _all(
    histories: dict[str, _History], order: Order, makers: Mapping[str, Sequence[Recipe]]
) -> Iterator[Finding]:
    for path, history in histories.items():
        if history.is_folder:
            continue
        if history.is_made:
            yield from _reads(path, history.events, order)
            yield from _too_early(path, history.events, order)
            yield from _several_writers(path, history.events, order)
            yield from _second_rules(path, history.events, order, makers.get(path, ()))
        yield from _removals(path, history.events, order)
    yield from _folders(histories, order)


def _is_same(one: Recipe, other: Recipe) -> bool:
    return one is other or (one.make is other.make and one.target == other.target)


def _reads(path: str, events: Sequence[Event], order: Order) -> Iterator[Finding]:
    """A product that its reader does not need by any rule."""
    writers: list[Recipe] = []  # several where they only add to it
    for event in events:
        for writer in writers if event.kind in _READS else ():
            if _is_declared(writer, event.recipe, path, order):
                continue
            met = order.meeting(writer, event.recipe)
            inside = met is None or (met.earlier is writer and met.later is event.recipe)
            kind = Kind.READS if inside else Kind.MADE_ELSEWHERE
            yield Finding(kind, path, event.recipe, writer)
        if event.kind == "a":
            writers.append(event.recipe)
        elif event.kind in _WRITES:
            writers = [event.recipe]
        elif event.kind == "d":
            writers = []


def _is_declared(writer: Recipe, reader: Recipe, path: str, order: Order) -> bool:
    return _is_same(writer, reader) or order.holds(writer, reader) or order.needs(reader, path)


def _too_early(path: str, events: Sequence[Event], order: Order) -> Iterator[Finding]:
    """A name that is looked for, read, or removed, before a recipe makes it that may come first."""
    early: dict[int, Recipe] = {}
    kinds: dict[int, str] = {}
    writers = {id(event.recipe) for event in events if event.kind in _WRITES}
    for event in events:
        if event.kind in "vrdx" and id(event.recipe) not in writers:
            early[id(event.recipe)] = event.recipe
            kinds[id(event.recipe)] = kinds.get(id(event.recipe), "") + event.kind
        elif event.kind in _WRITES:
            for number, each in early.items():
                if not order.are_free(each, event.recipe):
                    continue
                if not {"d", "x"}.isdisjoint(kinds[number]):
                    yield Finding(Kind.CLEARS, path, event.recipe, each)
                else:
                    kind = Kind.IN_VAIN if kinds[number][0] == "v" else Kind.OLD
                    yield Finding(kind, path, each, event.recipe)
            return


def _several_writers(path: str, events: Sequence[Event], order: Order) -> Iterator[Finding]:
    """Two recipes that make one file, in whatever order."""
    writers = [event for event in events if event.kind in _WRITES and event.recipe.target]
    if all(event.kind == "a" for event in writers):
        return
    last: Recipe | None = None
    for event in writers:
        if last is not None and order.are_free(last, event.recipe):
            same = _leave_the_same(path, events, last, event.recipe)
            yield Finding(Kind.SAME_BYTES if same else Kind.BOTH_WRITE, path, event.recipe, last)
        last = event.recipe


def _leave_the_same(path: str, events: Sequence[Event], one: Recipe, other: Recipe) -> bool:
    """Whether a file held the same behind two recipes: as the next that changed it has noted, or
    as it is now.
    """
    left: list[str] = []
    for recipe in (one, other):
        last = max(e.at for e in events if e.recipe is recipe and e.kind in _WRITES)
        later = (e.held for e in events if e.at > last and e.kind == "h" and e.recipe is not recipe)
        left.append(next(later, "") or sum_of(path))
    return left[0] == left[1] != ""


def _second_rules(
    path: str, events: Sequence[Event], order: Order, makers: Sequence[Recipe]
) -> Iterator[Finding]:
    """A file that has a rule with a recipe of its own, here or in another make, while another's
    recipe made it: when both are wanted at once both recipes run.
    """
    for event in events:
        if event.kind in _WRITES and event.recipe.target:
            for other in makers:
                if order.are_free(event.recipe, other):
                    yield Finding(Kind.BOTH_WRITE, path, other, event.recipe)
            return


def _removals(path: str, events: Sequence[Event], order: Order) -> Iterator[Finding]:
    """A file that one recipe reads and another, which may come first, takes away."""
    readers: dict[int, Recipe] = {}
    for event in events:
        if event.kind == "r":
            readers[id(event.recipe)] = event.recipe
        elif event.kind in _WRITES:
            readers.clear()
        elif event.kind == "d" and event.recipe.target:
            for reader in readers.values():
                if reader.target and order.are_free(reader, event.recipe):
                    yield Finding(Kind.REMOVES, path, reader, event.recipe)
            readers.clear()


def _below(folder: str, paths: Sequence[str]) -> Sequence[str]:
    """Those of sorted paths that are below a folder, without itself."""
    first = bisect_left(paths, f"{folder}/")
    return paths[first : bisect_left(paths, f"{folder}0", first)]  # "0" is behind "/"


def _gone_folders(histories: dict[str, _History], order: Order) -> Iterator[Finding]:
    """A folder in which one recipe works and that another, which may come first or last, takes
    away.
    """
    paths = sorted(histories)
    for path, history in histories.items():
        takers = [e for e in history.events if e.kind in "dx" and e.recipe.target]
        inside = _below(path, paths) if takers else []
        if not takers or not (history.is_folder or inside):
            continue
        uses = [e for e in history.events if e.kind in "kK"]
        uses += [e for name in inside for e in histories[name].events if e.kind in "rRwask"]
        uses.sort(key=lambda event: event.at)
        for taker in takers:
            own = {use.recipe.target for use in uses if use.kind == "k" and use.at < taker.at}
            is_own = taker.recipe.target in own
            is_made = False
            for use in uses:
                if not use.recipe.target or not order.are_free(taker.recipe, use.recipe):
                    is_made |= use.at > taker.at and use.kind in "kK"
                elif use.at < taker.at and taker.kind == "d" and use.kind not in "kK":
                    yield Finding(Kind.REMOVES, path, use.recipe, taker.recipe)
                elif use.at > taker.at and not is_made and use.kind != "r":
                    is_made = use.kind in "kK"
                    kind = Kind.BOTH_WRITE if is_own else Kind.CLEARS
                    yield Finding(kind, path, use.recipe, taker.recipe)


def _left_behind(
    build: Build, histories: dict[str, _History], roots: AbstractSet[str]
) -> Iterator[Finding]:
    """What a recipe's process writes when its make, which waits for it, runs another already."""
    begins: dict[int, list[tuple[int, Recipe]]] = defaultdict(list)
    for recipe in build.recipes:
        if recipe.target and recipe.make is not None and not is_parallel(recipe.make):
            begins[id(recipe.make)].append((recipe.at, recipe))
    for path, history in histories.items():
        if not any(path.startswith(root) for root in roots):
            continue
        for event in history.events:
            known = begins.get(id(event.recipe.make), ()) if event.kind in _WRITES else ()
            later = bisect_left(known, event.at, key=lambda begin: begin[0]) - 1
            if later >= 0 and event.recipe.target and event.recipe.at < known[later][0]:
                yield Finding(Kind.BACKGROUND, path, known[later][1], event.recipe)


def _sources(
    path: str, events: Sequence[Event], order: Order, declared: Declared
) -> Iterator[Finding]:
    """A header that its reader does not need by any rule, nor by one for the next build."""
    for event in events:
        recipe = event.recipe
        if event.kind not in _READS or not recipe.target or recipe.make is None:
            continue
        if not order.names(recipe, path) and not declared.has(recipe, path):
            name = os.path.relpath(path, recipe.make.folder)
            yield Finding(Kind.SOURCE, path, recipe, Recipe(0, recipe.make, name))


def _folders(histories: dict[str, _History], order: Order) -> Iterator[Finding]:
    """A folder that another rule makes than the one that writes into it."""
    makers = {
        path: event.recipe
        for path, history in histories.items()
        for event in history.events
        if event.kind == "k"
    }
    knows = {
        (event.path, id(event.recipe.make), event.recipe.target)
        for history in histories.values()
        for event in history.events
        if event.kind in "kKt"
    }
    for path, history in histories.items():
        folder = os.path.dirname(path)
        maker = makers.get(folder)
        if maker is None:
            continue
        for event in history.events:
            recipe = event.recipe
            if event.kind not in "wask" or (folder, id(recipe.make), recipe.target) in knows:
                continue
            if not _is_same(maker, recipe) and not order.holds(maker, recipe):
                yield Finding(Kind.FOLDER, folder, recipe, maker)
