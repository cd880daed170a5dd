"""What need not wait: builds that once waited for every compile, with compilers that only wait.

Each build's tools sleep half a second before they work, so that two CPUs stand for many and a
wait that is not needed shows as seconds.
"""

from __future__ import annotations

import functools
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

Row = Callable[..., None]
Run = Callable[..., float]
_SLOTS = 18
_SLEEP = "0.5"
_LIBRARIES = _SOURCES = 6


def _compiler(folder: Path) -> None:
    """A gcc that waits first."""
    real = shutil.which("gcc")
    assert real
    place = folder / "bin" / "gcc"
    place.parent.mkdir()
    place.write_text(f'#!/bin/sh\nsleep {_SLEEP}\nexec {real} "$@"\n')
    place.chmod(0o755)


def _sources(work: Path, count: int) -> Iterable[int]:
    for number in range(1, count + 1):
        (work / f"f{number}.c").write_text(f"int f{number};\n")
        yield number


def _cmake(work: Path, run: Run) -> list[str]:
    """Six static libraries of six sources, and a program, by CMake's Makefiles."""
    lines = ["cmake_minimum_required(VERSION 3.10)", "project(waits C)"]
    for library in range(_LIBRARIES):
        names = []
        for source in range(_SOURCES):
            name = f"l{library}_{source}.c"
            (work / name).write_text(f"int l{library}_{source};\n")
            names.append(name)
        lines.append(f"add_library(l{library} STATIC {' '.join(names)})")
    (work / "m.c").write_text("int main(void) { return 0; }\n")
    every = " ".join(f"l{library}" for library in range(_LIBRARIES))
    lines += ["add_executable(m m.c)", f"target_link_libraries(m {every})", ""]
    (work / "CMakeLists.txt").write_text("\n".join(lines))
    compiler = ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_C_COMPILER_WORKS=1"]
    run(["cmake", "-G", "Unix Makefiles", "-B", "b", *compiler], work)
    return ["make", "-C", "b"]


def _header(work: Path, run: Run) -> list[str]:
    """A header removed and copied anew, with the same bytes, after each of 20 compiles."""
    (work / "inc").mkdir()
    for place in (work / "inc" / "x.h", work / "x.h"):
        place.write_text("#define X 1\n")
    lines = [
        f"gcc -Iinc -c f{number}.c && rm -f inc/x.h && cp x.h inc/x.h\n"
        for number in _sources(work, 20)
    ]
    (work / "build.sh").write_text("set -e\n" + "".join(lines))
    return ["sh", "build.sh"]


def _links(work: Path, run: Run) -> list[str]:
    """Ten shared libraries, each with a link to it that a compile depends on."""
    (work / "s.c").write_text("int f(void) { return 1; }\n")
    rules = ["all: " + " ".join(f"t{number}" for number in range(1, 11))]
    for number in _sources(work, 10):
        library = f"l{number}.so"
        rules += [f"{library}.1: s.c", "\tgcc -shared -fPIC -o $@ s.c"]
        rules += [f"{library}: {library}.1", f"\tln -sf {library}.1 $@"]
        rules += [f"t{number}: {library}", f"\tgcc -c f{number}.c -o $@"]
    (work / "Makefile").write_text("\n".join([*rules, ""]))
    return ["make"]


def _listed(work: Path, run: Run) -> list[str]:
    """A folder of objects, listed by the shell and by Python after each of 20 compiles."""
    (work / "objects").mkdir()
    lines = [
        f"gcc -c f{number}.c -o objects/f{number}.o\n"
        "for x in objects/*; do :; done\n"
        "python3 -c 'import os; os.listdir(\"objects\")'\n"
        for number in _sources(work, 20)
    ]
    (work / "build.sh").write_text("set -e\n" + "".join(lines))
    return ["sh", "build.sh"]


_BUILDS = {
    "CMake's Makefiles, six libraries": _cmake,
    "a header removed and copied anew": _header,
    "links to shared libraries": _links,
    "a folder of objects listed": _listed,
}


def waits(rounds: int, timed: Run, program: str, row: Row) -> None:
    """One row a build: serially, and on so many slots; seconds."""
    for title, prepare in _BUILDS.items():
        times: dict[str, list[float]] = {"serial": [], "ours": []}
        for _ in range(rounds):
            for which, walls in times.items():
                with tempfile.TemporaryDirectory(prefix="smpmake-waits-") as name:
                    _compiler(Path(name))
                    work = Path(name) / "work"
                    work.mkdir()
                    path = f"{name}/bin:{os.environ['PATH']}"
                    run = functools.partial(timed, PATH=path, XDG_STATE_HOME=name)
                    words = prepare(work, run)
                    ours = [program, "-q", f"-j{_SLOTS}"] if which == "ours" else []
                    walls.append(run([*ours, *words], work))
        middle = {which: statistics.median(walls) for which, walls in times.items()}
        row(title, *(f"{m:.1f} s" for m in middle.values()))
