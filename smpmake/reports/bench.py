"""The tables of `smpmake bench`."""

from __future__ import annotations

import statistics
from typing import Any

from smpmake.bench import Bench, Run, Variant, describe


def lines(bench: Bench) -> list[str]:
    """The ancestor's table, its figure, and the sweep over slots."""
    rows = ["", _row("", "original", "smpmake")]
    for count in bench.cpus:
        ways = (Variant(0, count), Variant(count, count))
        rows.append(_row(_cpus(count), *(_cell(bench, way) for way in ways)))
    rows += _extra(bench)
    if bench.jobs:
        rows += ["", _row(f"on {_cpus(max(bench.cpus))}", "real", "user", "system")]
        for jobs in bench.jobs:
            rows.append(_row(f"smpmake -j{jobs}", *_times(bench, Variant(jobs, max(bench.cpus)))))
        rows.append(_row("original", *_times(bench, Variant(0, max(bench.cpus)))))
    return rows


def document(bench: Bench) -> dict[str, Any]:
    """The same for programs.  Seconds."""
    return {
        "format": "smpmake-bench",
        "version": 1,
        "command": bench.command,
        "extra_utilisation": bench.extra(),
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


def _cpus(count: int) -> str:
    return f"{count} CPU{'s' if count != 1 else ''}"


def _row(*cells: str) -> str:
    return "  " + cells[0].ljust(14) + "".join(cell.rjust(26) for cell in cells[1:])


def _spread(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f} s ({min(values):.2f} to {max(values):.2f})"


def _cell(bench: Bench, variant: Variant) -> str:
    runs = bench.runs.get(variant)
    return _spread([run.real for run in runs]) if runs else "-"


def _times(bench: Bench, variant: Variant) -> list[str]:
    runs: list[Run] = bench.runs.get(variant, [])
    if not runs:
        return ["-"] * 3
    return [_spread([getattr(run, name) for run in runs]) for name in ("real", "user", "system")]


def _extra(bench: Bench) -> list[str]:
    most = max(bench.cpus)
    serial, parallel = bench.mean(Variant(0, most)), bench.mean(Variant(most, most))
    extra = bench.extra()
    if extra is None or serial is None or parallel is None:
        return []
    text = (
        f"  speed-up {serial / parallel:.2f} x; utilisation of the extra CPU"
        f"{'s' if most > 2 else ''}: ({serial:.2f} - {parallel:.2f}) / "
        f"({serial:.2f} x (1 - 1/{most})) = {extra:.0%}"
    )
    return ["", text]
