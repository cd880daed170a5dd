"""The build as Chrome trace events, for Perfetto and chrome://tracing.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace
Event Format").  Lanes are slots; the driver's stalls have a lane of their own.
"""

from __future__ import annotations

from typing import Any, Final

from smpmake.reports.document import Document
from smpmake.reports.terminal import label

_DRIVER: Final = 0
_FIRST_SLOT: Final = 10


def trace(document: Document) -> dict[str, Any]:
    """The JSON object that such viewers read."""
    build = document["build"]
    name = " ".join(build["command"])
    events: list[dict[str, Any]] = [_meta("process_name", 0, f"smpmake: {name}")]
    events += [_meta("thread_name", _DRIVER, "driver waits")]
    events += [
        _meta("thread_name", _FIRST_SLOT + slot, f"slot {slot}") for slot in range(build["slots"])
    ]
    for command in document["commands"]:
        if command["started"] is None or command["ended"] is None or command["slot"] < 0:
            continue
        events.append(
            {
                "name": label(command),
                "cat": f"{command['kind']},{command['verdict']}",
                "ph": "X",
                "pid": 1,
                "tid": _FIRST_SLOT + command["slot"],
                "ts": _us(command["started"]),
                "dur": max(1.0, _us(command["ended"] - command["started"])),
                "args": {
                    "command": command["command"],
                    "folder": command["cwd"],
                    "status": command["status"],
                    "cpu_s": round(command["user"] + command["system"], 6),
                    "max_rss_bytes": command["max_rss_bytes"],
                    "issued_s": command["issued"],
                    "waited_for": command["waited_for"],
                },
            }
        )
    for number, stall in enumerate(document["stalls"]):
        if stall["end"] is None:
            continue
        # Stalls overlap under make -j, so they are asynchronous events, one id each.
        common = {"cat": "stall", "id": number, "pid": 1, "tid": _DRIVER}
        name = f"{stall['who']} {stall['cause']} {stall['path'].rpartition('/')[2]}".strip()
        events.append({**common, "name": name, "ph": "b", "ts": _us(stall["start"])})
        events.append({**common, "name": name, "ph": "e", "ts": _us(stall["end"])})
    for sample in document["samples"]:
        at = _us(sample["at"])
        for counter, values in (
            ("CPU %", {"busy": round(sample["cpu"] * 100, 1)}),
            ("memory MiB", {"in use": round(sample["memory_bytes"] / 2**20)}),
            ("commands", {"running": sample["running"], "queued": sample["queued"]}),
        ):
            events.append({"name": counter, "ph": "C", "pid": 1, "ts": at, "args": values})
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"figures": document["figures"], "build": build},
    }


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _meta(kind: str, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": 1, "tid": tid, "args": {"name": name}}
