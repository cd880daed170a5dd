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

    def __init__(self, wording: Wording, *, has_bar: bool = False) -> None:
        self._wording = wording
        self._has_bar = has_bar
        self._is_barred = False
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
        text = self._wording.render(facts, columns - 1)
        color = "0;7;31" if facts.failed else "0;7"
        place = f"{_SAVE}\033[{rows};1H\033[{color}m{text}\033[0m\033[K{_RESTORE}"
        _write(f"{prefix}{place}{self._bar(facts)}")

    def close(self) -> None:
        """Gives the row back, empty."""
        self._give_back()
        if self._is_barred:
            _write("\033]9;4;0;\033\\")
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)

    def _bar(self, facts: Facts) -> str:
        """For the terminal's own bar (ConEmu's OSC 9;4): how much is done, if that is known."""
        if not self._has_bar:
            return ""
        state = 2 if facts.failed else 1 if facts.fraction is not None else 3
        self._is_barred = True
        return f"\033]9;4;{state};{int((facts.fraction or 0.0) * 100)}\033\\"

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


def has_bar(environ: dict[str, str]) -> bool:
    """Whether the terminal is one of those that show how far a program is."""
    known = environ.get("TERM_PROGRAM") in ("ghostty", "WezTerm", "iTerm.app")
    return known or "WT_SESSION" in environ or environ.get("ConEmuANSI") == "ON"


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
