"""The least that a serial estimate may be."""

from __future__ import annotations

import pytest

from smpmake.records import Surroundings
from smpmake.timing import analyse
from tests.support.computer import Computer, Task


@pytest.mark.parametrize(("threads", "kept"), [(False, 0.9), (True, 0.6)])
def test_work_beside_other_work_may_be_less_alone(threads: bool, kept: float) -> None:
    """Of two CPUs that are busy all the time the whole of the CPU time is in doubt."""
    build = Computer(2).build([Task(0.001, 0.0, 1.0)] * 40, 2)
    build.surroundings = Surroundings()._replace(threads=threads)
    most = analyse(build).estimated
    assert most.least is not None
    assert most.least.seconds == pytest.approx(kept * most.seconds, rel=0.03)
    assert most.least.speedup == pytest.approx(kept * most.speedup, rel=0.03)


def test_beside_other_programs_all_of_it_is_in_doubt() -> None:
    """Also what ran by itself of the build: it was beside those."""
    build = Computer(2, lambda now: 4).build([Task(0.01, 0.0, 0.5)] * 20, 2)
    most = analyse(build).estimated
    assert most.least is not None
    assert most.least.seconds == pytest.approx(0.8 * most.seconds)


def test_what_ran_by_itself_is_in_no_doubt() -> None:
    alone = Computer(2).build([Task(2.0, 0.0, 0.5)] * 10, 2)  # make is slower than its jobs
    assert analyse(alone).estimated.least is None
    assert analyse(Computer(2).build([Task(0.01, 0.0, 1.0)] * 10, 1)).estimated.least is None


def test_a_build_with_one_slot_has_told() -> None:
    build = Computer(2).build([Task(0.001, 0.0, 1.0)] * 40, 2)
    build.calibration = 0.95
    assert analyse(build).estimated.least is None
