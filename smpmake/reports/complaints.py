"""What commands complained of, for the page: grouped by the flag that turns the warning on.

A thousand files with the same warning are one thing to decide about, so they are one row.  Commands
that failed are not among them: what those said stands among the failures.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from smpmake.commands.messages import SAID
from smpmake.reports.document import Document
from smpmake.reports.headline import label
from smpmake.units import cut, plain, seen_from

_GROUPS: Final = 50
_FILES: Final = 30  # of a group
_MESSAGES: Final = 3  # of a file
_TEXT: Final = 300  # characters of one
_FEW: Final = 6  # messages of a group that is open from the start

#: One line of a tool's output, as messages are counted.
_SAID: Final = re.compile(rf"{SAID}[ \t]*(?P<text>[^\n]*)", re.MULTILINE)
#: gcc and clang name the flag behind the text, Open Watcom a number before it.
_FLAG: Final = re.compile(r"[ \t]*\[(-W[^\]\s]+)\][ \t]*$")
_NUMBER: Final = re.compile(r"^([EW]\d+):[ \t]*")
_PLACE: Final = re.compile(r"^(?P<file>.+?)(?::(?P<line>\d+)(?::\d+)?:|\((?P<row>\d+)\):?)$")


class Message(NamedTuple):
    """One warning or error.  `file` as seen from the build's folder; `line` may be ""."""

    is_error: bool
    flag: str
    file: str
    line: str
    text: str


@dataclass(slots=True)
class _Group:
    """All messages of a flag: by file, each with how often it was said."""

    count: int = 0
    files: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)


def complaints(document: Document) -> dict[str, Any]:
    """Groups of messages, errors first, the most frequent first; and how many are not shown."""
    commands = {command["number"]: command for command in document["commands"]}
    failed = {failure["command"] for failure in document["failures"]}
    groups: dict[tuple[bool, str], _Group] = {}
    for each in document["diagnostics"]:
        if each["command"] in failed:
            continue
        command = commands[each["command"]]
        for said in _messages(each["output"], command, document["build"]["cwd"]):
            group = groups.setdefault((said.is_error, said.flag), _Group())
            group.count += 1
            places = group.files.setdefault(said.file, {})
            places[said.line, said.text] = places.get((said.line, said.text), 0) + 1
    told = {
        name: sum(c[name] or 0 for c in document["commands"] if c["number"] not in failed)
        for name in ("errors", "warnings")
    }
    order = sorted(groups, key=lambda key: (not key[0], -groups[key].count, key[1]))
    shown = [_shown(*key, groups[key]) for key in order[:_GROUPS]]
    counted = sum(group.count for group in groups.values())
    return {
        "shown": shown,
        "told": [_several(count, name[:-1]) for name, count in told.items() if count],
        "rest": len(order) - len(shown),
        "lost": max(0, sum(told.values()) - counted),
    }


def _messages(output: str, command: Document, folder: str) -> Iterator[Message]:
    for found in _SAID.finditer(plain(output)):
        text = found["text"].strip()
        flag = _FLAG.search(text)
        number = _NUMBER.search(text)
        name = found["number"] or ""
        if flag:
            text, name = text[: flag.start()], flag[1]
        elif number:
            text, name = text[number.end() :], number[1]
        place = _PLACE.search((found["place"] or "").strip())
        file, line = label(command), ""
        if place:
            path = posixpath.join(command["cwd"], place["file"])
            file = seen_from(folder, posixpath.normpath(path))
            line = place["line"] or place["row"]
        yield Message(found["warning"] is None, name, file, line, cut(text, _TEXT))


def _shown(is_error: bool, flag: str, group: _Group) -> dict[str, Any]:
    kind = "error" if is_error else "warning"
    files = sorted(group.files.items(), key=lambda each: (-sum(each[1].values()), each[0]))
    rows = []
    for name, places in files[:_FILES]:
        count = sum(places.values())
        messages = [
            {"line": line, "text": text, "times": times}
            for (line, text), times in list(places.items())[:_MESSAGES]
        ]
        rows.append(
            {
                "file": name,
                "count": _several(count, kind) if count > 1 else "",
                "messages": messages,
                "more": len(places) - len(messages),
            }
        )
    return {
        "count": _several(group.count, kind),
        "flag": flag or "no flag named",
        "is_flag": bool(flag),
        "where": f"in {_several(len(files), 'file')}",
        "files": rows,
        "more": len(files) - len(rows),
        "open": sum(len(places) for places in group.files.values()) <= _FEW,
    }


def _several(count: int, name: str) -> str:
    return f"{count:,} {name}{'s' if count != 1 else ''}"
