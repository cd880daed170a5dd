"""What a gcc or clang command line means: its inputs, every file it writes, and its parts.

`compiler_words` reads it, `compiler_names` knows what is made where nothing is said, and
`compiler_parts` takes a command of several sources apart.  What is judged here is the whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from smpmake.commands.compilers.dialects import CLANG, GCC
from smpmake.commands.compilers.linker import Link, folders_named
from smpmake.commands.compilers.names import (
    NAMED,
    TEMPS,
    compiled_start,
    dependencies,
    dependency_start,
    linked_alone_start,
    linked_start,
    own_output,
    predict,
)
from smpmake.commands.compilers.options import UNUSUAL_VARIABLES, Do
from smpmake.commands.compilers.parts import compile_parts, link_parts
from smpmake.commands.compilers.probes import ASKS
from smpmake.commands.compilers.words import Line, Source
from smpmake.commands.model import Analysis, Divides, Invocation, Kind, Part, Reason, Write
from smpmake.commands.options import UnreadableError, expand
from smpmake.commands.paths import NULL_DEVICE, basename, dirname, is_device

#: What configure scripts ask any compiler for: those that do not know it do nothing.
_ASKS = frozenset(ASKS)
# Marks that do not stand in the way of compiling the sources of one link apart.
_SPLITTABLE = frozenset({Do.DEBUG, Do.NO_DEBUG, Do.NO_SPLIT_DWARF, Do.NO_NOTES, Do.NO_LTO})


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a compiler's command line."""
    words: Sequence[str] = inv.argv[1:]
    if len(words) == 1 and words[0] in _ASKS:
        return Analysis(Kind.QUERY, refusal=Reason.QUERY, detail=words[0])
    responses: Sequence[str] = ()
    for word in words:
        if word[:1] == "@" and len(word) > 1:
            try:
                words, responses = expand(words, inv.files)
            except UnreadableError as error:
                name = str(error.args[0])
                return Analysis(Kind.UNKNOWN, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=name)
            break
    line = Line(inv.argv[0], words, responses, inv.files)
    getenv = inv.getenv
    for name in UNUSUAL_VARIABLES:
        if getenv(name) is not None:
            line.refusals.refuse(Reason.UNUSUAL_ENVIRONMENT, name)
    line.search += folders_named(getenv)
    line.scan()
    return judge(line)


def judge(line: Line) -> Analysis:
    """The meaning of the words that were read."""
    if line.query:
        return Analysis(Kind.QUERY, refusal=Reason.QUERY, detail=line.query)
    if not line.sources and not line.linker and line.refusals.reason is None:
        if Do.VERBOSE in line.on:
            return Analysis(Kind.QUERY, refusal=Reason.QUERY, detail="-v")
        line.refusals.refuse(Reason.MALFORMED, "no input files")
    line.read_stages()
    on = line.on
    if not on.isdisjoint((Do.PREPROCESS, Do.DEPS_ONLY)):
        return _preprocess(line)
    if Do.ASSEMBLY in on or Do.SYNTAX_ONLY in on or Do.COMPILE in on:
        return _compile(line)
    if line.sources and all(source.language.header for source in line.sources):
        return _compile(line)
    return _link(line)


def _preprocess(line: Line) -> Analysis:
    sources = [source for source in line.sources if source.language.cpp]
    writes: list[Write] = []
    if line.output is not None:
        if len(line.sources) > 1:
            line.refusals.refuse(Reason.MALFORMED, "-o with several sources")
        if Do.DEPS_ONLY not in line.on or line.first is None:
            _main(line, line.output, writes)
        elif line.tool.dialects == (GCC,):
            _main(line, line.output, writes)  # empty, but made
        elif GCC in line.tool.dialects:
            line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-M with -MF and -o")
    elif Do.DEPS_ONLY not in line.on or line.first is None:
        line.refusals.refuse(Reason.WRITES_STDOUT, "")
    if not sources:
        line.refusals.refuse(Reason.WRITES_NOTHING, "")
    if Do.DEPS_TOO in line.on or line.first is not None:
        dependencies(line, sources, compiled_start, writes)
    _named(line, writes)
    # What -M prints is often the rule's target: no main output stands before it.
    if Do.DEPS_ONLY in line.on and len(writes) == 1:
        writes = [write._replace(target=True) for write in writes]
    included = Do.DEPS_ONLY in line.on
    prints = bool(sources) and line.output is None and not included
    answer = _answer(line, Kind.PREPROCESS, sources, writes)
    return answer._replace(prints=prints, included=included)


def _compile(line: Line) -> Analysis:
    on = line.on
    assembly = Do.ASSEMBLY in on or Do.SYNTAX_ONLY in on
    sources = [source for source in line.sources if source.language.cc or not assembly]
    writes: list[Write] = []
    if not sources:
        line.refusals.refuse(Reason.WRITES_NOTHING, "")
    if assembly and any(s.language.cpp and not s.language.cc for s in line.sources):
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-S of assembler")
    if len(line.sources) > 1 and line.output is not None:
        line.refusals.refuse(Reason.MALFORMED, "-o with several sources")
    if Do.SYNTAX_ONLY in on:
        line.refusals.refuse(Reason.WRITES_NOTHING, "-fsyntax-only")
    else:
        suffix = ".s" if assembly else ".o"
        for source in sources:
            _main(line, line.output or own_output(source, suffix), writes)
    headers = any(source.language.header for source in sources)
    if headers and (on & NAMED or assembly):
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "side outputs of a precompiled header")
    if headers and line.output is None and CLANG in line.tool.dialects:
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "a precompiled header: .gch or .pch")
    # A header without -c counts as something to be linked where its dependency file is named.
    alone = not on.isdisjoint((Do.COMPILE, Do.ASSEMBLY, Do.SYNTAX_ONLY))
    start = compiled_start if alone else dependency_start
    dependencies(line, sources, start, writes)
    if on & NAMED and Do.SYNTAX_ONLY not in on:
        predict(line, sources, start, writes, assembly)
    _named(line, writes)
    assembler_only = sources and not any(source.language.cc for source in sources)
    kind = Kind.ASSEMBLE if assembler_only and not assembly else Kind.COMPILE
    if not (headers or assembly) and on.isdisjoint(TEMPS):
        writes = [write._replace(header=False) for write in writes]
    split = None
    if len(sources) > 1 and not line.sides and line.first is None:
        split = functools.partial(compile_parts, line, judge)
    return _answer(line, kind, sources, writes, split)


def _link(line: Line) -> Analysis:
    on = line.on
    link = Link()
    link.scan(line.expanded(line.linker))
    if link.refusals.reason is not None:
        line.refusals.refuse(link.refusals.reason, link.refusals.detail)
    if link.output is not None or link.query:
        line.refusals.refuse(Reason.UNKNOWN_OPTION, "-Wl,")
    output = "a.out" if line.output is None else line.output
    if line.tool.exe:
        output = "a.exe" if line.output is None else output
        output += "" if "." in basename(output) else ".exe"
    writes: list[Write] = []
    if output == "-":
        line.refusals.refuse(Reason.UNUSUAL_OUTPUT, output)
    else:
        _main(line, output, writes)
    if any(source.language.header for source in line.sources):
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "a header among the sources of a link")
    dependencies(line, line.sources, dependency_start, writes)
    if on & NAMED:
        several = len(line.sources) + len(line.objects) > 1
        start = linked_start if several else linked_alone_start
        predict(line, line.sources, start, writes, False)
    writes.extend(link.side_writes())
    if link.refusals.reason is not None:
        line.refusals.refuse(link.refusals.reason, link.refusals.detail)
    _named(line, writes)
    split = None
    plain = link.plain or all(word in {w for _, w in line.objects} for word in link.reads)
    if (
        len(line.sources) > 1
        and len(writes) == 1
        and plain
        and not link.sides
        and not (on - _SPLITTABLE)
        and not line.assembler
        and not line.cpp
        and line.tool.dialects == (GCC,)
        and all(source.language.cc for source in line.sources)
        and not any(basename(source.path).startswith("crt") for source in line.sources)
    ):
        split = functools.partial(link_parts, line, judge)
    reads = [*link.reads, *link.searched_libraries()]
    line.search += link.search()
    linked = _answer(line, Kind.LINK, line.sources, writes, split, reads)
    if Do.LTO in on and GCC in line.tool.dialects:
        parallel = Do.LTO_PARALLEL in on
        return linked._replace(divides=Divides.ANYHOW if parallel else Divides.IF_LET)
    return linked


def _main(line: Line, path: str, writes: list[Write]) -> None:
    """The main output, unless it is none."""
    if path == NULL_DEVICE:
        line.refusals.refuse(Reason.DISCARDED_OUTPUT, path)
    elif path == "-" or is_device(path):
        line.refusals.refuse(Reason.WRITES_STDOUT, path)
    elif not path or path.endswith("/"):
        line.refusals.refuse(Reason.UNUSUAL_OUTPUT, path)
    else:
        writes.append(Write(path))


def _named(line: Line, writes: list[Write]) -> None:
    """Side outputs that an option names."""
    for path in line.sides:
        writes.append(Write(path, target=False))


def _answer(
    line: Line,
    kind: Kind,
    sources: Sequence[Source],
    writes: Sequence[Write],
    split: Callable[[str], tuple[Part, ...]] | None = None,
    more: Sequence[str] = (),
) -> Analysis:
    reads = [source.path for source in sources]
    reads += line.reads
    reads += more
    reads += line.responses
    return Analysis(
        kind,
        tuple(reads),
        tuple(writes),
        True,
        line.refusals.reason,
        line.refusals.detail,
        split if line.refusals.reason is None else None,
        search=(*dict.fromkeys(dirname(source.path) for source in sources), *line.search),
        programs=line.programs(),
    )
