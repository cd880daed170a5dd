"""Packages of the corpus under --chaos, beside their serial builds."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

from tests.packages import corpus
from tests.packages.project import Project
from tests.packages.verdicts import Verdict
from tests.soak.section import Section, SkippedError, UnavailableError
from tests.support.findings import DifferenceError

_LEFT = ("process left behind", "temporary file left behind")


class PackageSection(Section):
    """One package after the other; those that cannot be built here are left out."""

    def __init__(self, projects: Sequence[Project]) -> None:
        self._projects = list(projects)
        self._cannot: dict[str, str] = {}

    def attempt(self, seed: int) -> int:
        """See Section."""
        project = self._chosen(seed)
        if len(self._cannot) == len(self._projects):
            raise UnavailableError("none of the packages can be built here")
        if project.name in self._cannot:
            raise SkippedError("")
        try:
            return self.build(project, random.Random(f"{self.name} {seed}"))
        except CannotBuildError as error:
            self._cannot[project.name] = str(error)
            raise SkippedError(f"{project.name}: {error}") from error

    def build(self, project: Project, dice: random.Random) -> int:
        """See `attempt`; raises CannotBuildError where the package cannot be built here."""
        raise NotImplementedError

    def options(self, seed: int) -> list[str]:
        """See Section."""
        return ["--package", self._chosen(seed).name]

    def _chosen(self, seed: int) -> Project:
        return self._projects[seed % len(self._projects)]


class CannotBuildError(Exception):
    """A package cannot be built here, and why."""


class Chaos(PackageSection):
    """Each package under a seed of its own."""

    name = "chaos"
    things = "builds"

    def build(self, project: Project, dice: random.Random) -> int:
        """See PackageSection."""
        chaos = dice.randrange(1 << 30)
        known = argparse.Namespace(fresh=False, serial_only=False, no_parallel=True)
        report = corpus.report(project, ["--chaos", str(chaos)], known)
        if report.reason:
            raise CannotBuildError(report.reason)
        self._judge(project, chaos, report.verdicts)
        said = report.cold.said if report.cold else ""
        assert "Traceback" not in said, said[-3000:]
        return len(report.verdicts)

    def _judge(self, project: Project, chaos: int, verdicts: Sequence[Verdict]) -> None:
        wrong = [verdict for verdict in verdicts if verdict.problems]
        if not wrong:
            return
        told = "\n".join(corpus.explained(project, verdict) for verdict in wrong)
        problems = [problem for verdict in wrong for problem in verdict.problems]
        text = f"{project.name} under --chaos {chaos}\n{told}"
        assert not any(problem.startswith(_LEFT) for problem in problems), text
        raise DifferenceError(text)
