"""A command of several sources taken apart: one command a source, and the link of their objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smpmake.commands.compilers import options
from smpmake.commands.compilers.options import CXX_SUFFIXES, Do
from smpmake.commands.compilers.words import Line, Source
from smpmake.commands.model import Analysis, Part
from smpmake.commands.paths import basename, join, stem

#: With one of these g++ links no library that nobody names.
_NO_LIBRARIES = frozenset({"-nostdlib", "-nodefaultlibs", "-nostdlib++"})
#: What a line that was read means.
Judge = Callable[[Line], Analysis]


def compile_parts(line: Line, judge: Judge, folder: str) -> tuple[Part, ...]:
    """Each source compiled by itself."""
    return tuple(_part(line, judge, _compiling(line, source, set())) for source in line.sources)


def link_parts(line: Line, judge: Judge, folder: str) -> tuple[Part, ...]:
    """Each source compiled into the folder, and the link of what was made there."""
    words = list(line.words)
    moved, implied = _implied(line)
    dropped = output_places(line) | moved
    parts = []
    for number, source in enumerate(line.sources):
        name = f"{number}-{stem(basename(source.path))}.o"
        out = join(folder, name)
        own = [*_compiling(line, source, dropped), *implied, "-c", "-o", out]
        parts.append(_part(line, judge, own, intermediate=True))
        words[source.at] = out
    parts.append(_part(line, judge, words))
    return tuple(parts)


def _part(line: Line, judge: Judge, words: Sequence[str], intermediate: bool = False) -> Part:
    part = Line(line.argv, words, (), line.files)
    part.scan()
    meaning = judge(part)
    if intermediate:
        writes = tuple(write._replace(target=False) for write in meaning.writes)
        meaning = meaning._replace(writes=writes)
    return Part((line.argv, *words), meaning)


def words_for(line: Line, source: Source, dropped: set[int]) -> list[str]:
    """The words without the other inputs and those that only the linker wants."""
    return _without(line, source, line.linking | dropped)


def _compiling(line: Line, source: Source, dropped: set[int]) -> list[str]:
    """The same with the libraries: from 14 on gcc tells its compilers of some that will be linked,
    for code of accelerators, and their names stand in the debug information."""
    return _without(line, source, (line.linking - line.libraries) | dropped)


def _implied(line: Line) -> tuple[set[int], list[str]]:
    """Libraries that g++ links without being told, and where the first -lm is: it comes last."""
    if line.tool.suffixes is not CXX_SUFFIXES or not _NO_LIBRARIES.isdisjoint(line.words):
        return set(), []
    for at in sorted(line.libraries):
        if line.words[at] in ("-lm", "m"):
            return {at} if line.words[at] == "-lm" else {at - 1, at}, ["-lstdc++", "-lm"]
    return set(), ["-lstdc++", "-lm"]


def _without(line: Line, source: Source, dropped: set[int]) -> list[str]:
    inputs = {other.at for other in line.sources if other.at != source.at}
    inputs.update(at for at, _ in line.objects)
    return [word for at, word in enumerate(line.words) if at not in inputs | dropped]


def output_places(line: Line) -> set[int]:
    """Where -o and its value are."""
    places: set[int] = set()
    at = 0
    while at < len(line.words):
        hit = options.TABLE.find(line.words[at])
        width = 2 if hit is not None and hit.wants_next else 1
        if hit is not None and hit.do is Do.OUTPUT:
            places.update(range(at, at + width))
        at += width
    return places
