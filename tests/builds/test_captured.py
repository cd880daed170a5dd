"""Compiles whose caller captures what they print: it hears the truth, also of remembered ones."""

from __future__ import annotations

import re

import pytest

from tests.support.space import Ended, Space

#: Compiles one after the other, as cargo's cc does, and acts on what it hears.
BUILD = """
import subprocess, sys
log = open("log", "w")
for name in sys.argv[1:]:
    done = subprocess.run(["gcc", *name.split("+")], capture_output=True, text=True)
    log.write(f"{name}: {done.returncode} {bool(done.stdout)} {bool(done.stderr)}\\n")
    if done.returncode:
        sys.exit(f"{name} failed: {done.stderr}")
print("built")
"""
COMPILES = ("-c+a.c", "-c+b.c", "a.o+b.o+-o+p+-Wl,--verbose")
FILES = {
    "build.py": BUILD,
    "a.c": '#include "a.h"\nint main(void) { return A; }\n',
    "a.h": "#define A 0\n",
    "b.c": "int b;\n",
}
DRIVER = ("python3", "build.py", *COMPILES)


def given(ended: Ended) -> int:
    """Commands whose results were remembered."""
    found = re.search(r"gave (\d+) remembered", ended.err)
    return int(found[1]) if found else 0


def again(space: Space, *changes: dict[str, str]) -> list[Ended]:
    """The plain driver as oracle: a build, and one more for each change, in the same tree."""
    expected = []
    space.write(FILES)
    for change in ({}, *changes):
        space.write(change)
        ended = space.run(*DRIVER)
        expected.append((ended.status, ended.out, space.tree()))
        space.run("rm", "-f", "a.o", "b.o", "p")
    space.clear()
    space.write(FILES)
    found = []
    for change, (status, out, tree) in zip(({}, *changes), expected, strict=True):
        space.write(change)
        ended = space.smpmake("-j2", "--", *DRIVER)
        assert ended.status == status, ended.err
        assert space.tree() == tree, ended.err
        assert ended.out.endswith(out), ended.out
        space.run("rm", "-f", "a.o", "b.o", "p")
        space.expect_clean()
        found.append(ended)
    return found


def test_the_second_build_is_given_what_has_not_changed(space: Space) -> None:
    first, second, third = again(
        space, {}, {"a.c": '#include "a.h"\nint main(void) { return A + 1; }\n'}
    )
    assert (given(first), given(second), given(third)) == (0, 3, 1)
    assert "--verbose: 0 True False\n" in (space.folder / "log").read_text()


def test_one_that_speaks_now_is_heard(space: Space) -> None:
    again(space, {"a.h": "#define A 0\n#warning now\n"}, {})
    assert "-c+a.c: 0 False True\n" in (space.folder / "log").read_text()


@pytest.mark.chaos
def test_one_that_fails_now_is_told_its_caller(space: Space) -> None:
    _, second, third = again(space, {"a.h": "#error now\n"}, {"a.h": "#define A 1\n"})
    assert second.status == 1
    assert "-c+a.c failed" in second.err
    assert third.status == 0


@pytest.mark.parametrize("option", ["--no-guard", "--memo=off"])
def test_where_nothing_is_remembered_all_is_run(space: Space, option: str) -> None:
    again(space)
    for _ in range(2):
        ended = space.smpmake(option, "--", *DRIVER)
        assert (ended.status, given(ended)) == (0, 0)
