"""A stand-in for gcc and makefiles for it, for sections of scripts/benchmark."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmark_reports import report

ROOT = Path(__file__).resolve().parent.parent


class Spent(NamedTuple):
    """What a command took, with everything that it waited for; s."""

    wall: float
    cpu: float


def measured(words: list[str], folder: Path, environment: dict[str, str]) -> Spent:
    """Runs a command, which must succeed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    wall = time.perf_counter() - started
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"benchmark: {words} failed:\n{done.stderr[-2000:]}")
    return Spent(wall, sum(now[:2]) - sum(used[:2]))


class Tool:
    """A folder with stand-ins for gcc, a folder in which make calls them, and a history.

    program  smpmake.
    """

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.program = program
        self.state = str(folder / "state")
        self.stand_in("bin", (ROOT / "fixtures" / "bench" / "tool.c").read_text())
        self.makefile(1)

    def stand_in(self, name: str, source: str) -> Path:
        """Compiles another gcc, in a folder of that name (see `run`)."""
        program = self.folder / name / "gcc"
        program.parent.mkdir()
        words = ["gcc", "-O2", "-static", "-w", "-x", "c", "-", "-o", str(program)]
        subprocess.run(words, input=source, text=True, check=True)
        return program

    def makefile(self, jobs: int, then: str = "") -> None:
        """So many objects of one source, made anew; then a recipe's lines."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        (self.work / "x.c").write_text("int x;\n")
        names = " ".join(f"{n}.o" for n in range(jobs))
        rules = f"all: {names}\n{then}\nMakefile: ;\n%.o: x.c\n\tgcc -O2 -Wall -c -o $@ $<\n"
        (self.work / "Makefile").write_text(f".SUFFIXES:\n{rules}")

    def environment(self, tools: str = "bin", **more: str) -> dict[str, str]:
        """Ours, with the gcc of a folder in front of all others."""
        path = f"{self.folder / tools}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "XDG_STATE_HOME": self.state, **more}

    def run(self, *words: str, tools: str = "bin", **more: str) -> Spent:
        """Runs a command, which must succeed."""
        return measured(list(words), self.work, self.environment(tools, **more))

    def make(self, *options: str, jobs: int, **more: str) -> Spent:
        """Makes so many objects with us."""
        self.makefile(jobs)
        return self.run(self.program, "-q", *options, "make", "-s", **more)

    def server_cpu(self) -> float:
        """CPU time of the last build's server, s."""
        found = report(self.work, self.program, self.state)
        return float(found["figures"]["server_cpu"])


@contextmanager
def with_tool(program: str) -> Iterator[Tool]:
    """One for the time being."""
    with tempfile.TemporaryDirectory() as folder:
        yield Tool(Path(folder), program)
