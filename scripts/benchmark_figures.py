"""What smpmake says of its speed against plain builds run in turns, quiet and beside busy loops: a
section of scripts/benchmark."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from benchmark_reports import Place, Row, build, fresh, report

#: How many busy loops run beside the builds.
LOOPS = (0, 1, 4)
#: Wants a CPU for as long as whoever started it is there.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
#: So far from the median of the plain builds a factor may be, where it is outside their spread.
NEAR = 0.15


@contextlib.contextmanager
def beside(loops: int) -> Iterator[None]:
    """So many other programs want a CPU all the time, in a session of their own: what runs in ours
    shares our part of the CPUs (autogroups), and is no stand-in for others."""
    busy = [
        subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) for _ in range(loops)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def figures(
    packages: list[tuple[str, str, str, list[str]]],
    pristine: Place,
    program: str,
    rounds: int,
    row: Row,
) -> None:
    """Plain and under smpmake, in turn, beside the same loops: what was said in each round."""
    for name, version, sub, command in packages:
        for loops in LOOPS:
            state = tempfile.mkdtemp()
            plain: list[float] = []
            ours: list[float] = []
            said: list[dict[str, Any]] = []
            with beside(loops):
                first = loops == LOOPS[0]  # fills the caches
                for number in range(rounds + first):
                    real = build(fresh(pristine(name, version), name) / sub, command, state)
                    folder = fresh(pristine(name, version), name) / sub
                    took = build(folder, [program, "-q", *command], state)
                    if number or not first:
                        plain.append(real)
                        ours.append(took)
                        said.append(report(folder, program, state)["figures"])
            shutil.rmtree(state)
            middle = statistics.median(plain)
            row(
                name,
                f"{loops} loops" if loops else "quiet",
                f"{middle:.1f} s ({min(plain):.1f} to {max(plain):.1f})",
                f"{statistics.median(ours):.1f} s",
                _said(said),
                f"{middle / statistics.median(ours):.2f}",
                _inside(said, plain),
            )


def _said(figures: list[dict[str, Any]]) -> str:
    """The factors of the rounds in which one was told, and why not in the others."""
    told = [each["speedup"]["middle"] for each in figures if each["speedup"] is not None]
    parts = [f"{statistics.median(told):.2f} ({min(told):.2f} to {max(told):.2f})"] if told else []
    for why in sorted({each["why_not"] for each in figures if each["why_not"]}):
        those = [each for each in figures if each["why_not"] == why]
        others = statistics.median(each["others_wanted"] or 0.0 for each in those)
        parts.append(f"{len(those)} x nothing: {why} (others: {others * 100:.0f} %)")
    return "; ".join(parts)


def _inside(figures: list[dict[str, Any]], plain: list[float]) -> str:
    """How many of the rounds' factors stand for a plain build that is near the median of those that
    were run, or inside their spread."""
    median = statistics.median(plain)
    told = [
        each["speedup"]["middle"] * each["wall"] for each in figures if each["speedup"] is not None
    ]
    if not told:
        return "-"
    good = [abs(each / median - 1) <= NEAR or min(plain) <= each <= max(plain) for each in told]
    return "inside" if all(good) else f"{good.count(False)} of {len(good)} outside"
