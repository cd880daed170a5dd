"""Random programs under smpmake do what they do serially (promise P1)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.batches import check
from tests.support.space import Space

pytestmark = pytest.mark.slow

seeds = st.lists(st.integers(0, 2**40), min_size=20, max_size=60)
together = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=False
)


@settings(together, max_examples=1)
@given(seeds, st.integers(0, 2**20))
def test_p1_random_programs(space: Space, seeds: list[int], chaos: int) -> None:
    check(space, seeds, chaos)


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(4))
@settings(together, max_examples=15)
@given(seeds=seeds, chaos=st.integers(0, 2**20))
def test_p1_thousands_of_random_programs(
    space: Space, part: int, seeds: list[int], chaos: int
) -> None:
    check(space, seeds, chaos)
