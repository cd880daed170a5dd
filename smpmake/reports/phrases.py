"""What every printer says of a build's figures in the same words."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from smpmake.records import WhyNot
from smpmake.units import seconds

if TYPE_CHECKING:
    from smpmake.timing import Against, Ends

#: From the plain build's time: what is no difference at all, and what a range has to leave open.
_NONE: Final = 0.03
_SMALL: Final = 0.15
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


def places(slots: int, count: int) -> str:
    """Where a build ran: more slots than CPUs are possible, and fewer."""
    extra = f" with {slots} slot{'s' if slots != 1 else ''}" if slots != count else ""
    return f"{cpus(count)}{extra}"


def complaints(counts: Mapping[str, Any]) -> list[str]:
    """How many errors and warnings, without what there was none of."""
    return [
        f"{counts[name]} {name if counts[name] > 1 else name[:-1]}"
        for name in ("errors", "warnings")
        if counts[name]
    ]


def elsewhere(hosts: Sequence[tuple[str, int, float]]) -> str:
    """What other machines did: each with how many compiles it had, and for how many seconds."""
    count = sum(compiles for _, compiles, _ in hosts)
    shown = ", ".join(f"{compiles} by {name} ({seconds(took)})" for name, compiles, took in hosts)
    return f"{count} compile{'s' if count != 1 else ''} on other machines: {shown}"


def between(least: str, most: str) -> str:
    """A range, where its ends can be told apart: "8.9 to 9.8 s"."""
    number, blank, unit = least.rpartition(" ")
    if least == most:
        return most
    return f"{number if blank and most.endswith(f' {unit}') else least} to {most}"


def percent(share: float) -> str:
    """A share as sentences have it."""
    return f"{share * 100:.0f} %"


def plain_time(serial: Ends, *, measured: bool) -> str:
    """How long the plain build takes: "estimated 13 to 14 s"."""
    if measured:
        return f"measured {seconds(serial.high)}"
    return f"estimated {between(_rough(serial.low), _rough(serial.high))}"


def _rough(value: float) -> str:
    """No more digits than an estimate has."""
    return f"{value:.0f} s" if 9.95 <= value < 99.5 else seconds(value)


def factor(speedup: float) -> str:
    """How many times as fast, in two digits."""
    return f"{speedup:.1f}" if speedup < 9.95 else f"{speedup:.0f}"


def is_alike(speedup: Ends) -> bool:
    """Whether a difference is too small to be told."""
    off = abs(speedup.middle - 1)
    return off < _NONE or (off < _SMALL and speedup.low <= 1 <= speedup.high)


def is_faster(speedup: Ends) -> bool:
    """Whether a build was faster than the plain one, by what can be told."""
    return speedup.middle > 1 and not is_alike(speedup)


def pace(speedup: Ends) -> str:
    """How a build was against the plain one."""
    if is_faster(speedup):
        return f"about {factor(speedup.middle)} times as fast as the plain build"
    if is_alike(speedup):
        return "about as fast as the plain build"
    return f"about {percent(1 / speedup.middle - 1)} slower than the plain build"


def used(against: Against, count: int) -> str:
    """What became of the other CPUs; "" where nothing can be said of them, or nothing good."""
    if against.efficiency is None or count < 2 or not is_faster(against.speedup):
        return ""
    others = "the second CPU" if count == 2 else f"the other {count - 1} CPUs"
    return f"used {percent(against.efficiency.middle)} of {others}"


def times(speedup: Ends, sign: str = "x") -> str:
    """How many times as long the plain build takes, as a range."""
    return between(f"{speedup.low:.2f} {sign}", f"{speedup.high:.2f} {sign}")


def part(efficiency: Ends) -> str:
    """The share of the extra CPUs that was gained, as a range."""
    return between(*(f"{max(0.0, each):.0%}" for each in efficiency))


def formula(speedup: Ends, count: int) -> str:
    """How that share comes about."""
    figure = f"{speedup.high:.2f}" if speedup.low == speedup.high else "speed-up"
    return f"({figure} - 1) / ({count} - 1)"


def untold(why_not: str, *, wanted: float, parallel: str) -> str:
    """Why nobody is told how much smpmake helped; "" where that needs no word.

    wanted    the share of the CPUs that others wanted.
    parallel  what ran its commands in parallel already.
    """
    if why_not == WhyNot.BUSY:
        return (
            f"the machine was busy (others: {percent(wanted)}), so how much smpmake helped cannot "
            "be told; `smpmake bench` measures it"
        )
    if why_not == WhyNot.REMEMBERED:
        return "earlier builds had done a part of it, so how much smpmake helped cannot be told"
    if why_not == WhyNot.PARALLEL_DRIVER:
        return f"{parallel} is parallel already, so how much smpmake helped cannot be told"
    if why_not == WhyNot.NO_JOBS:
        return "smpmake ran no command in parallel"
    return ""


def result(wall: float, against: Against, *, measured: bool) -> str:
    """One line: how much it helped."""
    plain = plain_time(against.seconds, measured=measured)
    return f"built in {seconds(wall)}, {pace(against.speedup)} ({plain})"


def again(build: Mapping[str, Any]) -> str:
    """That the driver was run once more (a document's `build`); "" where it was not."""
    if build["driver_runs"] < 2:
        return ""
    times = "a second time" if build["driver_runs"] == 2 else f"{build['driver_runs']} times"
    took = f", {seconds(build['last_run'])}" if build["last_run"] is not None else ""
    return f"{driver(build['command'])} ran {times}{took}, to stop where it should"


def split(driver: str) -> dict[str, str]:
    """Who had the time, by the document's names for it (`split`); `driver` as its user calls it."""
    return {
        "several": "several at work",
        "driver": f"{driver} alone",
        "linker": "a link or archive alone",
        "one": "one other command alone",
        "nobody": "nobody",
    }


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
    rows.append(("options", ", ".join(place["options"]) or "as they come"))
    return rows
