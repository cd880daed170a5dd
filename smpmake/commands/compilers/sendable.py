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

#: Not those that are preprocessed already (.i): objects would have the name that they have there.
_SOURCES: Final = (".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP")
#: Options by their beginnings.  With -x debug information has the name that the source had there.
_HERE: Final = (
    *("-march=native", "-mcpu=native", "-mtune=native"),
    *("-fprofile", "-fauto-profile", "-fbranch-probabilities", "-fcoverage", "-ftest-coverage"),
    *("-fplugin", "-specs", "--specs", "-wrapper", "-B", "-save-temps", "--save-temps"),
    *("-fdump", "-fopt-info", "-foptimization-record", "-fsave-optimization-record"),
    *("-fmodule", "-fdirectives-only", "-fpreprocessed", "-fpch", "-ftime-report", "-fmem-report"),
    *("-fverbose-asm", "-frandomize-layout-seed-file", "-fsanitize-blacklist", "-frepo", "-Xclang"),
    *("-fsanitize-ignorelist", "-x", "-Wa,", "-Wp,", "-Xassembler", "-Xpreprocessor", "@"),
    *("-finput-charset", "-traditional", "-frecord", "-g3", "-ggdb3", "-gdwarf-macro"),
)
_EXACTLY: Final = names("--coverage -E -P -S -M -MM -Q -time -v -### -fsyntax-only -emit-llvm")
#: With -g debug information has the name that the source had there
#: (https://github.com/distcc/distcc/issues/577); distcc names a target of its own behind that.
_CLANG: Final = ("-g", "--target", "-target")
#: gcc drops their pragmas where it leaves macros as they are.
_DIRECTED: Final = ("-fopenmp", "-fopenacc", "-fgnu-tm", "-fcilkplus")
_LOOKS: Final = "misleading-indentation"
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
    if "clang" in tool and any(word.startswith(_CLANG) for word in words):
        return None
    if (_lost_to_gcc if leaves_macros(tool, words) else _lost_otherwise)(words):
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


def leaves_macros(tool: str, words: tuple[str, ...]) -> bool:
    """Whether a preprocessor can leave macros to the compile itself, as they stand in the source.

    tool  the name of the compiler's file.
    """
    return "clang" not in tool and not any(word.startswith(_DIRECTED) for word in words)


def _lost_to_gcc(words: tuple[str, ...]) -> bool:
    """Whether an error would be missed: for this one warning gcc looks at the file."""
    if not any(word in ("-Werror", f"-Werror={_LOOKS}") for word in words):
        return False
    if any(word in (f"-Wno-{_LOOKS}", f"-Wno-error={_LOOKS}") for word in words):
        return False
    return any(word in ("-Wall", f"-W{_LOOKS}", f"-Werror={_LOOKS}") for word in words)


def _lost_otherwise(words: tuple[str, ...]) -> bool:
    """The same where macros are expanded here: more warnings depend on them, and columns, which
    stand in the object."""
    return any(word.startswith(("-Werror", "-fsanitize")) for word in words)
