"""Builds made by hand, for tests of what reads them."""

from __future__ import annotations

import time
from pathlib import Path

from smpmake.history import History, Recorder
from smpmake.records import BuildRecord, CommandRecord
from smpmake.redact import Redactor

S = 10**9


def command(number: int, verdict: str = "deferred", **fields: object) -> CommandRecord:
    """A compile of one source, or what `fields` make of it."""
    record = CommandRecord(
        number,
        "gcc",
        "compile",
        verdict,
        "",
        "",
        "/src",
        b"gcc\0-c\0a b.c\0",
        (f"/src/{number}.o",),
    )
    for name, value in fields.items():
        setattr(record, name, value)
    return record


def ran(
    number: int, issued: float, started: float, ended: float, **fields: object
) -> CommandRecord:
    """A job that succeeded; seconds into the build."""
    at = {"issued": issued, "started": started, "ended": ended}
    times = {name: int((100 + value) * S) for name, value in at.items()}
    standard: dict[str, object] = {
        "ready": times["issued"],
        "state": "done",
        "status": 0,
        "slot": 0,
        "user_us": int((ended - started) * 1e6),
        "max_rss": 1024 if fields.get("verdict", "deferred") == "deferred" else 0,
    }
    record = command(number)
    for name, value in (standard | times | fields).items():
        setattr(record, name, value)
    return record


def build(*commands: CommandRecord, wall: float = 10, cpus: int = 2) -> BuildRecord:
    """A build that began at 100 s of the monotonic clock."""
    record = BuildRecord(["make"], "/src", cpus, cpus, "0", started=100 * S, wall_clock=time.time())
    record.driver_ended = record.ended = int((100 + wall) * S)
    record.status = 0
    record.commands = list(commands)
    return record


def keep(path: Path, record: BuildRecord, **limits: int) -> int:
    """Brings a build into a history; returns its number."""
    recorder = Recorder(History(path), record, Redactor(), **limits)
    number = recorder.end()
    assert not recorder.fault
    return number
