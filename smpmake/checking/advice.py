"""Which line mends a finding, and where it belongs."""

from __future__ import annotations

import difflib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from smpmake.checking.events import Make, Recipe, canonical
from smpmake.checking.findings import Finding, Kind
from smpmake.checking.order import Meeting, Order
from smpmake.checking.words import Place

_GENERATED: Final = re.compile(
    r"generated\b.*\b(?:by|from)|generated (?:automatically|file)", re.IGNORECASE
)
_SOURCE: Final = re.compile(r"\b(?:from|by) ([\w./-]*(?:Makefile\.\w+|\w+\.(?:am|in|pro|mk)))\b")
_CMAKE: Final = re.compile(r"\bcmake\b", re.IGNORECASE)
#: How many lines at a makefile's beginning may say that it is generated.
_BEGINNING: Final = 12
#: From so many names on a line to add is told by its rule.
_FEW: Final = 3
#: Kinds that one more prerequisite mends.
_BY_LINE: Final = frozenset(
    {Kind.READS, Kind.MADE_ELSEWHERE, Kind.OLD, Kind.IN_VAIN, Kind.FOLDER, Kind.REMOVES}
    | {Kind.SOURCE, Kind.CLEARS}
)
#: Kinds that are about the recipes that write one file.
_OF_WRITERS: Final = frozenset({Kind.BOTH_WRITE, Kind.SAME_BYTES})


class Line(NamedTuple):
    """A line to be added.

    file   the makefile, or that from which it is generated.
    line   where the rule is; 0 where that is not known.
    text   "" where no line mends it.
    rule   what the rule itself could need instead; "" unless all that it made are readers.
    is_made  a recipe of the build makes the file: what is changed in it is lost.
    after  the number of the line in `file` behind which it may stand; 0: no patch can be made.
    """

    file: str
    line: int
    text: str
    after: int
    rule: str = ""
    is_made: bool = False


@dataclass
class Advice:
    """Findings that one line mends, or that have one cause.

    make     that decides about the order of `readers` and `other`; None for none.
    readers  the targets, as that make calls them.
    other    the target of the recipe that makes, writes or removes the files.
    """

    kind: Kind
    findings: list[Finding]
    make: Make | None
    readers: list[str]
    other: str
    line: Line
    proof: str = ""
    accepted: str = ""

    @property
    def paths(self) -> list[str]:
        """The files, each once."""
        return list(dict.fromkeys(each.path for each in self.findings))

    @property
    def reader(self) -> Recipe:
        """The first one."""
        return self.findings[0].reader


class _Case(NamedTuple):
    """A finding and the make that decides about it, if one does."""

    finding: Finding
    meeting: Meeting | None

    @property
    def reader(self) -> str:
        """As that make calls it."""
        return self.meeting.later.target if self.meeting else self.finding.reader.target

    @property
    def other(self) -> str:
        """The same."""
        return self.meeting.earlier.target if self.meeting else self.finding.other.target


def advise(
    found: Iterable[Finding],
    order: Order,
    made: AbstractSet[str] = frozenset(),
    reason: Callable[[str, tuple[str, ...]], str] = lambda path, names: "",
) -> list[Advice]:
    """Findings in groups that have one cause, the worst first.

    made  files that the build has made: a makefile among them is mended at its source.
    reason  why a finding about a file and these targets is accepted; "" where it is not.
    """
    cases = [_Case(each, order.meeting(each.other, each.reader)) for each in found]
    writers: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        if case.finding.kind in _OF_WRITERS:
            writers[case.finding.path] |= {case.reader, case.other}
    groups: dict[tuple[str, *tuple[object, ...]], list[_Case]] = defaultdict(list)
    for case in cases:
        names = (case.reader, case.other, _name_of(case.meeting, case.finding))
        groups[reason(case.finding.path, names), *_cause(case, writers)].append(case)
    kinds = list(Kind)
    advices = []
    for accepted, group in _joined(groups):
        each = _advice(group)
        each.accepted = accepted
        advices.append(each)
    for each in advices:
        if each.line.file in made:
            each.line = each.line._replace(after=0, is_made=True)
    return sorted(advices, key=lambda each: (kinds.index(each.kind), -len(each.readers)))


def _joined(
    groups: Mapping[tuple[str, *tuple[object, ...]], list[_Case]],
) -> Iterator[tuple[str, list[_Case]]]:
    """Several rules of few targets each that lack the same: one line mends them all."""
    small: dict[tuple[str, object, object, object], list[_Case]] = defaultdict(list)
    for (reason, *cause), cases in groups.items():
        kind = cases[0].finding.kind
        is_small = len({case.reader for case in cases}) < _FEW
        if is_small and kind in _BY_LINE and kind is not Kind.SOURCE:
            _, folder, _, name = cause
            small[reason, kind, folder, name] += cases
        else:
            yield reason, cases
    for (reason, *_), cases in small.items():
        yield reason, cases


def _cause(case: _Case, writers: Mapping[str, set[str]]) -> tuple[object, ...]:
    """What findings have in common that one change mends."""
    kind, met = case.finding.kind, case.meeting
    folder = met.make.folder if met is not None else ""
    if kind in _OF_WRITERS:
        return kind, folder, frozenset(writers[case.finding.path])
    rule: object = None
    if kind is not Kind.MADE_ELSEWHERE:
        rule = _rule_place(met) or case.reader
    return kind, folder, rule, _name_of(met, case.finding)


def _advice(cases: Sequence[_Case]) -> Advice:
    finding, met = cases[0]
    kind = finding.kind
    other = _name_of(met, finding)
    names = [case.reader for case in cases]
    if kind in _OF_WRITERS:
        names += [case.other for case in cases]
    readers = [name for name in dict.fromkeys(names) if name != other or kind not in _OF_WRITERS]
    if met is None or kind not in _BY_LINE:
        place = _rule_place(met)
        file = _path(met.make, place.file) if met and place else ""
        line = Line(_source(file) or file, _heading(file, place.line) if place else 0, "", 0)
    else:
        line = _line(met, kind, readers, other)
        places = {_rule_place(case.meeting) for case in cases}
        if kind is not Kind.REMOVES and len(places) == 1 and _are_all(met, readers):
            line = line._replace(rule=line.text.partition(": ")[2])
    make = met.make if met is not None else None
    return Advice(kind, [case.finding for case in cases], make, readers, other, line)


def _rule_place(met: Meeting | None) -> Place | None:
    """Where the recipe of the later target begins."""
    if met is None or met.make.said is None:
        return None
    rule = met.make.said.rules.get(met.later.target)
    return rule.recipe if rule is not None else None


def _are_all(met: Meeting, readers: Sequence[str]) -> bool:
    """Whether a rule has made nothing but these, and more than a few."""
    place, said = _rule_place(met), met.make.said
    if place is None or said is None or len(readers) < _FEW:
        return False
    made = {job.target for job in said.jobs}
    alike = {name for name in made if name in said.rules and said.rules[name].recipe == place}
    return alike <= set(readers)


def _name_of(met: Meeting | None, finding: Finding) -> str:
    """What is to be needed: the file itself where a rule has it, or the target that makes it."""
    if met is None or met.make.said is None:
        return finding.other.target
    if finding.kind in (Kind.REMOVES, Kind.CLEARS, *_OF_WRITERS):
        return met.earlier.target
    rules = met.make.said.rules
    relative = os.path.relpath(finding.path, met.make.folder)
    for name in (met.earlier.target, relative, f"./{relative}", finding.path):
        rule = rules.get(name)
        if rule is None or not rule.is_target or not (rule.has_recipe or rule.needs):
            continue
        if canonical(_path(met.make, name)) == finding.path:
            return name
    return met.earlier.target


def _line(met: Meeting, kind: Kind, readers: Sequence[str], other: str) -> Line:
    bar = "| " if kind in (Kind.FOLDER, Kind.REMOVES, Kind.CLEARS) else ""
    needed, needing = other.replace(" ", "\\ "), " ".join(n.replace(" ", "\\ ") for n in readers)
    if kind is Kind.REMOVES:
        needed, needing = needing, needed
    text = f"{needing}: {bar}{needed}"
    place = _rule_place(met)
    said = met.make.said
    assert said is not None
    if place is None:
        name = said.makefiles[0] if said.makefiles else ""
        file = _path(met.make, name) if name else ""
        last = len(_lines(file))
        source = _source(file)
        return Line(source or file, 0, text, 0 if source or not file else last)
    file = _path(met.make, place.file)
    source = _source(file)
    if source:
        return Line(source, 0, text, 0)
    return Line(file, _heading(file, place.line), text, _end(file, place.line))


def _path(make: Make, name: str) -> str:
    return os.path.normpath(os.path.join(make.folder, name))


@lru_cache(maxsize=64)
def _lines(file: str) -> tuple[str, ...]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            return tuple(opened.read().splitlines())
    except OSError:
        return ()


def _source(file: str) -> str:
    """From which file a makefile was generated; "" where it was not."""
    folder = os.path.dirname(file)
    head = [line for line in _lines(file)[:_BEGINNING] if line.startswith("#")]
    told = [line for line in head if _GENERATED.search(line)]
    if any(_CMAKE.search(line) for line in told):
        return os.path.join(folder, "CMakeLists.txt")
    for line in told:
        named = _SOURCE.search(line)
        name = os.path.basename(named[1]) if named is not None else ""
        if name.endswith(".am") or (not name and os.path.exists(f"{file}.am")):
            return f"{file}.am"
        return os.path.join(folder, name) if name else f"{file}.in"
    return ""


def _heading(file: str, line: int) -> int:
    """The line of a rule's target; `line` is that of its recipe, from 1 on."""
    lines = _lines(file)
    at = min(line, len(lines)) - 1
    while at > 0 and lines[at].startswith(("\t", "#")):
        at -= 1
    while at > 0 and lines[at - 1].endswith("\\"):
        at -= 1
    return at + 1


def _end(file: str, line: int) -> int:
    """The last line of a recipe."""
    lines = _lines(file)
    at = line
    while at < len(lines) and (lines[at].startswith("\t") or lines[at - 1].endswith("\\")):
        at += 1
    return min(at, len(lines))


def patch(advices: Iterable[Advice], top: str) -> str:
    """A unified diff that adds every line that can be added to a makefile as it is."""
    wanted: dict[str, dict[int, list[str]]] = {}
    for each in advices:
        if each.line.text and each.line.after and not each.accepted:
            places = wanted.setdefault(each.line.file, {})
            texts = places.setdefault(each.line.after, [])
            if each.line.text not in texts:
                texts.append(each.line.text)
    parts: list[str] = []
    for file, places in sorted(wanted.items()):
        before = list(_lines(file))
        after = []
        for number, line in enumerate(before, 1):
            after.append(line)
            after += places.get(number, [])
        name = os.path.relpath(file, top)
        parts += difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    return "".join(f"{line}\n" for line in parts)
