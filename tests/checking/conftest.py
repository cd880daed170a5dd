"""What tests of `smpmake check` share."""

from __future__ import annotations

import pytest

from tests.packages.fetch import cache_folder
from tests.support.variants import often

NEWER = cache_folder() / "made" / "make-4.4.1" / "make"


@pytest.fixture(params=often(["make"], ["make", "make-4.4"]))
def make(request: pytest.FixtureRequest) -> str:
    """The system's make, and a newer one."""
    if request.param == "make":
        return "make"
    if not NEWER.exists():
        pytest.skip("make 4.4.1 is not built (tests/packages/test_jobservers.py builds it)")
    return str(NEWER)
