"""The tables of `smpmake bench`."""

from __future__ import annotations

import dataclasses
from typing import Any

from smpmake.bench import Bench, Run, Variant, describe
from smpmake.reports import phrases
from smpmake.reports.grid import Kind, Look, Part, pairs, table
from smpmake.reports.grid import lines as render
from smpmake.timing import Ends, ancestors_share, efficiency
from smpmake.timing.rounds import ENOUGH, Range, ratio, spread, verdict

_SAID = {-1: "smpmake is faster", 1: "smpmake is slower"}


def lines(bench: Bench, look: Look = Look(120)) -> list[str]:
    """The ancestor's table, what it tells, and the sweep over slots."""
    rows = []
    for count in bench.cpus:
        ways = (Variant(0, count), Variant(count, count))
        cells = (_cell(bench, way) for way in ways)
        rows.append((phrases.cpus(count), *cells, _told(bench, count)))
    parts: list[Part] = ["", table(_columns("", "original", "smpmake", ""), rows)]
    parts += _extra(bench)
    if bench.jobs:
        most = max(bench.cpus)
        rows = [(f"smpmake -j{jobs}", *_times(bench, Variant(jobs, most))) for jobs in bench.jobs]
        rows.append(("original", *_times(bench, Variant(0, most))))
        heads = (f"on {phrases.cpus(most)}", "real", "user", "system")
        parts += ["", table(_columns(*heads), rows)]
    parts += [
        "",
        "Medians, with the lowest and the highest of the rounds; the speed-up is each round's own.",
    ]
    return render(parts, look)


def _columns(*names: str) -> list[tuple[str, Kind]]:
    """The first says what a row is about; what has no name is said in words."""
    first, *others = names
    return [
        (first, Kind.TEXT),
        *((name, Kind.RANGE if name else Kind.WORDS) for name in others),
    ]


def document(bench: Bench) -> dict[str, Any]:
    """The same for programs.  Seconds."""
    most = max(bench.cpus)
    both = _both(bench, most)
    gained = ratio(*both) if both is not None else None
    return {
        "format": "smpmake-bench",
        "version": 2,
        "command": bench.command,
        "speedup": dataclasses.asdict(gained) if gained is not None else None,
        "efficiency": efficiency(gained.median, most) if gained is not None else None,
        "ancestors_share": _ancestors_share(bench),
        "told": _told(bench, most) or None,
        "runs": [
            {
                "how": describe(variant),
                "jobs": variant.jobs,
                "cpus": variant.cpus,
                "real": [run.real for run in runs],
                "user": [run.user for run in runs],
                "system": [run.system for run in runs],
            }
            for variant, runs in bench.runs.items()
        ],
    }


def _both(bench: Bench, count: int) -> tuple[list[float], list[float]] | None:
    """Wall times in the original way and under smpmake, round by round."""
    found = [bench.runs.get(Variant(jobs, count), []) for jobs in (0, count)]
    original, ours = ([run.real for run in runs] for runs in found)
    return (original, ours) if original and ours else None


def _times_of(values: Range) -> str:
    return f"{values.median:.2f} s ({values.low:.2f} to {values.high:.2f})"


def _cell(bench: Bench, variant: Variant) -> str:
    runs = bench.runs.get(variant)
    return _times_of(spread([run.real for run in runs])) if runs else "-"


def _told(bench: Bench, count: int) -> str:
    both = _both(bench, count)
    if both is None:
        return ""
    return _SAID.get(verdict(*both)) or _untold(len(both[0]))


def _untold(rounds: int) -> str:
    """Not that there is none: few rounds say little, even where all of them agree."""
    more = "" if rounds >= ENOUGH else f" (--runs {ENOUGH} could)"
    return f"no difference that these rounds can tell{more}"


def _times(bench: Bench, variant: Variant) -> list[str]:
    runs: list[Run] = bench.runs.get(variant, [])
    if not runs:
        return ["-"] * 3
    names = ("real", "user", "system")
    return [_times_of(spread([getattr(run, name) for run in runs])) for name in names]


def _ancestors_share(bench: Bench) -> float | None:
    both = _both(bench, max(bench.cpus))
    if both is None:
        return None
    serial, parallel = (spread(values).median for values in both)
    return ancestors_share(serial, parallel, max(bench.cpus))


def _extra(bench: Bench) -> list[Part]:
    most = max(bench.cpus)
    both = _both(bench, most)
    if both is None or most == 1:
        return []
    gained = ratio(*both)
    said = f"{gained.median:.2f} x ({gained.low:.2f} to {gained.high:.2f})"
    share = efficiency(gained.median, most)
    if share is not None and share >= 0:
        extra = f"of the extra CPU{'s' if most > 2 else ''}"
        how = phrases.formula(Ends(gained.median, gained.median), most)
        said += f": {share:.0%} {extra} = {how}"
    return ["", pairs([("speed-up", said)])]
