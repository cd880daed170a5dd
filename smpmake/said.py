"""What smpmake says to its user: all of it goes through here, so that names are only ever shown.

A file may be called what a terminal obeys; no message of ours passes that on.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from smpmake.units import one_line

_FORMAT: Final = "smpmake: %(message)s"


def say(text: str) -> None:
    """A message, in one line, on stderr."""
    print(f"smpmake: {one_line(text)}", file=sys.stderr, flush=True)


def show(text: str) -> None:
    """A line of an answer, on stdout."""
    print(one_line(text))


class _Formatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return one_line(super().formatMessage(record))


def say_what_is_logged(level: int) -> None:
    """Messages of the log from a level on go to stderr, too."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(_FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
