"""What a build is compared with: all that plain builds of the same sources agree in."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

#: They frame a job's messages, as make's own do.
_FRAMES: Final = re.compile(r"^g?make\[0\]: (Entering|Leaving) directory ")
#: smpmake's own lines, of which -q leaves one.
_OURS: Final = re.compile(r"^(\x1b\[[\d;]*m)?smpmake: ")


@dataclasses.dataclass(frozen=True)
class Build:
    """What one did: see inside.run."""

    status: int
    wall: float
    cpu: float
    lines: list[str]
    tree: dict[str, str]
    asked: dict[str, int]

    @property
    def spent(self) -> tuple[float, float]:
        """s of wall and of CPU."""
        return round(self.wall, 3), round(self.cpu, 3)


class Oracle:
    """Some plain builds; what they do not agree in is not compared.

    unlike   paths in which they differ.
    """

    def __init__(self, first: Build, unlike: Iterable[str] = ()) -> None:
        self.first = first
        self.unlike = set(unlike)
        self._vague: set[str] = set()  # shapes of lines
        self._unasked: set[str] = set()

    def add(self, other: Build) -> None:
        """One more of them."""
        first = self.first
        self.unlike |= {path for path, *_ in _pairs(first.tree, other.tree)}
        self._unasked |= {folder for folder, *_ in _pairs(first.asked, other.asked)}
        self._vague |= set(map(_shape, unlike_lines(first.lines, other.lines)))

    def like(self, first: Build) -> Oracle:
        """Of another plain build, in which the same is not compared."""
        found = Oracle(first, self.unlike)
        found._vague, found._unasked = self._vague, self._unasked
        return found

    def differences(self, ours: Build) -> list[str]:
        """In words: of the status, each path, each line, and what make -q says."""
        plain, found = self.first, []
        if ours.status != plain.status:
            found.append(f"status {ours.status}, plain {plain.status}")
        for path, one, other in _pairs(plain.tree, ours.tree):
            if path not in self.unlike:
                found.append(f"{path}: {one} plainly, {other}")
        for folder, one, other in _pairs(plain.asked, ours.asked):
            if folder not in self._unasked:
                found.append(f"make -q in {folder}: {one} plainly, {other}")
        printed = [line for line in ours.lines if not _OURS.match(line)]
        lines = unlike_lines(plain.lines, printed)
        if plain.status:  # more is printed, and again; nothing is missing
            lines = Counter(set(lines) - set(map(_likened, printed)))
        told = sorted(line for line in lines.elements() if _shape(line) not in self._vague)
        return [*found, *(f"line: {line}" for line in told)]


def _pairs(one: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """The keys whose values differ, with both."""
    keys = sorted(one.keys() | other)
    return [(key, one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)]


def unlike_lines(one: list[str], other: list[str]) -> Counter[str]:
    """Lines that one has and the other has not, in whatever order."""
    first, second = (Counter(map(_likened, each)) for each in (one, other))
    both = (first - second) + (second - first)
    return Counter({line: count for line, count in both.items() if not _FRAMES.match(line)})


def _shape(line: str) -> str:
    """What is alike of two lines with words drawn by chance (with a digit), or in another order."""
    return " ".join(sorted(re.sub(r"\w*\d\w*", "0", line).split()))


def _likened(line: str) -> str:
    """Figures count as alike: times, numbers of processes, addresses; so do temporary names."""
    return re.sub(r"(?<=/tmp/)[\w.-]+| *(0x[0-9a-f]+|\d+)", "0", line)
