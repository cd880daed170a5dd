"""The page's tables: commands, sums over them, waits, and the builds before this one.

What stands in them, as plain text; page/macros.html makes tables of it, and escapes it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.heading import TIMES
from smpmake.reports.headline import is_measured, label
from smpmake.units import cut, seconds, size

_COMMANDS: Final = 30  # rows of the table that stands in for the interactive one
_GROUPS: Final = 100


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.  `kind`, its classes: `words` to the left, `minor` not on a telephone, `code`."""

    text: str
    kind: str = ""
    value: float | None = None  # by which it is sorted
    title: str = ""  # at length, under the pointer


@dataclass(frozen=True, slots=True)
class Table:
    """A table.  A row's first cell names it; `ours` is the row of this build."""

    heads: tuple[Cell, ...]
    rows: Sequence[tuple[Cell, ...]]
    name: str = ""  # for who hears the page
    more: int = 0  # rows that there is no place for
    sortable: bool = True
    ours: int = -1


def commands(document: Document) -> dict[str, Any]:
    """The costliest commands; the page's script puts all of them in their place."""
    ran = [command for command in document["commands"] if command["started"] is not None]
    ran.sort(key=lambda command: -command["weighted"])
    rows = []
    for command in ran[:_COMMANDS]:
        wall = max(0.0, (command["ended"] or command["started"]) - command["started"])
        rows.append(
            (
                Cell(label(command), title=cut(command["command"], 160)),
                Cell(command["kind"], "words minor"),
                Cell(seconds(command["weighted"])),
                Cell(seconds(wall), "minor"),
                Cell(seconds(command["user"] + command["system"]), "minor"),
                Cell(_memory(command["max_rss_bytes"]), "minor"),
            )
        )
    heads = _heads("Command", ("Kind", "Weighted", "Took", "CPU", "Memory"), rows)
    note = (
        f"The {len(rows)} costliest of {len(document['commands']):,}.  Weighted: while several "
        "commands run at the same time, each of them gets its share of these seconds."
    )
    return {"note": note, "table": Table(heads, rows, sortable=False)}


def groups(document: Document) -> list[Table]:
    """Sums by language, folder and tool."""
    return [
        _group_table(document[name], one)
        for name, one in (("languages", "Language"), ("tools", "Tool"), ("folders", "Folder"))
        if document[name]
    ]


def _group_table(groups: list[Document], one: str) -> Table:
    rows = [
        (
            Cell(group["name"]),
            Cell(seconds(group["weighted"]), "", group["weighted"]),
            Cell(seconds(group["seconds"]), "minor", group["seconds"]),
            Cell(seconds(group["cpu"]), "minor", group["cpu"]),
            Cell(f"{group['count']:,}", "", group["count"]),
            Cell(_memory(group["max_rss_bytes"]), "minor", group["max_rss_bytes"]),
        )
        for group in groups[:_GROUPS]
    ]
    heads = _heads(one, ("Weighted", "Time", "CPU", "Commands", "Memory"), rows)
    return Table(heads, rows, f"By {one.lower()}", len(groups) - len(rows))


def headers(document: Document) -> Table | None:
    """Files that several compiles have read, and what touching them would cost."""
    found = document["headers"]
    if not found:
        return None
    rows = [
        (
            Cell(header["name"]),
            Cell(seconds(header["cpu"]), "", header["cpu"]),
            Cell(f"{header['share']:.0%}", "", header["share"]),
            Cell(f"{header['count']:,}", "", header["count"]),
        )
        for header in found[:_GROUPS]
    ]
    heads = _heads("File", ("CPU", "Of all", "Compiles"), rows)
    return Table(heads, rows, "By header", len(found) - len(rows))


def _memory(value: int) -> str:
    """Nothing where nobody looked: the build ran it itself."""
    return size(value) if value else ""


def _heads(first: str, names: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> tuple[Cell, ...]:
    """Headings of the same kind as what is below them."""
    kinds = [cell.kind for cell in rows[0][1:]] if rows else [""] * len(names)
    below = (Cell(name, kind) for name, kind in zip(names, kinds, strict=True))
    return (Cell(first, "words"), *below)


def stalls(document: Document) -> list[Table]:
    """Who waited for what, and what ran in place."""
    driver = phrases.driver(document["build"]["command"])
    causes = [
        (
            Cell(row["cause"]),
            Cell(seconds(row["seconds"]), "", row["seconds"]),
            Cell(f"{row['count']:,}", "", row["count"]),
        )
        for row in document["causes"]
    ]
    reasons = [
        (
            Cell(row["text"]),
            Cell(row["reason"], "words minor code"),
            Cell(f"{row['count']:,}", "", row["count"]),
        )
        for row in document["reasons"]
    ]
    tables = []
    if causes:
        heads = _heads(f"{driver} waited while a program", ("Seconds", "Times"), causes)
        tables.append(Table(heads, causes, f"Why {driver} waited"))
    if reasons:
        heads = _heads("A command ran in place because it", ("Name", "Commands"), reasons)
        tables.append(Table(heads, reasons, "Why commands ran in place"))
    return tables


def builds(document: Document, earlier: list[Document]) -> tuple[list[Document], Table] | None:
    """This build among those of the same folder and command before it: oldest first for the
    picture, newest first in the table."""
    if not earlier:
        return None
    build, wall = document["build"], document["figures"]["wall"]
    this = {
        "id": build["id"],
        "started_unix": build["started_unix"],
        "wall": wall,
        "status": build["status"],
        "speedup": document["figures"]["speedup"],
        "measured": is_measured(document),
    }
    rows = sorted([*earlier, this], key=lambda row: (row["started_unix"], row["id"]))
    ours, cells = -1, list[tuple[Cell, ...]]()
    for row in reversed(rows):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["started_unix"]))
        if row is this:
            ours = len(cells)
        status = "no end" if row["status"] is None else f"status {row['status']}"
        if row["status"] == 0:
            status = "succeeded"
        against = f"{row['wall'] / wall - 1:+.0%}" if row["wall"] and wall else ""
        speedup = ""
        if row["speedup"] is not None:
            mark = "" if row["measured"] else "~ "
            speedup = f"{mark}{row['speedup']['middle']:.2f} {TIMES}"
        cells.append(
            (
                Cell(str(row["id"])),
                Cell(when, "words"),
                Cell(seconds(row["wall"]) if row["wall"] is not None else "?"),
                Cell("this one" if row is this else against),
                Cell(speedup, "minor"),
                Cell(status, "words"),
            )
        )
    heads = _heads("Build", ("Started", "Took", "Against this", "Speed-up", "Result"), cells)
    return rows, Table(heads, cells, sortable=False, ours=ours)
