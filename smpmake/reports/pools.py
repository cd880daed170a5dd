"""`smpmake status`: which builds share this machine's CPUs, and what their jobs wait for."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from smpmake.capacity.neighbours import NAME
from smpmake.capacity.table import Member, Wait, members
from smpmake.reports.grid import Kind, Look, Part, table
from smpmake.reports.grid import lines as render
from smpmake.units import seconds

_COLUMNS = (
    *((name, Kind.FIGURE) for name in ("since", "slots", "running", "waiting")),
    *(("for", Kind.WORDS), ("command", Kind.TEXT), ("folder", Kind.NAME)),
)
_WAITS: Final = {
    Wait.NOTHING: "",
    Wait.SLOTS: "other builds",
    Wait.MEMORY: "memory",
    Wait.PRESSURE: "pressure",
    Wait.LOAD: "load",
    Wait.CLASS: "its class",
}


class Process(NamedTuple):
    """Of a build: its command line, its folder, when it began (s since 1970); or nothing, where
    another user has it, or another container."""

    command: tuple[str, ...] = ()
    folder: str = ""
    began: float = 0.0


class Sharing(NamedTuple):
    """A table and who is in it."""

    path: Path
    builds: tuple[tuple[Member, Process], ...]


def found_in(folders: Iterable[Path]) -> list[Sharing]:
    """The tables in some folders in which there are builds."""
    paths = [path for folder in folders for path in sorted(folder.glob(f"{NAME}*"))]
    tables = []
    for path in paths:
        with contextlib.suppress(OSError):
            tables.append(
                Sharing(path, tuple((each, process(each.process)) for each in members(path)))
            )
    kept = [
        Sharing(path, tuple(each for each in builds if _counts(*each))) for path, builds in tables
    ]
    return [each for each in kept if each.builds]


def _counts(member: Member, seen: Process) -> bool:
    """A shell's job server that nobody uses is no build."""
    return "--jobserver" not in seen.command or member.standing.running > 0


def process(number: int) -> Process:
    """What can be seen of one."""
    if not number:
        return Process()
    try:
        seen = psutil.Process(number)
        return Process(tuple(seen.cmdline()), seen.cwd(), seen.create_time())
    except psutil.Error:
        return Process()


def document(tables: Iterable[Sharing]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "table": str(each.path),
            "slots": max(member.standing.slots for member, _ in each.builds),
            "builds": [
                {
                    "process": member.process or None,
                    "command": list(shown(seen.command)),
                    "folder": seen.folder or None,
                    "started_unix": seen.began or None,
                    "slots": member.held,
                    "jobs": member.standing.jobs,
                    "running": member.standing.running,
                    "waiting": member.standing.waiting,
                    "waits_for": _why(member).name.lower() if _why(member) else None,
                }
                for member, seen in each.builds
            ],
        }
        for each in tables
    ]


def lines(tables: Iterable[Sharing], now: float, look: Look = Look()) -> list[str]:
    """`now` in seconds since 1970."""
    parts: list[Part] = []
    for each in tables:
        slots = max(member.standing.slots for member, _ in each.builds)
        taken = sum(member.held for member, _ in each.builds)
        many = f"{len(each.builds)} builds share" if len(each.builds) > 1 else "one build has"
        parts.append(f"{many} {slots} slots, {taken} are taken")
        rows = [
            (
                seconds(max(0.0, now - seen.began)) if seen.began else "",
                str(member.held),
                str(member.standing.running),
                str(member.standing.waiting),
                _WAITS[_why(member)],
                shlex.join(shown(seen.command)) or "(another user, or a container)",
                seen.folder,
            )
            for member, seen in each.builds
        ]
        parts.append(table(_COLUMNS, rows))
    return render(parts, look)


def _why(member: Member) -> Wait:
    """A table of another version of us may say what we do not know."""
    return Wait(member.standing.why) if member.standing.why in set(Wait) else Wait.NOTHING


def shown(command: tuple[str, ...]) -> tuple[str, ...]:
    """As its user typed it: without what runs us."""
    for at, word in enumerate(command[1:4], 1):
        if os.path.basename(word) == "smpmake" or word.endswith("/smpmake/__main__.py"):
            return ("smpmake", *command[at + 1 :])
        if not word.startswith("-"):
            break
    return command
