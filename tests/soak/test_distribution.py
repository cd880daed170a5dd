"""What a package's builds are compared by; a root itself takes Debian's archive (scripts/soak)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.soak.command import sections
from tests.soak.distribution import inside
from tests.soak.distribution.package import Package, Verdict, _system, _unlike_lines
from tests.soak.distribution.section import Distribution, listed
from tests.soak.section import SkippedError


def test_names_stand_once() -> None:
    names = listed()
    assert len(names) >= 150
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
    told = json.loads(result.read_text())
    assert (told["status"], told["lines"]) == (3, ["x", "y"])
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert told["tree"] == {"a": f"-rw------- {nothing}", "b": "lrwxrwxrwx a"}


@pytest.mark.parametrize(
    ("one", "other", "unlike"),
    [
        (["a", "b"], ["b", "a"], []),
        (["took 1.3 s"], ["took 22.4 s"], []),
        (["a", "a"], ["a"], ["a"]),
        ([], ["make[2]: Entering directory '/x'", "w"], ["w"]),
    ],
)
def test_lines_in_whatever_order(one: list[str], other: list[str], unlike: list[str]) -> None:
    assert sorted(_unlike_lines(one, other).elements()) == unlike


def test_what_builds_a_package() -> None:
    assert _system({"configure.ac", "Makefile.am", "Makefile"}) == "autotools"
    assert _system({"Makefile.PL", "lib"}) == "Perl"
    assert _system({"src"}) == "other"


class Broken:
    """A root in which everything fails."""

    def fetch(self, commands: str) -> str:
        raise SkippedError("no such package")


def test_a_package_that_cannot_be_had_is_skipped() -> None:
    with pytest.raises(SkippedError, match="no such package"):
        Package(Verdict("nonesuch", "bookworm"), Broken()).tried()  # type: ignore[arg-type]


def test_it_is_tried_only_by_name() -> None:
    assert not any(isinstance(each, Distribution) for each in sections([], []))
    (one,) = sections(["packages"], [], (), ["tree", "ed"])
    assert (one.trials(), one.options(3)) == (4, ["--only", "ed"])
    with pytest.raises(ValueError, match="--only"):
        sections(["wire"], [], (), ["tree"])
