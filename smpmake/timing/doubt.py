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
#: Beside other programs the serial build shares CPUs, too, but is interrupted less often than more
#: processes are: 5 % less CPU time was measured with compiles of 0.2 s, 20 % with such of 0.04 s.
_INTERRUPTED: Final = 0.8
_WORTH_SAYING: Final = 0.03  # of the estimate


def least(record: BuildRecord, work: Serial, beside: Concurrency) -> float | None:
    """Seconds that the serial build takes at least; None where the estimate itself will do."""
    if record.calibration is not None or min(record.slots, record.cpus) < 2:
        return None
    if work.load.heavy:
        return _INTERRUPTED * work.estimate
    ran = sum(number * seconds for number, seconds in enumerate(beside.seconds))
    together = ran - sum(beside.seconds[1:2])
    if ran <= 0:
        return None
    kept = _THREADS if record.surroundings.threads else _CORES
    off = (1 - kept) * work.cpu * together / ran
    return work.estimate - off if off > _WORTH_SAYING * work.estimate else None
