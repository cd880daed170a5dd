"""Whether it can be told how much smpmake helped, and if not, why."""

from __future__ import annotations

from typing import Final, NamedTuple

from smpmake.records import GIVEN_BACK, BuildRecord, WhyNot

_SHORTEST: Final = 2.0  # s: below, starting and ending is too much of it
_LAST_SIGNAL: Final = 64
_FEW: Final = 0.1  # share of the commands whose results may be given back: their work is not known


class Ends(NamedTuple):
    """A range; its ends are the same where the figure is known."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """What is said where one figure is to stand for the range."""
        return (self.low + self.high) / 2


def of_end(head: BuildRecord) -> str:
    """Why nothing can be told of a build that did not come to a good end; "" where it did.

    Where nobody heard of a status nothing has failed.
    """
    if not head.complete:
        return WhyNot.RUNNING if head.running else WhyNot.KILLED
    status = head.known_status or 0
    if not status:
        return ""
    is_signal = 128 < status <= 128 + _LAST_SIGNAL
    return WhyNot.INTERRUPTED if is_signal else WhyNot.FAILED


def why_not(record: BuildRecord, wall: float, *, deferred: int, parallel: str, busy: bool) -> str:
    """Why nobody is told by how much smpmake helped: a WhyNot; "" where they are.

    deferred  how many commands ran in parallel by smpmake.
    parallel  what ran them in parallel without it.
    busy      others wanted too much of the machine (load.py).
    """
    early = of_end(record)
    if early:
        return early
    if record.known_status is None and record.failures:
        return WhyNot.FAILED
    if parallel:
        return WhyNot.PARALLEL_DRIVER
    if not deferred:
        return WhyNot.NO_JOBS
    if wall < _SHORTEST:
        return WhyNot.SHORT
    given = sum(command.detail == GIVEN_BACK for command in record.commands)
    if given > _FEW * deferred:
        return WhyNot.REMEMBERED
    return WhyNot.BUSY if busy else ""


def serial_of(head: BuildRecord) -> Ends | None:
    """Seconds that the plain build takes: as measured, else by the model; None where unknown."""
    if head.serial is not None:
        return Ends(head.serial, head.serial)
    if head.estimate is None:
        return None
    return Ends(head.estimate, head.estimate_most or head.estimate)


def of_head(head: BuildRecord) -> str:
    """The same of a build without its commands, as it was written down at its end."""
    early = of_end(head)
    if early or head.why_not is not None:
        return early or head.why_not or ""
    # Of an older smpmake, which wrote nothing down.
    return WhyNot.SHORT if (head.ended - head.started) / 1e9 < _SHORTEST else ""
