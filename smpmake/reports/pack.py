"""A document as the page's scripts get it: small.

A build of a thousand commands repeats itself: the same options, folders and tools.  Every distinct
word is stored once, the frequent ones under short numbers; of a word only that which the word
before it does not have; of a command line only the words after those that it has in common with the
line before.  Numbers stand in columns, those that grow as steps.
page/data.js is the other side.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

from smpmake.columns import COLUMNS
from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.units import printable

_TICKS: Final = 100_000  # a second
_NOTHING: Final = -1
_Row = TypeVar("_Row", str, list[str])


def pack(document: Document) -> dict[str, Any]:
    """What the page's scripts need of a document."""
    commands, stalls = document["commands"], document["stalls"]
    lines = list(_fronts(printable(c["command"]).split(" ") for c in commands))
    outputs = [[_name(path, c["cwd"]) for path in c["outputs"]] for c in commands]
    surprises = {
        str(c["number"]): [printable(each) for each in c["surprises"]]
        for c in commands
        if c["surprises"]
    }
    plain = {column.report: column.kind for column in COLUMNS if column.page}
    values = {key: [c[key] for c in commands] for key in plain}
    names = {
        key: [printable(each) for each in values[key]] if any(values[key]) else []
        for key, kind in plain.items()
        if kind == "text"
    }
    is_elsewhere = any(c["host"] for c in commands)
    who = {key: [printable(stall[key]) for stall in stalls] for key in ("who", "cause", "path")}
    words = Counter(word for _, line in lines for word in line)
    for several in (*outputs, *names.values(), *who.values()):
        words.update(several)
    table = sorted(words, key=lambda word: (-words[word], word))
    shared, rest = zip(*_fronts(table), strict=True) if table else ((), ())
    index = {word: number for number, word in enumerate(table)}

    def encoded(several: Iterable[str]) -> list[int]:
        return [index[word] for word in several]

    return {
        "driver": printable(phrases.driver(document["build"]["command"])),
        "slots": document["build"]["slots"],
        "cpus": document["build"]["cpus"],
        "wall": document["figures"]["wall"],
        "ticks": _TICKS,
        "shared": shared,
        "words": rest,
        "columns": plain,
        "commands": {
            **{key: encoded(column) for key, column in names.items()},
            "number": _steps(c["number"] for c in commands),
            "line": [[same, *encoded(line)] for same, line in lines],
            "outputs": [encoded(each) for each in outputs],
            **{
                key: list(map(_PACKED[kind], values[key]))
                for key, kind in plain.items()
                if kind in _PACKED
            },
            "issued": _steps(_ticks(c["issued"]) for c in commands),
            "ready": [_after(c["issued"] or 0.0, c["ready"]) for c in commands],
            "started": [_after(c["issued"] or 0.0, c["started"]) for c in commands],
            "took": [_after(c["started"], c["ended"]) for c in commands],
            "sent": [_after(c["started"], c["sent"]) for c in commands if is_elsewhere],
        },
        "surprises": surprises,
        "stalls": {
            **{key: encoded(column) for key, column in who.items()},
            "waited_for": [stall["waited_for"] for stall in stalls],
            "command": [stall["command"] for stall in stalls],
            "start": _steps(_ticks(stall["start"]) for stall in stalls),
            "took": [_after(stall["start"], stall["end"]) for stall in stalls],
        },
        "samples": {
            "at": _steps(round(sample["at"] * 1000) for sample in document["samples"]),
            "cpu": [round(sample["cpu"] * 1000) for sample in document["samples"]],
            "memory": [sample["memory_bytes"] >> 20 for sample in document["samples"]],
            **{
                key: [sample[key] for sample in document["samples"]]
                for key in ("running", "queued", "held")
            },
        },
        "path": [piece["command"] for piece in document["critical_path"]],
        "reasons": {row["reason"]: row["text"] for row in document["reasons"]},
        "failed": [failure["command"] for failure in document["failures"]],
    }


def script_safe(value: object) -> str:
    """JSON that nothing in it can end: neither a `</script>` nor a `<!--`.

    Everything beyond ASCII is escaped by json, so U+2028 and U+2029 are too.
    """
    made = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        made = made.replace(character, f"\\u{ord(character):04x}")
    return made


def _fronts(rows: Iterable[_Row]) -> Iterator[tuple[int, _Row]]:
    """Each row as how much of its beginning is that of the row before, and its rest."""
    before: Sequence[str] = ""
    for row in rows:
        both = zip(before, row, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
        yield same, row[same:]
        before = row


def _name(path: str, cwd: str) -> str:
    """A path as seen from a folder: as the command line mostly has it, so stored once."""
    inside = cwd.rstrip("/") + "/"
    rest = path[len(inside) :]
    return printable(rest if path.startswith(inside) and rest[:1] not in ("", "/") else path)


def _ticks(seconds: float | None) -> int:
    return _NOTHING if seconds is None else round(seconds * _TICKS)


def _after(start: float | None, end: float | None) -> int:
    """From one moment to another; never less than nothing, which means that there is none."""
    if start is None or end is None:
        return _NOTHING
    return max(0, _ticks(end) - _ticks(start))


def _steps(values: Iterable[int]) -> list[int]:
    last, steps = 0, []
    for value in values:
        steps.append(value - last)
        last = value
    return steps


#: How values of a column that the page gets as it is are made small.
_PACKED: Final[dict[str, Callable[[Any], Any]]] = {
    "number": lambda value: value,
    "CPU": _ticks,
    "seconds": _ticks,
    "KiB": lambda value: value >> 10,
}
