"""How findings are told: a text, and a document for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from smpmake.checking.advice import Advice
from smpmake.checking.findings import Kind

SCHEMA: Final = 1


@dataclass
class Result:
    """All that a check has found.

    looked_at  targets whose recipes ran.
    up_to_date, shipped  those whose did not: an earlier build had made them, or they came with the
                         sources.
    unguarded  programs that took no guard.
    parallel   makes that were told to run several jobs.
    unknown    makes that said nothing of their targets.
    untried    why no line was followed; "" where those that could be were.
    """

    command: list[str]
    top: str
    status: int
    advices: list[Advice]
    makes: int
    looked_at: int
    up_to_date: int
    shipped: int
    unguarded: list[str]
    parallel: int
    unknown: int
    lost: int
    untried: str = ""

    @property
    def is_partial(self) -> bool:
        """Whether there was something that smpmake could not look at."""
        seen = self.makes and not self.parallel and not self.unknown and not self.unguarded
        return not seen or bool(self.up_to_date or self.lost)

    @property
    def open(self) -> list[Advice]:
        """What nobody has accepted."""
        return [e for e in self.advices if not e.accepted and e.kind is not Kind.SAME_BYTES]

    @property
    def notes(self) -> list[Advice]:
        """What does no harm as it is."""
        return [e for e in self.advices if not e.accepted and e.kind is Kind.SAME_BYTES]


def lines(result: Result) -> Iterator[str]:
    """The text, a line each."""
    seen = {each.line.tried for each in result.open if each.line.tried and not each.line.is_bad}
    for each in result.open:
        yield _told(each, result.top)
        yield f"    {_mend(each, result.top)}"
        if len(seen) > 1 and each.line.tried in seen:
            yield f"    followed: {each.line.tried}"
        if each.proof:
            yield f"    {each.proof}"
    for each in result.notes:
        paths = [os.path.relpath(path, result.top) for path in each.paths]
        yield (
            f"note: {each.other} and {_several(each.readers)} both write {_several(paths)}, "
            "with the same bytes"
        )
    yield from _closing(result)
    if len(seen) == 1:
        yield f"smpmake has followed these lines: {seen.pop()}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _several(names: Sequence[str], most: int = 2) -> str:
    shown, more = names[:most], len(names) - most
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([*filter(None, [", ".join(shown[:-1])]), *shown[-1:]])


def _told(each: Advice, top: str) -> str:
    """One sentence: whose recipe does what with which file of whom."""
    paths = [os.path.relpath(path, top) for path in each.paths]
    reader, files = _several(each.readers), _several(paths)
    verb = "read" if len(each.readers) > 1 else "reads"
    other = each.other
    if each.kind is Kind.READS:
        if paths == [other]:
            return f"{reader} {verb} {files}, which another rule makes; no rule says so"
        return f"{reader} {verb} {files}, which the rule of {other} makes; no rule says so"
    if each.kind is Kind.MADE_ELSEWHERE:
        inner = each.findings[0].reader.target or "a makefile"
        return f"{reader} (through {inner}) {verb} {files}, which {other} makes; no rule says so"
    if each.kind is Kind.OLD:
        return f"{reader} {verb} {files} before the rule of {other} makes it anew"
    if each.kind is Kind.IN_VAIN:
        verb = "look" if len(each.readers) > 1 else "looks"
        return f"{reader} {verb} for {files} in vain; the rule of {other} makes it later"
    if each.kind is Kind.REMOVES:
        return f"{other} removes {files}, which {reader} {verb}"
    if each.kind is Kind.CLEARS:
        if len(paths) > 1:
            return f"{other} removes {files} if they are there; other rules make them later"
        return f"{other} removes {files} if it is there; the rule of {reader} makes it later"
    if each.kind is Kind.BOTH_WRITE and not any(e.reader.pid for e in each.findings):
        them = "them" if len(paths) > 1 else "it"
        if len(each.readers) > 1:
            return f"{other} makes {files}; the rules of {reader} also make {them}"
        return f"{other} makes {files}; the rule of {reader} also makes {them}"
    if each.kind is Kind.BOTH_WRITE:
        both = "both" if len(each.readers) == 1 else "all"
        return f"{other} and {reader} {both} write {files}"
    if each.kind is Kind.BACKGROUND:
        return f"{other} still writes {files} when its recipe has ended"
    if each.kind is Kind.SOURCE:
        return f"{reader} {verb} {files}; no rule says so, and a change of it rebuilds nothing"
    verb = "write" if len(each.readers) > 1 else "writes"
    return f"{reader} {verb} into {files}/, which the rule of {other} makes"


def _mend(each: Advice, top: str) -> str:
    line = each.line
    file = os.path.relpath(line.file, top) if line.file else "the makefile"
    place = f"{file}:{line.line}" if line.line else file
    if line.is_made:
        place += " (a recipe makes it: change its source)"
    if line.is_bad:
        return f"{place}: smpmake tried   {line.text}   but {line.tried}"
    if line.heads:
        why = "   so that make runs this recipe once for all" if " &:" in line.text else ""
        return f"{place}: write   {line.text}{why}"
    if each.kind is Kind.BACKGROUND:
        return (
            f"{place}: let the recipe wait for what it starts with & "
            "(sh takes &> for & and >: write >FILE 2>&1)"
        )
    if each.kind in (Kind.BOTH_WRITE, Kind.SAME_BYTES):
        alone = f"{place}: let one rule make it, or give each recipe a file of its own"
        return f"{alone}, or add   {line.text}" if line.text else alone
    if not line.text:
        return f"{place}: no line corrects this"
    if each.kind is Kind.IN_VAIN:
        return f"{place}: add   {line.text}   or see to it that the result does not depend on it"
    if line.rule:
        return f"{place}: add   {line.rule}   to what this rule needs"
    return f"{place}: add   {line.text}"


def _closing(result: Result) -> Iterator[str]:
    count, accepted = len(result.open), sum(bool(each.accepted) for each in result.advices)
    if result.looked_at == 0 and result.makes:
        yield "smpmake ran no recipe: everything was up to date; start from a clean tree"
    elif not result.makes:
        yield "smpmake met no GNU make: only makefiles declare an order, a script does not"
    else:
        what = _count(count, "finding") if count else "nothing found"
        yield f"{what} in {_count(result.looked_at, 'target')} of {_count(result.makes, 'make')}"
    if result.untried:
        yield f"smpmake has not tried these lines: {result.untried}"
    if accepted:
        yield f"{accepted} more accepted by .smpmake.toml"
    if result.up_to_date and result.looked_at:
        yield (
            f"smpmake did not look at {_count(result.up_to_date, 'target')} that "
            f"{'was' if result.up_to_date == 1 else 'were'} up to date: start from a clean tree"
        )
    if result.shipped:
        yield (
            f"{_count(result.shipped, 'target')} came with the sources or from configure: "
            f"no recipe ran for {'it' if result.shipped == 1 else 'them'}"
        )
    if result.parallel:
        yield (
            f"smpmake met {_count(result.parallel, 'make')} with a -j in a makefile: "
            "what it ran at once cannot be told apart for sure"
        )
    if result.unknown:
        yield f"smpmake does not know the targets of {_count(result.unknown, 'make')}"
    if result.lost:
        yield (
            f"smpmake lost {_count(result.lost, 'note')}: the list is not complete "
            "(make room, or set TMPDIR)"
        )
    if result.unguarded:
        yield f"smpmake could not watch these programs: {_several(result.unguarded, 5)}"


def document(result: Result) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": SCHEMA,
        "command": result.command,
        "folder": result.top,
        "status": result.status,
        "targets": result.looked_at,
        "up_to_date": result.up_to_date,
        "shipped": result.shipped,
        "parallel": result.parallel,
        "unknown": result.unknown,
        "lost": result.lost,
        "unguarded": result.unguarded,
        "findings": [_entry(each) for each in result.advices],
    }


def _entry(each: Advice) -> dict[str, Any]:
    line = each.line
    return {
        "kind": each.kind.value,
        "files": each.paths,
        "readers": each.readers,
        "other": each.other,
        "make": each.make.folder if each.make is not None else None,
        "makefile": line.file or None,
        "line": line.line or None,
        "add": line.text if line.text and not line.is_bad else None,
        "tried": line.tried or None,
        "proof": each.proof or None,
        "accepted": each.accepted or None,
    }
