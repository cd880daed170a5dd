"""Fixtures that every test may use."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.space import Space

#: Who starts the tests may ignore some (a background job of a script does); they send these.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    """A folder to build in; the folder stays (pytest keeps the last few), the processes do not."""
    made = Space(tmp_path)
    try:
        yield made
    finally:
        made.close()
