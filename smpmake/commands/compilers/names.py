"""How gcc and clang name what a command line leaves unnamed: objects, dependencies, side outputs.

The names follow gcc since 11 and clang since 12; where a tool's name (cc, c89) does not tell which
of the two it is, or releases differ, a side output that would be named differently is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smpmake.commands.compilers.dialects import CLANG, GCC, SIDES
from smpmake.commands.compilers.options import Do
from smpmake.commands.compilers.words import Line, Source
from smpmake.commands.model import Reason, Write
from smpmake.commands.paths import basename, is_device, split_suffix, stem

#: Options that keep what is made on the way.
TEMPS = frozenset({Do.TEMPS, Do.TEMPS_OBJ, Do.TEMPS_HERE})
#: Side outputs that a link makes anew where it optimizes, under names of its own.
_AFTER_LTO = frozenset({Do.STACK_USAGE, Do.CALL_GRAPH, Do.RECORD, Do.SPLIT_DWARF, Do.TIME_TRACE})
#: Side outputs that are named after the output or the source.
NAMED = _AFTER_LTO | TEMPS | {Do.NOTES}
#: What the names of a source's side outputs start with: with an output (-o), in a dialect.
Start = Callable[[str | None, Source, str], str]


def compiled_start(output: str | None, source: Source, dialect: str) -> str:
    """What dependency files and side outputs of a compilation start with."""
    return stem(basename(source.path) if output is None else output)


def dependency_start(output: str | None, source: Source, dialect: str) -> str:
    """What the dependency file starts with where the command goes on to link."""
    if output is not None:
        return stem(output)
    own = stem(basename(source.path))
    return f"a-{own}" if dialect == GCC else own


def linked_start(output: str | None, source: Source, dialect: str) -> str:
    """What side outputs start with where the command goes on to link several inputs."""
    return f"{_program(output)}-{stem(basename(source.path))}"


def linked_alone_start(output: str | None, source: Source, dialect: str) -> str:
    """The same for one input: gcc does not say its name twice where the program bears it."""
    if basename(_program(output)) == stem(basename(source.path)):
        return _program(output)
    return linked_start(output, source, dialect)


def _program(output: str | None) -> str:
    """What is linked, without its suffix where that is usual."""
    output = output or "a.out"
    if basename(output) == "a.out":
        return output.removesuffix(".out")
    return output.removesuffix(".exe")


def own_output(source: Source, suffix: str) -> str:
    """What the compiler makes of a source where nothing else is said."""
    if source.language.header:
        return source.path + ".gch"
    return stem(basename(source.path)) + suffix


def dependencies(
    line: Line,
    sources: Sequence[Source],
    start: Start,
    writes: list[Write],
) -> None:
    """Dependency files."""
    if Do.DEPS_TOO not in line.on and Do.DEPS_ONLY not in line.on:
        wanted = line.first is not None or Do.DEPS_DETAIL in line.on
        if wanted and line.tool.dialects == (GCC,):
            line.refusals.refuse(Reason.MALFORMED, "-MF without -M, -MD or -MMD")
        return
    if not any(source.language.cpp for source in sources):
        return
    if line.first is not None:
        if line.first in ("-", "/dev/stdout", "/dev/stderr"):
            line.refusals.refuse(Reason.WRITES_STDOUT, "-MF")
        elif not is_device(line.first):
            writes.append(Write(line.first, target=False))
        return
    if Do.NAMES in line.on:
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-dumpbase")
    answers = [
        [start(line.output, source, dialect) + ".d" for source in sources if source.language.cpp]
        for dialect in line.tool.dialects
    ]
    if answers[0] != answers[-1]:
        line.refusals.refuse(
            Reason.WRITES_UNPREDICTABLE, "-MD: gcc and clang name its file differently"
        )
    for path in dict.fromkeys(answers[0]):
        if not is_device(path):
            writes.append(Write(path, target=False))


def predict(
    line: Line,
    sources: Sequence[Source],
    start: Start,
    writes: list[Write],
    assembly: bool,
) -> None:
    """Side outputs that are named after the output or the source."""
    on = line.on
    linked = on.isdisjoint((Do.COMPILE, Do.ASSEMBLY))
    if Do.NAMES in on:
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-dumpbase")
    if Do.LTO in on and on & (_AFTER_LTO | TEMPS):
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "side outputs of link-time optimization")
    if CLANG in line.tool.dialects and linked and on & (_AFTER_LTO | {Do.NOTES}):
        line.refusals.refuse(
            Reason.WRITES_UNPREDICTABLE, "side outputs of a compilation that links"
        )
    answers = []
    for dialect in line.tool.dialects:
        paths: list[str] = []
        for source in sources:
            begin = start(line.output, source, dialect)
            if dialect == GCC and Do.TEMPS_HERE in on:
                begin = basename(begin)
            own_suffix = split_suffix(source.path)[1]
            for side in SIDES[dialect]:
                if side.do not in on or (side.cc_only and not source.language.cc):
                    continue
                if side.do is Do.SPLIT_DWARF and not _splits(line, dialect, source, assembly):
                    continue
                paths.append(begin + (own_suffix if side.keeps_suffix else "") + side.suffix)
            if on & TEMPS:
                paths.extend(_temps(line, dialect, source, begin, linked, assembly))
        answers.append(paths)
    if set(answers[0]) != set(answers[-1]):
        line.refusals.refuse(
            Reason.WRITES_UNPREDICTABLE, "gcc and clang name side outputs differently"
        )
    mains = {write.path for write in writes}
    for path in dict.fromkeys(answers[0]):
        if path not in mains and not is_device(path):
            writes.append(Write(path, target=False))


def _splits(line: Line, dialect: str, source: Source, assembly: bool) -> bool:
    """Whether -gsplit-dwarf makes a file: clang's needs -g beside it, gcc's implies it."""
    if dialect == GCC:
        return not assembly
    return Do.DEBUG in line.on or not source.language.cc


def _temps(
    line: Line, dialect: str, source: Source, start: str, linked: bool, assembly: bool
) -> list[str]:
    """What -save-temps leaves behind."""
    if dialect == CLANG:
        folder = ""
        if Do.TEMPS_OBJ in line.on and line.output:
            folder = line.output[: line.output.rfind("/") + 1]
        start = folder + stem(basename(source.path))
    language = source.language
    suffixes = [language.temp] if language.cpp else []
    if language.cc:
        if dialect == CLANG:
            suffixes.append(".bc")
        if not (assembly and line.output is not None):
            suffixes.append(".s")
    if linked:
        suffixes.append(".o")
    return [start + suffix for suffix in suffixes]
