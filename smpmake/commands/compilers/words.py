"""The words of a gcc or clang command line, read from left to right: what they have said so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from smpmake.commands.compilers import options
from smpmake.commands.compilers.assembler import Assembly
from smpmake.commands.compilers.dialects import CLANG, Tool, tool_of
from smpmake.commands.compilers.options import (
    FOREIGN_SUFFIXES,
    HARMLESS_XCLANG,
    LANGUAGES,
    Do,
    Language,
)
from smpmake.commands.model import Files, Program, Reason, Refusals
from smpmake.commands.options import UnreadableError, expand
from smpmake.commands.paths import NULL_DEVICE, basename, is_device, split_suffix

#: The option by which gcc and clang print what they would run, and run nothing.
ASKS_FOR_PROGRAMS = "-###"
#: What files are called in such a question, with a suffix.
SUFFIXED = "any{}"


class Source(NamedTuple):
    """A source of the command: where its word is, its path and its language."""

    at: int
    path: str
    language: Language


# Of these neither the word nor its value says which programs are run.
_NAMES = frozenset(
    {
        *(Do.OUTPUT, Do.SEARCH, Do.READS, Do.READS_FIRST, Do.WRITES, Do.WRITES_AFTER_EQUALS),
        *(Do.DEPS_TOO, Do.DEPS_FILE, Do.DEPS_DETAIL, Do.FOR_PREPROCESSOR, Do.X_PREPROCESSOR),
        *(Do.FOR_ASSEMBLER, Do.X_ASSEMBLER, Do.LIBRARY, Do.LIBRARY_FOLDER, Do.SCRIPT),
    }
)
#: Options by which a driver looks elsewhere for its programs: what is there may change at any time.
LEADS_ELSEWHERE = ("-B", "-specs", "--specs")
_RUNS_ANYTHING = ("-wrapper", "--wrapper")
#: Where a compiler or linker looks below a sysroot.
_BELOW_SYSROOT = (
    *("include", "usr/include", "usr/local/include"),
    *("lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib"),
)
_CANCELS = {
    Do.DEBUG: Do.NO_DEBUG,
    Do.NO_DEBUG: Do.DEBUG,
    Do.LTO: Do.LTO_PARALLEL,
    Do.NO_LTO: Do.LTO,
    Do.NO_NOTES: Do.NOTES,
    Do.NO_SPLIT_DWARF: Do.SPLIT_DWARF,
}


class Line:
    """What the words of one command line have said so far."""

    __slots__ = (
        "argv",
        "assembler",
        "cpp",
        "files",
        "first",
        "language",
        "libraries",
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
        files: Files,
        tool: Tool | None = None,
    ) -> None:
        self.argv = argv0
        self.words = words
        self.responses = list(responses)
        self.files = files
        self.tool = tool or tool_of(basename(argv0))
        self.on: set[Do] = set()
        self.language: str | None = None
        self.output: str | None = None
        self.query = ""
        self.sources: list[Source] = []
        self.objects: list[tuple[int, str]] = []
        self.linking: set[int] = set()  # the places of words that only the linker wants
        self.libraries: set[int] = set()  # those of -l among them
        self.linker: list[str] = []
        self.assembler: list[str] = []
        self.cpp: list[str] = []
        self.reads: list[str] = []
        self.search: list[str] = []
        self.first: str | None = None  # -MF
        self.sides: list[str] = []
        self.refusals = Refusals()

    def scan(self) -> None:
        """Read every word."""
        find = options.TABLE.find
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
                    if do is Do.LIBRARY:
                        self.libraries.update(range(start, at))

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
        if word.startswith("-B"):
            self.search.append(f"{value}/include")

    def do_sysroot(self, word: str, value: str) -> None:
        """--sysroot"""
        self.search += [value, *(f"{value}/{below}" for below in _BELOW_SYSROOT)]

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
        hit = options.TABLE.find(value)
        if value not in HARMLESS_XCLANG and (hit is None or hit.do is not Do.NOTHING):
            self.refusals.refuse(Reason.UNKNOWN_OPTION, value)

    def do_library(self, word: str, value: str) -> None:
        """-l"""
        self._hand_on("-l", value)

    def do_library_folder(self, word: str, value: str) -> None:
        """-L"""
        self._hand_on("-L", value)

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

    def do_lto_parallel(self, word: str, value: str) -> None:
        """-flto=auto, -flto=4"""
        self.on.update((Do.LTO, Do.LTO_PARALLEL))

    def do_nothing_named(self, word: str, value: str) -> None:
        """Dependency details: the names of targets."""
        self.on.add(Do.DEPS_DETAIL)

    def _side(self, path: str) -> None:
        if path == "-" or (is_device(path) and path != NULL_DEVICE):
            self.refusals.refuse(Reason.WRITES_STDOUT, path)
        elif path != NULL_DEVICE:
            self.sides.append(path)

    def _hand_on(self, option: str, value: str) -> None:
        """In one word, as the driver does: an @ in it names no response file."""
        self.linker.extend((option + value,) if value else (option, value))

    # What it runs.

    def programs(self) -> tuple[Program, ...] | None:
        """The driver, and how it is asked what else it runs; None where that may be anything."""
        found = self.question()
        return (Program("", found),) if found is not None else None

    def question(self) -> tuple[str, ...] | None:
        """The words that have a driver tell its programs (-###): these options, for files of such
        names as `SUFFIXED.format(".c")`; None where they have it run other programs as well."""
        find = options.TABLE.find
        kept = [ASKS_FOR_PROGRAMS]
        named: set[str] = set()
        rest = iter(self.words)
        for word in rest:
            if word[:1] != "-":
                name = SUFFIXED.format(split_suffix(word)[1])
                kept += () if name in named else (name,)
                named.add(name)
                continue
            hit = find(word)
            if hit is None or word.startswith(_RUNS_ANYTHING):
                return None
            value = next(rest, "") if hit.wants_next else hit.value
            if hit.do in (Do.FOR_LINKER, Do.X_LINKER):
                if "plugin" in value:
                    return None
            elif word.startswith(LEADS_ELSEWHERE) or not (
                hit.do in _NAMES or word.startswith(("-D", "-U", "-W"))
            ):
                kept += (word, value) if hit.wants_next else (word,)
                named.clear()  # of another language, perhaps
        return tuple(kept)

    # Words for the other stages, once all of them are there.

    def expanded(self, words: Sequence[str]) -> list[str]:
        """Words for another stage, which reads the response files among them itself."""
        try:
            found, responses = expand(words, self.files)
        except UnreadableError as error:
            self.refusals.refuse(Reason.UNREADABLE_RESPONSE_FILE, str(error.args[0]))
            return []
        self.responses += responses
        return found

    def read_stages(self) -> None:
        """What -Wp and -Wa have handed on."""
        if self.cpp:
            self._read_cpp()
        if self.assembler:
            self._read_assembler()

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
            hit = options.TABLE.find(word)
            if hit is None or hit.do not in (Do.NOTHING, Do.SEARCH, Do.SYSROOT, Do.DEPS_DETAIL):
                self.refusals.refuse(Reason.UNKNOWN_OPTION, f"-Wp,{word}")
            elif hit.wants_next:
                next(rest, None)

    def _read_assembler(self) -> None:
        lines = Assembly()
        lines.scan(self.expanded(self.assembler))
        if lines.output is not None or lines.query:
            self.refusals.refuse(Reason.UNKNOWN_OPTION, "-Wa,")
        if lines.refusals.reason is not None:
            self.refusals.refuse(lines.refusals.reason, f"-Wa,{lines.refusals.detail}")
        self.sides.extend(lines.sides)
        self.reads.extend(lines.sources)


_Action = Callable[[Line, str, str], None]

# What reading an option does beyond noting that it was there.
ACTIONS: dict[Do, _Action] = {
    Do.OUTPUT: Line.do_output,
    Do.LANGUAGE: Line.do_language,
    Do.DEPS_FILE: Line.do_deps_file,
    Do.DEPS_DETAIL: Line.do_nothing_named,
    Do.SEARCH: Line.do_search,
    Do.SYSROOT: Line.do_sysroot,
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
    Do.LTO_PARALLEL: Line.do_lto_parallel,
}
_LINK_WORDS = frozenset({Do.FOR_LINKER, Do.X_LINKER, Do.LIBRARY, Do.LIBRARY_FOLDER, Do.SCRIPT})


def valued() -> list[str]:
    """The options whose value is the next word."""
    table = options.TABLE
    words = {word for row in table.rows for word in row.words()}
    return sorted(word for word in words if (hit := table.find(word)) and hit.wants_next)
