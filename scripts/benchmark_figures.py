"""Serial estimates against measured plain builds, quiet and beside busy loops: a section of
scripts/benchmark."""

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
LOOPS = (0, 1, 4, 8)


@contextlib.contextmanager
def beside(loops: int) -> Iterator[None]:
    """So many other programs want a CPU all the time."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
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
    """Plain and under smpmake, in turn, beside the same loops: medians; `off` is the middle of the
    estimate's range."""
    for name, version, sub, command in packages:
        for loops in LOOPS:
            state = tempfile.mkdtemp()
            plain: list[float] = []
            said: list[dict[str, Any]] = []
            with beside(loops):
                first = loops == LOOPS[0]  # fills the caches
                for number in range(rounds + first):
                    real = build(fresh(pristine(name, version), name) / sub, command, state)
                    folder = fresh(pristine(name, version), name) / sub
                    build(folder, [program, "-q", *command], state)
                    if number or not first:
                        plain.append(real)
                        said.append(report(folder, program, state)["figures"])
            shutil.rmtree(state)
            most = [each["serial_estimated"] for each in said]
            least = [each["least"] or each for each in most]
            ends = [[each["seconds"] for each in end] for end in (least, most)]
            middles = [(low + high) / 2 for low, high in zip(*ends, strict=True)]
            off = [middle / real - 1 for middle, real in zip(middles, plain, strict=True)]
            others = [each["others"] for each in said if each["others"] is not None]
            wall = statistics.median(each["wall"] for each in said)
            row(
                name,
                loops,
                f"{statistics.median(plain):.1f} s ({min(plain):.1f} to {max(plain):.1f})",
                " to ".join(f"{statistics.median(end):.1f}" for end in ends) + " s",
                f"{statistics.median(off):+.0%} ({min(off):+.0%} to {max(off):+.0%})",
                f"{wall:.1f} s",
                f"{statistics.median(others):.0%}" if others else "-",
            )
