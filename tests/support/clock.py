"""Waiting for the kernel's clock of file times."""

from __future__ import annotations

from smpmake.protocol.layout import UNDO_TICK
from smpmake.undo.journal import now_ns


def pass_tick(since_ns: int) -> None:
    """Returns when what was made at a time, ns, is older than whatever comes.

    Linux 6.13 and newer may give a file a time between this clock's ticks, ahead of it.
    """
    while now_ns() <= since_ns + 2 * UNDO_TICK:
        pass
