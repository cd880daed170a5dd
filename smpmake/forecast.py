"""What earlier builds of a project let us expect of its commands: their time, their memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from smpmake.records import Past


class Forecast(NamedTuple):
    """By first output.

    sequel  the fullest build's jobs in order of issue: output and seconds.
    """

    past: Mapping[str, Past] = MappingProxyType({})
    sequel: tuple[tuple[str, float], ...] = ()

    def work(self, output: str) -> float | None:
        """Seconds that a command's work took, of CPU here or on the machine that did it; None if it
        is new."""
        known = self.past.get(output)
        return (known.elsewhere or known.cpu) if known is not None else None

    def memory(self, output: str) -> int | None:
        """KiB that a command took at most; None if it is new."""
        known = self.past.get(output)
        return known.max_rss if known is not None else None
