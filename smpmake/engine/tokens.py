"""Who else has a say in how many slots may be used: a job server whose client we are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Tokens(Protocol):
    """A token for each slot beyond the first."""

    @property
    def wanted_elsewhere(self) -> bool:
        """Whether others use the tokens that we do not."""

    def another(self, busy: int) -> bool:
        """Whether one more slot may be used beside `busy`."""

    def settle(self, busy: int, wake: Callable[[], None] | None) -> None:
        """So many are in use now; `wake` is to be called when there may be another, None where
        nobody wants one."""


class Unlimited:
    """Nobody has."""

    wanted_elsewhere = False

    def another(self, busy: int) -> bool:
        """See Tokens."""
        del busy
        return True

    def settle(self, busy: int, wake: Callable[[], None] | None) -> None:
        """See Tokens."""
