"""`smpmake compare` and `smpmake history`, for a terminal and for programs."""

from __future__ import annotations

import posixpath
import shlex
import time
from typing import Any

from smpmake.records import BuildRecord
from smpmake.timing.compare import Change, Comparison
from smpmake.units import cut, cut_left, one_line, seconds


def lines(
    comparison: Comparison, before: BuildRecord, after: BuildRecord, rows: int, width: int
) -> list[str]:
    """The tables."""
    title = (
        f"build {before.id} ({_when(before)}) and build {after.id} ({_when(after)}): "
        f"{cut(shlex.join(after.command), 60)}"
    )
    out = [
        title,
        "",
        "                            before     after  difference",
    ]
    out += [_row(change, width) for change in comparison.figures if _worth(change)]
    for title, changes in (
        ("Stalls, by cause", comparison.causes),
        ("Commands", comparison.commands),
    ):
        shown = [change for change in changes if _worth(change)][:rows]
        if shown:
            out += ["", title]
            out += [_row(change, width, root=after.cwd) for change in shown]
    gone = sum(change.after is None for change in comparison.commands)
    fresh = sum(change.before is None for change in comparison.commands)
    if gone or fresh:
        out += ["", f"{gone} commands ran only before, {fresh} only after"]
    return [one_line(line) for line in out]


def document(comparison: Comparison, before: BuildRecord, after: BuildRecord) -> dict[str, Any]:
    """The same for programs; seconds, null where a build did not have it."""

    def rows(changes: tuple[Change, ...]) -> list[dict[str, Any]]:
        return [
            {"name": change.name, "before": change.before, "after": change.after}
            for change in changes
        ]

    return {
        "format": "smpmake-comparison",
        "version": 1,
        "before": before.id,
        "after": after.id,
        "figures": rows(comparison.figures),
        "causes": rows(comparison.causes),
        "commands": rows(comparison.commands),
    }


def history(heads: list[BuildRecord], width: int) -> list[str]:
    """A line for each build, newest first."""
    out = ["build  when                     wall  speed-up  status  command"]
    for head in heads:
        wall = (head.ended - head.started) / 1e9
        serial = head.serial if head.serial is not None else head.estimate
        times = f"{serial / wall:.2f} x" if serial and wall > 0 else "-"
        mark = "" if head.serial is not None or times == "-" else "~"
        state = "runs" if head.running else "killed"
        if head.complete:
            state = str(head.known_status) if head.known_status is not None else "?"
        place = posixpath.basename(head.cwd)
        text = f"{shlex.join(head.command)}  ({place})"
        out.append(
            f"{head.id:5}  {_when(head)}  {seconds(wall):>9}  {mark + times:>8}  {state:>6}  "
            f"{cut(text, width - 58)}"
        )
    return [one_line(line) for line in [*out, "~ estimated"]]


def _when(record: BuildRecord) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.wall_clock))


def _worth(change: Change) -> bool:
    return max(change.before or 0.0, change.after or 0.0) >= 0.0005


def _value(value: float | None) -> str:
    return "-" if value is None else seconds(value)


def _row(change: Change, width: int, root: str = "") -> str:
    name = change.name
    if root and name.startswith(f"{root}/"):
        name = name[len(root) + 1 :]
    difference = change.difference
    sign = "+" if difference >= 0 else "-"
    share = f" ({difference / change.before:+.0%})" if change.before else ""
    return (
        f"  {cut_left(name, 22):<22} {_value(change.before):>9} {_value(change.after):>9}  "
        f"{sign}{seconds(abs(difference))}{share}"
    )
