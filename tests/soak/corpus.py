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


class Chaos(Section):
    """One package after the other, each under a seed of its own."""

    name = "chaos"
    things = "builds"

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
        chaos = random.Random(f"{self.name} {seed}").randrange(1 << 30)
        known = argparse.Namespace(fresh=False, serial_only=False, no_parallel=True)
        report = corpus.report(project, ["--chaos", str(chaos)], known)
        if report.reason:
            self._cannot[project.name] = report.reason
            raise SkippedError(f"{project.name}: {report.reason}")
        self._judge(project, chaos, report.verdicts)
        said = report.cold.said if report.cold else ""
        assert "Traceback" not in said, said[-3000:]
        return len(report.verdicts)

    def options(self, seed: int) -> list[str]:
        """See Section."""
        return ["--package", self._chosen(seed).name]

    def _chosen(self, seed: int) -> Project:
        return self._projects[seed % len(self._projects)]

    def _judge(self, project: Project, chaos: int, verdicts: Sequence[Verdict]) -> None:
        wrong = [verdict for verdict in verdicts if verdict.problems]
        if not wrong:
            return
        told = "\n".join(corpus.explained(project, verdict) for verdict in wrong)
        problems = [problem for verdict in wrong for problem in verdict.problems]
        text = f"{project.name} under --chaos {chaos}\n{told}"
        assert not any(problem.startswith(_LEFT) for problem in problems), text
        raise DifferenceError(text)
