"""What command lines mean: every tool family, and the one place that asks them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from smpmake.commands import assembler, binutils, compiler, coreutils, launchers, linker
from smpmake.commands.model import Analysis, Family, Invocation, Kind, Reason
from smpmake.commands.paths import basename
from smpmake.commands.probes import probe_name

__all__ = ["FAMILIES", "analyse", "find", "is_known"]


@lru_cache(1024)
def find(tool_name: str) -> Family | None:
    """The family of a tool, by its name without a folder."""
    for pattern, family in _PATTERNS:
        if pattern.fullmatch(tool_name):
            return family
    return None


FAMILIES: tuple[Family, ...] = (
    *compiler.FAMILIES,
    *assembler.FAMILIES,
    *linker.FAMILIES,
    *binutils.FAMILIES,
    *coreutils.FAMILIES,
    launchers.family(find),
)

_PATTERNS = tuple((re.compile(family.pattern), family) for family in FAMILIES)


def is_known(name: str) -> bool:
    """Whether some family knows a tool of that name."""
    return find(basename(name)) is not None


def analyse(inv: Invocation) -> Analysis:
    """The meaning of an invocation; a tool that nobody knows is a barrier."""
    name = basename(inv.argv[0]) if inv.argv else ""
    family = find(name)
    if family is None:
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=name)
    meaning = family.analyse(inv)
    if meaning.refusal is None:
        operands = meaning.reads + tuple([write.path for write in meaning.writes])
        probe = probe_name(operands, inv.cwd)
        if probe:
            return replace(meaning, refusal=Reason.PROBE_NAME, detail=probe, split=None)
    return meaning
