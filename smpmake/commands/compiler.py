"""What a gcc or clang command line means: its inputs, every file it writes, and its parts.

The names of side outputs follow gcc since 11 and clang since 12; where a tool's name (cc, c89)
does not tell which of the two it is, a side output that they would name differently is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from smpmake.commands import compiler_options
from smpmake.commands.assembler import Assembly
from smpmake.commands.compiler_dialects import CLANG, GCC, SIDES, Tool, tool_of
from smpmake.commands.compiler_options import (
    FOREIGN_SUFFIXES,
    HARMLESS_XCLANG,
    LANGUAGES,
    UNUSUAL_VARIABLES,
    Do,
    Language,
)
from smpmake.commands.linker import Link
from smpmake.commands.model import (
    Analysis,
    Invocation,
    Kind,
    Part,
    Reason,
    Refusals,
    Write,
)
from smpmake.commands.options import UnreadableError, expand
from smpmake.commands.paths import (
    NULL_DEVICE,
    basename,
    dirname,
    is_device,
    join,
    split_suffix,
    stem,
)


class Source(NamedTuple):
    """A source of the command: where its word is, its path and its language."""

    at: int
    path: str
    language: Language


_TEMPS = frozenset({Do.TEMPS, Do.TEMPS_OBJ, Do.TEMPS_HERE})
_AFTER_LTO = frozenset({Do.STACK_USAGE, Do.CALL_GRAPH, Do.RECORD, Do.SPLIT_DWARF, Do.TIME_TRACE})
_NAMED = _AFTER_LTO | _TEMPS | {Do.NOTES}
# Marks that do not stand in the way of compiling the sources of one link apart.
_SPLITTABLE = frozenset({Do.DEBUG, Do.NO_DEBUG, Do.NO_SPLIT_DWARF, Do.NO_NOTES, Do.NO_LTO})
_CANCELS = {
    Do.DEBUG: Do.NO_DEBUG,
    Do.NO_DEBUG: Do.DEBUG,
    Do.NO_LTO: Do.LTO,
    Do.NO_NOTES: Do.NOTES,
    Do.NO_SPLIT_DWARF: Do.SPLIT_DWARF,
}


class Line:
    """One command line, read from left to right, then judged."""

    __slots__ = (
        "argv",
        "assembler",
        "cpp",
        "first",
        "language",
        "linker",
        "linking",
        "objects",
        "on",
        "output",
        "query",
        "reads",
        "refusals",
        "responses",
        "search",
        "sides",
        "sources",
        "tool",
        "words",
    )

    def __init__(
        self,
        argv0: str,
        words: Sequence[str],
        responses: Sequence[str],
        tool: Tool | None = None,
    ) -> None:
        self.argv = argv0
        self.words = words
        self.responses = responses
        self.tool = tool or tool_of(basename(argv0))
        self.on: set[Do] = set()
        self.language: str | None = None
        self.output: str | None = None
        self.query = ""
        self.sources: list[Source] = []
        self.objects: list[tuple[int, str]] = []
        self.linking: set[int] = set()  # the places of words that only the linker wants
        self.linker: list[str] = []
        self.assembler: list[str] = []
        self.cpp: list[str] = []
        self.reads: list[str] = []
        self.search: list[str] = []
        self.first: str | None = None  # -MF
        self.sides: list[str] = []
        self.refusals = Refusals()

    # Reading.

    def scan(self) -> None:
        """Read every word."""
        find = compiler_options.TABLE.find
        words = self.words
        nothing = Do.NOTHING
        at, end = 0, len(words)
        while at < end:
            word = words[at]
            start = at
            at += 1
            if word[:1] != "-" or word == "-":
                self._operand(start, word)
                continue
            hit = find(word)
            if hit is None:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, word)
                continue
            do, _, value, wants_next = hit
            if wants_next:
                if at == end:
                    self.refusals.refuse(Reason.MALFORMED, word)
                    return
                value = words[at]
                at += 1
            if do is not nothing:
                action = ACTIONS.get(do)
                if action is None:
                    self.on.discard(_CANCELS.get(do, do))
                    self.on.add(do)
                else:
                    action(self, word, value)
                    if do in _LINK_WORDS:
                        self.linking.update(range(start, at))

    def _operand(self, at: int, word: str) -> None:
        if word == "-":
            self.refusals.refuse(Reason.READS_STDIN, word)
            return
        if self.language is not None:
            language = LANGUAGES.get(self.language)
            if language is None:
                self.refusals.refuse(Reason.UNKNOWN_LANGUAGE, self.language)
                return
        else:
            suffix = split_suffix(word)[1]
            language = self.tool.suffixes.get(suffix)
            if language is None:
                if suffix in FOREIGN_SUFFIXES:
                    self.refusals.refuse(Reason.UNKNOWN_LANGUAGE, word)
                self.objects.append((at, word))
                self.linker.append(word)
                return
        self.sources.append(Source(at, word, language))

    def do_output(self, word: str, value: str) -> None:
        """-o"""
        self.output = value

    def do_search(self, word: str, value: str) -> None:
        """-I and its kin"""
        self.search.append(value)

    def do_language(self, word: str, value: str) -> None:
        """-x"""
        self.on.add(Do.LANGUAGE)
        self.language = None if value == "none" else value

    def do_deps_file(self, word: str, value: str) -> None:
        """-MF"""
        self.first = value

    def do_reads(self, word: str, value: str) -> None:
        """A file that is read."""
        self.reads.append(value)

    def do_reads_first(self, word: str, value: str) -> None:
        """-include: the compiler takes a precompiled form where there is one."""
        self.reads.extend((value, value + ".gch", value + ".pch"))

    def do_reads_if_a_path(self, word: str, value: str) -> None:
        """-specs: a bare name is looked up beside the compiler."""
        if "/" in value:
            self.reads.append(value)

    def do_writes(self, word: str, value: str) -> None:
        """A file that is written."""
        self._side(value)

    def do_writes_after_equals(self, word: str, value: str) -> None:
        """-fopt-info-vec=FILE"""
        file = value.partition("=")[2]
        if file and file not in ("stderr", "stdout"):
            self._side(file)

    def do_for_preprocessor(self, word: str, value: str) -> None:
        """-Wp,"""
        words = value.split(",")
        if len(words) > 2 and words[0] in ("-MD", "-MMD") and CLANG in self.tool.dialects:
            self.refusals.refuse(Reason.UNKNOWN_OPTION, word)  # clang sees no file in it
        self.cpp.extend(words)

    def do_x_preprocessor(self, word: str, value: str) -> None:
        """-Xpreprocessor"""
        self.cpp.append(value)

    def do_for_assembler(self, word: str, value: str) -> None:
        """-Wa,"""
        self.assembler.extend(value.split(","))

    def do_x_assembler(self, word: str, value: str) -> None:
        """-Xassembler"""
        self.assembler.append(value)

    def do_for_linker(self, word: str, value: str) -> None:
        """-Wl,"""
        self.linker.extend(value.split(","))

    def do_x_linker(self, word: str, value: str) -> None:
        """-Xlinker"""
        self.linker.append(value)

    def do_x_clang(self, word: str, value: str) -> None:
        """-Xclang"""
        hit = compiler_options.TABLE.find(value)
        if value not in HARMLESS_XCLANG and (hit is None or hit.do is not Do.NOTHING):
            self.refusals.refuse(Reason.UNKNOWN_OPTION, value)

    def do_library(self, word: str, value: str) -> None:
        """-l"""
        self.linker.extend(("-l", value))

    def do_library_folder(self, word: str, value: str) -> None:
        """-L"""
        self.linker.extend(("-L", value))

    def do_script(self, word: str, value: str) -> None:
        """-T"""
        self.on.add(Do.SCRIPT)
        self.linker.extend(("-T", value))

    def do_query(self, word: str, value: str) -> None:
        """--version and its like"""
        self.query = word

    def do_unpredictable(self, word: str, value: str) -> None:
        """Files whose names only the compiler knows."""
        self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, word)

    def do_unknown(self, word: str, value: str) -> None:
        """Known, and not followed."""
        self.refusals.refuse(Reason.UNKNOWN_OPTION, word)

    def do_lto_jobserver(self, word: str, value: str) -> None:
        """-flto=jobserver"""
        self.on.update((Do.LTO, Do.LTO_JOBSERVER))

    def do_nothing_named(self, word: str, value: str) -> None:
        """Dependency details: the names of targets."""
        self.on.add(Do.DEPS_DETAIL)

    def _side(self, path: str) -> None:
        if path == "-" or (is_device(path) and path != NULL_DEVICE):
            self.refusals.refuse(Reason.WRITES_STDOUT, path)
        elif path != NULL_DEVICE:
            self.sides.append(path)

    # Judging.

    def judge(self) -> Analysis:
        """The meaning of the words that were read."""
        if self.query:
            return Analysis(Kind.QUERY, refusal=Reason.QUERY, detail=self.query)
        if not self.sources and not self.linker and self.refusals.reason is None:
            if Do.VERBOSE in self.on:
                return Analysis(Kind.QUERY, refusal=Reason.QUERY, detail="-v")
            self.refusals.refuse(Reason.MALFORMED, "no input files")
        if self.cpp:
            self._read_cpp()
        if self.assembler:
            self._read_assembler()
        on = self.on
        if not on.isdisjoint((Do.PREPROCESS, Do.DEPS_ONLY)):
            return self._preprocess()
        if Do.ASSEMBLY in on or Do.SYNTAX_ONLY in on or Do.COMPILE in on:
            return self._compile()
        if self.sources and all(source.language.header for source in self.sources):
            return self._compile()
        return self._link()

    def _read_cpp(self) -> None:
        """Words behind -Wp: cc1's -MD and -MMD take the file that the driver's do not."""
        rest = iter(self.cpp)
        for word in rest:
            if word in ("-MD", "-MMD", "-MF"):
                self._side(next(rest, NULL_DEVICE))
                continue
            if word in ("-MT", "-MQ"):
                next(rest, None)
                continue
            hit = compiler_options.TABLE.find(word)
            if hit is None or hit.do not in (Do.NOTHING, Do.SEARCH, Do.DEPS_DETAIL):
                self.refusals.refuse(Reason.UNKNOWN_OPTION, f"-Wp,{word}")
            elif hit.wants_next:
                next(rest, None)

    def _read_assembler(self) -> None:
        lines = Assembly()
        lines.scan(self.assembler)
        if lines.output is not None or lines.query:
            self.refusals.refuse(Reason.UNKNOWN_OPTION, "-Wa,")
        if lines.refusals.reason is not None:
            self.refusals.refuse(lines.refusals.reason, f"-Wa,{lines.refusals.detail}")
        self.sides.extend(lines.sides)
        self.reads.extend(lines.sources)

    def _preprocess(self) -> Analysis:
        sources = [source for source in self.sources if source.language.cpp]
        writes: list[Write] = []
        if self.output is not None:
            if len(self.sources) > 1:
                self.refusals.refuse(Reason.MALFORMED, "-o with several sources")
            if Do.DEPS_ONLY not in self.on or self.first is None:
                self._main(self.output, writes)
            elif self.tool.dialects == (GCC,):
                self._main(self.output, writes)  # empty, but made
            elif GCC in self.tool.dialects:
                self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-M with -MF and -o")
        elif Do.DEPS_ONLY not in self.on or self.first is None:
            self.refusals.refuse(Reason.WRITES_STDOUT, "")
        if not sources:
            self.refusals.refuse(Reason.WRITES_NOTHING, "")
        if Do.DEPS_TOO in self.on or self.first is not None:
            self._dependencies(sources, self._near, writes)
        self._named(writes)
        # What -M prints is often the rule's target: no main output stands before it.
        if Do.DEPS_ONLY in self.on and len(writes) == 1:
            writes = [replace(write, target=True) for write in writes]
        if Do.DEPS_ONLY in self.on:
            # Make includes what it has just remade, and reads it at once.
            self.refusals.refuse(Reason.DRIVER_READS_BACK, "-M")
        return self._answer(Kind.PREPROCESS, sources, writes)

    def _compile(self) -> Analysis:
        on = self.on
        assembly = Do.ASSEMBLY in on or Do.SYNTAX_ONLY in on
        sources = [source for source in self.sources if source.language.cc or not assembly]
        writes: list[Write] = []
        if not sources:
            self.refusals.refuse(Reason.WRITES_NOTHING, "")
        if assembly and any(s.language.cpp and not s.language.cc for s in self.sources):
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-S of assembler")
        if len(self.sources) > 1 and self.output is not None:
            self.refusals.refuse(Reason.MALFORMED, "-o with several sources")
        if Do.SYNTAX_ONLY in on:
            self.refusals.refuse(Reason.WRITES_NOTHING, "-fsyntax-only")
        else:
            suffix = ".s" if assembly else ".o"
            for source in sources:
                self._main(self.output or self.own_output(source, suffix), writes)
        headers = any(source.language.header for source in sources)
        if headers and (on & _NAMED or assembly):
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "side outputs of a precompiled header"
            )
        # A header without -c counts as something to be linked where its dependency file is named.
        alone = not on.isdisjoint((Do.COMPILE, Do.ASSEMBLY, Do.SYNTAX_ONLY))
        near = self._near if alone else self._linked_near
        self._dependencies(sources, near, writes)
        if on & _NAMED and Do.SYNTAX_ONLY not in on:
            self._predict(sources, near, writes, assembly)
        self._named(writes)
        assembler_only = sources and not any(source.language.cc for source in sources)
        kind = Kind.ASSEMBLE if assembler_only and not assembly else Kind.COMPILE
        split = None
        if len(sources) > 1 and not self.sides and self.first is None:
            split = self._split_compile
        return self._answer(kind, sources, writes, split)

    def _link(self) -> Analysis:
        on = self.on
        link = Link()
        link.scan(self.linker)
        if link.refusals.reason is not None:
            self.refusals.refuse(link.refusals.reason, link.refusals.detail)
        if link.output is not None or link.query:
            self.refusals.refuse(Reason.UNKNOWN_OPTION, "-Wl,")
        output = "a.out" if self.output is None else self.output
        if self.tool.exe:
            output = "a.exe" if self.output is None else output
            output += "" if "." in basename(output) else ".exe"
        writes: list[Write] = []
        if output == "-":
            self.refusals.refuse(Reason.UNUSUAL_OUTPUT, output)
        else:
            self._main(output, writes)
        if any(source.language.header for source in self.sources):
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "a header among the sources of a link"
            )
        self._dependencies(self.sources, self._linked_near, writes)
        if on & _NAMED:
            self._predict(self.sources, self._linked_stem, writes, False)
        if Do.LTO in on and on & (_AFTER_LTO | _TEMPS):
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "side outputs of link-time optimization"
            )
        if Do.LTO_JOBSERVER in on:
            self.refusals.refuse(Reason.USES_JOBSERVER, "-flto")
        writes.extend(link.side_writes())
        if link.refusals.reason is not None:
            self.refusals.refuse(link.refusals.reason, link.refusals.detail)
        self._named(writes)
        split = None
        plain = link.plain or all(word in {w for _, w in self.objects} for word in link.reads)
        if (
            len(self.sources) > 1
            and len(writes) == 1
            and plain
            and not link.sides
            and not (on - _SPLITTABLE)
            and not self.assembler
            and not self.cpp
            and self.tool.dialects == (GCC,)
            and all(source.language.cc for source in self.sources)
            and not any(basename(source.path).startswith("crt") for source in self.sources)
        ):
            split = self._split_link
        reads = [*link.reads, *link.searched_libraries()]
        return self._answer(Kind.LINK, self.sources, writes, split, reads)

    # Names.

    def _near(self, source: Source, dialect: str) -> str:
        """What dependency files and side outputs of a compilation start with."""
        return stem(basename(source.path) if self.output is None else self.output)

    def _linked_near(self, source: Source, dialect: str) -> str:
        """What the dependency file starts with where the command goes on to link."""
        if self.output is not None:
            return stem(self.output)
        own = stem(basename(source.path))
        return f"a-{own}" if dialect == GCC else own

    def _linked_stem(self, source: Source, dialect: str) -> str:
        """What side outputs start with where the command goes on to link."""
        own = stem(basename(source.path))
        if dialect == CLANG:
            return own
        output = self.output or "a.out"
        for suffix in (".exe", ".out"):
            if suffix == ".exe" or basename(output) == "a.out":
                output = output.removesuffix(suffix)
        return f"{output}-{own}"

    def own_output(self, source: Source, suffix: str) -> str:
        """What the compiler makes of a source where nothing else is said."""
        if source.language.header:
            return source.path + ".gch"
        return stem(basename(source.path)) + suffix

    def _main(self, path: str, writes: list[Write]) -> None:
        """The main output, unless it is none."""
        if path == NULL_DEVICE:
            self.refusals.refuse(Reason.DISCARDED_OUTPUT, path)
        elif path == "-" or is_device(path):
            self.refusals.refuse(Reason.WRITES_STDOUT, path)
        elif not path or path.endswith("/"):
            self.refusals.refuse(Reason.UNUSUAL_OUTPUT, path)
        else:
            writes.append(Write(path))

    def _named(self, writes: list[Write]) -> None:
        """Side outputs that an option names."""
        for path in self.sides:
            writes.append(Write(path, target=False))

    def _dependencies(
        self,
        sources: Sequence[Source],
        near: Callable[[Source, str], str],
        writes: list[Write],
    ) -> None:
        """Dependency files."""
        if Do.DEPS_TOO not in self.on and Do.DEPS_ONLY not in self.on:
            wanted = self.first is not None or Do.DEPS_DETAIL in self.on
            if wanted and self.tool.dialects == (GCC,):
                self.refusals.refuse(Reason.MALFORMED, "-MF without -M, -MD or -MMD")
            return
        if not any(source.language.cpp for source in sources):
            return
        if self.first is not None:
            if self.first in ("-", "/dev/stdout", "/dev/stderr"):
                self.refusals.refuse(Reason.WRITES_STDOUT, "-MF")
            elif not is_device(self.first):
                writes.append(Write(self.first, target=False))
            return
        if Do.NAMES in self.on:
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-dumpbase")
        answers = [
            [near(source, dialect) + ".d" for source in sources if source.language.cpp]
            for dialect in self.tool.dialects
        ]
        if answers[0] != answers[-1]:
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "-MD: gcc and clang name its file differently"
            )
        for path in dict.fromkeys(answers[0]):
            if not is_device(path):
                writes.append(Write(path, target=False))

    def _predict(
        self,
        sources: Sequence[Source],
        near: Callable[[Source, str], str],
        writes: list[Write],
        assembly: bool,
    ) -> None:
        """Side outputs that are named after the output or the source."""
        on = self.on
        linked = on.isdisjoint((Do.COMPILE, Do.ASSEMBLY))
        if Do.NAMES in on:
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-dumpbase")
        if Do.LTO in on and on & (_AFTER_LTO | _TEMPS):
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "side outputs of link-time optimization"
            )
        if CLANG in self.tool.dialects and linked and on & _AFTER_LTO:
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "side outputs of a compilation that links"
            )
        answers = []
        for dialect in self.tool.dialects:
            paths: list[str] = []
            for source in sources:
                start = near(source, dialect)
                own_suffix = split_suffix(source.path)[1]
                for side in SIDES[dialect]:
                    if side.do not in on or (side.cc_only and not source.language.cc):
                        continue
                    if side.do is Do.SPLIT_DWARF and not self._splits(dialect, source, assembly):
                        continue
                    paths.append(start + (own_suffix if side.keeps_suffix else "") + side.suffix)
                if on & _TEMPS:
                    paths.extend(self._temps(dialect, source, start, linked, assembly))
            answers.append(paths)
        if set(answers[0]) != set(answers[-1]):
            self.refusals.refuse(
                Reason.WRITES_UNPREDICTABLE, "gcc and clang name side outputs differently"
            )
        mains = {write.path for write in writes}
        for path in dict.fromkeys(answers[0]):
            if path not in mains and not is_device(path):
                writes.append(Write(path, target=False))

    def _splits(self, dialect: str, source: Source, assembly: bool) -> bool:
        """Whether -gsplit-dwarf makes a file: clang's needs -g beside it, gcc's implies it."""
        if dialect == GCC:
            return not assembly
        return Do.DEBUG in self.on or not source.language.cc

    def _temps(
        self, dialect: str, source: Source, start: str, linked: bool, assembly: bool
    ) -> list[str]:
        """What -save-temps leaves behind."""
        if dialect == CLANG:
            folder = ""
            if Do.TEMPS_OBJ in self.on and self.output:
                folder = self.output[: self.output.rfind("/") + 1]
            start = folder + stem(basename(source.path))
        elif Do.TEMPS_HERE in self.on:
            start = basename(start)
        language = source.language
        suffixes = [language.temp] if language.cpp else []
        if language.cc:
            if dialect == CLANG:
                suffixes.append(".bc")
            if not (assembly and self.output is not None):
                suffixes.append(".s")
        if linked:
            suffixes.append(".o")
        return [start + suffix for suffix in suffixes]

    # Answers.

    def _answer(
        self,
        kind: Kind,
        sources: Sequence[Source],
        writes: Sequence[Write],
        split: Callable[[str], tuple[Part, ...]] | None = None,
        more: Sequence[str] = (),
    ) -> Analysis:
        reads = [source.path for source in sources]
        reads += self.reads
        reads += more
        reads += self.responses
        return Analysis(
            kind,
            tuple(reads),
            tuple(writes),
            True,
            self.refusals.reason,
            self.refusals.detail,
            split if self.refusals.reason is None else None,
            search=(*dict.fromkeys(dirname(source.path) for source in sources), *self.search),
        )

    def _part(self, words: Sequence[str], intermediate: bool) -> Part:
        line = Line(self.argv, words, ())
        line.scan()
        meaning = line.judge()
        if intermediate:
            writes = tuple(replace(write, target=False) for write in meaning.writes)
            meaning = replace(meaning, writes=writes)
        return Part((self.argv, *words), meaning)

    def words_for(self, source: Source, dropped: set[int]) -> list[str]:
        """The words without the other inputs and those that only the linker wants."""
        inputs = {other.at for other in self.sources if other.at != source.at}
        inputs.update(at for at, _ in self.objects)
        gone = inputs | self.linking | dropped
        return [word for at, word in enumerate(self.words) if at not in gone]

    def _split_compile(self, folder: str) -> tuple[Part, ...]:
        return tuple(
            self._part(self.words_for(source, set()), intermediate=False) for source in self.sources
        )

    def _split_link(self, folder: str) -> tuple[Part, ...]:
        words = list(self.words)
        parts = []
        for number, source in enumerate(self.sources):
            name = f"{number}-{stem(basename(source.path))}.o"
            out = join(folder, name)
            own = [*self.words_for(source, self.output_places()), "-c", "-o", out]
            parts.append(self._part(own, intermediate=True))
            words[source.at] = out
        parts.append(self._part(words, intermediate=False))
        return tuple(parts)

    def output_places(self) -> set[int]:
        """Where -o and its value are."""
        places: set[int] = set()
        at = 0
        while at < len(self.words):
            hit = compiler_options.TABLE.find(self.words[at])
            width = 2 if hit is not None and hit.wants_next else 1
            if hit is not None and hit.do is Do.OUTPUT:
                places.update(range(at, at + width))
            at += width
        return places


_Action = Callable[[Line, str, str], None]

# What reading an option does beyond noting that it was there.
ACTIONS: dict[Do, _Action] = {
    Do.OUTPUT: Line.do_output,
    Do.LANGUAGE: Line.do_language,
    Do.DEPS_FILE: Line.do_deps_file,
    Do.DEPS_DETAIL: Line.do_nothing_named,
    Do.SEARCH: Line.do_search,
    Do.READS: Line.do_reads,
    Do.READS_FIRST: Line.do_reads_first,
    Do.READS_IF_A_PATH: Line.do_reads_if_a_path,
    Do.WRITES: Line.do_writes,
    Do.WRITES_AFTER_EQUALS: Line.do_writes_after_equals,
    Do.FOR_PREPROCESSOR: Line.do_for_preprocessor,
    Do.FOR_ASSEMBLER: Line.do_for_assembler,
    Do.FOR_LINKER: Line.do_for_linker,
    Do.X_PREPROCESSOR: Line.do_x_preprocessor,
    Do.X_ASSEMBLER: Line.do_x_assembler,
    Do.X_LINKER: Line.do_x_linker,
    Do.X_CLANG: Line.do_x_clang,
    Do.LIBRARY: Line.do_library,
    Do.LIBRARY_FOLDER: Line.do_library_folder,
    Do.SCRIPT: Line.do_script,
    Do.QUERY: Line.do_query,
    Do.UNPREDICTABLE: Line.do_unpredictable,
    Do.UNKNOWN: Line.do_unknown,
    Do.LTO_JOBSERVER: Line.do_lto_jobserver,
}
_LINK_WORDS = frozenset({Do.FOR_LINKER, Do.X_LINKER, Do.LIBRARY, Do.LIBRARY_FOLDER, Do.SCRIPT})


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a compiler's command line."""
    words: Sequence[str] = inv.argv[1:]
    responses: Sequence[str] = ()
    for word in words:
        if word[:1] == "@" and len(word) > 1:
            try:
                words, responses = expand(words, inv.files)
            except UnreadableError as error:
                name = str(error.args[0])
                return Analysis(Kind.UNKNOWN, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=name)
            break
    line = Line(inv.argv[0], words, responses)
    getenv = inv.getenv
    for name in UNUSUAL_VARIABLES:
        if getenv(name) is not None:
            line.refusals.refuse(Reason.UNUSUAL_ENVIRONMENT, name)
    line.scan()
    return line.judge()
