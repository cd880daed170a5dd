"""What stands in the documentation as the package's tables have it.

`python -m tests.support.documented` writes it there: the columns of commands into
docs/report.schema.json, the settings into docs/settings.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from smpmake.cli.reference import markdown
from smpmake.columns import REPORT_VERSION, REPORTED, Column

_DOCS = Path(__file__).parent.parent.parent / "docs"
SCHEMA = _DOCS / "report.schema.json"
SETTINGS = _DOCS / "settings.md"
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


def schema(text: str) -> str:
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


def settings(text: str) -> str:
    """The page's text with the table of options, variables and keys in it."""
    head, _, rest = text.partition("| option |")
    table = re.compile(r"(?:.*\|\n)*")
    found = table.match(rest)
    assert found is not None
    return head + "\n".join(markdown()) + "\n" + rest[found.end() :]


if __name__ == "__main__":
    SCHEMA.write_text(schema(SCHEMA.read_text()))
    SETTINGS.write_text(settings(SETTINGS.read_text()))
