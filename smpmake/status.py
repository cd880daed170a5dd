"""The status line on a terminal: the last row, kept out of the way of what the driver prints.

The driver writes to the terminal itself, so nothing can be put between its lines.  The terminal is
asked to scroll all rows but the last, and that one is ours: save the cursor, go there, write, come
back, all in one write, which the terminal takes as a whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Final

from smpmake.records import Sample

_SAVE: Final = "\0337"
_RESTORE: Final = "\0338"


class StatusLine:
    """Does nothing where stderr is no terminal, is too small, or the user wants quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._size = (0, 0)
        self._shown = False
        self._wanted = (
            not quiet
            and sys.stderr.isatty()
            and os.environ.get("TERM", "dumb") != "dumb"
            and os.getpgrp() == _foreground_group()
        )
        if self._wanted:
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGWINCH, lambda *_: self._resized())

    def show(self, sample: Sample) -> None:
        """Writes the line."""
        if not self._wanted:
            return
        size = os.get_terminal_size(2)
        columns, rows = size
        if rows < 4 or columns < 20:
            return
        prefix = self._reserve(rows) if size != self._size else ""
        self._size = (columns, rows)
        text = (
            f"smpmake: {sample.done} done, {sample.running} running, {sample.queued} queued, "
            f"CPU {sample.cpu:.0%}"
        )
        line = f"{prefix}{_SAVE}\033[{rows};1H\033[2K\033[7m{text[: columns - 1]}\033[0m{_RESTORE}"
        self._write(line)
        self._shown = True

    def close(self) -> None:
        """Gives the row back, empty."""
        if self._shown:
            rows = self._size[1]
            self._write(f"{_SAVE}\033[r\033[{rows};1H\033[2K{_RESTORE}")
            self._shown = False
        if self._wanted:
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGWINCH, signal.SIG_DFL)

    def _reserve(self, rows: int) -> str:
        """Makes room below the cursor (a new line, then back up) and fixes the scrolled part."""
        return f"\n\033[A{_SAVE}\033[1;{rows - 1}r{_RESTORE}"

    def _resized(self) -> None:
        self._size = (0, 0)

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(2, text.encode())


def _foreground_group() -> int:
    try:
        return os.tcgetpgrp(2)
    except OSError:
        return -1
