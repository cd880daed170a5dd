"""The status line on a terminal: the last row, kept out of the way of what the driver prints.

The driver writes to the terminal itself, so nothing can be put between its lines.  The terminal is
asked to scroll all rows but the last, and that one is ours: save the cursor (and with it colours),
go there, write, come back, all in one write, which the terminal takes as a whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Final

from smpmake.status.template import Facts, Wording

_SAVE: Final = "\0337"
_RESTORE: Final = "\0338"
_FEWEST_ROWS: Final = 4
_FEWEST_COLUMNS: Final = 20


class StatusLine:
    """Shows nothing where the terminal is too small, or somebody else has it (a job of the shell in
    the foreground)."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._size = (0, 0)  # of the terminal whose last row is ours
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGWINCH, lambda *_: None)  # only so that nobody is interrupted

    def show(self, facts: Facts) -> None:
        """Writes the line."""
        if os.getpgrp() != _foreground_group():
            return
        columns, rows = _terminal_size()
        if rows < _FEWEST_ROWS or columns < _FEWEST_COLUMNS:
            self._give_back()
            return
        prefix = ""
        if (columns, rows) != self._size:
            prefix = self._leave_old_row(rows) + self._reserve(rows)
            self._size = (columns, rows)
        text = self._wording.render(facts)[: columns - 1]
        _write(f"{prefix}{_SAVE}\033[{rows};1H\033[0;7m{text}\033[0m\033[K{_RESTORE}")

    def close(self) -> None:
        """Gives the row back, empty."""
        self._give_back()
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)

    def _give_back(self) -> None:
        rows, self._size = self._size[1], (0, 0)
        if rows:
            _write(f"{_SAVE}\033[r\033[{rows};1H\033[0m\033[2K{_RESTORE}")

    def _leave_old_row(self, rows: int) -> str:
        """After a change of size our old row may be among the driver's: it goes."""
        old = self._size[1]
        if not old:
            return ""
        clear = f"\033[{old};1H\033[0m\033[2K" if old < rows else ""
        return f"{_SAVE}\033[r{clear}{_RESTORE}"

    @staticmethod
    def _reserve(rows: int) -> str:
        """Makes room below the cursor (a new line, then back up) and fixes the scrolled part."""
        return f"\033D\033M{_SAVE}\033[1;{rows - 1}r{_RESTORE}"


def wanted(wording: Wording, environ: dict[str, str]) -> bool:
    """Whether there is a terminal, ours, on which a line may be."""
    return (
        wording.wanted
        and os.isatty(2)
        and environ.get("TERM", "dumb") != "dumb"
        and os.getpgrp() == _foreground_group()
    )


def _terminal_size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return (0, 0)
    return (size.columns, size.lines)


def _write(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="replace"))


def _foreground_group() -> int:
    try:
        return os.tcgetpgrp(2)
    except OSError:
        return -1
