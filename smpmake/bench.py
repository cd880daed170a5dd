"""Times a build in the original way and under smpmake, on one CPU and on more, in turns.

This room runs commands and keeps their times; the tables are reports/bench.py's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from smpmake import variables
from smpmake.errors import SmpmakeError

_SHOWN: Final = 2000


class BenchError(SmpmakeError):
    """A build or the cleaning before it failed: there is nothing to compare.

    signal  which ended the build; 0: none.
    """

    signal = 0


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to build.

    jobs: slots of smpmake, 0 for the original way; cpus: how many it may use.
    """

    jobs: int
    cpus: int

    @property
    def original(self) -> bool:
        """Whether smpmake has no part in it."""
        return self.jobs == 0


@dataclass(frozen=True, slots=True)
class Run:
    """One build: seconds of wall, and of CPU in user and system mode."""

    real: float
    user: float
    system: float


@dataclass(slots=True)
class Bench:
    """All runs, by variant, in their order."""

    command: list[str]
    cpus: tuple[int, ...]
    jobs: tuple[int, ...]
    runs: dict[Variant, list[Run]] = field(default_factory=dict)

    def median(self, variant: Variant) -> float | None:
        """Of the wall seconds; None where it was not run."""
        runs = self.runs.get(variant)
        return statistics.median(run.real for run in runs) if runs else None


def variants(cpus: Sequence[int], jobs: Sequence[int]) -> list[Variant]:
    """What is run in each round: both ways on each number of CPUs, and the sweep on the most."""
    most = max(cpus)
    wanted = [Variant(ways, count) for count in cpus for ways in (0, count)]
    wanted += [Variant(count, most) for count in jobs]
    return list(dict.fromkeys(wanted))


def run(
    command: list[str],
    clean: str,
    runs: int,
    cpus: Sequence[int],
    jobs: Sequence[int],
    said: Callable[[str], None],
) -> Bench:
    """The whole comparison; before each build `clean` runs in a shell.  Raises BenchError.

    A first round, of which no time is kept, fills the caches.
    """
    bench = Bench(command, tuple(cpus), tuple(jobs))
    order = variants(cpus, jobs)
    for number in range(runs + 1):
        # The order turns round from one to the next, so that a drift of the machine hits all.
        for variant in order if number % 2 else reversed(order):
            if number == 0 and variant not in (order[0], order[-1]):
                continue
            _clean(clean)
            done = _build(command, variant)
            said(f"round {number} of {runs}: {describe(variant)} {done.real:.2f} s")
            if number:
                bench.runs.setdefault(variant, []).append(done)
    return bench


def describe(variant: Variant) -> str:
    """A variant for a person."""
    on = f"on {variant.cpus} CPU{'s' if variant.cpus != 1 else ''}"
    return f"original {on}" if variant.original else f"smpmake -j{variant.jobs} {on}"


def _clean(clean: str) -> None:
    done = subprocess.run(
        clean,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace")[-_SHOWN:]
        raise BenchError(f"--clean '{clean}' ended with status {done.returncode}:\n{said}")


def _build(command: list[str], variant: Variant) -> Run:
    words = list(command)
    if not variant.original:
        # What the round before made is not to be given back.
        ours = ["-q", "--memo=off", f"-j{variant.jobs}"]
        words = [sys.executable, "-P", "-m", "smpmake", *ours, "--", *command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(variables.PREFIXES)}
    with _on(variant.cpus):
        before = time.perf_counter()
        try:
            process = subprocess.Popen(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise BenchError(f"{command[0]}: cannot be run: {error.strerror}") from None
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        real = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        shown = said.decode(errors="replace")[-_SHOWN:]
        wrong = BenchError(f"{describe(variant)}: ended with status {process.returncode}:\n{shown}")
        wrong.signal = max(0, -process.returncode)
        raise wrong
    return Run(real, usage.ru_utime, usage.ru_stime)


@contextmanager
def _on(count: int) -> Iterator[None]:
    """What is started meanwhile may use the first `count` of our CPUs."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(mine)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
