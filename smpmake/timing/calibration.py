"""By how much several CPUs at once make CPU time longer: they may share a core, or slow down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from smpmake.records import BuildRecord

_ENOUGH: Final = 0.5  # share of a build's CPU time that must be known for one slot


def calibrated(record: BuildRecord, single: Mapping[str, float]) -> float | None:
    """What one slot takes of CPU time for the work of this build, as a share of what it took here.

    single  CPU seconds with one slot, by first output.  None if it tells of too little; never above
    1, because more CPUs do not make work less.
    """
    here = there = every = 0.0
    for command in record.commands:
        if command.verdict != "deferred" or command.state != "done":
            continue
        every += command.cpu
        if command.outputs and command.outputs[0] in single:
            here += command.cpu
            there += single[command.outputs[0]]
    if here <= 0 or there <= 0 or here < _ENOUGH * every:
        return None
    return min(1.0, there / here)
