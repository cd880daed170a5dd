"""Compiles whose caller captures what they print: silence is predicted where it was (P1, P2)."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.space import SMPMAKE, Ended, Space

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
COMPILES = ("-c+a.c", "-c+b.c", "a.o+b.o+-o+p")
FILES = {
    "build.py": BUILD,
    "a.c": '#include "a.h"\nint main(void) { return A; }\n',
    "a.h": "#define A 0\n",
    "b.c": "int b;\n",
}
DRIVER = ("python3", "build.py", *COMPILES)


def jobs(ended: Ended) -> int:
    """Commands that were jobs."""
    found = re.search(r"(\d+) in parallel", ended.err)
    return int(found[1]) if found else 0


def again(space: Space, *changes: dict[str, str], driver: tuple[str, ...] = DRIVER) -> list[Ended]:
    """The plain driver as oracle: a build, and one more for each change, in the same tree."""
    expected = []
    space.write(FILES)
    for change in ({}, *changes):
        space.write(change)
        ended = space.run(*driver)
        expected.append((ended.status, ended.out, space.tree()))
    space.clear()
    space.write(FILES)
    found = []
    for change, (status, out, tree) in zip(({}, *changes), expected, strict=True):
        space.write(change)
        ended = space.smpmake("-j2", "--", *driver)
        assert ended.status == status, ended.err
        assert space.tree() == tree, ended.err
        assert ended.out.endswith(out), ended.out
        space.expect_clean()
        found.append(ended)
    return found


def test_silence_is_promised_where_it_was_heard(space: Space) -> None:
    first, second = again(space, {})
    assert jobs(first) == 0
    assert jobs(second) == len(COMPILES)


def test_another_source_is_another_command(space: Space) -> None:
    _, second = again(space, {"a.c": '#include "a.h"\nint main(void) { return A + 1; }\n'})
    assert jobs(second) == len(COMPILES) - 1


@pytest.mark.chaos
def test_what_speaks_is_heard_and_not_promised(space: Space) -> None:
    space.environment["SMPMAKE_MEMO"] = "off"  # else it is no job, but given back
    warns = {"a.c": "#warning always\nint main(void) { return 0; }\n"}
    _, second, third = again(space, warns, {})
    assert jobs(second) == jobs(third) == len(COMPILES) - 1
    assert "earlier build" not in second.err + third.err


def test_one_that_speaks_now_is_undone_and_heard(space: Space) -> None:
    _, second, third = again(space, {"a.h": "#define A 0\n#warning now\n"}, {})
    assert "printed something, unlike in an earlier build: gcc -c a.c\n" in second.err
    assert "mispredicted" in space.run(SMPMAKE, "why", "2").out
    assert "True" in (space.folder / "log").read_text()
    assert "earlier build" not in third.err


@pytest.mark.chaos
def test_one_that_fails_now_is_told_its_caller(space: Space) -> None:
    _, second, third = again(space, {"a.h": "#error now\n"}, {"a.h": "#define A 1\n"})
    assert second.status == 1
    assert "-c+a.c failed" in second.err
    assert third.status == 0


def test_both_outputs_come_to_who_catches_them(space: Space) -> None:
    driver = ("python3", "build.py", "-c+a.c", "-c+b.c", "a.o+b.o+-o+p+-Wl,--verbose")
    _, second = again(space, {}, driver=driver)
    assert (space.folder / "log").read_text().endswith("--verbose: 0 True False\n")
    assert jobs(second) == 2


@pytest.mark.parametrize("unwanted", ["--no-guard", 'undo = "off"'])
def test_nothing_is_predicted_that_could_not_be_undone(space: Space, unwanted: str) -> None:
    again(space)
    options = [unwanted] if unwanted.startswith("-") else []
    space.write({".smpmake.toml": "" if options else unwanted})
    for _ in range(2):
        ended = space.smpmake(*options, "--", *DRIVER)
        assert (ended.status, jobs(ended)) == (0, 0)


@pytest.mark.parametrize(("is_over", "found"), [(True, len(COMPILES)), (False, 0)])
def test_nor_where_the_driver_could_not_be_run_again(
    space: Space, is_over: bool, found: int
) -> None:
    """What it reads from a pipe comes once."""
    again(space)
    space.stdin, end = os.pipe()
    if is_over:
        os.close(end)
    ended = space.smpmake("--", *DRIVER)
    assert (ended.status, jobs(ended)) == (0, found)
    os.close(space.stdin)
    if not is_over:
        os.close(end)
