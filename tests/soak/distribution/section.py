"""Source packages of Debian under smpmake, beside their plain builds."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from smpmake import folders
from tests.soak.distribution.machine import Machine
from tests.soak.distribution.package import Package
from tests.soak.distribution.verdict import Verdict, table
from tests.soak.section import Section, SkippedError
from tests.support.findings import DifferenceError

LIST: Final = Path(__file__).with_name("names.txt")
_EXPLAINED: Final = re.compile(r"(.*/)?\.lock-waf_\w+: ")  # it holds the environment
_SUITES: Final = ("bookworm", "trixie")


def listed(path: Path = LIST) -> list[str]:
    """The packages in a list, as NAME or NAME/SUITE; `#` begins a comment."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def unexplained(differences: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those of which docs/limits.md does not say why."""
    left = {
        step: [line for line in lines if not _EXPLAINED.match(line)]
        for step, lines in differences.items()
    }
    return {step: lines for step, lines in left.items() if lines}


class Distribution(Section):
    """One package on one suite a trial; without a suite's name on each.

    The results are in the state folder: a line of JSON for each package, the newest last, and of
    a difference what is known of it in `differences`.
    """

    name = "packages"
    things = "packages"

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._packages = [
            (name, suite)
            for name, _, wanted in (each.partition("/") for each in list(names) or listed())
            for suite in ((wanted,) if wanted else _SUITES)
        ]
        self._folder = folders.state() / "distribution"
        self._machines: dict[str, Machine] = {}
        self._tried: list[Verdict] = []

    @property
    def results(self) -> Path:
        """The file with them."""
        return self._folder / "results.jsonl"

    def attempt(self, seed: int) -> int:
        """See Section."""
        name, suite = self._packages[seed % len(self._packages)]
        if suite not in self._machines:
            self._machines[suite] = Machine(self._folder, suite)
        root = self._machines[suite].root(self._folder / "package")
        verdict = Verdict(name, suite)
        try:
            Package(verdict, root, self._folder / "differences").tried()
        except SkippedError as error:
            verdict.skipped = str(error)
        finally:
            root.close()
        self._tried.append(verdict)
        with self.results.open("a") as file:
            file.write(f"{verdict.line()}\n")
        if strange := unexplained(verdict.differences):
            told = json.dumps(strange, indent=1)
            raise DifferenceError(f"{name} {verdict.version} ({suite}):\n{told}")
        if verdict.skipped:
            raise SkippedError(f"{name}: {verdict.skipped}")
        return 1

    def options(self, seed: int) -> list[str]:
        """See Section."""
        return ["--only", "/".join(self._packages[seed % len(self._packages)])]

    def trials(self) -> int | None:
        """See Section."""
        return len(self._packages)

    def summary(self) -> str:
        """See Section."""
        return table(self._tried) if self._tried else ""

    def close(self) -> None:
        """See Section."""
        shutil.rmtree(self._folder / "package", ignore_errors=True)
