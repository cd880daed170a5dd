"""A build that called no tool: its whole summary."""

from __future__ import annotations

from smpmake.units import seconds


def line(duration: float) -> str:
    """`duration` in seconds."""
    remark = "no compiler, linker or other tool that smpmake knows was called"
    return f"smpmake: {seconds(duration)}; {remark}"
