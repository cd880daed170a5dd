"""Who else has a say in how many slots may be used: a job server whose client we are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Tokens(Protocol):
    """A token for each slot beyond the first."""

    @property
    def wanted_elsewhere(self) -> bool:
        """Whether others use the tokens that we do not."""

    def most(self, wanted: int) -> int:
        """How many slots may be used now; takes tokens for `wanted` of them."""

    def settle(self, busy: int, wake: Callable[[], None] | None) -> None:
        """So many are in use now; `wake` is to be called when there may be another, None where
        nobody wants one."""


class NoJobserver:
    """Nobody has."""

    wanted_elsewhere = False

    def most(self, wanted: int) -> int:
        """See Tokens."""
        return wanted

    def settle(self, busy: int, wake: Callable[[], None] | None) -> None:
        """See Tokens."""
