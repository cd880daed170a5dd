"""What was printed live in a run of the driver that is undone: it is not printed once more."""

from __future__ import annotations

from collections import Counter

from smpmake.protocol.wire import Invoke


class Shown:
    """Of one build: what its commands have printed, where the user has seen it."""

    def __init__(self) -> None:
        self._before: Counter[int] = Counter()
        self._now: Counter[int] = Counter()
        self._last = 0  # what a shim has been told to print, and has perhaps not printed yet

    def start_over(self, *, killed: bool) -> None:
        """The driver is run again, and comes to the same commands.

        killed  so that the last of its shims may not have come to print.
        """
        if killed and self._last:
            self._now[self._last] -= 1
        self._before |= self._now
        self._now = Counter()

    def heard(self) -> None:
        """The driver has gone on behind its last shim."""
        self._last = 0

    def is_new(self, invoke: Invoke, text: bytes, *, by_shim: bool = False) -> bool:
        """Whether a command's text is to be printed: as often as one run of the driver has it."""
        key = hash((invoke.cwd, invoke.argv, text))
        self._now[key] += 1
        if by_shim:
            self._last = key
        return self._now[key] > self._before[key]
