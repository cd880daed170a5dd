"""Whether this machine is so short of memory or disks, or so busy, that one more job would only
make it worse: the kernel's pressure stall information, and the load for who named a limit.

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
#: `full`, of the last 10 s: per cent of the time in which all who would work waited for it.  Above
#: the first no job begins beside others, until it is below the second.
LIMITS: Final = {"memory": (20.0, 10.0), "io": (50.0, 25.0)}
_LOAD: Final = "/proc/loadavg"
_SIZE: Final = 256


class Pressure:
    """One per engine.

    load  as many processes may run on the machine when a job begins; None for any number.
    read  what a file says, "" where there is none; files stay open, so that a look costs little.
    """

    def __init__(
        self,
        load: float | None = None,
        read: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._files = OpenFiles()
        self._read = read or self._files.read
        self._clock = clock
        self._high = dict.fromkeys(LIMITS, False)
        self._looked = -1e9
        self._found = Wait.NOTHING

    def holds(self) -> Wait:
        """What keeps a job from beginning beside others; NOTHING if nothing does."""
        now = self._clock()
        if now - self._looked >= _FRESH:
            self._looked = now
            self._found = self._look()
        return self._found

    def _look(self) -> Wait:
        for what, (above, below) in LIMITS.items():
            full = full_of(self._of_cgroup(what) or self._read(f"/proc/pressure/{what}"))
            self._high[what] = full >= (below if self._high[what] else above)
        if any(self._high.values()):
            return Wait.PRESSURE
        if self._load is not None and _running(self._read(_LOAD)) >= self._load:
            return Wait.LOAD
        return Wait.NOTHING

    def _of_cgroup(self, what: str) -> str:
        """Of what is in our cgroup; "" where that is the whole machine, or nobody measures it."""
        folder = self._files.folder
        return self._read(f"{folder}/{what}.pressure") if folder else ""

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


def full_of(text: str) -> float:
    """Per cent of the last 10 s, by such a file; 0 where it does not say."""
    for line in text.splitlines():
        if line.startswith("full "):
            with contextlib.suppress(ValueError, IndexError):
                return float(line.partition("avg10=")[2].split()[0])
    return 0.0


def _running(text: str) -> int:
    """Processes that run or could, but for ourselves; as make counts them, since the load average
    is a minute late."""
    with contextlib.suppress(ValueError, IndexError):
        return int(text.split()[3].partition("/")[0]) - 1
    return 0
