"""Makefiles that forgot something are told of it; their twins are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.checking.makefiles import CASES, Case, checked
from tests.checking.mended import MENDED


@pytest.mark.parametrize("case", [*CASES, *MENDED], ids=lambda case: case.name)
def test_what_is_missing_is_found(tmp_path: Path, make: str, case: Case) -> None:
    result = checked(tmp_path, case.wrong, case.more, make)
    found = {
        (each.kind, os.path.relpath(path, tmp_path))
        for each in result.advices
        for path in each.paths
    }
    assert result.status == 0
    assert (case.kind, case.path) in found


@pytest.mark.parametrize("case", [*CASES, *MENDED], ids=lambda case: case.name)
def test_a_makefile_that_says_all_has_no_finding(tmp_path: Path, make: str, case: Case) -> None:
    if case.newer and make == "make":
        pytest.skip("make 4.3 does not know this")
    result = checked(tmp_path, case.right, case.more, make)
    assert result.status == 0
    assert result.advices == []
    assert result.looked_at > 0
