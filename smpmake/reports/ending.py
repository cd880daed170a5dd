"""How a build ended, in a line: what there is to say of one that failed."""

from __future__ import annotations

import os
import signal
from typing import Any, Final

from smpmake.records import BuildRecord, brief
from smpmake.units import cut, one_line, seconds

_LONGEST: Final = 100  # characters of a command


def failures(record: BuildRecord) -> list[dict[str, Any]]:
    """First what the driver was not told; of a command that failed in several runs the last."""
    last = {(f.record.cwd, f.record.argv): f for f in record.reported}
    both = [(failure, False) for failure in record.failures]
    both += [(failure, True) for failure in last.values()]
    return [
        {
            "command": failure.record.number,
            "why": failure.why,
            "output": failure.output.decode(errors="replace"),
            "reported": reported,
        }
        for failure, reported in both
    ]


def of_record(record: BuildRecord) -> str:
    """What became of a build whose status is not 0: "make failed, status 2: gcc -c c.c (1.1 s)"."""
    last = max((f["command"] for f in failures(record)), default=-1)
    cause = next((c for c in record.commands if c.number == last), None)
    return _line(
        record.command[0],
        record.status,
        (record.ended - record.started) / 1e9,
        (cause.brief, cause.duration) if cause is not None else None,
        len(failures(record)) - 1 if record.runs == 1 else 0,
    )


def of_document(document: dict[str, Any]) -> str:
    """The same for a build as a document."""
    build = document["build"]
    # Of several runs the last one's: what failed in it is what the driver ended by.
    last = max((f["command"] for f in document["failures"]), default=-1)
    cause = next((c for c in document["commands"] if c["number"] == last), None)
    took = max(0.0, (cause["ended"] or 0) - (cause["started"] or 0)) if cause is not None else 0.0
    return _line(
        build["command"][0],
        build["status"],
        document["figures"]["wall"],
        (brief(*(cause[key] for key in ("command", "tool", "outputs", "cwd"))), took)
        if cause is not None
        else None,
        len(document["failures"]) - 1 if build["driver_runs"] == 1 else 0,
    )


def by_signal(status: int) -> str:
    """By which signal a build of that status was ended: "was interrupted"; "" where by none."""
    try:
        ended_by = signal.Signals(status - 128) if status > 128 else None
    except ValueError:
        return ""
    if ended_by is signal.SIGINT:
        return "was interrupted"
    return f"was ended by {ended_by.name}" if ended_by is not None else ""


def _line(
    program: str, status: int, wall: float, cause: tuple[str, float] | None, more: int
) -> str:
    name = os.path.basename(program)
    ended = by_signal(status)
    if ended:
        return one_line(f"{name} {ended} after {seconds(wall)}")
    text = f"{name} failed, status {status}"
    if cause is not None:
        text += f": {cut(cause[0], _LONGEST)} ({seconds(cause[1])})"
        text += f" and {more} more" if more > 0 else ""
    return one_line(text)
