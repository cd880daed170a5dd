"""What tests of remembered results share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.remembered import Remembered


@pytest.fixture
def remembered(tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(tmp_path)
    yield made
    made.close()
