"""Who else has a say in how many slots may be used: a job server whose client we are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from smpmake.capacity.table import Wait


class Tokens(Protocol):
    """A token for each slot beyond the first.  These methods do what is right without any."""

    @property
    def contended(self) -> bool:
        """Whether others use the tokens that we do not."""
        return False

    def most_slots(self, wanted: int) -> int:
        """How many slots may be used now; takes tokens for `wanted` of them."""
        return wanted

    def settle_tokens(self, busy: int, wake: Callable[[], None] | None) -> None:
        """So many are in use now; `wake` is to be called when there may be another, None where
        nobody was refused one."""
        return

    def tell(self, running: int, waiting: int, why: Wait) -> None:
        """So many jobs run, and so many could, which wait for that: for who asks."""
        return


class NoJobserver(Tokens):
    """Nobody has."""
