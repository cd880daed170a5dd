"""What a package's builds are compared by; a root itself takes Debian's archive (scripts/soak)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.soak.command import sections
from tests.soak.distribution import inside, page
from tests.soak.distribution.machine import TooLongError
from tests.soak.distribution.oracle import Build, Oracle, unlike_lines
from tests.soak.distribution.package import Package, _system
from tests.soak.distribution.reduction import Reduction, reduced
from tests.soak.distribution.section import Distribution, listed, unexplained
from tests.soak.distribution.verdict import Verdict, table, verdicts
from tests.soak.section import SkippedError

NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def build(**changed: Any) -> Build:
    """One that made a file."""
    asked: dict[str, Any] = {
        "status": 0,
        "wall": 1.0,
        "cpu": 1.0,
        "lines": ["cc a.c"],
        "tree": {"a.o": "-rw-r--r-- 1"},
        "asked": {".": 0},
    }
    return Build(**{**asked, **changed})


def test_names_stand_once() -> None:
    names = listed()
    assert len({name.partition("/")[0] for name in names}) >= 150
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_what_a_build_leaves_and_prints(tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.mkdir()
    asked = {
        "command": ["sh", "-c", "echo x; echo y >&2; touch a; ln -s a b; chmod 600 a; exit 3"],
        "folder": str(built),
        "environment": dict(os.environ),
    }
    result = tmp_path / "result"
    done = subprocess.run(
        [sys.executable, inside.__file__, str(result)], input=json.dumps(asked).encode(), check=True
    )
    assert done.returncode == 0
    told = Build(**json.loads(result.read_text()))
    assert (told.status, told.lines, told.asked) == (3, ["x", "y"], {})
    assert told.tree == {"a": f"-rw------- {NOTHING}", "b": "lrwxrwxrwx a"}


def test_make_is_asked_where_a_build_begins(tmp_path: Path) -> None:
    (tmp_path / "obj-x").mkdir()
    (tmp_path / "other").mkdir()
    for folder, rule in ((".", "all:"), ("obj-x", "all:; touch all"), ("other", "all:")):
        (tmp_path / folder / "Makefile").write_text(f"{rule}\n")
    assert inside.asked(str(tmp_path), dict(os.environ)) == {".": 0, "obj-x": 1}


@pytest.mark.parametrize(
    ("one", "other", "unlike"),
    [
        (["a", "b"], ["b", "a"], []),
        (["took 1.3 s", "[ 9/10] a"], ["took 22.4 s", "[10/10] a"], []),
        (["rm /tmp/tmp.jX7q at 0x7a"], ["rm /tmp/tmp.B at 0xfff3"], []),
        (["a", "a"], ["a"], ["a"]),
        ([], ["make[2]: Entering directory '/x'", "w"], ["w"]),
    ],
)
def test_lines_in_whatever_order(one: list[str], other: list[str], unlike: list[str]) -> None:
    assert sorted(unlike_lines(one, other).elements()) == unlike


def test_what_differs_from_a_plain_build() -> None:
    oracle = Oracle(build())
    assert oracle.differences(build(lines=["smpmake: built in 1 s", "cc a.c"])) == []
    assert oracle.differences(build(status=2)) == ["status 2, plain 0"]
    assert oracle.differences(build(lines=["cc a.c", "odd"])) == ["line: odd"]
    assert oracle.differences(build(asked={".": 1})) == ["make -q in .: 0 plainly, 1"]
    assert oracle.differences(build(tree={"a.o": "-rw------- 1", "b": "-rw-r--r-- 2"})) == [
        "a.o: -rw-r--r-- 1 plainly, -rw------- 1",
        "b: None plainly, -rw-r--r-- 2",
    ]


def test_what_plain_builds_do_not_agree_in_is_not_compared() -> None:
    oracle = Oracle(build())
    drawn = ["cc a.c", "-z canary-5f0e3a"]
    oracle.add(build(tree={"a.o": "-rw-r--r-- 2"}, lines=drawn, asked={".": 1}))
    assert oracle.unlike == {"a.o"}
    for of in (oracle, oracle.like(build())):
        ours = build(tree={}, lines=["cc a.c", "-z canary-b77"], asked={".": 1})
        assert of.differences(ours) == []
        assert of.differences(build(lines=["cc a.c", "canary"])) == ["line: canary"]
        assert of.differences(build(tree={"b": "x"})) == ["b: None plainly, x"]


def test_of_what_fails_nothing_is_missing() -> None:
    oracle = Oracle(build(status=2, lines=["cc a.c", "error"]))
    told = ["cc a.c", "cc b.c", "error", "error"]
    assert oracle.differences(build(status=2, lines=told)) == []
    assert oracle.differences(build(status=2, lines=["cc a.c"])) == ["line: error"]


def test_a_difference_by_chance_is_none() -> None:
    def again(*options: str) -> Build:
        raise AssertionError(options)

    ours = build(tree={"a.o": "-rw-r--r-- 2"})
    oracle = Oracle(build())
    assert reduced(oracle, ours, Reduction(lambda: ours, again, str)).differences == []
    assert oracle.unlike == {"a.o"}


def test_what_plain_builds_seldom_do_is_no_difference() -> None:
    rare = build(tree={"a.o": "-rw-r--r-- 2"})
    plain = iter([build()] * 8 + [rare] * 8)
    ours = iter([build(), rare, build()])
    how = Reduction(lambda: next(plain), lambda: next(ours), str)
    assert reduced(Oracle(build()), rare, how).differences == []
    assert list(ours) == []  # what it is without is of no interest


def test_a_difference_is_reduced() -> None:
    ours = build(tree={"a.o": "-rw-r--r-- 2", "b": ""})

    def again(*options: str) -> Build:
        if options == ("--no-guard",):
            raise TooLongError
        return build() if options == ("-j1",) else ours

    told = reduced(Oracle(build()), ours, Reduction(build, again, "of {}".format))
    assert len(told.differences) == 2
    assert (told.shows, told.without) == ("4 of 4", ["-j1"])
    assert told.why == {"a.o": "of a.o", "b": "of b"}
    kept = json.loads(told.text())
    assert (kept["plain"]["tree"], kept["ours"]["tree"]) == (build().tree, ours.tree)


def test_what_builds_a_package() -> None:
    assert _system({"configure.ac", "Makefile.am", "Makefile"}) == "autotools"
    assert _system({"Makefile.PL", "lib"}) == "Perl"
    assert _system({"a.pro"}) == "qmake"
    assert _system({"src"}) == "other"


class Root:
    """A package's in which nothing is done: of each build it is said what it did.

    hangs   the step under smpmake that does not end.
    """

    def __init__(self, hangs: bool = False) -> None:
        self._hangs = hangs
        self.faults = 0

    def fetch(self, commands: str) -> str:
        if "apt-get source" in commands:
            return "1.0-1\n. .. configure a.c debian\n"
        if "--json" in commands:
            command = {"reason": "", "language": "C", "kind": "compile"}
            return json.dumps({"commands": [command], "figures": {"deferred": 1}})
        if "find ." in commands:
            return "a.c\nb.c\na.h"
        if "no language" in commands:
            assert commands.endswith(">> a.c")
            self.faults += 1
        return "smpmake gave 3 remembered results back" if "report" in commands else ""

    def build(
        self, command: list[str], folder: str, environment: dict[str, str], seconds: int
    ) -> Build:
        if command[0] == "dh_auto_test":
            raise TooLongError
        if self._hangs and command[0] != "debian/rules":
            raise TooLongError("it did not end")
        return build(tree={"a.c": "-rw-r--r-- 1", "a.o": "-rw-r--r-- 2"})


def tried(root: Any, folder: Path) -> Verdict:
    verdict = Verdict("some", "bookworm")
    Package(verdict, root, folder).tried()
    return verdict


def test_all_steps_of_one_that_is_alike(tmp_path: Path) -> None:
    root = Root()
    verdict = tried(root, tmp_path)
    assert root.faults == 2  # plainly and under smpmake
    assert (verdict.version, verdict.system, verdict.serial) == ("1.0-1", "autotools", "no -j")
    assert (verdict.files, verdict.unlike, verdict.differences) == (2, 0, {})
    assert (verdict.commands, verdict.deferred, verdict.given) == (1, 1, 3)
    assert verdict.plain == verdict.smpmake == verdict.again == (1.0, 1.0)
    assert list(tmp_path.iterdir()) == []


def test_one_that_does_not_end_is_a_difference(tmp_path: Path) -> None:
    assert tried(Root(hangs=True), tmp_path).differences == {"first": ["it did not end"]}


class Slow(Root):
    """What is broken does not end plainly either."""

    def build(self, command: list[str], *words: Any) -> Build:
        self._times = getattr(self, "_times", 0) + 1
        if command[0] == "debian/rules" and self._times > 8:
            raise TooLongError("too long")
        return super().build(command, *words)


def test_a_plain_build_that_does_not_end_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(SkippedError, match="too long"):
        tried(Slow(), tmp_path)


class Broken(Root):
    """A root in which everything fails."""

    def fetch(self, commands: str) -> str:
        raise SkippedError("no such package")


def test_a_package_that_cannot_be_had_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(SkippedError, match="no such package"):
        tried(Broken(), tmp_path)


def test_the_last_verdict_of_a_package_counts(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    found = [
        Verdict("a", "bookworm", differences={"first": ["x"]}),
        Verdict("b", "bookworm", skipped="cannot be had"),
        Verdict("a", "bookworm", version="2", plain=(1.5, 1.5)),
    ]
    results.write_text("".join(f"{each.line()}\n" for each in found))
    told = verdicts(results)
    assert [(each.name, each.version, each.differences) for each in told] == [
        ("a", "2", {}),
        ("b", "", {}),
    ]
    assert table(told).splitlines()[2:] == [
        "| a | bookworm | 2 | 0 | 1.5 | 0.0 | 0.0 | 0 of 0 | 0 | none |"
    ]


def test_the_page_says_what_the_results_show(tmp_path: Path) -> None:
    found = [
        Verdict("a", "trixie", smpmake=(2.0, 5.0), commands=4, deferred=3, in_place={"probe": 1}),
        Verdict("b", "bookworm", smpmake=(8.0, 4.0), serial="no -j"),
        Verdict("c", "bookworm", skipped="cannot be had"),
        Verdict("d", "bookworm", differences={"first": ["it does not end"]}),
    ]
    for each in found[:2]:
        each.system, each.files = "make", 20
        each.plain, each.parallel, each.again = (4.0, 4.0), (2.5, 4.0), (1.0, 1.0)
    told = page.part(found).splitlines()
    assert told[0] == (
        "smpmake builds 2 of 3 source packages of Debian 12 and Debian 13 like the plain build: "
        "40 files of 3 builds are the same."
    )
    assert "| make | 2 | 75% | 1.25 | 1.60 | 1.12 | 0.25 |" in told
    assert "| make without -j | 1 | 0% | 0.50 | 1.60 | 1.00 | 0.25 |" in told
    at = told.index("| --- | --- | --- | --- | --- |")
    assert told[at + 1] == "| b | make | 2.5 | 8.0 | 0% |"
    assert "Reasons for commands in place, of 4 commands: probe 25%." in told
    found[0].differences = {"first": ["b: x plainly, y", "a: x plainly, y"], "fault": ["a: z"]}
    told = page.part(found).splitlines()
    assert "1 of 3" in told[0]
    assert told[-2:] == [
        "- a (trixie; first, fault): a, b",
        "- d (bookworm; first): it does not end",
    ]
    page.plot(found, tmp_path / "plot.svg")
    first = (tmp_path / "plot.svg").read_bytes()
    page.plot(found, tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_bytes() == first


def test_what_the_limits_name_is_no_finding() -> None:
    waf = "build/.lock-waf_linux_build: -rw-r--r-- 1 plainly, -rw-r--r-- 2"
    found = {"first": [waf, "a.o: None plainly, x"], "second": [waf]}
    assert unexplained(found) == {"first": ["a.o: None plainly, x"]}


def test_it_is_tried_only_by_name() -> None:
    assert not any(isinstance(each, Distribution) for each in sections([], []))
    (one,) = sections(["packages"], [], (), ["tree", "ed"])
    assert (one.trials(), one.options(3)) == (4, ["--only", "ed/trixie"])
    (one,) = sections(["packages"], [], (), ["ed/trixie"])
    assert (one.trials(), one.options(3)) == (1, ["--only", "ed/trixie"])
    with pytest.raises(ValueError, match="--only"):
        sections(["wire"], [], (), ["tree"])
