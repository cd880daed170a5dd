"""What matters of a command line when a recorded command is to be run once more.

The record says what a command read and made.  How it went about it only its tool's own rules say:
that `rm -r` takes what is below, that `ln` without -f minds what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smpmake.commands.families import find
from smpmake.commands.files.binutils import AR
from smpmake.commands.files.coreutils_options import LN, RM, Do
from smpmake.commands.paths import basename


@dataclass(frozen=True, slots=True)
class Removal:
    """What a command removes and does nothing else: operands, and with `whole` what is below."""

    operands: tuple[str, ...]
    whole: bool


def _family(tool: str) -> str:
    found = find(basename(tool))
    return found.name if found is not None else ""


def is_move(tool: str) -> bool:
    """Whether the tool gives its inputs the name of its output."""
    return _family(tool) == "mv"


def is_link(tool: str) -> bool:
    """Whether what the tool's command lines name need not be there."""
    return _family(tool) == "ln"


def only_touches(tool: str) -> bool:
    """Whether the tool leaves the content of what is there."""
    return _family(tool) == "touch"


def removal(tool: str, words: Sequence[str]) -> Removal | None:
    """What a command removes, if that is all it does; `words` are those behind its tool's name."""
    if _family(tool) != "rm":
        return None
    parsed = RM.parse(words)
    whole = any(given.do is Do.RECURSE for given in parsed.given)
    return Removal(tuple(parsed.operands), whole)


def wants_none(tool: str, words: Sequence[str]) -> bool:
    """Whether a command minds that its output is there: ln without -f, and ar q, which would
    append what is in the archive already."""
    family = _family(tool)
    if family == "ln":
        return all(given.do is not Do.FORCE for given in LN.parse(words).given)
    if family == "ar" and words:
        first = words[0] if words[0].startswith("-") else f"-{words[0]}"
        return any(given.name == "-q" for given in AR.parse([first, *words[1:]]).given)
    return False
