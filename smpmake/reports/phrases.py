"""What every printer says of a build's figures in the same words."""

from __future__ import annotations

from smpmake.units import seconds


def cpus(count: int) -> str:
    """So many CPUs."""
    return f"{count} CPU{'s' if count != 1 else ''}"


def places(slots: int, count: int) -> str:
    """Where a build ran; a speed-up beyond the CPUs is possible where there are more slots."""
    if slots == count:
        return f"on {cpus(count)}"
    return f"with {slots} slot{'s' if slots != 1 else ''} on {cpus(count)}"


def taken(others: float | None, stolen: float) -> str:
    """Who else had the CPUs."""
    host = "the host of this virtual machine"
    if stolen < 0.01:
        return f"other programs took {others or 0.0:.0%} of the CPUs"
    if (others or 0.0) < 0.01:
        return f"{host} took {stolen:.0%} of the CPUs"
    return f"other programs took {others:.0%} of the CPUs, {host} {stolen:.0%}"


def share(speedup: float, efficiency: float | None, count: int) -> str:
    """What became of the extra CPUs; nothing where nothing can be said."""
    if speedup < 0.995:
        return "slower than serially"
    if efficiency is None:
        return ""
    return f"{max(0.0, efficiency):.0%} of the extra CPU{'s' if count > 2 else ''}"


def formula(speedup: float, count: int) -> str:
    """How that share comes about."""
    return f"({speedup:.2f} - 1) / ({count} - 1)"


def result(
    *,
    wall: float,
    serial: float,
    measured: bool,
    speedup: float,
    efficiency: float | None,
    slots: int,
    count: int,
    load: str,
) -> str:
    """One line: how much it helped.  `load` is `taken`, if it must be said: then it is first."""
    kind = "a measured" if measured else "an estimated"
    beside = " beside the same load" if load and not measured else ""
    extra = share(speedup, efficiency, min(slots, count))
    return (
        f"{f'{load}; ' if load else ''}{seconds(wall)} for {kind} {seconds(serial)} of serial work"
        f"{beside}: {speedup:.2f} x {places(slots, count)}{f', {extra}' if extra else ''}"
    )
