"""What every printer says of a build's figures in the same words."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from smpmake.units import seconds

if TYPE_CHECKING:
    from smpmake.timing import Against

#: What records call a verdict, and what a user does.
_VERDICTS: Final = {
    "deferred": "in parallel",
    "foreground": "in place",
    "barrier": "in place, after all before it",
}


def verdict(name: str) -> str:
    """How a command was run; of a verdict that another smpmake has given, its name."""
    return _VERDICTS.get(name, name)


def commands(deferred: int, foreground: int) -> str:
    """How many commands were run which way."""
    return f"{deferred} {verdict('deferred')}, {foreground} {verdict('foreground')}"


def driver(command: Sequence[str]) -> str:
    """What the user calls what was put behind smpmake: make."""
    return os.path.basename(command[0]) if command else "the build"


def cpus(count: int) -> str:
    """So many CPUs."""
    return f"{count} CPU{'s' if count != 1 else ''}"


def complaints(counts: Mapping[str, Any]) -> list[str]:
    """How many errors and warnings, without what there was none of."""
    return [
        f"{counts[name]} {name if counts[name] > 1 else name[:-1]}"
        for name in ("errors", "warnings")
        if counts[name]
    ]


def places(slots: int, count: int) -> str:
    """Where a build ran; a speed-up beyond the CPUs is possible where there are more slots."""
    if slots == count:
        return f"on {cpus(count)}"
    return f"with {slots} slot{'s' if slots != 1 else ''} on {cpus(count)}"


def elsewhere(hosts: Sequence[tuple[str, int, float]]) -> str:
    """What other machines did: each with how many compiles it had, and for how many seconds."""
    count = sum(compiles for _, compiles, _ in hosts)
    shown = ", ".join(f"{compiles} by {name} ({seconds(took)})" for name, compiles, took in hosts)
    return f"{count} compile{'s' if count != 1 else ''} on other machines: {shown}"


def taken(others: float | None, stolen: float) -> str:
    """Who else had the CPUs."""
    host = "the host of this virtual machine"
    if stolen < 0.01:
        return f"other programs took {others or 0.0:.0%} of the CPUs"
    if (others or 0.0) < 0.01:
        return f"{host} took {stolen:.0%} of the CPUs"
    return f"other programs took {others:.0%} of the CPUs, {host} {stolen:.0%}"


def between(least: str, most: str) -> str:
    """A range, where its ends can be told apart: "8.9 to 9.8 s"."""
    number, blank, unit = least.rpartition(" ")
    if least == most:
        return most
    return f"{number if blank and most.endswith(f' {unit}') else least} to {most}"


def serial(against: Against) -> str:
    """How long the serial work takes."""
    least = against.least or against
    return between(seconds(least.seconds), seconds(against.seconds))


def times(against: Against, sign: str = "x") -> str:
    """How many times as long."""
    least = against.least or against
    return between(f"{least.speedup:.2f} {sign}", f"{against.speedup:.2f} {sign}")


def part(against: Against) -> str:
    """The share of the extra CPUs that was gained; nothing where nothing can be said."""
    least = against.least or against
    if against.efficiency is None or least.efficiency is None:
        return ""
    return between(f"{max(0.0, least.efficiency):.0%}", f"{max(0.0, against.efficiency):.0%}")


def share(against: Against, count: int) -> str:
    """What became of the extra CPUs; nothing where nothing can be said."""
    if against.speedup < 0.995:
        return "slower than serially"
    gained = part(against)
    return f"{gained} of the extra CPU{'s' if count > 2 else ''}" if gained else ""


def formula(against: Against, count: int) -> str:
    """How that share comes about."""
    speedup = f"{against.speedup:.2f}" if against.least is None else "speed-up"
    return f"({speedup} - 1) / ({count} - 1)"


def result(
    *,
    wall: float,
    against: Against,
    measured: bool,
    slots: int,
    count: int,
    load: str,
) -> str:
    """One line: how much it helped.  `load` is `taken`, if it must be said: then it is first."""
    kind = "a measured" if measured else "an estimated"
    beside = " beside the same load" if load and not measured else ""
    extra = share(against, min(slots, count))
    return (
        f"{f'{load}; ' if load else ''}{seconds(wall)} for {kind} {serial(against)} of serial work"
        f"{beside}: {times(against)} {places(slots, count)}{f', {extra}' if extra else ''}"
    )


def split(driver: str) -> dict[str, str]:
    """Who had the time, by the document's names for it (`split`); `driver` as its user calls it."""
    return {
        "several": "several at work",
        "driver": f"{driver} alone",
        "linker": "a link or archive alone",
        "one": "one other command alone",
        "nobody": "nobody",
    }


def hit_rate(launcher: dict[str, int]) -> str:
    """How a compiler launcher's cache did."""
    hits, misses, other = (launcher[name] for name in ("hits", "misses", "other"))
    asked = hits + misses
    share = f"{hits / asked:.0%} hits ({hits} of {asked})" if asked else "nothing to be cached"
    return f"{share}{f', {other} that it could not cache' if other else ''}"


def surroundings(place: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where a build ran (a document's `environment`): what another one is to be compared by."""
    if not place["host"]:
        return []
    count = f" ({cpus(place['cpus'])})" if place["cpus"] else ""
    rows = [("host", f"{place['host']}: {place['cpu'] or 'CPU not known'}{count}")]
    rows.append(("system", ", ".join(filter(None, (place["system"], place["kernel"])))))
    rows += [
        ("compiler", f"{each['name']}: {each['version'] or 'version not known'} ({each['path']})")
        for each in place["compilers"]
    ]
    rows += [(each["name"], hit_rate(each)) for each in place["launchers"]]
    rows.append(("options", ", ".join(place["options"]) or "as they come"))
    return rows
