"""What a makefile forgot: from what recipes did, and from the order that is declared."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from smpmake.checking.depfiles import ENDINGS, Declared
from smpmake.checking.events import Build, Event, Recipe, sum_of
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
            is_litter = any(
                path.startswith(place) and not path.startswith(within)
                for place, within in places.items()
            )
            known = histories[path] = _History(matters=not is_litter and not _is_log(path))
        if not known.matters or (path.endswith(ENDINGS) and not event.recipe.target):
            continue  # a make reads what is written down for the next build
        known.events.append(event)
        known.is_made |= event.kind in _WRITES and bool(event.recipe.target)
        known.is_folder |= event.kind in "kK"
    found: dict[tuple[Kind, str, int, str, int, str], Finding] = {}
    everything = [*_all(histories, order, order.makers(build.makes))]
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


def _is_log(path: str) -> bool:
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
    writer: Recipe | None = None
    for event in events:
        is_read = event.kind in _READS
        if is_read and writer is not None and not _is_declared(writer, event.recipe, path, order):
            met = order.meeting(writer, event.recipe)
            inside = met is None or (met.earlier is writer and met.later is event.recipe)
            kind = Kind.READS if inside else Kind.MADE_ELSEWHERE
            yield Finding(kind, path, event.recipe, writer)
        if event.kind in _WRITES:
            writer = event.recipe
        elif event.kind == "d":
            writer = None


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
