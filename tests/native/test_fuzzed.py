"""Whatever the native programs read, they read nothing else (libFuzzer with sanitizers)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.fuzzing import TARGETS, fuzz
from tests.support import needs

pytestmark = pytest.mark.slow


@pytest.mark.chaos
@pytest.mark.parametrize("name", TARGETS)
def test_a_target(tmp_path: Path, name: str) -> None:
    needs.require("clang", "-fsanitize=address")
    fuzz(name, tmp_path, seed=1, runs=20_000)
