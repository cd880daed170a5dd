"""What a make says of itself: its jobs (--debug=j), its rules (-p), as versions 4.3 and 4.4 do.

The guard writes it down (native/guard/program/words.c): for each image of a make (one that remakes
its makefile starts itself again) how it was called, its environment, then its own lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_BEGIN: Final = b"\0begin\n"
_JOB: Final = re.compile(
    r"(?:Putting|Live) child (0x[0-9a-f]+) \((.*)\) PID (\d+) |"
    r"Reaping (?:winning|losing) child (0x[0-9a-f]+) PID (\d+) "
)
_RECIPE: Final = re.compile(r"#  recipe to execute \(from '(.*)', line (\d+)\):$")
_VERSION: Final = re.compile(r"# GNU Make (\d+)\.(\d+)")
_STEM: Final = re.compile(r"#  Implicit/static pattern stem: '(.*)'$")
_ALSO: Final = "#  Also makes: "
_NO_TARGET: Final = "# Not a target:"
_END: Final = "# Finished Make data base on "
#: Lines of recipes that do nothing.
_NOTHING: Final = frozenset({"", ":", "true"})
#: What stands between prerequisites of which the later wait for the earlier.
WAIT: Final = ".WAIT"


class Place(NamedTuple):
    """A line of a makefile, as the make calls it."""

    file: str
    line: int


@dataclass
class Rule:
    """What the database says of one target.

    needs   its prerequisites in their order, WAIT among them.
    first   its order-only prerequisites.
    also    what its recipe makes besides.
    recipe  where that begins; None where it is the make's own, or there is none.
    has_recipe  it does something.
    """

    name: str
    needs: list[str] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    recipe: Place | None = None
    stem: str = ""
    has_recipe: bool = False
    by_configure: bool = False  # its recipe runs config.status
    is_target: bool = True
    is_phony: bool = False
    is_updated: bool = False


class Job(NamedTuple):
    """A process that a make started for a target."""

    pid: int
    target: str


@dataclass
class Said:
    """What one make said.

    images     how often it began: more than once where it had remade a makefile.
    argv, environment  of the first.
    folder     its own, after -C.
    is_serial  .NOTPARALLEL holds for all of its targets.
    is_whole   it came to its end.
    version    of GNU make.
    """

    argv: list[str]
    environment: dict[str, str]
    images: int = 1
    folder: str = ""
    makefiles: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    rules: dict[str, Rule] = field(default_factory=dict)
    goal: str = ""
    is_serial: bool = False
    is_whole: bool = False
    version: tuple[int, int] = (0, 0)


def read(data: bytes) -> list[Said]:
    """What the makes that had one number said, one after the other."""
    found: list[Said] = []
    for image in data.split(_BEGIN)[1:]:
        head, _, rest = image.partition(b"\0\0")
        env, _, text = rest.partition(b"\0\0")
        if not found or found[-1].is_whole:
            words = [_text(word) for word in head.split(b"\0")]
            pairs = (_text(word).partition("=") for word in env.split(b"\0"))
            found.append(Said(words, {name: value for name, _, value in pairs}))
        else:
            found[-1].images += 1
        _read_image(found[-1], _text(text).split("\n"))
    return found


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _read_image(said: Said, lines: Sequence[str]) -> None:
    said.jobs += _jobs(lines)
    for at, line in enumerate(lines):
        if line == "# Files":
            said.rules = _rules(lines[at + 1 :])
            break
        if line.startswith("CURDIR := "):
            said.folder = line.partition(" := ")[2]
        elif line.startswith("MAKEFILE_LIST := "):
            said.makefiles = line.partition(" := ")[2].split()
        elif line.startswith(".DEFAULT_GOAL := "):
            said.goal = line.partition(" := ")[2]
        elif found := _VERSION.match(line):
            said.version = (int(found[1]), int(found[2]))
    alone = said.rules.get(".NOTPARALLEL")
    said.is_serial = alone is not None and (said.version < (4, 4) or not alone.needs)
    said.is_whole = any(line.startswith(_END) for line in lines[-4:])


def _jobs(lines: Sequence[str]) -> Iterator[Job]:
    """In the order in which they ended, then those of whose end nothing was said."""
    targets: dict[str, str] = {}
    live: dict[int, str] = {}
    for line in lines:
        found = _JOB.match(line)
        if found is None:
            continue
        if found[1]:
            targets[found[1]] = live[int(found[3])] = found[2]
        elif found[4] in targets:
            live.pop(int(found[5]), None)
            yield Job(int(found[5]), targets[found[4]])
    for pid, target in live.items():
        yield Job(pid, target)


def _rules(lines: Sequence[str]) -> dict[str, Rule]:
    """The part of the database that is about files: each has a paragraph.

    A target's own variables come first, each behind a comment that says where it is from.
    """
    rules: dict[str, Rule] = {}
    rule: Rule | None = None
    before, in_text = "", False
    for line in lines:
        if line.startswith("# files hash-table stats"):
            break
        if in_text:
            in_text = line != "endef"
        elif not line:
            rule = None
        elif line.startswith("#"):
            if rule is not None:
                _add(rule, line)
        elif rule is None and before.startswith("#") and before != _NO_TARGET:
            in_text = ": define " in line
        elif line.startswith("\t"):
            if rule is not None:
                rule.by_configure |= "config.status" in line
                rule.has_recipe |= line.strip("\t @+-") not in _NOTHING
        elif rule is None:
            rule = _heading(line, rules, is_target=before != _NO_TARGET)
        before = line
    _join(rules)
    return rules


def _join(rules: dict[str, Rule]) -> None:
    """Names that have blanks: the database has them as they are, between others."""
    parted = sorted((n.split(" ") for n in rules if " " in n), key=len, reverse=True)
    for rule in rules.values() if parted else ():
        for names in (rule.needs, rule.first, rule.also):
            for words in parted:
                for at in range(len(names) - len(words), -1, -1):
                    if names[at : at + len(words)] == words:
                        names[at : at + len(words)] = [" ".join(words)]


def _heading(line: str, rules: dict[str, Rule], *, is_target: bool) -> Rule | None:
    """The line that begins a paragraph; one target may have several with two colons each."""
    found = re.match(r"(.+?)::?(?: |$)", line)
    if found is None:
        return None
    needs, _, first = line[found.end() :].partition("|")
    rule = rules.setdefault(found[1], Rule(found[1]))
    rule.needs += needs.split()
    rule.first += first.split()
    rule.is_target = is_target
    return rule


def _add(rule: Rule, line: str) -> None:
    if found := _RECIPE.match(line):
        rule.recipe = rule.recipe or Place(found[1], int(found[2]))
    elif line.startswith(_ALSO):
        rule.also = line.removeprefix(_ALSO).split()
    elif line.startswith("#  Phony target"):
        rule.is_phony = True
    elif line == "#  File has been updated.":
        rule.is_updated = True
    elif found := _STEM.match(line):
        rule.stem = found[1]
