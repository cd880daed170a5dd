"""How many CPUs a build may use (affinity and cgroup quota, never an error); what we have used."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Callable


class Usable:
    """The count, and how it came about.  quota: CPUs' worth of time, None without one."""

    __slots__ = ("affinity", "count", "online", "quota")

    def __init__(self, count: int, online: int, affinity: int, quota: float | None) -> None:
        self.count = count
        self.online = online
        self.affinity = affinity
        self.quota = quota

    @property
    def explanation(self) -> str:
        """For a person."""
        quota = "no cgroup quota" if self.quota is None else f"a cgroup quota of {self.quota:g}"
        return f"{self.online} online, {self.affinity} by affinity, {quota}"


def read_text(path: str) -> str | None:
    """A small file of the kernel's, or None."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode()
    except (OSError, ValueError):
        return None


def cgroup_folders(
    controller: str, read: Callable[[str], str | None] = read_text
) -> tuple[list[str], list[str]]:
    """Folders from our own cgroup up to the root: (version 2, a controller's of version 1)."""
    two, one = [], []
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        parts = [part for part in path.split("/") if part]
        chain = ["/".join(parts[:n]) for n in range(len(parts), -1, -1)]
        if controllers == "":
            two = [f"/sys/fs/cgroup/{part}".rstrip("/") for part in chain]
        elif controller in controllers.split(","):
            one = [f"/sys/fs/cgroup/{controller}/{part}".rstrip("/") for part in chain]
    return two or ["/sys/fs/cgroup"], one


def quota(read: Callable[[str], str | None] = read_text) -> float | None:
    """The smallest CPU quota on the way from our cgroup to the root, in CPUs, or None."""
    found = []
    two, one = cgroup_folders("cpu", read)
    for folder in two:
        words = (read(f"{folder}/cpu.max") or "").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            found.append(int(words[0]) / int(words[1]))
    for folder in one:
        limit = (read(f"{folder}/cpu.cfs_quota_us") or "").strip()
        period = (read(f"{folder}/cpu.cfs_period_us") or "").strip()
        if limit.isdigit() and period.isdigit() and int(period):
            found.append(int(limit) / int(period))
    return min((q for q in found if q > 0), default=None)


def usable(read: Callable[[str], str | None] = read_text) -> Usable:
    """What a build may use; at least 1."""
    online = os.cpu_count() or 1
    try:
        affinity = len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):
        affinity = online
    limit = quota(read)
    count = affinity if limit is None else min(affinity, max(1, math.floor(limit + 0.01)))
    return Usable(max(1, count), online, affinity, limit)


def allowed() -> list[int]:
    """The CPUs that this process may run on."""
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return list(range(os.cpu_count() or 1))


def own_cpu_us() -> int:
    """Microseconds of CPU that this process has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e6)
