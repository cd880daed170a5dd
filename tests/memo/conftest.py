"""What tests of remembered results share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.remembered import Remembered
from tests.support.results_server import ResultsServer


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
