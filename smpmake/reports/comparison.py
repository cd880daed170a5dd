"""`smpmake compare` and `smpmake history`, for a terminal and for programs."""

from __future__ import annotations

import posixpath
import shlex
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from smpmake.records import BuildRecord, WhyNot
from smpmake.reports import phrases
from smpmake.reports.document import brief
from smpmake.reports.grid import Kind, Look, Part, table, title
from smpmake.reports.grid import lines as render
from smpmake.timing import gain
from smpmake.timing.compare import Change, Comparison
from smpmake.timing.rounds import Range
from smpmake.timing.trend import alike, trend, wall
from smpmake.units import cut, seconds

_CHANGES: Final = (
    ("", Kind.NAME),
    *((name, Kind.FIGURE) for name in ("before", "after", "difference", "")),
)
_UNCLEAR: Final = "?"
_NO_ESTIMATE: Final = (
    *(WhyNot.RUNNING, WhyNot.KILLED, WhyNot.INTERRUPTED, WhyNot.FAILED, WhyNot.BUSY),
)
_BAR: Final = 10  # cells of the longest bar
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_WORDS: Final = 80  # characters of one side's commands, or folders
_ROOM: Final = 90  # columns from which there is room for bars


def lines(
    comparison: Comparison,
    before: Sequence[BuildRecord],
    after: Sequence[BuildRecord],
    rows: int,
    look: Look = Look(),
) -> list[str]:
    """The tables."""
    last, driver = after[-1], phrases.driver(after[-1].command)
    figures = (
        _row(replace(change, name=change.name.replace("driver", driver)))
        for change in comparison.figures
        if _worth(change)
    )
    parts: list[Part] = [
        *_unlike(before, after),
        title(f"{_side(before)} and {_side(after)}: {cut(shlex.join(last.command), 60)}"),
        "",
        table(_CHANGES, figures),
    ]
    for name, changes in (
        ("Stalls, by cause", comparison.causes),
        ("Commands", comparison.commands),
    ):
        shown = [change for change in changes if _worth(change)][:rows]
        if shown:
            cells = (_row(change, root=last.cwd) for change in shown)
            parts += ["", title(name), table(_CHANGES, cells)]
    others = _differences(before[-1], last)
    if others:
        columns = (("", Kind.TEXT), ("before", Kind.WORDS), ("after", Kind.WORDS))
        parts += ["", title("Not the same"), table(columns, others)]
    gone = sum(change.after is None for change in comparison.commands)
    fresh = sum(change.before is None for change in comparison.commands)
    if gone or fresh:
        parts += ["", f"{gone} commands ran only before, {fresh} only after"]
    if len(before) > 1 or len(after) > 1:
        text = "Medians; `?`: builds of one side differ among themselves by as much."
        parts += ["", text]
    return render(parts, look)


def _unlike(before: Sequence[BuildRecord], after: Sequence[BuildRecord]) -> list[Part]:
    """That these are no builds of the same thing, where that is so."""
    said: list[Part] = []
    for what, name in (("commands", "command"), ("folders", "cwd")):
        old, new = (
            list(dict.fromkeys(_shown(each, name) for each in side)) for side in (before, after)
        )
        if old != new or len(old) > 1:
            sides = (cut("; ".join(texts), _WORDS) for texts in (old, new))
            said.append(f"These are builds of different {what}: {' and '.join(sides)}")
    return [*said, ""] if said else []


def _shown(record: BuildRecord, name: str) -> str:
    return shlex.join(record.command) if name == "command" else record.cwd


def _side(records: Sequence[BuildRecord]) -> str:
    if len(records) > 1:
        return f"the median of builds {', '.join(str(record.id) for record in records)}"
    return f"build {records[0].id} ({_when(records[0])})"


def _differences(before: BuildRecord, after: BuildRecord) -> list[tuple[str, str, str]]:
    """Where the builds ran, and what their commands complained of, as far as it differs."""
    rows = [(name, get(before), get(after)) for name, get in _SURROUNDINGS.items()]
    known = before.surroundings.host and after.surroundings.host
    return [row for row in rows if row[1] != row[2]] if known else []


def _complaints(record: BuildRecord, name: str) -> str:
    return str(sum(max(0, getattr(command, name)) for command in record.commands))


_SURROUNDINGS: Final[dict[str, Callable[[BuildRecord], str]]] = {
    "host": lambda r: r.surroundings.host,
    "CPU": lambda r: r.surroundings.cpu,
    "CPUs": lambda r: str(r.cpus),
    "system": lambda r: f"{r.surroundings.system}, {r.surroundings.kernel}",
    "compilers": lambda r: "; ".join(
        dict.fromkeys(each.version or each.path for each in r.surroundings.compilers)
    ),
    "options": lambda r: ", ".join(r.surroundings.options) or "as they come",
    "smpmake": lambda r: r.version,
    "warnings": lambda r: _complaints(r, "warnings"),
    "errors": lambda r: _complaints(r, "errors"),
}


def document(
    comparison: Comparison, before: Sequence[BuildRecord], after: Sequence[BuildRecord]
) -> dict[str, Any]:
    """The same for programs; seconds (medians), null where no build of a side had it."""

    def between(values: Range | None) -> list[float] | None:
        return [values.low, values.high] if values is not None else None

    def rows(changes: tuple[Change, ...]) -> list[dict[str, Any]]:
        return [
            {
                "name": change.name,
                "before": change.before,
                "after": change.after,
                "before_range": between(change.before_range),
                "after_range": between(change.after_range),
                "clear": change.is_clear,
            }
            for change in changes
        ]

    return {
        "format": "smpmake-comparison",
        "version": 2,
        "before": [record.id for record in before],
        "after": [record.id for record in after],
        "figures": rows(comparison.figures),
        "causes": rows(comparison.causes),
        "commands": rows(comparison.commands),
    }


def history(
    heads: Sequence[BuildRecord], known: Sequence[BuildRecord] = (), look: Look = Look()
) -> list[str]:
    """A line for each build, newest first.

    known  more builds that they may be compared with.
    """
    every = list({head.id: head for head in (*known, *heads)}.values())
    rows = []
    for head in heads:
        took = wall(head)
        said = brief(head)
        gained = said["speedup"]
        times = f"{phrases.factor(gained['middle'])} x" if gained is not None else "-"
        mark = "" if said["measured"] or gained is None else "~"
        state = "runs" if head.running else "killed"
        if head.complete:
            state = str(head.known_status) if head.known_status is not None else "?"
        found = trend(head, every)
        text = f"{shlex.join(head.command)}  ({posixpath.basename(head.cwd)})"
        rows.append(
            (
                *(str(head.id), _when(head), seconds(took)),
                f"{found.difference(took):+.0%}" if found is not None else "",
                *([_bar(head, every)] if look.width >= _ROOM else []),
                *(mark + times, state, text),
            )
        )
    figure, words = Kind.FIGURE, Kind.TEXT
    columns = (
        *(("build", figure), ("when", words), ("wall", figure), ("trend", figure)),
        *([("", words)] if look.width >= _ROOM else []),
        *(("speed-up", figure), ("status", figure), ("command", words)),
    )
    notes = "~ estimated; trend: against the median of up to five builds before with as much to do"
    return render([table(columns, rows), *textwrap.wrap(notes, look.width)], look)


def _bar(head: BuildRecord, every: Sequence[BuildRecord]) -> str:
    """Its wall time beside those of the same build's others."""
    longest = max((wall(each) for each in every if alike(head, each)), default=0.0)
    if longest <= 0:
        return ""
    whole, rest = divmod(round(wall(head) / longest * _BAR * 8), 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def history_document(
    heads: Sequence[BuildRecord], known: Sequence[BuildRecord] = ()
) -> dict[str, Any]:
    """The same for programs."""
    return {
        "format": "smpmake-history",
        "version": 3,
        "builds": [
            {
                **brief(head),
                "command": head.command,
                "cwd": head.cwd,
                "complete": head.complete,
                "running": head.running,
                "slots": head.slots,
                "cpus": head.cpus,
                "serial_measured": head.serial,
                "serial_estimated": _estimated(head),
                "trend": _trend(head, (*known, *heads)),
            }
            for head in heads
        ],
    }


def _estimated(head: BuildRecord) -> dict[str, float] | None:
    """Of what ended well; see the report's field."""
    if head.estimate is None or gain.of_head(head) in _NO_ESTIMATE:
        return None
    return {"low": head.estimate, "high": head.estimate_most or head.estimate}


def _trend(head: BuildRecord, every: Sequence[BuildRecord]) -> dict[str, Any] | None:
    found = trend(head, list({each.id: each for each in every}.values()))
    return {"median": found.median, "builds": found.builds} if found is not None else None


def _when(record: BuildRecord) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.wall_clock))


def _worth(change: Change) -> bool:
    return max(change.before or 0.0, change.after or 0.0) >= 0.0005


def _value(value: float | None) -> str:
    return "-" if value is None else seconds(value)


def _row(change: Change, root: str = "") -> tuple[str, ...]:
    name = change.name
    if root and name.startswith(f"{root}/"):
        name = name[len(root) + 1 :]
    difference = change.difference
    sign = "+" if difference >= 0 else "-"
    share = f"({difference / change.before:+.0%})" if change.before else ""
    if change.is_clear is False:
        share = f"{share} {_UNCLEAR}".strip()
    values = (_value(change.before), _value(change.after))
    return (name, *values, f"{sign}{seconds(abs(difference))}", share)
