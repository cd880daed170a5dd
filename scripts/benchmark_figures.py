"""Serial estimates against measured plain builds, quiet and beside busy loops: a section of
scripts/benchmark."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Place = Callable[[str, str], Path]
Row = Callable[..., None]

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


def _fresh(pristine: Path, name: str) -> Path:
    place = Path(tempfile.gettempdir()) / "smpmake-benchmark" / f"{name}-figures"
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", str(pristine), str(place)], check=True)
    return place


def _timed(folder: Path, words: list[str], state: str) -> float:
    before = time.perf_counter()
    subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": state},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - before


def _figures(folder: Path, program: str, state: str) -> dict[str, Any]:
    done = subprocess.run(
        [program, "report", "--json"],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": state},
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)["figures"]
    return found


def figures(
    packages: list[tuple[str, str, str, list[str]]],
    pristine: Place,
    program: str,
    rounds: int,
    row: Row,
) -> None:
    """Plain and under smpmake, in turn, beside the same loops; medians."""
    for name, version, sub, command in packages:
        for loops in LOOPS:
            state = tempfile.mkdtemp()
            plain: list[float] = []
            said: list[dict[str, Any]] = []
            with beside(loops):
                for number in range(rounds + 1):
                    real = _timed(_fresh(pristine(name, version), name) / sub, command, state)
                    folder = _fresh(pristine(name, version), name) / sub
                    _timed(folder, [program, "-q", *command], state)
                    if number:  # the first fills the caches
                        plain.append(real)
                        said.append(_figures(folder, program, state))
            shutil.rmtree(state)
            estimates = [each["serial_estimated"]["seconds"] for each in said]
            off = [estimate / real - 1 for estimate, real in zip(estimates, plain, strict=True)]
            others = [each["others"] for each in said if each["others"] is not None]
            wall = statistics.median(each["wall"] for each in said)
            row(
                name,
                loops,
                f"{statistics.median(plain):.1f} s ({min(plain):.1f} to {max(plain):.1f})",
                f"{statistics.median(estimates):.1f} s",
                f"{statistics.median(off):+.0%} ({min(off):+.0%} to {max(off):+.0%})",
                f"{wall:.1f} s",
                f"{statistics.median(others):.0%}" if others else "-",
            )
