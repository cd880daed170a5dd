"""Launchers in front of a compiler: ccache gcc -c a.c.  They are part of the command."""

from __future__ import annotations

from collections.abc import Callable

from smpmake.commands.families import find
from smpmake.commands.model import ALONE, Analysis, Invocation, Kind, Part, Reason, named
from smpmake.commands.options import names
from smpmake.commands.paths import basename

# What each answers about itself; -s and the like, with or without a value.
QUERIES: dict[str, frozenset[str]] = {
    "ccache": names("""
        --checksum-file --extract-result --get-config --hash-file --help --inspect --print-log-stats
        --print-stats --print-version --show-compression --show-config --show-log-stats
        --show-stats --version -V -h -k -p -s -sv -v -vs -x
        """),
    "distcc": names(
        "--help --host-info --scan-includes --show-hosts --show-principal --version -j"
    ),
    "icecc": names("--help --version --build-native"),
    "sccache": names("--help --show-adv-stats --show-stats --version -V -h -s"),
}

#: Of these what tells of itself, whatever it has done.
_ABOUT_ITSELF = names("--help --version --print-version -V -h")

#: The variable that names a program which is to be given the compiler, where the cache has nothing;
#: and that by which it keeps nothing new.
PREFIXES: dict[str, tuple[str, str]] = {"ccache": ("CCACHE_PREFIX", "CCACHE_READONLY")}
_ELSEWHERE = (
    *("CCACHE_COMPILER", "CCACHE_PATH", "CCACHE_PREFIX", "CCACHE_PREFIX_CPP"),
    *("CCACHE_CONFIGPATH", "CCACHE_CONFIGPATH2", "SCCACHE_PATH"),
)


def prefix_variable(program: str) -> str:
    """The variable for what a launcher puts before the compiler; "" for what has none."""
    return PREFIXES.get(basename(program), ("", ""))[0]


def keeps_nothing(program: str) -> dict[str, str]:
    """With which variables a launcher takes what its cache has, and adds nothing to it."""
    return {PREFIXES[basename(program)][1]: "1"} if basename(program) in PREFIXES else {}


def leads_elsewhere(get: Callable[[str], str | None]) -> bool:
    """Whether a user may have a launcher run another compiler than the one that is called, or
    another program before it."""
    return any(get(name) for name in _ELSEWHERE)


def _prefixed(
    launcher: str, compiler: str, split: Callable[[str], tuple[Part, ...]]
) -> Callable[[str], tuple[Part, ...]]:
    """The same split, its commands behind the launcher."""

    def parts(folder: str) -> tuple[Part, ...]:
        return tuple(
            Part((launcher, *part.argv), _behind(part.analysis, compiler)) for part in split(folder)
        )

    return parts


def _behind(meaning: Analysis, compiler: str) -> Analysis:
    """What a compiler does, called by a launcher, which is a program as well."""
    runs = named(meaning.programs, compiler)
    return meaning._replace(programs=(*ALONE, *runs) if runs is not None else None)


def analyse(inv: Invocation) -> Analysis:
    """The meaning of what the launcher starts."""
    if len(inv.argv) < 2:
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    launcher, word = inv.argv[0], inv.argv[1]
    inner = find(basename(word))
    if inner is None or inner.name != "compiler":
        if word.partition("=")[0] in QUERIES[basename(launcher)]:
            waits = Reason.QUERY if word in _ABOUT_ITSELF else Reason.LAUNCHER_QUERY
            return Analysis(Kind.QUERY, refusal=waits, detail=word)
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=word)
    meaning = inner.analyse(inv._replace(argv=inv.argv[1:]))
    if meaning.split is not None:
        meaning = meaning._replace(split=_prefixed(launcher, word, meaning.split))
    return _behind(meaning, word)
