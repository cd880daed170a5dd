"""The least that a serial estimate may be."""

from __future__ import annotations

import pytest

from smpmake.records import BuildRecord, Surroundings
from smpmake.timing import analyse
from tests.support.computer import Computer, Task


def is_known(record: BuildRecord) -> bool:
    low, high = analyse(record).estimated.seconds
    return low == high


@pytest.mark.parametrize(("threads", "kept"), [(False, 0.9), (True, 0.6)])
def test_work_beside_other_work_may_be_less_alone(threads: bool, kept: float) -> None:
    """Of two CPUs that are busy all the time the whole of the CPU time is in doubt."""
    build = Computer(2).build([Task(0.001, 0.0, 1.0)] * 40, 2)
    build.surroundings = Surroundings()._replace(threads=threads)
    estimated = analyse(build).estimated
    for low, high in (estimated.seconds, estimated.speedup):
        assert low == pytest.approx(kept * high, rel=0.03)
    middle = estimated.speedup.middle
    assert middle == pytest.approx((1 + kept) / 2 * estimated.speedup.high, rel=0.03)


def test_what_ran_by_itself_is_in_no_doubt() -> None:
    alone = Computer(2).build([Task(2.0, 0.0, 0.5)] * 10, 2)  # make is slower than its jobs
    assert is_known(alone)
    assert is_known(Computer(2).build([Task(0.01, 0.0, 1.0)] * 10, 1))


def test_a_build_with_one_slot_has_told() -> None:
    build = Computer(2).build([Task(0.001, 0.0, 1.0)] * 40, 2)
    build.calibration = 0.95
    assert is_known(build)
