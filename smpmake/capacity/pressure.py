"""What keeps jobs from beginning where the user wants a machine kept free for others: stalls, by
the kernel's pressure stall information, and the load.

https://docs.kernel.org/accounting/psi.html
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Final

from smpmake import cpus
from smpmake.capacity.table import Wait

_FRESH: Final = 0.5  # s that a look holds
_WINDOW: Final = 2.0  # s over which stalls are counted, as the kernel's own triggers
_EASED: Final = 0.5  # of the limit: from here on jobs begin again
_WHAT: Final = ("memory", "io")
_LOAD: Final = "/proc/loadavg"
_SIZE: Final = 256


class Pressure:
    """One per engine.

    stalls  per cent of the time in which all who would work waited for memory, or for disks
            (`full`): above it no job begins beside others, until it is half as much; 0: no look.
    load    as many processes may run on the machine when a job begins; None for any number.
    read    what a file says, "" where there is none; files stay open: a look costs little.
    """

    def __init__(
        self,
        stalls: int = 0,
        load: float | None = None,
        read: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = stalls / 100
        self._load = load
        self._files = OpenFiles()
        self._read = read or self._files.read
        self._clock = clock
        self._is_high = False
        self._counted: tuple[float, list[int]] | None = None  # when, and how much until then
        self._looked = -1e9
        self._found = Wait.NOTHING

    def holds(self) -> Wait:
        """What keeps a job from beginning beside others; NOTHING if nothing does."""
        if not self._limit and self._load is None:
            return Wait.NOTHING
        now = self._clock()
        if now - self._looked >= _FRESH:
            self._looked = now
            self._found = self._look(now)
        return self._found

    def _look(self, now: float) -> Wait:
        if self._limit:
            self._count(now)
        if self._is_high:
            return Wait.PRESSURE
        if self._load is not None and _running(self._read(_LOAD)) >= self._load:
            return Wait.LOAD
        return Wait.NOTHING

    def _count(self, now: float) -> None:
        if self._counted is not None and now - self._counted[0] < _WINDOW:
            return
        before, self._counted = self._counted, (now, [self._stalled(what) for what in _WHAT])
        if before is not None:
            most = max(b - a for a, b in zip(before[1], self._counted[1], strict=True))
            limit = self._limit * (_EASED if self._is_high else 1)
            self._is_high = most / 1e6 / (now - before[0]) >= limit

    def _stalled(self, what: str) -> int:
        """Of what is in our cgroup; of the machine where that is all, or nobody measures it."""
        folder = self._files.folder
        ours = self._read(f"{folder}/{what}.pressure") if folder else ""
        return stalled_us(ours or self._read(f"/proc/pressure/{what}"))

    def close(self) -> None:
        """Once."""
        self._files.close()


class OpenFiles:
    """The kernel's files that are read again and again."""

    def __init__(self) -> None:
        self._fds: dict[str, int] = {}
        two, _ = cpus.cgroup_folders("memory")
        self.folder = two[0] if len(two) > 1 else ""

    def read(self, path: str) -> str:
        """What one says now; "" where it is not there."""
        if path not in self._fds:
            self._fds[path] = -1
            with contextlib.suppress(OSError):
                self._fds[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        fd = self._fds[path]
        with contextlib.suppress(OSError):
            return os.pread(fd, _SIZE, 0).decode() if fd >= 0 else ""
        return ""

    def close(self) -> None:
        """Once."""
        for fd in self._fds.values():
            if fd >= 0:
                os.close(fd)
        self._fds.clear()


def stalled_us(text: str) -> int:
    """Microseconds since the start, by such a file; 0 where it does not say."""
    for line in text.splitlines():
        if line.startswith("full "):
            with contextlib.suppress(ValueError, IndexError):
                return int(line.partition("total=")[2].split()[0])
    return 0


def _running(text: str) -> int:
    """Processes that run or could, but for ourselves; as make counts them, since the load average
    is a minute late."""
    with contextlib.suppress(ValueError, IndexError):
        return int(text.split()[3].partition("/")[0]) - 1
    return 0
