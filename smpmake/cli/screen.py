"""What stdout is, for the reports that are printed there."""

from __future__ import annotations

import os
import shutil
import sys

from smpmake.console import use_color
from smpmake.reports.grid import Look

_PIPE = 100  # columns where nobody says how many there are


def look(*, least: int = 40, most: int = 200, pipe: int = _PIPE) -> Look:
    """Frames and colours are for people alone; COLUMNS says how wide lines may be, else the
    terminal, and what reads a pipe gets `pipe`."""
    columns = shutil.get_terminal_size((pipe, 24)).columns
    is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return Look(
        max(least, min(columns, most)),
        frames=is_terminal,
        color=is_terminal and use_color("auto", is_terminal),
    )
