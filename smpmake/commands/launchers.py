"""Launchers in front of a compiler: ccache gcc -c a.c.  They are part of the command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from smpmake.commands.families import find
from smpmake.commands.model import Analysis, Invocation, Kind, Part, Reason
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


def _prefixed(
    word: str, split: Callable[[str], tuple[Part, ...]]
) -> Callable[[str], tuple[Part, ...]]:
    """The same split, its commands behind the launcher."""

    def parts(folder: str) -> tuple[Part, ...]:
        return tuple(Part((word, *part.argv), part.analysis) for part in split(folder))

    return parts


def analyse(inv: Invocation) -> Analysis:
    """The meaning of what the launcher starts."""
    if len(inv.argv) < 2:
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    launcher, word = inv.argv[0], inv.argv[1]
    inner = find(basename(word))
    if inner is None or inner.name != "compiler":
        if word.partition("=")[0] in QUERIES[basename(launcher)]:
            return Analysis(Kind.QUERY, refusal=Reason.QUERY, detail=word)
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=word)
    meaning = inner.analyse(replace(inv, argv=inv.argv[1:]))
    if meaning.split is not None:
        meaning = replace(meaning, split=_prefixed(launcher, meaning.split))
    return meaning
