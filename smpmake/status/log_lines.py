"""Where there is no terminal: whole lines, now and then, so that a log of hours shows life."""

from __future__ import annotations

import contextlib
import os
from typing import Final

from smpmake.status.template import Facts, Wording

#: Seconds between two lines.
INTERVAL: Final = 30.0


class LogLines:
    """Writes a line when `interval` seconds have passed since the last; 0: never."""

    def __init__(self, wording: Wording, interval: float, fd: int = 2) -> None:
        self._wording = wording
        self._interval = interval
        self._fd = fd
        self._last = 0.0

    def show(self, facts: Facts) -> None:
        """A moment of the build; most are passed over."""
        if not self._wording.wanted or self._interval <= 0:
            return
        if facts.elapsed - self._last < self._interval:
            return
        self._last = facts.elapsed
        line = f"{self._wording.render(facts)}\n".encode(errors="replace")
        with contextlib.suppress(OSError):
            os.write(self._fd, line)  # one write: nobody's line comes between

    def close(self) -> None:
        """Nothing is left behind."""


def interval_of(environ: dict[str, str], *, terminal: bool) -> float:
    """Seconds between lines: as SMPMAKE_STATUS_INTERVAL says; else 30 in CI, never elsewhere."""
    text = environ.get("SMPMAKE_STATUS_INTERVAL", "")
    if text:
        with contextlib.suppress(ValueError):
            return max(0.0, float(text))
    in_ci = bool(environ.get("CI") or environ.get("GITHUB_ACTIONS"))
    return INTERVAL if in_ci and not terminal else 0.0
