"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.space import Space


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    """A folder to build in; the folder stays (pytest keeps the last few), the processes do not."""
    made = Space(tmp_path)
    try:
        yield made
    finally:
        made.close()
