"""What is logged, as the user sees it."""

from __future__ import annotations

import logging
from typing import Final

from smpmake.units import one_line

_FORMAT: Final = "smpmake: %(message)s"


class _Formatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return one_line(super().formatMessage(record))


def say_what_is_logged(level: int) -> None:
    """Messages of the log from a level on go to stderr, too."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(_FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
