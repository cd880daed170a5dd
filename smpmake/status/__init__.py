"""What is shown while a build runs: a line on a terminal, plain lines in a log."""

from __future__ import annotations

import os
from typing import Protocol

from smpmake.status import line, log_lines
from smpmake.status.template import Facts, Wording


class Display(Protocol):
    """Where a build's moments are shown."""

    def show(self, facts: Facts) -> None:
        """A moment."""

    def close(self) -> None:
        """The build is over: nothing of us may be left."""


def display(wording: Wording, *, quiet: bool) -> Display:
    """The one that fits where stderr goes."""
    environ = dict(os.environ)
    if quiet:
        return log_lines.LogLines(wording, 0)
    if line.wanted(wording, environ):
        return line.StatusLine(wording, has_bar=line.has_bar(environ))
    return log_lines.LogLines(wording, log_lines.interval_of(environ, terminal=os.isatty(2)))
