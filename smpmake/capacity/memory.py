"""How many jobs may run by the memory that they will need and the memory that is free."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import product
from typing import Final

from smpmake import cpus
from smpmake.config import Settings
from smpmake.schedule.job import Job

_FRESH: Final = 0.1  # s that a measurement holds
_FRESH_IF_AMPLE: Final = 1.0  # and where twice as much was free as is needed
_AMPLE: Final = 2 << 30  # bytes a slot: 99 of 100 compilers need less
_RESERVE: Final = 0.05  # of the machine's memory
_MOST_RESERVE: Final = 1 << 30
#: What is said of a cgroup of version 2, and of version 1: its limit, what it uses, and in
#: memory.stat the file pages that it would give back.
_TWO: Final = ("memory.max", "memory.current", "inactive_file")
_ONE: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available(read: Callable[[str], str | None] = cpus.read_text) -> int:
    """Bytes that could be had without anybody losing any: the machine's, and our cgroups'."""
    found = [
        int(line.split()[1]) * 1024
        for line in (read("/proc/meminfo") or "").splitlines()
        if line.startswith("MemAvailable:")
    ]
    two, one = cpus.cgroup_folders("memory", read)
    for folder, (limit, usage, cache) in [*product(two, [_TWO]), *product(one, [_ONE])]:
        most = (read(f"{folder}/{limit}") or "").strip()
        if not most.isdigit() or int(most) >= 1 << 60:
            continue
        used = (read(f"{folder}/{usage}") or "").strip()
        if used.isdigit():
            found.append(max(0, int(most) - int(used) + _cached(read, folder, cache)))
    return min(found, default=1 << 62)


def _cached(read: Callable[[str], str | None], folder: str, name: str) -> int:
    """File pages that the cgroup would give back before it is at its limit."""
    for line in (read(f"{folder}/memory.stat") or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0


class Memory:
    """One per engine.

    slots    how many jobs may run, if there is memory for them.
    reserve  bytes that stay free, -1 for no such rule at all.
    needs    how many bytes a job will need; that may be known better later.

    awaits_forecast  earlier builds are being looked at: until then one job at a time runs if
                     memory is short.

    What runs will come to have all that it needs, and has some of it already; how much, the
    kernel tells with a delay.  So what is free is measured when nothing runs, and from then on
    is believed to be less, when it has become less, but not more.
    """

    def __init__(
        self,
        slots: int,
        reserve: int,
        needs: Callable[[Job], int],
        free: Callable[[], int] = available,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = slots
        self._reserve = reserve
        self._needs = needs
        self._free = free
        self._clock = clock
        self._measured: tuple[float, int] = (-1e9, 0)
        self._for_jobs = free() if reserve >= 0 else 0
        self._running: set[Job] = set()
        self.awaits_forecast = False

    def fits(self, job: Job, *, alone: bool) -> bool:
        """Whether a job may start beside those that run; if so, it is taken to run from now on.

        One that is alone always may.
        """
        if self._reserve < 0:
            return True
        if alone:
            self._for_jobs = self._free_now()
        elif (self.awaits_forecast and self._is_scarce()) or not self._has_room(self._needs(job)):
            return False
        self._running.add(job)
        return True

    def _is_scarce(self) -> bool:
        """Whether so little is free that usual jobs could be too large."""
        return self._for_jobs - self._reserve < self._slots * _AMPLE

    def _has_room(self, needs: int) -> bool:
        running = sum(map(self._needs, self._running))
        wanted = needs + running + self._reserve
        fresh = _FRESH_IF_AMPLE if 2 * wanted <= self._for_jobs else _FRESH
        self._for_jobs = min(self._for_jobs, self._free_now(fresh) + running)
        return wanted <= self._for_jobs

    def ended(self, job: Job) -> None:
        """A job has left."""
        self._running.discard(job)

    def _free_now(self, fresh: float = _FRESH) -> int:
        now = self._clock()
        if now - self._measured[0] > fresh:
            self._measured = (now, self._free())
        return self._measured[1]


def reserve_of(settings: Settings) -> int:
    """Bytes of memory that jobs leave free, -1 if memory is not looked at."""
    if settings.memory is None:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return min(_MOST_RESERVE, int(total * _RESERVE))
    return settings.memory
