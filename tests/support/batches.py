"""A batch of random programs, plainly and under smpmake, and what they leave compared."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.support import programs
from tests.support.findings import DifferenceError
from tests.support.space import FIXTURES, Space

DRIVER = str(Path(programs.__file__))


def check(space: Space, seeds: list[int], chaos: int) -> None:
    """Raises DifferenceError where the two do not agree, AssertionError for what is left."""
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
    if ended.status != 0:
        raise DifferenceError(f"chaos {chaos}, seeds {seeds}: status {ended.status}\n{ended.err}")
    tree = space.tree()
    deferred = re.search(r"(\d+) in parallel", ended.err)
    assert deferred is not None, ended.err  # not vacuous
    wrong = {name for name in expected.keys() | tree.keys() if expected.get(name) != tree.get(name)}
    if wrong:
        raise DifferenceError(f"chaos {chaos}, seeds {seeds}: {sorted(wrong)}")
    space.expect_clean()
