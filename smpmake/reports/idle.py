"""A build that called no tool, or none but for configure checks: its whole summary."""

from __future__ import annotations

from typing import Final

from smpmake.units import seconds

#: Below, nobody wonders what smpmake did: a make that had nothing to do, one compile.
_LONG: Final = 2.0


def lines(duration: float, *, anyway: bool = False) -> list[str]:
    """`duration` in seconds; `anyway`: also of a build that was over soon."""
    if duration < _LONG and not anyway:
        return []
    return [f"smpmake: {seconds(duration)}; smpmake ran nothing in parallel"]
