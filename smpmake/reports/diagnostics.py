"""What commands complained of, for a terminal: a table, and what they printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smpmake.reports.document import Document
from smpmake.reports.grid import Kind, Look, Part, rest, table, title
from smpmake.reports.grid import lines as render
from smpmake.reports.headline import label
from smpmake.units import plain

_COLUMNS: Final = (
    *(("warnings", Kind.FIGURE), ("errors", Kind.FIGURE)),
    ("", Kind.NAME),
)


def worst(document: Document, rows: int) -> list[Part]:
    """The commands with the most errors and warnings."""
    found = [c for c in document["commands"] if c["warnings"] or c["errors"]]
    found.sort(key=lambda command: (-command["errors"], -command["warnings"]))
    if not found:
        return []
    cells = ((str(c["warnings"]), str(c["errors"]), label(c)) for c in found[:rows])
    more = rest(len(found) - rows)
    return [table(_COLUMNS, cells), *more, "  (smpmake report --log prints what they said)"]


def log(document: Document, look: Look = Look()) -> list[str]:
    """All that was said with a warning or an error in it, in the order of the serial build."""
    commands = {command["number"]: command for command in document["commands"]}
    parts: list[Part] = []
    for each in document["diagnostics"]:
        command = commands[each["command"]]
        parts += ["", title(label(command)), f"  {command['command']}", *said(each["output"])]
    if not parts:
        return ["No command told of a warning or an error."]
    return render(parts[1:], look)


def said(output: str) -> Iterable[str]:
    """The lines of an output, without what coloured them."""
    return (f"  {line}" for line in plain(output).rstrip().split("\n"))
