"""How busy the CPUs are that a build may use, as /proc says: by everybody, since the last look; and
how much memory is in use."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from typing import NamedTuple

from smpmake import cpus


class Moment(NamedTuple):
    """Since the look before: shares of the CPUs' time, see records.Sample."""

    busy: float
    stolen: float
    pressure: float


class Machine:
    """Looks at the CPUs now and then.

    A build's own processes cannot be asked one by one: compilers reap their parts themselves.
    What others took is what was busy and was not ours.

    own   the CPUs that count.  read, now: /proc and the clock; tests have others.
    """

    def __init__(
        self,
        own: Set[int] | None = None,
        read: Callable[[str], str] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = frozenset(cpus.allowed()) if own is None else own
        self._read = read or _read
        self._now = now
        self._last = Moment(0.0, 0.0, -1.0)
        self._before = self._look()

    @property
    def count(self) -> int:
        """How many CPUs that are."""
        return len(self._own)

    def look(self) -> Moment:
        """What has been since the last time.  Raises OSError where /proc cannot be read."""
        before, after = self._before, self._look()
        passed, busy, stolen = (b - a for a, b in zip(before[:3], after[:3], strict=True))
        if passed <= 0 or after.at <= before.at:  # too soon to say
            return self._last
        self._before = after
        pressure = -1.0
        if before.waited is not None and after.waited is not None:
            pressure = min(1.0, max(0.0, (after.waited - before.waited) / (after.at - before.at)))
        self._last = Moment(_share(busy, passed), _share(stolen, passed), pressure)
        return self._last

    def _look(self) -> _Counts:
        passed = busy = stolen = 0
        for line in self._read("/proc/stat").splitlines():
            name, *words = line.split()
            if not name.startswith("cpu"):
                break
            if name[3:].isdigit() and int(name[3:]) in self._own:
                # user nice system idle iowait irq softirq steal; guests are in user and nice
                ticks = [int(word) for word in words[:8]]
                passed += sum(ticks)
                busy += sum(ticks) - sum(ticks[3:5])
                stolen += ticks[7] if len(ticks) > 7 else 0
        return _Counts(passed, busy, stolen, self._waited(), self._now())

    def _waited(self) -> float | None:
        try:
            some = self._read("/proc/pressure/cpu").partition("total=")[2].split(maxsplit=1)[0]
            return int(some) / 1e6
        except (OSError, ValueError, IndexError):  # a kernel that does not measure it
            return None


class _Counts(NamedTuple):
    """Ticks of all CPUs that count; seconds that somebody waited; when."""

    passed: int
    busy: int
    stolen: int
    waited: float | None
    at: float


def _share(part: int, whole: int) -> float:
    return min(1.0, max(0.0, part / whole))


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def memory(read: Callable[[str], str] = _read) -> tuple[int, int]:
    """Bytes of memory that the machine has, and how many of them are in use.  Raises OSError."""
    found = {}
    for line in read("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        found[name] = int(rest.split()[0]) * 1024
    total = found.get("MemTotal", 0)
    free = found.get("MemAvailable", found.get("MemFree", 0))
    return total, max(0, total - free)
