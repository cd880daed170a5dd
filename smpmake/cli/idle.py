"""The last build that called no known tool and went well: the history has none of these, and a
report is not to take an older build for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from smpmake import folders, private


class Idle(NamedTuple):
    """When it ended, s since the epoch, in which folder, and its command."""

    ended: float
    cwd: str
    command: str


def note(command: Sequence[str]) -> None:
    """Writes it down; a build does not depend on that."""
    try:
        text = "\n".join((str(time.time()), os.getcwd(), " ".join(command)))
        path = folders.state() / "idle"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, os.fsencode(text))
        finally:
            os.close(fd)
    except (OSError, folders.NoHomeError):
        pass


def last() -> Idle | None:
    """None where there was none, or nobody can say."""
    try:
        ended, cwd, command = os.fsdecode(private.read(folders.state() / "idle")).split("\n", 2)
        return Idle(float(ended), cwd, command)
    except (OSError, ValueError, folders.NoHomeError):
        return None
