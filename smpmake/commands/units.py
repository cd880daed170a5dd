"""The translation units of a compile command: each source, and the command for it alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from smpmake.commands.compilers.names import own_output
from smpmake.commands.compilers.options import Do
from smpmake.commands.compilers.parts import output_places, words_for
from smpmake.commands.compilers.words import Line, Source
from smpmake.commands.families import is_compiler, is_launcher, runs_lines
from smpmake.commands.generators import libtool
from smpmake.commands.model import Invocation
from smpmake.commands.options import UnreadableError, expand
from smpmake.commands.paths import basename, stem
from smpmake.commands.reading import recipe

#: With one of these the compiler only looks, or prints what it read.
_NOT_COMPILED: Final = frozenset({Do.PREPROCESS, Do.DEPS_ONLY, Do.SYNTAX_ONLY})


@dataclass(frozen=True, slots=True)
class Unit:
    """One source.

    source   as the command line spells it.
    argv     the command that compiles this source and no other, response files put in place.
    output   what that command makes.
    reads_headers  the source is preprocessed.
    folder   where that command is run, as seen from where the whole was: a line may change it.
    """

    source: str
    argv: tuple[str, ...]
    output: str
    reads_headers: bool
    folder: str = ""


def units(inv: Invocation) -> tuple[Unit, ...]:
    """What a command compiles; empty for other tools and for plain assembler.

    Raises options.UnreadableError where a response file cannot be read.
    """
    if inv.argv and (runs_lines(basename(inv.argv[0])) or libtool.compile_of(inv.argv)):
        return tuple(_units_of_line(inv))
    start = 0
    if len(inv.argv) > 1 and is_launcher(inv.argv[0]):
        start = 1
    if len(inv.argv) <= start or not is_compiler(inv.argv[start]):
        return ()
    words, responses = expand(inv.argv[start + 1 :], inv.files)
    line = Line(inv.argv[start], words, responses, inv.files)
    line.scan()
    if line.query or line.on & _NOT_COMPILED:
        return ()
    head = inv.argv[: start + 1]
    wanted = [s for s in line.sources if s.language.cpp or s.language.cc]
    return tuple(_unit(line, source, head) for source in wanted)


def _units_of_line(inv: Invocation) -> Iterator[Unit]:
    for command in recipe.line_of(inv).commands:
        call = libtool.compile_of(command.argv)
        called = recipe.placed_at(inv, command)._replace(
            argv=call.command if call else command.argv
        )
        for unit in units(called) if not runs_lines(basename(called.argv[0])) else ():
            yield replace(unit, folder=command.folder)


def _unit(line: Line, source: Source, head: tuple[str, ...]) -> Unit:
    headers = all(each.language.header for each in line.sources)
    alone = Do.COMPILE in line.on or Do.ASSEMBLY in line.on or headers
    own = own_output(source, ".s" if Do.ASSEMBLY in line.on else ".o")
    output = line.output or (own if alone else "a.out")
    words = list(line.words)
    if len(line.sources) > 1:
        dropped: set[int] = set()
        if not alone:
            # What is linked at once has an object all the same; gcc names it so.
            output = f"{output}-{stem(basename(source.path))}.o"
            dropped = output_places(line)
        words = words_for(line, source, dropped)
        if not alone:
            words += ["-c", "-o", output]
    return Unit(source.path, (*head, *words), output, source.language.cpp)


__all__ = ["Unit", "UnreadableError", "units"]
