"""What command lines mean: every tool family, and the one place that asks them."""

from __future__ import annotations

import re
from functools import lru_cache

from smpmake.commands import assembler, compiler, linker
from smpmake.commands.model import Analysis, Family, Invocation, Kind, Reason
from smpmake.commands.paths import basename

FAMILIES: tuple[Family, ...] = (
    *compiler.FAMILIES,
    *assembler.FAMILIES,
    *linker.FAMILIES,
)

_PATTERNS = tuple((re.compile(family.pattern), family) for family in FAMILIES)


@lru_cache(1024)
def find(tool_name: str) -> Family | None:
    """The family of a tool, by its name without a folder."""
    for pattern, family in _PATTERNS:
        if pattern.fullmatch(tool_name):
            return family
    return None


def is_known(name: str) -> bool:
    """Whether some family knows a tool of that name."""
    return find(basename(name)) is not None


def analyse(inv: Invocation) -> Analysis:
    """The meaning of an invocation; a tool that nobody knows is a barrier."""
    name = basename(inv.argv[0]) if inv.argv else ""
    family = find(name)
    if family is None:
        return Analysis(Kind.UNKNOWN, refusal=Reason.UNKNOWN_OPTION, detail=name)
    return family.analyse(inv)
