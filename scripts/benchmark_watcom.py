"""The section `watcom` of scripts/benchmark: wmake -> sh -> shim -> job, against wmake alone.

Stand-ins for Open Watcom (fixtures/watcom) that burn as long as wcc386 needs for a small file
(5 ms), a usual one (30 ms) and a large one (100 ms).  Both kinds of wmake: built by gcc, which
takes a guard, and static, as Open Watcom builds itself.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMPMAKE = str(Path(sys.executable).parent / "smpmake")
TOOLS = ("wmake", "wcc386", "wlink")
#: ms a compile: how many of them, times faster on two CPUs that are wanted.
TARGETS = {5: (400, 1.0), 30: (200, 1.7), 100: (100, 1.9)}


def _install(folder: Path, static: bool) -> str:
    """Stand-ins in a folder; returns a PATH with them."""
    place = folder / ("static" if static else "dynamic")
    place.mkdir()
    sources = [str(path) for path in sorted((ROOT / "fixtures" / "watcom").glob("*.c"))]
    flags = ["-D_GNU_SOURCE", "-O2", *(["-static"] if static else [])]
    subprocess.run(["gcc", *flags, "-o", str(place / "wmake"), *sources], check=True)
    for name in TOOLS[1:]:
        shutil.copy2(place / "wmake", place / name)
    return f"{place}:{os.environ['PATH']}"


def _project(folder: Path, count: int) -> Path:
    """A folder with `count` sources and one link."""
    place = folder / "work"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    names = [f"f{number:03d}" for number in range(count)]
    objects = " &\n  ".join(f"{name}.o" for name in names)
    link = "".join(f"\t%append link.lnk file {name}.o\n" for name in names)
    (place / "makefile").write_text(
        f"OBJECTS = {objects}\nprog : $(OBJECTS)\n\t%create link.lnk\n"
        f"\t%append link.lnk system linux name prog\n{link}\twlink @link.lnk\n"
        ".c.o :\n\twcc386 -zq -ox $[@\n"
    )
    for name in names:
        (place / f"{name}.c").write_text(f"int {name};\n")
    return place


def path(
    rounds: int,
    timed: Callable[..., float],
    compare: Callable[[dict[str, Callable[[], float]], int], dict[str, list[float]]],
    header: Callable[..., None],
    row: Callable[..., None],
) -> None:
    """Prints the table."""
    header("wmake", "a compile", "wmake", "smpmake wmake", "times faster", "wanted")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for static in (False, True):
            search = _install(folder, static)
            for burn, (count, wanted) in TARGETS.items():
                environment = {"PATH": search, "STAND_BURN_MS": str(burn)}
                environment["XDG_STATE_HOME"] = str(folder / "state")

                def run(
                    *command: str, count: int = count, env: dict[str, str] = environment
                ) -> float:
                    return timed([*command, "-s"], _project(folder, count), **env)

                times = compare(
                    {"plain": lambda: run("wmake"), "ours": lambda: run(SMPMAKE, "-q", "wmake")},
                    rounds,
                )
                plain, ours = (statistics.median(times[key]) for key in ("plain", "ours"))
                row(
                    "static" if static else "with a guard",
                    f"{burn} ms x {count}",
                    f"{plain:.2f} s",
                    f"{ours:.2f} s",
                    f"{plain / ours:.2f}",
                    f"{wanted:.1f}",
                )
