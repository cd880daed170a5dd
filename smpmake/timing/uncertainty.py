"""How far a serial estimate may be off: what runs beside other work takes more CPU time for it.

CPUs share caches, memory and power, and two threads of a core share nearly everything.  How much
that costs only the same commands in a build with one slot tell (calibration.py); without one the
estimate is a range.
"""

from __future__ import annotations

from typing import Final

from smpmake.records import BuildRecord
from smpmake.timing.serial import Serial
from smpmake.timing.spans import Concurrency

#: Of the CPU time that work takes beside other work so much is the least that it takes alone:
#: 10 % is what cores lose to each other, and two threads of one core do the work of 1.2 or more.
_CORES: Final = 0.9
_THREADS: Final = 0.6
_WORTH_SAYING: Final = 0.03  # of the estimate


def least(record: BuildRecord, work: Serial, beside: Concurrency) -> float:
    """Seconds that the serial build takes at least; the estimate itself where that will do."""
    if record.calibration is not None or min(record.slots, record.cpus) < 2:
        return work.work
    ran = sum(number * seconds for number, seconds in enumerate(beside.seconds))
    together = ran - sum(beside.seconds[1:2])
    if ran <= 0:
        return work.work
    kept = _THREADS if record.surroundings.threads else _CORES
    off = (1 - kept) * work.cpu * together / ran
    return work.work - off if off > _WORTH_SAYING * work.work else work.work
