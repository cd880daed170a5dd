"""gfortran: a compiler of gcc's, whose modules are files that no command line names.

    gfortran -Jmodules -c solver.f90 -o solver.o

writes modules/NAME.mod for each module of the source, and reads such files for each that it uses,
from the folders of -J and -I.  A .mod file that would be the same as before is left as it was.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from smpmake.commands.compilers import options
from smpmake.commands.compilers.compiler import judge
from smpmake.commands.compilers.dialects import GCC, Tool
from smpmake.commands.compilers.fortran_modules import Form, Include, Modules, modules_of
from smpmake.commands.compilers.names import TEMPS
from smpmake.commands.compilers.options import SUFFIXES, UNUSUAL_VARIABLES, Language
from smpmake.commands.compilers.words import Line
from smpmake.commands.model import Analysis, Files, Invocation, Kind, Reason, Write
from smpmake.commands.options import Marker, Table, Take, UnreadableError, expand, names, rows
from smpmake.commands.paths import join, split_suffix


class Do(Marker):
    """What an option of Fortran's does."""

    NOTHING = enum.auto()
    MODULES = enum.auto()  # the folder of module files
    INCLUDES = enum.auto()
    DEFINES = enum.auto()
    FREE = enum.auto()
    FIXED = enum.auto()
    CPP = enum.auto()
    NO_CPP = enum.auto()
    PRINTS = enum.auto()
    WIDTH = enum.auto()
    MACROS = enum.auto()  # names for the preprocessor that are not followed


#: -f names that change the code or the messages: -fNAME, -fno-NAME, -fNAME=VALUE.
HARMLESS_F: Final = names(
    """
    aggressive-function-elimination align-commons all-intrinsics allow-argument-mismatch
    allow-invalid-boz automatic backslash backtrace blas-matmul-limit bounds-check check
    check-array-temporaries coarray convert cray-pointer d-lines-as-comments
    dec-blank-format-item dec-char-conversions dec-format-defaults dec-intrinsic-ints
    dec-math dec-static dec-structure default-double-8 default-integer-8 default-real-10
    default-real-16 default-real-8 external-blas f2c ffpe-summary ffpe-trap finalize-intrinsics
    frontend-loop-interchange frontend-optimize implicit-none init-character init-derived
    init-integer init-local-zero init-logical init-real inline-arg-packing inline-matmul-limit
    integer-4-integer-8 line-truncation max-array-constructor max-identifier-length
    max-stack-var-size
    max-subrecord-length module-private pack-derived pad-source protect-parens range-check
    real-4-real-10 real-4-real-16 real-4-real-8 real-8-real-10 real-8-real-16 real-8-real-4
    realloc-lhs record-marker recursive repack-arrays second-underscore sign-zero stack-arrays
    tail-call-workaround test-forall-temp underscoring whole-file
    """
)


def _harmless_f(word: str) -> Do | None:
    if not word.startswith("-f"):
        return None
    name = word[2:].partition("=")[0].removeprefix("no-")
    return Do.NOTHING if name in HARMLESS_F else None


TABLE: Final[Table[Do]] = Table(
    rows(
        {
            (Do.NOTHING, Take.FLAG): "-static-libgfortran -static-libquadmath -static-libcaf",
            (Do.MODULES, Take.EITHER): "-J",
            (Do.INCLUDES, Take.EITHER): "-I",
            (Do.DEFINES, Take.EITHER): "-D",
            (Do.FREE, Take.FLAG): "-ffree-form -fno-fixed-form",
            (Do.FIXED, Take.FLAG): "-ffixed-form -fno-free-form",
            (Do.NOTHING, Take.GLUED): "-ffree-line-length-",
            (Do.WIDTH, Take.GLUED): "-ffixed-line-length-",
            (Do.MACROS, Take.GLUED): "-Wp, --define-macro -Xpreprocessor",
            (Do.CPP, Take.FLAG): "-cpp",
            (Do.NO_CPP, Take.FLAG): "-nocpp",
            (Do.PRINTS, Take.FLAG): "-fc-prototypes -fc-prototypes-external",
            (Do.PRINTS, Take.GLUED): "-fdump-fortran- -fdump-parse-tree",
        }
    ),
    otherwise=_harmless_f,
)

_PLAIN, _CPP = Language(False, True), Language(True, True)
_FREE: Final = names(".f90 .f95 .f03 .f08")
_FIXED: Final = names(".f .for .ftn .fpp")
_ALWAYS_CPP: Final = names(".F90 .F95 .F03 .F08 .F .FOR .FTN .fpp .FPP")
_SUFFIXES: Final = _FREE | _FIXED | _ALWAYS_CPP
#: Where the include files of libraries are, which define no modules of a project's.
_SYSTEM: Final = ("/usr/include", "/usr/local/include")


@dataclass(slots=True)
class Words:
    """A command line's words: those that are Fortran's alone taken out, the rest is gcc's."""

    rest: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    defines: set[str] = field(default_factory=set)
    modules: str = ""
    fixed: bool | None = None
    cpp: bool | None = None
    width: int = 72
    macros: str = ""
    prints: str = ""

    def languages(self) -> dict[str, Language]:
        """What the suffixes mean with these options."""
        if self.cpp is not None:
            return SUFFIXES | dict.fromkeys(_SUFFIXES, _CPP if self.cpp else _PLAIN)
        return SUFFIXES | dict.fromkeys(_SUFFIXES, _PLAIN) | dict.fromkeys(_ALWAYS_CPP, _CPP)

    def read(self, words: list[str]) -> None:
        """All of them.  What both know (-I, -D) both get."""
        at = 0
        while at < len(words):
            word = words[at]
            hit = TABLE.find(word) if word[:1] == "-" else None
            theirs = options.TABLE.find(word) if hit is None else None
            wide = (hit is not None and hit.wants_next) or (
                theirs is not None and word[:1] == "-" and theirs.wants_next
            )
            both = words[at : at + 1 + wide]
            at += 1 + wide
            if hit is None:
                self.rest += both
                continue
            self._take(hit.do, word, both[-1] if hit.wants_next else hit.value)
            if hit.do in (Do.INCLUDES, Do.DEFINES):
                self.rest += both

    def _take(self, do: Do, word: str, value: str) -> None:
        if do is Do.MODULES:
            self.modules = value
        elif do is Do.INCLUDES:
            self.includes.append(value)
        elif do is Do.DEFINES:
            self.defines.add(value.partition("=")[0].lower())
        elif do in (Do.FREE, Do.FIXED):
            self.fixed = do is Do.FIXED
        elif do in (Do.CPP, Do.NO_CPP):
            self.cpp = do is Do.CPP
        elif do is Do.PRINTS:
            self.prints = word
        elif do is Do.WIDTH:
            self.width = int(value) if value.isdecimal() else 0
        elif do is Do.MACROS:
            self.macros = word


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a gfortran command."""
    try:
        expanded, responses = expand(inv.argv[1:], inv.files)
    except UnreadableError as error:
        detail = str(error.args[0])
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=detail)
    words = Words()
    words.read(expanded)
    tool = Tool((GCC,), words.languages(), exe=False)
    line = Line(inv.argv[0], words.rest, responses, inv.files, tool)
    for name in UNUSUAL_VARIABLES:
        if inv.getenv(name) is not None:
            line.refusals.refuse(Reason.UNUSUAL_ENVIRONMENT, name)
    line.scan()
    if words.prints:
        line.refusals.refuse(Reason.WRITES_STDOUT, words.prints)
    if not line.on.isdisjoint(TEMPS) and any(source.language is _CPP for source in line.sources):
        line.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-save-temps: .f90 before gfortran 14")
    meaning = judge(line)._replace(split=None)
    if meaning.kind is Kind.PREPROCESS and options.Do.DEPS_ONLY in line.on:
        return meaning.refused(Reason.WRITES_UNPREDICTABLE, "-M writes modules too")
    if meaning.kind in (Kind.QUERY, Kind.PREPROCESS):
        return meaning
    for source in line.sources:
        if split_suffix(source.path)[1] in _SUFFIXES:
            cpp = source.language is _CPP
            meaning = _with_modules(meaning, source.path, cpp, words, inv.files)
    return meaning


def _with_modules(
    meaning: Analysis, source: str, cpp: bool, words: Words, files: Files
) -> Analysis:
    """The meaning with the module files of one source."""
    text = files.read_text(source)
    if text is None:
        return meaning.refused(Reason.UNREADABLE_SOURCE, source)
    own = source[: source.rfind("/") + 1]
    fixed = split_suffix(source)[1].lower() in _FIXED if words.fixed is None else words.fixed
    form = Form(fixed, cpp, _includer(own, words, files), words.width)
    found = modules_of(text, own, form)
    if found.strange or (cpp and words.macros):
        detail = found.strange or words.macros
        return meaning.refused(Reason.WRITES_UNPREDICTABLE, detail)
    macros = (found.macros | words.defines) if cpp else set()
    named = found.defined | {name.partition(".")[0] for name in found.used}
    if macros & named:
        return meaning.refused(Reason.WRITES_UNPREDICTABLE, f"module {min(macros & named)}")
    folders = dict.fromkeys((words.modules, "", own, *words.includes))
    reads = [join(folder, name) for name in sorted(found.used) for folder in folders]
    return meaning._replace(
        reads=(*meaning.reads, *reads),
        writes=(*meaning.writes, *_module_files(found, words.modules)),
    )


def _module_files(found: Modules, folder: str) -> list[Write]:
    sure = not found.conditional
    made = [
        Write(join(folder, f"{name}.mod"), timed=sure, kept=True, header=False)
        for name in sorted(found.defined)
    ]
    made += [
        Write(join(folder, f"{name}.smod"), timed=sure, target=False, kept=True, header=False)
        for name in sorted(found.parts)
    ]
    # Of a module only if it has parts elsewhere, or uses one that has.
    made += [
        Write(join(folder, f"{name}.smod"), timed=False, target=False, kept=True, header=False)
        for name in sorted(found.defined)
    ]
    return made


def _includer(own: str, words: Words, files: Files) -> Include:
    def include(name: str, folder: str) -> tuple[str, str] | None:
        for place in dict.fromkeys((folder, own, "", *words.includes)):
            path = name if name.startswith("/") else join(place, name)
            text = files.read_text(path)
            if text is not None:
                return text, path[: path.rfind("/") + 1]
            if files.exists(path):
                return None  # and is no text
        system = any(files.exists(join(place, name)) for place in _SYSTEM)
        return ("", "") if system else None

    return include
