"""Random programs under smpmake do what they do serially (promise P1)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import programs
from tests.support.space import FIXTURES, Space

pytestmark = pytest.mark.slow
DRIVER = str(Path(programs.__file__))


def check(space: Space, seeds: list[int], chaos: int) -> None:
    """A batch of programs, plainly and under smpmake."""
    tools = space.root / "tools"
    if not tools.exists():
        tools.mkdir()
        source = FIXTURES / "compiler" / "compiler.c"
        space.ok("cc", "-O1", "-o", str(tools / "gcc"), str(source))
    batch = json.dumps([programs.program(seed) for seed in seeds])
    (space.root / "batch").write_text(batch)
    path = f"{tools}:{space.environment['PATH']}"
    command = [sys.executable, "-I", DRIVER, str(space.root / "batch")]
    space.clear()
    plain = space.run(*command, PATH=path)
    assert plain.status == 0, plain.err
    expected = space.tree()
    space.clear()
    ended = space.smpmake("-j3", "--chaos", str(chaos), "--", *command, PATH=path)
    assert ended.status == 0, ended.err
    tree = space.tree()
    deferred = re.search(r"(\d+) deferred", ended.err)
    assert deferred is not None, ended.err  # not vacuous
    wrong = {name for name in expected.keys() | tree.keys() if expected.get(name) != tree.get(name)}
    assert not wrong, f"chaos {chaos}, seeds {seeds}: {sorted(wrong)}"
    space.expect_clean()


seeds = st.lists(st.integers(0, 2**40), min_size=20, max_size=60)
together = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=False
)


@settings(together, max_examples=2)
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
