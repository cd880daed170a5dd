"""What reports claim, and what history gives: sections of scripts/benchmark."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Place = Callable[[str, str], Path]
Row = Callable[..., None]


def report(folder: Path, program: str, state: str) -> dict[str, Any]:
    """What smpmake says of the last build there."""
    done = subprocess.run(
        [program, "report", "--json"],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": state},
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def fresh(pristine: Path, name: str) -> Path:
    """A copy, always in the same place: history knows builds by their folder."""
    folder = Path(tempfile.gettempdir()) / "smpmake-benchmark"
    folder.mkdir(exist_ok=True)
    place, source = folder / f"{name}-reports", pristine
    shutil.rmtree(place, ignore_errors=True)
    is_cmakes = (pristine / "CMakeLists.txt").exists() and not (pristine / "Makefile").exists()
    if is_cmakes:  # its makefiles know where they were made
        source = folder / f"{name}-configured"
        if not source.exists():
            subprocess.run(["cp", "-a", str(pristine), str(place)], check=True)
            configure = ["cmake", "-S", str(place), "-B", str(place / "here")]
            subprocess.run(configure, stdout=subprocess.DEVNULL, check=True)
            place.rename(source)
    subprocess.run(["cp", "-a", str(source), str(place)], check=True)
    return place


def build(folder: Path, words: list[str], state: str) -> float:
    """Builds; how long it took, s."""
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


def simulation(
    packages: list[tuple[str, str, str, list[str]]],
    pristine: Place,
    program: str,
    rounds: int,
    row: Row,
) -> None:
    """Recorded on one number of slots and played on the other, against real builds there."""
    from smpmake.history import History
    from smpmake.timing import analyse, explore

    for name, version, sub, command in packages:
        state = tempfile.mkdtemp()
        real: dict[int, list[float]] = {1: [], 2: []}
        played: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):
            for slots, other in ((1, 2), (2, 1)):
                folder = fresh(pristine(name, version), name) / sub
                words = [program, "-q", f"-j{slots}", *command]
                build(folder, words, state)
                record = History(Path(state) / "smpmake" / "history.db").last()
                assert record is not None
                timing = analyse(record)
                real[slots].append(timing.wall)
                record.slots = other
                played[other].append(explore(record, timing).simulated)
        cells = []
        for slots in (1, 2):
            truth, said = statistics.median(real[slots]), statistics.median(played[slots])
            cells += [f"{truth:.2f} s", f"{said:.2f} s", f"{said / truth - 1:+.0%}"]
        row(name, *cells)
        shutil.rmtree(state)


def ancestor(
    packages: list[tuple[str, str, str, list[str]]],
    pristine: Place,
    program: str,
    rounds: int,
    row: Row,
) -> None:
    """The OS/2 table, by `smpmake bench`."""
    for name, version, sub, command in packages:
        top = fresh(pristine(name, version), name)
        spare = f"{top}.pristine"
        shutil.rmtree(spare, ignore_errors=True)
        top.rename(spare)
        clean = f"rm -rf {top} && cp -a {spare} {top}"
        done = subprocess.run(
            [
                *(program, "bench", "--json", "--clean", clean, f"--runs={rounds}", "--"),
                *("sh", "-c", f"cd {top / sub} && exec {' '.join(command)}"),
            ],
            cwd=top.parent,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            sys.exit(done.stderr.decode())
        data = json.loads(done.stdout)
        for count in sorted({run["cpus"] for run in data["runs"]}):
            cells = {
                run["jobs"] > 0: statistics.median(run["real"])
                for run in data["runs"]
                if run["cpus"] == count
            }
            row(name, count, f"{cells[False]:.1f} s", f"{cells[True]:.1f} s", "")
        row(name, "", "", "", f"{data['ancestors_share']:.0%}")
        shutil.rmtree(spare)
        shutil.rmtree(top)
