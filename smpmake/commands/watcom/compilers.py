"""Open Watcom's compilers and assembler: wcc, wcc386, wpp, wpp386, wasm, and bwcc386 and its like.

An object goes into the current folder unless -fo= says otherwise.  Beside it every compile touches
files named after the *source*, in the current folder wherever the object goes: it removes
`<base>.err` at its start and makes it if there is anything to say, and makes `<base>.d` or, where
no -ad asks for one, removes it.  So these are operands of every compile, and two sources of one
base name are compiled one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from smpmake.commands.model import Analysis, Invocation, Kind, Part, Reason, Refusals, Write
from smpmake.commands.options import UnreadableError
from smpmake.commands.paths import basename, is_device, split_suffix
from smpmake.commands.pending_files import PendingAnswerError
from smpmake.commands.watcom.options import OF_ASSEMBLER, OF_C, OF_CXX, Do, Options
from smpmake.commands.watcom.words import bare, own_name, place, words_of


class Tool(NamedTuple):
    """A compiler.

    variable  of the environment, with options that come before all others.
    suffixes  that a source without one may have; it is also looked for in ../c.
    header    the precompiled header that -fh without a name means, "" for none.
    several   it takes more than one source.
    """

    variable: str
    options: Options
    suffixes: tuple[str, ...]
    kind: Kind = Kind.COMPILE
    header: str = ""
    several: bool = False


_C = (".c",)
_CXX = (".C", ".cpp", ".cc", ".c", ".cxx")
TOOLS: dict[str, Tool] = {
    "wcc": Tool("WCC", OF_C, _C, header="wcc.pch"),
    "wcc386": Tool("WCC386", OF_C, _C, header="wcc386.pch"),
    "wpp": Tool("WPP", OF_CXX, _CXX, header="wpp.pch", several=True),
    "wpp386": Tool("WPP386", OF_CXX, _CXX, header="wpp386.pch", several=True),
    "wasm": Tool("WASM", OF_ASSEMBLER, (".asm",), Kind.ASSEMBLE),
}
OBJECT = ".o"  # on hosts like this one
SOURCES_TOO = "../c"  # where sources are also looked for
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include.*$", re.MULTILINE)
_HEADERS = frozenset({Do.HEADER, Do.HEADER_USED, Do.HEADER_READ, Do.HEADER_MADE})
# Options whose values do not matter for a precompiled header: where this one's own output goes.
_OWN_OUTPUT = frozenset({Do.OUTPUT, Do.ERRORS, Do.DEPENDENCIES, Do.DEPENDENCY_DETAIL, Do.NAME})


@dataclass(slots=True)
class Said:
    """What the words of a command line have said; of an option given twice the last counts."""

    values: dict[Do, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    at: list[int] = field(default_factory=list)  # where they stand
    reads: list[str] = field(default_factory=list)
    kin: list[str] = field(default_factory=list)
    refusals: Refusals = field(default_factory=Refusals)

    def scan(self, words: Sequence[str], options: Options) -> None:
        """Take in words, in their order."""
        for at, word in enumerate(words):
            if word[0] != "-":
                self.sources.append(bare(word))
                self.at.append(at)
                continue
            hits = options.find(word)
            if hits is None:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, word)
                continue
            for hit in hits:
                if hit.do is Do.READS:
                    self.reads.append(bare(hit.value))
                elif hit.do is not Do.NOTHING:
                    self.values[hit.do] = bare(hit.value)
                if hit.do not in _OWN_OUTPUT:
                    self.kin.append(f"{hit.name}={hit.value}")


class Compile:
    """One command line of a compiler, for judgement."""

    def __init__(self, inv: Invocation, name: str, tool: Tool, said: Said) -> None:
        self.inv = inv
        self.name = name
        self.tool = tool
        self.said = said
        self.writes: list[Write] = []

    def judge(self) -> Analysis:
        """What it means."""
        said, values = self.said, self.said.values
        if Do.QUERY in values or not (said.sources or said.refusals.reason or Do.BATCH in values):
            return Analysis(Kind.QUERY, refusal=Reason.QUERY)
        if Do.BATCH in values:
            said.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-fc")
        if len(said.sources) > 1 and not self.tool.several:
            said.refusals.refuse(Reason.MALFORMED, "more than one source")
        if "." in said.sources:
            said.refusals.refuse(Reason.READS_STDIN, ".")
        preprocesses = Do.PREPROCESS in values
        sources: list[str] = []
        for source in said.sources:
            sources.extend(self._source(source))
            self._outputs(source, preprocesses)
        headers = self._headers()
        kind = Kind.PREPROCESS if preprocesses else self.tool.kind
        if Do.CHECK in values:
            said.refusals.refuse(Reason.WRITES_NOTHING, "-zs")
        return Analysis(
            kind,
            reads=(*said.reads, *sources, *headers),
            writes=tuple(self.writes),
            undeclared=True,
            refusal=said.refusals.reason,
            detail=said.refusals.detail,
            kin=self._kin(sources) if any(write.shared for write in self.writes) else "",
        )

    def _source(self, source: str) -> list[str]:
        """The file that is meant, or all that may be meant."""
        suffixes = ("",) if split_suffix(source)[1] else self.tool.suffixes
        names = [source + suffix for suffix in suffixes]
        if not source.startswith("/"):
            names += [f"{SOURCES_TOO}/{basename(name)}" for name in names]
        there = [name for name in names if self.inv.files.exists(name)]
        return there[:1] or names[: len(suffixes)]

    def _outputs(self, source: str, preprocesses: bool) -> None:
        values = self.said.values
        own = split_suffix(basename(source))[0]
        base = values.get(Do.NAME) or own
        if preprocesses:
            self._preprocessed(values.get(Do.OUTPUT))
        elif Do.CHECK not in values:
            output = place(values.get(Do.OUTPUT, ""), base, OBJECT)
            if is_device(output):
                self.said.refusals.refuse(Reason.DISCARDED_OUTPUT, output)
            else:
                self.writes.append(Write(output, header=False))
        self._errors(own)
        dependencies = Do.DEPENDENCIES in values or Do.DEPENDENCY_DETAIL in values
        if dependencies:
            self._side(place(values.get(Do.DEPENDENCIES, ""), own, ".d"))
        elif self.tool.header:
            gone = Write(f"{own}.d", timed=False, target=False, removed=True, header=False)
            self.writes.append(gone)
        if Do.DEFINITIONS in values:
            self._side(f"{own}.def", header=True)
        if Do.BROWSE in values:
            self._side(f"{own}.mbr")
        if Do.LISTING in values:
            self._side(place(values[Do.LISTING], own, ".lst"))

    def _preprocessed(self, output: str | None) -> None:
        if output is None:
            self.said.refusals.refuse(Reason.WRITES_STDOUT, "-p")
        elif not all(split_suffix(basename(output))):
            self.said.refusals.refuse(Reason.WRITES_UNPREDICTABLE, f"-p with -fo={output}")
        else:
            self.writes.append(Write(output))

    def _errors(self, own: str) -> None:
        """Made or removed; -fr without a name is for none at all."""
        pattern = self.said.values.get(Do.ERRORS)
        if pattern != "":
            path = place(pattern or "", own, ".err")
            self.writes.append(Write(path, timed=False, target=False, header=False))

    def _side(self, path: str, *, header: bool = False) -> None:
        if is_device(path):
            self.said.refusals.refuse(Reason.UNUSUAL_OUTPUT, path)
        else:
            self.writes.append(Write(path, target=False, header=header))

    def _headers(self) -> list[str]:
        """A precompiled header: made by the first that names it, without a lock.

        Returns the names of one that is read and never made.
        """
        values = self.said.values
        if not _HEADERS & values.keys():
            return []
        name = values.get(Do.HEADER, "")
        names = [name, f"{name}.pch"] if name and not split_suffix(name)[1] else [name]
        paths = names if name else list(dict.fromkeys((self.tool.header, f"{self.name}.pch")))
        if Do.HEADER_READ in values:
            return paths
        shared = Do.HEADER_MADE not in values
        for path in paths:
            self.writes.append(Write(path, timed=False, in_place=True, target=False, shared=shared))
        return []

    def _kin(self, sources: Sequence[str]) -> str:
        """What must agree for a precompiled header to be of use, and not made anew."""
        first = ""
        for path in sources:
            try:
                text = self.inv.files.read_text(path)
            except PendingAnswerError:
                text = None
            if text is None:
                return f"{self.inv.argv}"  # not there yet: nobody's kin
            found = _INCLUDE.search(text)
            first += found[0] if found else "none"
        includes = self.inv.getenv("INCLUDE") or ""
        return "\0".join((self.name, self.inv.cwd, includes, *self.said.kin, first))


def meaning(inv: Invocation, name: str, before: Sequence[str], words: Sequence[str]) -> Analysis:
    """The meaning of words for the tool of that name."""
    tool = TOOLS[own_name(name)]
    said = Said()
    said.scan(before, tool.options)
    if said.sources:
        said.refusals.refuse(Reason.UNUSUAL_ENVIRONMENT, tool.variable)
    said.at.clear()
    said.scan(words, tool.options)
    return Compile(inv, basename(name), tool, said).judge()


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a compiler's or the assembler's command line."""
    name = inv.argv[0]
    tool = TOOLS[own_name(name)]
    try:
        words = words_of(inv, tool.variable)
    except UnreadableError as error:
        refusal = Reason.UNREADABLE_RESPONSE_FILE
        return Analysis(tool.kind, refusal=refusal, detail=str(error.args[0]))
    found = meaning(inv, name, words.from_variable, words.own)
    if found.refusal is not None:
        return found
    parts = parts_of(inv, words.from_variable, words.own, tool) if tool.several else ()
    return found._replace(
        split=(lambda folder: parts) if len(parts) > 1 else None,
        argv=(lambda keep: (name, *words.own)) if words.replaced else None,
    )


def parts_of(
    inv: Invocation, before: Sequence[str], words: Sequence[str], tool: Tool
) -> tuple[Part, ...]:
    """A command for each source: wpp386 compiles them one after the other."""
    said = Said()
    said.scan(words, tool.options)
    parts = []
    for place_ in said.at:
        own = [word for at, word in enumerate(words) if at == place_ or at not in said.at]
        parts.append(Part((inv.argv[0], *own), meaning(inv, inv.argv[0], before, own)))
    return tuple(parts)
