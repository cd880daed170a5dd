"""Every tool family, by the names of its tools, and the one place that asks them.

A family's module is imported when a tool of its is first met: a build meets a few of them.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from smpmake.commands import remembered
from smpmake.commands.compilers import probes
from smpmake.commands.model import Analysis, Family, Invocation, Kind, Reason
from smpmake.commands.paths import basename, callers_file, is_device
from smpmake.commands.pending_files import PendingAnswerError
from smpmake.commands.reading import makes

if TYPE_CHECKING:
    from smpmake.commands.custom import Custom

_PREFIX = r"(?:[\w.+]+-)*"  # of a target: x86_64-linux-gnu-; gcc- of gcc-ar
_VERSION = r"(?:-\d[\d.]*)?"
_RELEASE = r"(?:-\d+(?:\.\d+)*)?"
_FILTERS = ("cat", "head", "tail", "cut", "sort", "sed")
_COMPILERS = ("gcc", "g++", "clang", "clang++", "cc", "c++", "c89", "c99", "c11", "c17")
_LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "gold", "mold", "lld")
_MSGFMTS = ("msgfmt", "gmsgfmt")
_AWKS = ("awk", "gawk", "mawk", "nawk")
_WATCOM = b"Watcom"  # of their banners; a wrapper of the same name has none


def _any(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


def _in(module: str, function: str = "analyse") -> Callable[[Invocation], Analysis]:
    @functools.cache
    def load() -> Callable[[Invocation], Analysis]:
        found: Callable[[Invocation], Analysis]
        found = getattr(importlib.import_module(f"smpmake.commands.{module}"), function)
        return found

    def analyse(inv: Invocation) -> Analysis:
        return load()(inv)

    return analyse


def _binutil(name: str) -> Family:
    pattern = f"{_PREFIX}{name}{_VERSION}"
    return Family(name, pattern, _in("files.binutils", f"analyse_{name}"))


def _printer(name: str, pattern: str) -> Family:
    return Family(name, pattern, _in("files.printers", f"analyse_{name}"), prints=True)


def _generator(name: str, function: str, pattern: str = "") -> Family:
    return Family(name, pattern or name, _in("generators.tools", f"analyse_{function}"))


def _coreutil(name: str, *, vouches: bool = False) -> Family:
    """g is the prefix of the GNU tools where they are not the system's own."""
    analyse = _in("files.coreutils", f"analyse_{name}")
    return Family(name, f"g?{name}", analyse, on_disk=True, vouches=vouches)


FAMILIES: tuple[Family, ...] = (
    Family(
        "compiler",
        rf"{_PREFIX}(?:{_any(_COMPILERS)}){_RELEASE}(?:-(?:posix|win32))?",
        _in("compilers.compiler"),
    ),
    Family("fortran", rf"{_PREFIX}(?:gfortran|f77|f95){_RELEASE}", _in("compilers.fortran")),
    Family("assembler", rf"{_PREFIX}as{_VERSION}", _in("compilers.assembler")),
    Family(
        "linker",
        rf"{_PREFIX}(?:{_any(_LINKERS)}){_VERSION}",
        _in("compilers.linker"),
    ),
    _binutil("ar"),
    _binutil("ranlib"),
    _binutil("strip"),
    _binutil("objcopy"),
    _binutil("nm"),
    _binutil("size"),
    _coreutil("mv", vouches=True),
    _coreutil("cp"),
    _coreutil("ln"),
    _coreutil("rm"),
    _coreutil("touch", vouches=True),
    _coreutil("install"),
    _coreutil("mkdir"),
    Family("cmake", "cmake", _in("generators.cmake"), on_disk=True),
    *(_printer(name, f"g?{name}") for name in _FILTERS),
    _printer("awk", "|".join(_AWKS)),
    _printer("objdump", f"{_PREFIX}objdump{_VERSION}"),
    _printer("readelf", f"{_PREFIX}readelf{_VERSION}"),
    Family(
        "fixdep",
        "fixdep",
        _in("generators.kbuild", "analyse_fixdep"),
        alone=b"fixdep <depfile> <target> <cmdline>",
        prints=True,
        built=True,
    ),
    Family(
        "check-local-export",
        "check-local-export",
        _in("generators.kbuild", "analyse_check_local_export"),
        alone=b"# Exit with error if a local exported symbol is found.",
        built=True,
    ),
    *(
        Family(name, name, _in("generators.grammars", f"analyse_{name}"))
        for name in ("bison", "re2c", "yacc")
    ),
    Family("flex", "flex|lex", _in("generators.grammars", "analyse_flex")),
    Family("protoc", "protoc", _in("generators.protoc")),
    *(_generator(name, name) for name in ("gperf", "moc", "pod2man", "rcc", "uic", "xxd")),
    _generator("msgfmt", "msgfmt", _any(_MSGFMTS)),
    _generator("glib-mkenums", "mkenums"),
    _generator("glib-genmarshal", "genmarshal"),
    _generator("gdbus-codegen", "gdbus"),
    _generator("wayland-scanner", "wayland"),
    Family("watcom", "b?(?:wcc|wcc386|wpp|wpp386|wasm)", _in("watcom.compilers"), alone=_WATCOM),
    Family("watcom-driver", "b?wcl(?:386)?", _in("watcom.drivers", "analyse_wcl")),
    Family("owcc", "b?owcc", _in("watcom.drivers", "analyse_owcc")),
    Family("wlink", "b?wlink", _in("watcom.link"), alone=_WATCOM),
    Family("wlib", "b?wlib", _in("watcom.lib"), alone=_WATCOM),
    Family("wmake", "b?wmake", _in("watcom.wmake")),
    Family("launcher", "ccache|distcc|icecc|sccache", _in("compilers.launchers")),
)

#: Shells, which are no tools but where a make gives them a recipe's line.
SHELLS = ("sh", "bash", "dash")
_LINE = Family("line", "|".join(SHELLS), _in("reading.recipe"))

#: What the native programs must know of tools' names; compiled into them (hatch_build.py).
NATIVE_NAMES: dict[str, list[str]] = {
    "DISK_TOOLS": sorted(family.name for family in FAMILIES if family.on_disk),
    "QUIET_TOOLS": sorted(f.name for f in FAMILIES if f.on_disk and not f.vouches),
    "PRINTERS": [
        *_FILTERS,
        *(f"g{name}" for name in _FILTERS),
        *_AWKS,
        *("objdump", "readelf", "fixdep"),
    ],
    "BUILT_TOOLS": sorted(family.name for family in FAMILIES if family.built),
    "SHELLS": [*SHELLS],
    "COMPILERS": [*_COMPILERS],
    "LINKERS": [*_LINKERS],
    "COMPILERS_PARTS": ["as", *_LINKERS],
    "MSGFMTS": [*_MSGFMTS],
    "INSPECTORS": ["nm", "size"],
    "CHECKS": [*probes.CHECKS],
    "ASKS": [*probes.ASKS],
    "MAKE_TOOLS": sorted(makes.WMAKES),
    "SOMETIMES_TOOLS": [*makes.SOMETIMES_TOOLS],
    "FILE_COMMANDS": [*makes.FILE_COMMANDS],
    "MAKEFILE_TOOLS": sorted(makes.READERS),
    "GNU_MAKES": [*makes.GNU],
    "REMOVERS": ["rm"],
    "MOVERS": ["mv"],
    "FOLDER_MAKERS": ["mkdir"],
    "FILE_PRINTERS": ["cat"],
    "INSTALLERS": ["install", "ginstall"],
    "REMEMBERED": [*remembered.READERS],
    "REMEMBERED_READ_INPUT": [*remembered.READ_INPUT],
    "REMEMBERED_REPLACE": [*remembered.REPLACE],
    "REMEMBERED_REPLACE_WHERE_FOUND": [*remembered.REPLACE_WHERE_FOUND],
    "REMEMBERED_ARCHIVERS": [*remembered.ARCHIVERS],
    "REMEMBERED_INDEXERS": [*remembered.INDEXERS],
    "REMEMBERED_CHANGERS": [*remembered.CHANGERS],
}

_TELL_VERSION = frozenset({"compiler", "fortran"})
_described: list[Family] = []


@functools.lru_cache(1024)
def find(tool_name: str) -> Family | None:
    """The family of a tool, by its name without a folder."""
    for family in (*_described, *FAMILIES):
        if re.fullmatch(family.pattern, tool_name):
            return family
    return None


def learn(tools: Iterable[Custom]) -> None:
    """Adds what the configuration describes, before what is known: users know their tools best.

    For the whole process, so once, before anything is analysed.
    """
    for tool in reversed(list(tools)):
        from smpmake.commands import custom

        _described.insert(0, custom.family(tool))
        find.cache_clear()
        _any_pattern.cache_clear()


def described() -> list[str]:
    """What the names of tools match that the configuration describes."""
    return [family.pattern for family in _described]


def is_described(name: str) -> bool:
    """Whether the configuration says what a tool of that name does."""
    return any(re.fullmatch(family.pattern, name) for family in _described)


@functools.lru_cache(1)
def _any_pattern() -> re.Pattern[str]:
    """What any family's tools are called: whole PATHs are looked through."""
    return re.compile("|".join(f"(?:{family.pattern})" for family in (*_described, *FAMILIES)))


def is_known(name: str) -> bool:
    """Whether some family knows a tool of that name."""
    return _any_pattern().fullmatch(basename(name)) is not None


def runs_lines(name: str) -> bool:
    """Whether it is a shell, to which a make has given a recipe's line."""
    return name in SHELLS


def is_compiler(name: str) -> bool:
    """Whether a tool of that name is a C compiler in the manner of gcc."""
    return _is("compiler", name)


def tells_version(name: str) -> bool:
    """Whether a tool of that name is a compiler that answers --version, and does nothing else."""
    found = find(basename(name))
    return found is not None and found.name in _TELL_VERSION


def is_launcher(name: str) -> bool:
    """Whether a tool of that name stands in front of a compiler, or of its name on PATH: ccache."""
    return _is("launcher", name)


def mark_of_alone(name: str) -> bytes:
    """What the file of a tool of that name holds if it is one that starts no other; b"" if any may.

    Its name alone says nothing: what stands there may be a wrapper.
    """
    found = find(basename(name))
    return found.alone if found is not None else b""


def is_printer(name: str) -> bool:
    """Whether what a tool of that name prints is all its result."""
    found = find(basename(name))
    return found is not None and found.prints


def built_tools() -> list[str]:
    """Names of tools that projects build for themselves."""
    return [family.name for family in FAMILIES if family.built]


def _is(family: str, name: str) -> bool:
    found = find(basename(name))
    return found is not None and found.name == family


def analyse(inv: Invocation) -> Analysis:
    """The meaning of an invocation; a tool that nobody knows is a barrier."""
    name = basename(inv.argv[0]) if inv.argv else ""
    family = find(name) or (_LINE if name in SHELLS else None)
    if family is None:
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=name)
    try:
        meaning = family.analyse(inv)
    except PendingAnswerError as error:
        kind, path = Kind.FILE if family.on_disk else Kind.UNKNOWN, str(error)
        return Analysis(kind, (path,), refusal=Reason.PENDING_ANSWER, detail=path)
    for word in (*inv.argv, *meaning.reads):
        if file := callers_file(word):
            meaning = meaning.refused(Reason.CALLERS_FILE, file)
            break
    if meaning.refusal is None:
        # What no family need look for: outputs that are no files, or none at all.
        for write in meaning.writes:
            if not write.path or is_device(write.path):
                return meaning.refused(Reason.UNUSUAL_OUTPUT, write.path)
        if not meaning.writes:
            return meaning.refused(Reason.WRITES_NOTHING, "")
        operands = meaning.reads + tuple([write.path for write in meaning.writes])
        probe = probes.probe_name(operands, inv.cwd)
        if probe:
            return meaning.refused(Reason.PROBE_NAME, probe)
    return meaning
