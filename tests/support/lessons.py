"""Builds that learn from each other: what they remember, made worth it, and how much came of it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.space import Ended, Space


def jobs(ended: Ended) -> int:
    """Commands that were jobs."""
    words = ended.err.partition(" in parallel")[0].split()
    return int(words[-1]) if " in parallel" in ended.err else 0


def make_them_slow(space: Space) -> None:
    """What takes a moment only would not be worth a job in the next build."""
    state = Path(space.environment["XDG_STATE_HOME"])
    for path in state.glob("smpmake/projects/*.recipes"):
        version, paths, *lines = path.read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        for row in rows:
            if isinstance(row[-1], list):
                row[2] = 1000  # ms
        path.write_text("\n".join([version, paths, *map(json.dumps, rows)]))


def reached(process: subprocess.Popen[bytes], gates: Sequence[Path]) -> list[int]:
    """Waits until each FIFO has its reader, or the process has ended; returns ends of those that
    have one: who reads goes on when his is closed."""
    open_ones: list[int] = []
    while process.poll() is None and len(open_ones) < len(gates):
        with contextlib.suppress(OSError):  # nobody reads yet
            open_ones.append(os.open(gates[len(open_ones)], os.O_WRONLY | os.O_NONBLOCK))
    return open_ones


def release_together(process: subprocess.Popen[bytes], gates: Sequence[Path]) -> None:
    """Lets those go on who read from FIFOs, once each has its reader; or none, if it has ended."""
    for end in reached(process, gates):
        os.close(end)
