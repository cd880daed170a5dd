"""The build as Chrome trace events, for Perfetto and chrome://tracing.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace
Event Format").  Lanes are slots; what took no slot, who waited, and the critical path have lanes of
their own.  Arrows lead from a command to what waited for it, and along the critical path.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.headline import label

_CRITICAL: Final = 1
_FIRST_SLOT: Final = 10
_FREE: Final = 10_000  # lanes of what took no slot
_WAITS: Final = 20_000
_LEAST: Final = 1.0  # us: viewers show nothing that is shorter

_Event = dict[str, Any]


def trace(document: Document) -> _Event:
    """The JSON object that such viewers read."""
    build = document["build"]
    name = " ".join(build["command"])
    slices = _commands(document)
    waits = _waits(document)
    lanes = {_CRITICAL: "critical path"}
    lanes |= {_FIRST_SLOT + slot: f"slot {slot}" for slot in range(build["slots"])}
    lanes |= {each["tid"]: "no slot" for each in slices.values() if each["tid"] >= _FREE}
    lanes |= {each["tid"]: f"{phrases.driver(build['command'])} waits" for each, _ in waits}
    events = [_meta("process_name", 0, name=f"smpmake: {name}")]
    for tid, shown in lanes.items():
        events.append(_meta("thread_name", tid, name=shown))
        events.append(_meta("thread_sort_index", tid, sort_index=tid))
    path = _critical(document, slices)
    events += [*slices.values(), *(each for each, _ in waits), *path]
    events += _arrows(document, slices, waits, path)
    events += _counters(document)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"figures": document["figures"], "build": build},
    }


def _commands(document: Document) -> dict[int, _Event]:
    """Each command that ran and ended, by its number."""
    critical = {piece["command"] for piece in document["critical_path"]}
    rows = _Rows()
    found = {}
    for command in sorted(document["commands"], key=lambda c: c["started"] or 0.0):
        if command["started"] is None or command["ended"] is None:
            continue
        slot = command["slot"]
        found[command["number"]] = {
            "name": label(command),
            "cat": f"{command['kind']},{command['verdict']}",
            "ph": "X",
            "pid": 1,
            "tid": _FIRST_SLOT + slot
            if slot >= 0
            else _FREE + rows.place(command["started"], command["ended"]),
            **_span(command["started"], command["ended"]),
            "args": {
                "command": command["command"],
                "folder": command["cwd"],
                "status": command["status"],
                "host": command["host"],
                "cpu_s": round(command["user"] + command["system"], 6),
                "max_rss_bytes": command["max_rss_bytes"],
                "issued_s": command["issued"],
                "waited_for": command["waited_for"],
                "critical_path": command["number"] in critical,
            },
        }
    return found


def _waits(document: Document) -> list[tuple[_Event, int]]:
    """Each stall, and the command that was waited for (-1: none).  They overlap under make -j."""
    rows = _Rows()
    return [
        (
            {
                "name": " ".join((stall["who"], stall["cause"], posixpath.basename(stall["path"]))),
                "cat": "stall",
                "ph": "X",
                "pid": 1,
                "tid": _WAITS + rows.place(stall["start"], stall["end"]),
                **_span(stall["start"], stall["end"]),
            },
            stall["waited_for"],
        )
        for stall in document["stalls"]
        if stall["end"] is not None
    ]


class _Rows:
    """Rows in which nothing overlaps, for what comes in the order of its beginning."""

    def __init__(self) -> None:
        self._ends: list[float] = []

    def place(self, start: float, end: float) -> int:
        """The first row that is free."""
        end = max(end, start + _LEAST / 1e6)
        for row, until in enumerate(self._ends):
            if until <= start:
                self._ends[row] = end
                return row
        self._ends.append(end)
        return len(self._ends) - 1


def _critical(document: Document, slices: dict[int, _Event]) -> list[_Event]:
    """The commands of the critical path, when they really ran, in a lane of their own."""
    found: list[_Event] = []
    for piece in document["critical_path"]:
        ran = slices.get(piece["command"])
        if ran is None:
            continue
        # The path is that of a machine without limits; here one may have begun before the other.
        start = max(ran["ts"], found[-1]["ts"] + found[-1]["dur"] if found else 0.0)
        end = ran["ts"] + ran["dur"]
        if start < end:
            shown = {key: ran[key] for key in ("name", "ph", "pid")}
            times = {"ts": round(start, 3), "dur": round(end - start, 3)}
            args = {"command": piece["command"]}
            found.append({**shown, "cat": "critical", "tid": _CRITICAL, **times, "args": args})
    return found


def _arrows(
    document: Document,
    slices: dict[int, _Event],
    waits: list[tuple[_Event, int]],
    path: list[_Event],
) -> list[_Event]:
    """From the end of what was waited for to who waited."""
    pairs: list[tuple[str, _Event, _Event, float]] = []
    for command in document["commands"]:
        cause, waiter = slices.get(command["waited_for"]), slices.get(command["number"])
        if cause is not None and waiter is not None:
            pairs.append(("waited for", cause, waiter, waiter["ts"]))
    for wait, number in waits:
        cause = slices.get(number)
        if cause is not None:  # whoever waited goes on at the stall's end
            pairs.append(("waited for", cause, wait, wait["ts"] + wait["dur"] - _LEAST / 2))
    for before, after in pairwise(path):
        pairs.append(("critical path", before, after, after["ts"]))
    return [event for at, pair in enumerate(pairs) for event in _arrow(at, *pair)]


def _arrow(number: int, name: str, cause: _Event, waiter: _Event, at: float) -> Iterator[_Event]:
    """A flow's two ends, which viewers look for inside of slices; it never leads back in time."""
    leaves = min(cause["ts"] + cause["dur"] - _LEAST / 2, at)
    if leaves < cause["ts"]:
        return
    for phase, end, ts in (("s", cause, leaves), ("f", waiter, at)):
        where = {"pid": 1, "tid": end["tid"], "ts": round(ts, 3)}
        binding = {"bp": "e"} if phase == "f" else {}
        yield {"name": name, "cat": "flow", "ph": phase, "id": number, **where, **binding}


def _counters(document: Document) -> Iterator[_Event]:
    for sample in document["samples"]:
        at = _us(sample["at"])
        for counter, values in (
            ("CPU %", {"busy": round(sample["cpu"] * 100, 1)}),
            ("memory MiB", {"in use": round(sample["memory_bytes"] / 2**20)}),
            ("commands", {"running": sample["running"], "queued": sample["queued"]}),
        ):
            yield {"name": counter, "ph": "C", "pid": 1, "ts": at, "args": values}


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _span(start: float, end: float) -> _Event:
    return {"ts": _us(start), "dur": max(_LEAST, _us(end - start))}


def _meta(kind: str, tid: int, **args: object) -> _Event:
    return {"name": kind, "ph": "M", "pid": 1, "tid": tid, "args": args}
