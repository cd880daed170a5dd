"""Sums over a build's commands: by tool, by language, by folder."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import Final

from smpmake.records import CommandRecord

_LANGUAGES: Final = {
    **dict.fromkeys((".c", ".i"), "C"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".cp", ".C", ".CPP", ".ii"), "C++"),
    **dict.fromkeys((".m", ".mi"), "Objective-C"),
    **dict.fromkeys((".mm", ".M"), "Objective-C++"),
    **dict.fromkeys((".s", ".S", ".sx", ".asm"), "assembly"),
    **dict.fromkeys(
        (".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08", ".F", ".F90"), "Fortran"
    ),
    **dict.fromkeys((".d",), "D"),
    **dict.fromkeys((".ada", ".adb", ".ads"), "Ada"),
    **dict.fromkeys((".go",), "Go"),
    **dict.fromkeys((".cu",), "CUDA"),
}
_KINDS: Final = {
    "link": "(links)",
    "archive": "(archives)",
    "file": "(files)",
}


class Group:
    """Sums in seconds; max_rss in KiB."""

    __slots__ = ("count", "cpu", "max_rss", "name", "seconds", "weighted")

    def __init__(
        self, name: str, count: int, seconds: float, cpu: float, weighted: float, max_rss: int
    ) -> None:
        self.name = name
        self.count = count
        self.seconds = seconds
        self.cpu = cpu
        self.weighted = weighted
        self.max_rss = max_rss


def language(command: CommandRecord) -> str:
    """The language that a command compiles, by its source's name; for others what they do."""
    if command.kind in _KINDS:
        return _KINDS[command.kind]
    for word in (*command.inputs, *command.argv.decode(errors="replace").split("\0")[1:]):
        if not word.startswith("-"):
            found = _LANGUAGES.get(posixpath.splitext(word)[1])
            if found is not None:
                return found
    return "(other)"


def folder(command: CommandRecord, root: str) -> str:
    """Where its first output lies, seen from the build's folder; where it ran if it has none."""
    place = posixpath.dirname(command.outputs[0]) if command.outputs else command.cwd
    if place == root or place.startswith(f"{root}/"):
        return place[len(root) + 1 :] or "."
    return place


def group(
    commands: Iterable[CommandRecord],
    name_of: Callable[[CommandRecord], str],
    weighted: dict[int, float],
) -> tuple[Group, ...]:
    """Those that ran, the costliest first."""
    sums: dict[str, list[float]] = {}
    for command in commands:
        if not command.started:
            continue
        row = sums.setdefault(name_of(command), [0, 0.0, 0.0, 0.0, 0])
        row[0] += 1
        row[1] += command.duration
        row[2] += command.cpu
        row[3] += weighted.get(command.number, 0.0)
        row[4] = max(row[4], command.max_rss)
    found = [
        Group(name, int(row[0]), row[1], row[2], row[3], int(row[4])) for name, row in sums.items()
    ]
    return tuple(sorted(found, key=lambda g: (-g.weighted, -g.seconds, g.name)))
