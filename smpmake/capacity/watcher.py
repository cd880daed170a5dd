"""When processes end that are not our children: a pidfd tells.

https://man7.org/linux/man-pages/man2/pidfd_open.2.html
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable


class ProcessWatcher:
    """Those whose end somebody waits for."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def watch(self, pid: int, then: Callable[[], None]) -> bool:
        """Calls `then` when a process has ended; False where that cannot be told."""
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            return False

        def on_end() -> None:
            self._let_go(pidfd)
            then()

        self._open.add(pidfd)
        asyncio.get_running_loop().add_reader(pidfd, on_end)
        return True

    def close(self) -> None:
        """Watches nobody any more."""
        for pidfd in list(self._open):
            self._let_go(pidfd)

    def _let_go(self, pidfd: int) -> None:
        asyncio.get_running_loop().remove_reader(pidfd)
        self._open.discard(pidfd)
        os.close(pidfd)
