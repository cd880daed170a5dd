"""The parts of the corpus that need no package: the catalogue, and what a verdict sees."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from .catalogue import Excuse
from .corpus import HEADER, Report, arguments, row
from .project import Debian, NpmPackage, Project
from .projects import PROJECTS, chosen
from .sources import DATA, _escaped, fetched
from .trees import Entry, Snapshot
from .trials import STEPS, Result, Trial
from .verdicts import judged, verdicts

PROJECT = Project("some", "make", Debian("some", "1", ""), (("make",),), "a.c", ("*.o",))


def result(seconds: float = 1.0, **files: tuple[str, int]) -> Result:
    """A step that wrote these files: name, content and time."""
    names = {name: f"{name}.o" for name in files}
    entries = {names[name]: Entry("file", 0o644, content) for name, (content, _) in files.items()}
    times = {names[name]: time for name, (_, time) in files.items()}
    return Result(0, seconds, Snapshot(entries, times), frozenset(entries), (), (), "")


def trial(step: Result) -> Trial:
    """A trial whose steps are all the same."""
    return (step,) * len(STEPS)


def problems(one: Result, other: Result, actual: Result) -> tuple[str, ...]:
    """What is said about the first step."""
    return judged(PROJECT, (trial(one), trial(other)), trial(actual))[0].problems


def test_equal_builds_have_no_problems() -> None:
    one = result(a=("x", 10), b=("y", 20))
    verdict = judged(PROJECT, (trial(one), trial(one)), trial(one))[0]
    assert (verdict.problems, verdict.compared, verdict.hidden) == ((), 2, 0)


def test_times_matter_in_their_order_only() -> None:
    one = result(a=("x", 10), b=("y", 20))
    assert problems(one, one, result(a=("x", 100), b=("y", 100))) == ()
    (said,) = problems(one, one, result(a=("x", 101), b=("y", 100)))
    assert said.startswith("a.o: is newer than 1 written later")


def test_one_file_out_of_order_is_one_problem() -> None:
    one = result(a=("x", 10), b=("y", 20), c=("z", 30))
    (said,) = problems(one, one, result(a=("x", 20), b=("y", 30), c=("z", 10)))
    assert said.startswith("c.o: is older than 2 written earlier")


def test_an_order_that_serial_builds_do_not_keep_is_free() -> None:
    one, other = result(a=("x", 10), b=("y", 20)), result(a=("x", 20), b=("y", 10))
    assert problems(one, other, one) == problems(one, other, other) == ()


def test_what_one_program_writes_at_once_has_no_order() -> None:
    one = result(a=("x", 10), b=("y", 20), c=("z", 30))
    other = result(a=("x", 40), b=("y", 20), c=("z", 30))
    project = replace(PROJECT, at_once=(Excuse("[ab].o", "threads"),))
    verdict = judged(project, (trial(one),), trial(other))[0]
    assert [line.partition(", by")[0] for line in verdict.problems] == [
        "a.o: is newer than 1 written later"
    ]


class Repeated:
    """A place whose serial builds are these, one after the other."""

    project = PROJECT

    def __init__(self, *results: Result) -> None:
        self.trials = [trial(each) for each in results]
        self.built = 0

    def serial(self, count: int) -> tuple[Trial, ...]:
        """As many as are asked for."""
        self.built = max(self.built, count)
        return tuple(self.trials[:count])


def test_serial_builds_are_repeated_until_they_explain_a_difference() -> None:
    one, other = result(a=("x", 10), b=("y", 20)), result(a=("x", 20), b=("y", 10))
    for actual, needed in ((one, 1), (other, 3), (result(a=("z", 10), b=("y", 20)), 3)):
        place = Repeated(one, one, other)
        (verdict, *_) = verdicts(place, trial(actual))
        assert place.built == needed
        assert [line.partition(":")[0] for line in verdict.problems] == (
            ["a.o"] if actual not in (one, other) else []
        )


def test_what_serial_builds_disagree_about_is_not_compared() -> None:
    one, other = result(a=("x", 1), b=("y", 1)), result(a=("x", 1), b=("z", 1), c=("c", 1))
    actual = result(a=("x", 1), b=("w", 1))
    verdict = judged(PROJECT, (trial(one), trial(other)), trial(actual))[0]
    assert (verdict.problems, verdict.compared, verdict.hidden) == ((), 1, 2)


def test_everything_else_is_told() -> None:
    one = result(a=("x", 1), b=("y", 1))
    actual = replace(result(a=("z", 1), c=("y", 1)), status=2, left=("gcc",), litter=("tmp/x",))
    said = [line.partition(":")[0] for line in problems(one, one, actual)]
    expected = ["status", "a.o", "b.o", "c.o", "c.o"]
    assert said == [*expected, "process left behind", "temporary file left behind"]


def test_a_file_that_is_written_again_or_not_is_told() -> None:
    one = result(a=("x", 1), b=("y", 1))
    lazy = replace(one, changed=frozenset({"a.o"}))
    assert problems(one, one, lazy) == ("b.o: was not written, should have been",)
    assert problems(lazy, lazy, one) == ("b.o: was written, should not have been",)


def test_counts_come_from_the_output() -> None:
    said = "x\n  commands   5 in parallel, 7 in place\n 1 in parallel, 2 in place"
    assert replace(result(), said=said).counts == (6, 9)
    assert result().counts is None


def test_a_result_survives_json() -> None:
    one = result(a=("x", 1))
    assert Result.from_json(one.as_json()) == one


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_the_data_of_a_project_is_there(project: Project) -> None:
    assert project.build and project.products
    assert not project.data or list((DATA / project.data).iterdir())
    assert all(excuse.reason for excuse in (*project.ignored, *project.at_once))


def test_projects_are_chosen_by_name() -> None:
    assert len({project.name for project in PROJECTS}) == len(PROJECTS)
    assert [project.name for project in chosen(["coreutils"])] == ["coreutils"]
    assert not any(project.slow for project in chosen([]))
    with pytest.raises(KeyError):
        chosen(["nothing"])


def test_words_after_two_dashes_are_for_smpmake() -> None:
    wanted, options = arguments(["xz-utils", "--no-parallel", "--", "-j4", "--no-guard"])
    assert (wanted.name, options) == (["xz-utils"], ["-j4", "--no-guard"])


def test_a_row_has_all_cells() -> None:
    one = result(seconds=2.0, a=("x", 1))
    verdicts = tuple(judged(PROJECT, (trial(one), trial(one)), trial(one)))
    reports = (
        Report(PROJECT, reason="not there"),
        Report(PROJECT, serial=3.0),
        Report(PROJECT, "", 3.0, None, one, verdicts),
    )
    assert {len(row(report)) for report in reports} == {len(HEADER)}


def test_a_module_is_stored_under_an_escaped_path() -> None:
    assert _escaped("github.com/DataDog/zstd") == "github.com/!data!dog/zstd"


def test_what_an_npm_package_needs_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "archives").mkdir()
    (tmp_path / "package.json").write_text("{}")

    def packed(name: str, *requires: NpmPackage) -> NpmPackage:
        archive = tmp_path / f"archives/{name}-1.tgz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(tmp_path / "package.json", "package/package.json")
        return NpmPackage(name, "1", hashlib.sha256(archive.read_bytes()).hexdigest(), requires)

    source = fetched(replace(PROJECT, source=packed("addon", packed("macros"))), tmp_path)
    assert source is not None
    found = {path.relative_to(source).as_posix() for path in source.rglob("*.json")}
    assert found == {"node_modules/addon/package.json", "node_modules/macros/package.json"}
