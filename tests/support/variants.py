"""Variants of a test of which the default suite tries some, and `-m chaos` the others."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def often(names: Container[str], of: Iterable[str]) -> list[ParameterSet]:
    """`of`, where only those in `names` are tried every time."""
    return [pytest.param(name, marks=[] if name in names else pytest.mark.chaos) for name in of]
