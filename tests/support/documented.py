"""What stands in the documentation as the package's tables have it.

`python -m tests.support.documented` writes it there: the columns of commands into
docs/report.schema.json, the settings into docs/settings.md, the words that keep a command from
being remembered into docs/memo.md, what docs/corpus.md shows into README.md.
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
MEMO = _DOCS / "memo.md"
_CORPUS = _DOCS / "corpus.md"
README = _DOCS.parent / "README.md"
_WORDS_IN_C = _DOCS.parent / "smpmake/native/memo/question.c"
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
    if column.kind in ("text", "printed"):
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


def unanswerable() -> dict[str, list[str]]:
    """The words that keep a command from being remembered, by how they are compared."""
    text = _WORDS_IN_C.read_text().partition("static int is_unanswerable")[2].partition("\n}\n")[0]
    tables = re.findall(r"static const char \*const (\w+)\[\] = \{(.*?),\s*NULL\}", text, re.DOTALL)
    return {name: re.findall(r'"([^"]+)"', words) for name, words in tables}


def memo(text: str) -> str:
    """The page's text with these words in it."""
    words = unanswerable()
    whole = ", ".join(f"`{word}`" for word in words["whole"] if word != "native")
    begun = ", ".join(f"`{word}`" for word in words["begun"])
    inside = ", ".join(f"`{word}`" for word in (*words["inside"], *words["told"]))
    told = (
        "- Commands with one of these words, which depend on more than files or print what changes:"
        f" {whole}, `-march=native` and the like; words that begin with {begun}; words that contain"
        f" {inside}.\n"
    )
    line = re.compile(r"- Commands with one of these words.*\n")
    assert line.search(text) is not None
    return line.sub(lambda _: told, text, count=1)


def claim() -> str:
    """The first line of what docs/corpus.md says."""
    found = re.search(r"<!-- packages -->\n(.*)\n", _CORPUS.read_text())
    assert found is not None
    return found[1]


def corpus() -> list[tuple[str, str, float]]:
    """Each row of docs/corpus.md's second table: package, driver, how many times as fast it is."""
    _, _, others = _CORPUS.read_text().partition("\n## Builds of other kinds\n")
    rows = re.findall(r"(?m)^\| ([\w.-]+) \| ([^|]+) \|((?: [^|]* \|){4})$", others)
    cells = [(name, driver, rest.split("|")) for name, driver, rest in rows[2:]]  # below the head
    return [(name, driver, float(rest[3])) for name, driver, rest in cells]


def readme(text: str) -> str:
    """README with what the corpus shows: its claim, and where smpmake did not help."""
    rows = corpus()
    text, count = re.subn(r"(?m)^smpmake builds \d+ of .*$", lambda _: claim(), text)
    assert count == 1
    slower = sorted((speed, name, driver) for name, driver, speed in rows if speed < 1)
    names = ", ".join(f"{name} ({driver}; {speed:.2f})" for speed, name, driver in slower)
    text = re.sub(r"\d+ builds of real packages", f"{len(rows)} builds of real packages", text)
    line = re.compile(r"- \d+ of the \d+ builds in .*\n")
    assert line.search(text) is not None
    told = (
        f"- {len(slower)} of the {len(rows)} builds in [real packages](docs/corpus.md) were "
        f"slower than the plain ones (plain time / smpmake's time): {names};\n"
    )
    return line.sub(lambda _: told, text, count=1)


if __name__ == "__main__":
    MEMO.write_text(memo(MEMO.read_text()))
    README.write_text(readme(README.read_text()))
    SCHEMA.write_text(schema(SCHEMA.read_text()))
    SETTINGS.write_text(settings(SETTINGS.read_text()))
