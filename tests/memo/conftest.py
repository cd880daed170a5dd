"""What tests of remembered results share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.protocol import layout
from tests.support.remembered import Remembered, settle
from tests.support.results_server import ResultsServer


@pytest.fixture(scope="session", autouse=True)
def remembers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """From glibc 2.41 on a tool's harmless random numbers look like any others (docs/memo.md)."""
    one = Remembered(tmp_path_factory.mktemp("remembers"))
    (one.folder / "conftest.c").write_text("int a;\n")
    settle(one.folder)
    one.run("gcc", "-c", "conftest.c")
    unkept = one.told.unkept
    one.close()
    if unkept == {layout.MEMO_RANDOM: 1}:
        pytest.skip("here every tool asks for random numbers: nothing is remembered")


@pytest.fixture
def remembered(tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(tmp_path)
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[ResultsServer]:
    made = ResultsServer()
    yield made
    made.close()
