"""Fixtures that every test may use."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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


#: Of how many variants of a test with such a fixture the default suite has one.
_ONE_OF: Final = {"space": 16, "remembered": 6, "machines": 3, "ours": 3, "warm": 3, "starters": 5}


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _one_of(item: pytest.Item) -> int:
    """0: each is tried every time."""
    fixtures = getattr(item, "fixturenames", ())
    return max((count for name, count in _ONE_OF.items() if name in fixtures), default=0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of more than two variants of a build the default suite has some; `-m chaos` the others."""
    builds = [item for item in items if _one_of(item) and not item.get_closest_marker("chaos")]
    variants = Counter(map(_function, builds))
    seen: Counter[str] = Counter()
    for item in builds:
        function = _function(item)
        if variants[function] > 2 and seen[function] % _one_of(item):
            item.add_marker(pytest.mark.chaos)
        seen[function] += 1


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    """A folder to build in; the folder stays (pytest keeps the last few), the processes do not."""
    made = Space(tmp_path)
    try:
        yield made
    finally:
        made.close()
