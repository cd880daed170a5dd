"""The clock that the engine goes by, so that tests can hold it in their hands."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """What time it is, and who wakes us."""

    def now(self) -> int:
        """Monotonic, ns."""

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Does something after a while."""


class LoopClock:
    """The real one: the system's clock, the event loop's timers."""

    def now(self) -> int:
        """See Clock."""
        return time.monotonic_ns()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """See Clock."""
        asyncio.get_running_loop().call_later(seconds, action)
