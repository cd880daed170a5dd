"""What command lines mean: every tool family, and the one place that asks them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from smpmake.commands import (
    assembler,
    binutils,
    compiler,
    coreutils,
    custom,
    fortran,
    launchers,
    linker,
    sdcc,
    tcc,
    watcom,
    watcom_drivers,
    watcom_lib,
    watcom_link,
    wmake,
)
from smpmake.commands.custom import Custom
from smpmake.commands.model import Analysis, Family, Invocation, Kind, Reason
from smpmake.commands.paths import basename, is_device
from smpmake.commands.probes import probe_name

__all__ = ["FAMILIES", "analyse", "find", "is_known", "learn", "patterns"]


@lru_cache(1024)
def find(tool_name: str) -> Family | None:
    """The family of a tool, by its name without a folder."""
    for pattern, family in _PATTERNS:
        if pattern.fullmatch(tool_name):
            return family
    return None


FAMILIES: tuple[Family, ...] = (
    *compiler.FAMILIES,
    *fortran.FAMILIES,
    *assembler.FAMILIES,
    *linker.FAMILIES,
    *binutils.FAMILIES,
    *coreutils.FAMILIES,
    *tcc.FAMILIES,
    *sdcc.FAMILIES,
    *watcom.FAMILIES,
    *watcom_drivers.FAMILIES,
    *watcom_link.FAMILIES,
    *watcom_lib.FAMILIES,
    *wmake.FAMILIES,
    launchers.family(find),
)

_PATTERNS = [(re.compile(family.pattern), family) for family in FAMILIES]


def learn(tools: Iterable[Custom]) -> None:
    """Adds what the configuration describes, before what is known: users know their tools best.

    For the whole process, so once, before anything is analysed.
    """
    added = [custom.family(tool) for tool in tools]
    _PATTERNS[:0] = [(re.compile(each.pattern), each) for each in added]
    find.cache_clear()


def patterns() -> list[str]:
    """What the names of known tools match."""
    return [pattern.pattern for pattern, _ in _PATTERNS]


def is_known(name: str) -> bool:
    """Whether some family knows a tool of that name."""
    return find(basename(name)) is not None


def _foreground(meaning: Analysis, reason: Reason, detail: str) -> Analysis:
    return replace(meaning, refusal=reason, detail=detail, split=None)


def analyse(inv: Invocation) -> Analysis:
    """The meaning of an invocation; a tool that nobody knows is a barrier."""
    name = basename(inv.argv[0]) if inv.argv else ""
    family = find(name)
    if family is None:
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=name)
    meaning = family.analyse(inv)
    if meaning.refusal is None:
        # What no family need look for: outputs that are no files, or none at all.
        for write in meaning.writes:
            if not write.path or is_device(write.path):
                return _foreground(meaning, Reason.UNUSUAL_OUTPUT, write.path)
        if not meaning.writes:
            return _foreground(meaning, Reason.WRITES_NOTHING, "")
        operands = meaning.reads + tuple([write.path for write in meaning.writes])
        probe = probe_name(operands, inv.cwd)
        if probe:
            return _foreground(meaning, Reason.PROBE_NAME, probe)
    return meaning
