"""What a compiler's name says: gcc or clang, C or C++, and how that names its side outputs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from smpmake.commands.compilers.options import CXX_SUFFIXES, SUFFIXES, Do, Language

GCC = "gcc"
CLANG = "clang"


class Tool(NamedTuple):
    """What a compiler's name says of it."""

    dialects: tuple[str, ...]
    suffixes: dict[str, Language]
    exe: bool  # the linker's output gets .exe where it has no suffix


@lru_cache(256)
def tool_of(name: str) -> Tool:
    """The tool of that name."""
    if "clang" in name:
        dialects: tuple[str, ...] = (CLANG,)
    elif "gcc" in name or "g++" in name:
        dialects = (GCC,)
    else:
        dialects = (GCC, CLANG)
    cxx = "++" in re.sub(r".*-(?=[a-z])", "", name)
    exe = "mingw" in name or "cygwin" in name
    return Tool(dialects, CXX_SUFFIXES if cxx else SUFFIXES, exe)


class Side(NamedTuple):
    """A side output of a compilation: for which sources, and how it is named."""

    do: Do
    suffix: str
    cc_only: bool = True
    keeps_suffix: bool = False  # the source's own suffix comes first


# Side outputs named after the output (or the source), in either dialect.
SIDES: dict[str, tuple[Side, ...]] = {
    GCC: (
        Side(Do.NOTES, ".gcno"),
        Side(Do.STACK_USAGE, ".su"),
        Side(Do.CALL_GRAPH, ".ci"),
        Side(Do.RECORD, ".opt-record.json.gz", keeps_suffix=True),
        Side(Do.SPLIT_DWARF, ".dwo", cc_only=False),
    ),
    CLANG: (
        Side(Do.NOTES, ".gcno"),
        Side(Do.STACK_USAGE, ".su"),
        Side(Do.RECORD, ".opt.yaml"),
        Side(Do.TIME_TRACE, ".json"),
        Side(Do.SPLIT_DWARF, ".dwo", cc_only=False),
    ),
}
