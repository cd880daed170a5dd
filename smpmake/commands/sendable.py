"""Which compiles another machine can do: it gets the preprocessed source, and returns an object.

So nothing may be asked of the machine itself, nothing else may come into being, and no file may be
read behind the preprocessor.
"""

from __future__ import annotations

from typing import Final

from smpmake.commands.families import is_compiler
from smpmake.commands.model import Analysis, Kind
from smpmake.commands.options import names
from smpmake.commands.paths import basename

_SOURCES: Final = (".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".i", ".ii")
#: Options by their beginnings.  With -x, and by clang with -g, debug information has the name that
#: the source had there: https://github.com/distcc/distcc/issues/577
_HERE: Final = (
    *("-march=native", "-mcpu=native", "-mtune=native"),
    *("-fprofile", "-fauto-profile", "-fbranch-probabilities", "-fcoverage", "-ftest-coverage"),
    *("-fplugin", "-specs", "--specs", "-wrapper", "-B", "-save-temps", "--save-temps"),
    *("-fdump", "-fopt-info", "-foptimization-record", "-fsave-optimization-record"),
    *("-fmodule", "-fdirectives-only", "-fpreprocessed", "-fpch", "-ftime-report", "-fmem-report"),
    *("-fverbose-asm", "-frandomize-layout-seed-file", "-fsanitize-blacklist", "-frepo", "-Xclang"),
    *("-fsanitize-ignorelist", "-x", "-Wa,", "-Wp,", "-Xassembler", "-Xpreprocessor", "@"),
)
_EXACTLY: Final = names("--coverage -E -S -M -MM -Q -time -v -### -fsyntax-only -emit-llvm")
_DEPENDENCIES: Final = ("-MD", "-MMD")


def sendable(
    argv: tuple[str, ...], analysis: Analysis, *, as_it_is: bool = False
) -> tuple[str, ...] | None:
    """The words of a compile for another machine; None where it is to be done on this one.

    They say what its dependency file is called and is about, which else follows from the object's
    name, and preprocessors are not told that.

    as_it_is  nothing may be added: a cache finds its result by them.
    """
    words = argv[1:]
    tool = basename(argv[0])
    if analysis.kind is not Kind.COMPILE or analysis.refusal is not None or "-c" not in words:
        return None
    if not is_compiler(tool) or analysis.argv is not None or analysis.split is not None:
        return None
    if any(word in _EXACTLY or word.startswith(_HERE) for word in words):
        return None
    if "clang" in tool and any(word.startswith("-g") for word in words):
        return None
    if sum(word.endswith(_SOURCES) for word in words) != 1 or words[-1] == "-o":
        return None
    if any(write.in_place or write.printed or write.removed for write in analysis.writes):
        return None
    outputs = [write.path for write in analysis.writes]
    if len(outputs) == 1:
        return None if any(word in _DEPENDENCIES for word in words) else argv
    if len(outputs) != 2 or not any(word in _DEPENDENCIES for word in words):
        return None
    more: list[str] = []
    if not any(word.startswith("-MF") for word in words):
        more += ["-MF", outputs[1]]
    if not any(word.startswith(("-MT", "-MQ")) for word in words):
        more += ["-MQ", outputs[0]]
    return None if more and as_it_is else (*argv, *more)
