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
#: What is another thing for each target of a rule.
_BY_TARGET: Final = re.compile(r"\$[({]?[@*%<^+?|]|\$[({](?:call|eval|foreach)\b")
_VARIABLE: Final = re.compile(r"\$[({]([^(){}:$ ]+)[:)}]|\$(\w)")
#: A heading up to its colon, which groups nothing so far.
_COLON: Final = re.compile(r"((?:[^:=$&#]|\$\([^()]*\)|\$\{[^{}]*\}|\$[A-Za-z@])+):(?![:=])")
_DOUBLE: Final = re.compile(r"[^:=#\t][^:=#]*::(?![=:])")
#: Kinds that one more prerequisite mends.
_BY_LINE: Final = frozenset(
    {Kind.READS, Kind.MADE_ELSEWHERE, Kind.OLD, Kind.IN_VAIN, Kind.FOLDER, Kind.REMOVES}
    | {Kind.SOURCE, Kind.CLEARS}
)
#: Kinds that are about the recipes that write one file.
_OF_WRITERS: Final = frozenset({Kind.BOTH_WRITE, Kind.SAME_BYTES})


class Edit(NamedTuple):
    """A change of a makefile as make reads it.

    at        the number of the line behind which `text` may stand, or in whose place it does.
    """

    file: str
    at: int
    text: str
    replaces: bool = False


class Line(NamedTuple):
    """A line to be added.

    file   the makefile, or that from which it is generated.
    line   where the rule is; 0 where that is not known.
    text   "" where no line mends it.
    edit   how to try it; None where it cannot be tried.
    rule   what the rule itself could need instead; "" unless all that it made are readers.
    is_made  a recipe of the build makes the file: what is changed in it is lost.
    is_source  the makefile is generated from `file`.
    heads    it is the rule's new heading.
    tried    what smpmake has seen when it followed this line; "" where it has not.
    is_bad   it has seen that this line is wrong.
    """

    file: str
    line: int
    text: str
    edit: Edit | None = None
    rule: str = ""
    is_made: bool = False
    is_source: bool = False
    heads: bool = False
    tried: str = ""
    is_bad: bool = False


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
        edit = each.line.edit
        if edit is not None and edit.file in made:  # a trial makes it anew
            each.line = each.line._replace(edit=None, is_made=each.line.file == edit.file)
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
        place = _rule_place(met)
        if place is not None and place == _rule_place(met, later=False):
            return kind, folder, place, ""
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
        line = _of_writers(met, kind, [other, *readers])
    else:
        line = _line(met, kind, readers, other, finding.path)
        places = {_rule_place(case.meeting) for case in cases}
        if kind is not Kind.REMOVES and len(places) == 1 and _are_all(met, readers):
            line = line._replace(rule=line.text.partition(": ")[2])
    make = met.make if met is not None else None
    return Advice(kind, [case.finding for case in cases], make, readers, other, line)


def _rule_place(met: Meeting | None, *, later: bool = True) -> Place | None:
    """Where the recipe of the later target begins, or of the earlier one."""
    if met is None or met.make.said is None:
        return None
    rule = met.make.said.rules.get((met.later if later else met.earlier).target)
    return rule.recipe if rule is not None else None


def _of_writers(met: Meeting | None, kind: Kind, names: Sequence[str]) -> Line:
    """What mends recipes that write one file."""
    place = _rule_place(met)
    if met is None or met.make.said is None or place is None:
        return Line("", 0, "")
    file = _path(met.make, place.file)
    source = _source(file)
    line = Line(source or file, _heading(file, place.line), "", is_source=bool(source))
    rules = met.make.said.rules
    if kind is not Kind.BOTH_WRITE or any(name not in rules for name in names):
        return line
    if all(rules[name].recipe == place for name in names):
        edit = _grouped(file, place)
        if edit is not None:
            return line._replace(text=edit.text, edit=edit, heads=True)
    first, *others = names
    if len(others) != 1:
        return line
    text = f"{_word(others[0])}: | {_word(first)}"
    return line._replace(text=text, edit=Edit(file, _end(file, place.line), text))


def _grouped(file: str, place: Place) -> Edit | None:
    """A rule's heading with grouped targets; None where its recipe differs by target."""
    first, lines = _heading(file, place.line), _lines(file)
    heading = lines[first - 1 : place.line - 1] or lines[first - 1 : first]
    recipe = "\n".join(lines[place.line - 1 : _end(file, place.line)])
    found = _COLON.match(heading[0])
    if len(heading) != 1 or found is None or "%" in heading[0]:  # a pattern's targets differ
        return None
    if _differs_by_target(recipe, lines, set()):
        return None
    names, rest = heading[0][: found.end(1)].rstrip(), heading[0][found.end() :]
    return Edit(file, first, f"{names} &:{rest}", replaces=True)


def _differs_by_target(text: str, lines: Sequence[str], seen: set[str]) -> bool:
    """Whether a text of a makefile, or what its variables hold, names the target."""
    if _BY_TARGET.search(text):
        return True
    for long, short in _VARIABLE.findall(text):
        name = long or short
        if name in seen:
            continue
        seen.add(name)
        sets = re.compile(rf"\s*(?:override |export |define )*{re.escape(name)}\s*[:?+!]*=")
        if any(_differs_by_target(line, lines, seen) for line in lines if sets.match(line)):
            return True
    return False


def _word(name: str) -> str:
    return name.replace(" ", "\\ ")


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


def _line(met: Meeting, kind: Kind, readers: Sequence[str], other: str, path: str) -> Line:
    only_order = kind in (Kind.FOLDER, Kind.REMOVES)
    if kind is not Kind.CLEARS:  # there make would look for the target before that is removed
        only_order |= _is_never_made(met.make, other)
    bar = "| " if only_order else ""
    needed, needing = _word(other), " ".join(map(_word, readers))
    if kind is Kind.REMOVES:
        needed, needing = needing, needed
    text = f"{needing}: {bar}{needed}"
    place = _rule_place(met)
    said = met.make.said
    assert said is not None
    side = _named_without_rule(met, path) if kind is Kind.READS else ""
    if side:
        # Else make looks for it before its maker has run, and knows no rule.
        text = f"{_word(side)}: {needed} ;"
    name = place.file if place is not None else said.makefiles[0] if said.makefiles else ""
    if not name:
        return Line("", 0, text)
    file = _path(met.make, name)
    at = _end(file, place.line) if place is not None else len(_lines(file))
    edit = Edit(file, at, text)
    heading = _heading(file, place.line) if place is not None else 0
    is_its_rule = heading and kind is not Kind.REMOVES and not side
    double = _DOUBLE.match(_lines(file)[heading - 1]) if is_its_rule else None
    if double is not None:  # another rule of such a target would be one of its own
        text = f"{double[0]} {bar}{needed}{double.string[double.end() :]}"
        edit = Edit(file, heading, text, replaces=True)
    source = _source(file)
    if source:
        return Line(source, 0, text, edit, is_source=True)
    return Line(file, heading, text, edit, heads=double is not None)


def _named_without_rule(met: Meeting, path: str) -> str:
    """What a reader's rule calls a file that no rule makes; "" where it does not name it."""
    rules = met.make.said.rules if met.make.said is not None else {}
    rule = rules.get(met.later.target)
    for name in (*rule.needs, *rule.first) if rule is not None else ():
        is_bare = name in rules and not rules[name].has_recipe and not rules[name].needs
        if is_bare and canonical(_path(met.make, name)) == path:
            return name
    return ""


def _is_never_made(make: Make, target: str) -> bool:
    """Whether a target is out of date each time: so is whatever needs it, if not for its order."""
    rule = make.said.rules.get(target) if make.said is not None else None
    return (rule is not None and rule.is_phony) or not os.path.lexists(_path(make, target))


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


def edited(edits: Iterable[Edit]) -> dict[str, list[str]]:
    """The lines of every makefile that edits change, as they would be."""
    wanted: dict[str, dict[int, list[Edit]]] = {}
    for edit in dict.fromkeys(edits):
        wanted.setdefault(edit.file, {}).setdefault(edit.at, []).append(edit)
    found: dict[str, list[str]] = {}
    for file, places in wanted.items():
        after = found[file] = []
        for number, line in enumerate(_lines(file), 1):
            here = places.get(number, [])
            after += [edit.text for edit in here if edit.replaces][-1:] or [line]
            after += [edit.text for edit in here if not edit.replaces]
    return found


def patch(advices: Iterable[Advice], top: str) -> str:
    """A unified diff that makes every change that can be made to a makefile as it is."""
    lines = [each.line for each in advices if each.line.text and not each.accepted]
    edits = [each.edit for each in lines if each.edit is not None and not each.is_source]
    parts: list[str] = []
    for file, after in sorted(edited(edits).items()):
        name = os.path.relpath(file, top)
        parts += difflib.unified_diff(_lines(file), after, f"a/{name}", f"b/{name}", lineterm="")
    return "".join(f"{line}\n" for line in parts)
