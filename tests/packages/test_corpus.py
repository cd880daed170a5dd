"""The corpus under smpmake: each step ends as the serial one does.

Run these with `pytest -m packages tests/packages/test_corpus.py [-k NAME]`.  `corpus` makes a table
of the same.
"""

from __future__ import annotations

import os
import shlex

import pytest

from . import fetch
from .conftest import PackageRun
from .corpus import explained, seconds
from .project import Project
from .projects import PROJECTS
from .trials import Trial, stand, steps_of
from .verdicts import Verdict, verdicts

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]

LAST_LINES = 20
Ended = list[tuple[Trial, list[Verdict]]]
ROUNDS = ("", "-again")

STEPS = {
    f"{project.name}-{step.name}{round_}": (project, number, known)
    for project in PROJECTS
    if not project.slow
    for known, round_ in enumerate(ROUNDS)
    for number, step in enumerate(steps_of(project))
}


@pytest.fixture(scope="module")
def project(request: pytest.FixtureRequest) -> Project:
    """Each of the projects in turn, but for the slow ones."""
    chosen: Project = request.param
    return chosen


@pytest.fixture(scope="session")
def all_ended() -> dict[str, Ended]:
    """By project.  Not one fixture a project: pytest has a new one for each of its steps."""
    return {}


@pytest.fixture
def ended(
    project: Project, smpmake: str, package_run: PackageRun, all_ended: dict[str, Ended]
) -> Ended:
    """The trials under smpmake (with the options of SMPMAKE_TESTS_OPTIONS), and the verdicts.

    In the second one it knows which commands failed, and which said nothing, in the first.
    """
    if project.name in all_ended:
        return all_ended[project.name]
    options = shlex.split(os.environ.get("SMPMAKE_TESTS_OPTIONS", ""))
    try:
        with stand(project) as place:
            serial = place.serial()
            place.forget()
            trials = [place.trial([smpmake, *options]) for _ in ROUNDS]
            found = [(trial, verdicts(place, trial)) for trial in trials]
    except fetch.UnavailableError as error:
        pytest.skip(f"{project.name}: {error}")
    if trials[0][0].status == 0:
        package_run.times[project.name] = (seconds(serial), trials[0][0].seconds)
    all_ended[project.name] = found
    return found


@pytest.mark.parametrize(
    ("project", "number", "known"), STEPS.values(), ids=STEPS.keys(), indirect=["project"]
)
def test_a_step_ends_as_the_serial_one(
    project: Project, ended: Ended, number: int, known: int
) -> None:
    """P1, P7, P9: status, files, what was written and in which order, and nothing left behind."""
    trial, found = ended[known]
    verdict = found[number]
    if verdict.problems:
        last = trial[number].said.splitlines()[-LAST_LINES:]
        end = ["--- the end of the output:", *last]
        pytest.fail("\n".join([explained(project, verdict), *end]), pytrace=False)
    assert verdict.compared, "nothing was compared"


CHAOTIC = ("gperf", "zlib")


@pytest.mark.parametrize("name", CHAOTIC)
def test_disorder_changes_nothing(name: str, smpmake: str) -> None:
    """P1 under ten seeds of --chaos."""
    (project,) = (each for each in PROJECTS if each.name == name)
    try:
        with stand(project) as place:
            place.forget()
            for seed in range(10):
                trial = place.trial([smpmake, "--chaos", str(seed)])
                for verdict in verdicts(place, trial):
                    assert not verdict.problems, f"seed {seed}\n{explained(project, verdict)}"
    except fetch.UnavailableError as error:
        pytest.skip(f"{name}: {error}")
