"""A build that called no tool, or none but for configure checks: its whole summary."""

from __future__ import annotations

from smpmake.units import seconds


def line(duration: float) -> str:
    """`duration` in seconds."""
    remark = "no compiler or other tool was called that could run beside others"
    return f"smpmake: {seconds(duration)}; {remark}"
