"""Tiny C: compiler, linker, and with -ar as its first word an archiver that always begins anew."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from smpmake.commands.linker import Link
from smpmake.commands.model import Analysis, Invocation, Kind, Reason, Refusals, Write
from smpmake.commands.options import Marker, Table, Take, UnreadableError, expand, rows
from smpmake.commands.paths import basename, is_device, split_suffix, stem


class Do(Marker):
    """What an option does."""

    NOTHING = enum.auto()
    COMPILE = enum.auto()
    PREPROCESS = enum.auto()
    OUTPUT = enum.auto()
    DEPS = enum.auto()
    DEPS_FILE = enum.auto()
    READS = enum.auto()
    FOR_LINKER = enum.auto()
    LIBRARY = enum.auto()
    FOLDER = enum.auto()
    QUERY = enum.auto()
    RUNS = enum.auto()
    WHOLE = enum.auto()  # makes one file of all, -c or not
    STAGE = enum.auto()  # an option behind -Wp, that is not followed
    VERSION = enum.auto()


TABLE: Final[Table[Do]] = Table(
    rows(
        {
            (Do.NOTHING, Take.FLAG): """
                -MP -P -P1 -bench -dD -dM -dt -g -nostdinc -nostdlib -pedantic -pipe -pthread
                -rdynamic -s -static -traditional -w
                """,
            (Do.NOTHING, Take.NEXT): "--param -isystem -soname",
            (Do.NOTHING, Take.GLUED): "-O -W -b -f -g -m -std= -Wp,-D -Wp,-U -Wp,-I",
            (Do.NOTHING, Take.EITHER): "-B -D -I -U -x",
            (Do.WHOLE, Take.FLAG): "-r -shared",
            (Do.STAGE, Take.GLUED): "-Wp,",
            (Do.COMPILE, Take.FLAG): "-c",
            (Do.PREPROCESS, Take.FLAG): "-E",
            (Do.OUTPUT, Take.EITHER): "-o",
            (Do.DEPS, Take.FLAG): "-MD -MMD",
            (Do.DEPS_FILE, Take.NEXT): "-MF",
            (Do.READS, Take.NEXT): "-include",
            (Do.FOR_LINKER, Take.GLUED): "-Wl,",
            (Do.LIBRARY, Take.EITHER): "-l",
            (Do.FOLDER, Take.EITHER): "-L",
            (Do.QUERY, Take.FLAG): "-dumpversion -dumpmachine -h -hh -print-search-dirs",
            (Do.VERSION, Take.GLUED): "-v",
            (Do.RUNS, Take.GLUED): "-run",
        }
    )
)

_SOURCES: Final = (".c", ".C", ".i", ".s", ".S", ".asm")


@dataclass(slots=True)
class Line:
    """One command line."""

    on: set[Do] = field(default_factory=set)
    output: str = ""
    deps: str = ""
    sources: list[str] = field(default_factory=list)
    linker: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    refusals: Refusals = field(default_factory=Refusals)

    def scan(self, words: list[str]) -> None:
        """Read every word."""
        rest = iter(words)
        for word in rest:
            if word == "-":
                self.refusals.refuse(Reason.READS_STDIN, word)
            elif not word.startswith("-"):
                compiled = split_suffix(word)[1] in _SOURCES
                (self.sources if compiled else self.linker).append(word)
            elif (hit := TABLE.find(word)) is None:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, word)
            else:
                self._take(hit.do, word, next(rest, "") if hit.wants_next else hit.value)

    def _take(self, do: Do, word: str, value: str) -> None:
        self.on.add(do)
        if do is Do.OUTPUT:
            self.output = value
        elif do is Do.DEPS_FILE:
            self.deps = value
        elif do is Do.READS:
            self.reads.append(value)
        elif do is Do.FOR_LINKER:
            self.linker += value.split(",")
        elif do is Do.LIBRARY:
            self.linker += ("-l", value)
        elif do is Do.FOLDER:
            self.linker += ("-L", value)
        elif word.startswith("-x"):
            self.refusals.refuse(Reason.UNKNOWN_LANGUAGE, word)

    def judge(self) -> Analysis:
        """The meaning of the words that were read."""
        on = self.on
        if Do.QUERY in on or (Do.VERSION in on and not self.sources and not self.linker):
            return Analysis(Kind.QUERY, refusal=Reason.QUERY)
        if Do.RUNS in on:
            return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail="-run")
        if not self.sources and not self.linker and self.refusals.reason is None:
            self.refusals.refuse(Reason.MALFORMED, "no input files")
        if Do.STAGE in on or (Do.WHOLE in on and Do.COMPILE in on):
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-Wp, or -r with -c")
        if Do.PREPROCESS in on:
            if not self.output:
                self.refusals.refuse(Reason.WRITES_STDOUT, "-E")
            return self._answer(Kind.PREPROCESS, [self.output] if self.output else [])
        if Do.COMPILE not in on:
            return self._linked()
        if self.output and len(self.sources) != 1:
            self.refusals.refuse(Reason.MALFORMED, "-o with several sources")
        outputs = [self.output] if self.output else [own_object(path) for path in self.sources]
        return self._answer(Kind.COMPILE, outputs)

    def _linked(self) -> Analysis:
        link = Link()
        link.scan(self.linker)
        if link.refusals.reason is not None:
            self.refusals.refuse(link.refusals.reason, link.refusals.detail)
        if link.output is not None or link.query or link.sides:
            self.refusals.refuse(Reason.UNKNOWN_OPTION, "-Wl,")
        self.reads += (*link.reads, *link.searched_libraries())
        return self._answer(Kind.LINK, [self.output or "a.out"])

    def _answer(self, kind: Kind, outputs: list[str]) -> Analysis:
        header = kind is not Kind.COMPILE
        writes = [Write(path, header=header) for path in outputs]
        for path in outputs:
            if path == "-" or is_device(path):
                self.refusals.refuse(Reason.DISCARDED_OUTPUT, path)
        if Do.DEPS in self.on and outputs:
            if len(outputs) > 1 and not self.deps:
                self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-MD with several sources")
            dependencies = self.deps or f"{stem(outputs[0])}.d"
            writes.append(Write(dependencies, target=False, header=header))
        reads = (*self.sources, *self.reads)
        return Analysis(
            kind, reads, tuple(writes), True, self.refusals.reason, self.refusals.detail
        )


def own_object(source: str) -> str:
    """What is made of a source where nothing else is said."""
    return f"{stem(basename(source))}.o"


def _archive(words: list[str]) -> Analysis:
    """`tcc -ar rcs LIBRARY FILE...`"""
    letters = words[0].lstrip("-") if words else ""
    if len(words) < 3 or "r" not in letters or set(letters) - set("rcsvuD"):
        return Analysis(Kind.ARCHIVE, refusal=Reason.UNKNOWN_OPTION, detail=" ".join(words[:1]))
    return Analysis(Kind.ARCHIVE, tuple(words[2:]), (Write(words[1]),))


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a command of tcc's."""
    try:
        words, responses = expand(inv.argv[1:], inv.files)
    except UnreadableError as error:
        detail = str(error.args[0])
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=detail)
    for name in responses:
        # Its response files know double quotes alone; gcc's, which `expand` reads, more.
        if set(inv.files.read_text(name) or "") & {"'", "\\"}:
            return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=f"@{name}")
    if words[:1] == ["-ar"]:
        return _archive(words[1:])
    line = Line(reads=list(responses))
    line.scan(words)
    return line.judge()
