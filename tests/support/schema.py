"""The schema of a report's commands, from the table of columns.

`python -m tests.support.schema` writes it into docs/report.schema.json.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from smpmake.columns import REPORT_VERSION, REPORTED, Column

FILE = Path(__file__).parent.parent.parent / "docs" / "report.schema.json"
_TYPES = {
    **dict.fromkeys(("time", "CPU", "seconds"), "number"),
    **dict.fromkeys(("number", "KiB"), "integer"),
}


def of(column: Column) -> dict[str, Any]:
    """What a report says in it."""
    about = {"description": column.about} if column.about else {}
    if column.kind in ("texts", "numbers"):
        items = (
            {"type": "integer", "minimum": 0} if column.kind == "numbers" else {"type": "string"}
        )
        return {"type": "array", "items": items, **about}
    if column.kind == "text":
        return {
            "type": "string",
            **({"enum": list(column.choices)} if column.choices else {}),
            **about,
        }
    kind = _TYPES[column.kind]
    is_known = not column.unknown and column.kind != "time"
    return {"type": kind if is_known else [kind, "null"], "minimum": column.least, **about}


def commands() -> dict[str, Any]:
    """All of a command, by name."""
    return {column.report: of(column) for column in REPORTED}


def written(text: str) -> str:
    """The file's text with the table's columns and version in it."""
    made = commands()
    names = ",\n".join(f'     "{name}"' for name in made)
    lines = ",\n".join(f'     "{name}": {json.dumps(each)}' for name, each in made.items())
    head, found, rest = text.partition('  "commands": {\n')
    own, end, rest = rest.partition("\n    }\n   }\n  },\n")
    assert found and end
    own = re.sub(
        r'"required": \[.*\Z',
        lambda _: f'"required": [\n{names}\n    ],\n    "properties": {{\n{lines}',
        own,
        flags=re.DOTALL,
    )
    text = head + found + own + end + rest
    text = re.sub(r"(smpmake-report, version )\d+", rf"\g<1>{REPORT_VERSION}", text)
    return re.sub(r'("version": \{"const": )\d+', rf"\g<1>{REPORT_VERSION}", text)


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text()))
