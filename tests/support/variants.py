"""Variants of a test of which the default suite tries some, and `-m chaos` the others."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


T = TypeVar("T", str, int)


def often(some: Container[T], of: Iterable[T]) -> list[ParameterSet]:
    """`of`, where only those in `some` are tried every time."""
    return [pytest.param(each, marks=[] if each in some else pytest.mark.chaos) for each in of]
