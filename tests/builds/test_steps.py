"""Commands of shell scripts that are jobs because an earlier build has seen them (P1, P2)."""

from __future__ import annotations

import os

import pytest

from tests.support.lessons import jobs, make_them_slow, release_together
from tests.support.space import SMPMAKE, Ended, Space
from tests.support.variants import often

ALL = "--recipes=all"

#: A tool that a project brings along: what it is given is copied, and told.
GEN = """#!/usr/bin/env python3
import os, sys
name = f"go-{sys.argv[1]}"
if os.path.exists(name):
    open(name).read()
if os.path.exists("fails"):
    sys.exit(3)
text = "".join(open(path).read() for path in sys.argv[3:])
if sys.argv[2] == "-":
    print(text + sys.argv[1])
else:
    open(sys.argv[2], "w").write(text + sys.argv[1])
"""


def script(*lines: str, shell: str = "bash") -> dict[str, str]:
    text = "\n".join([f"#!/bin/{shell}", "gen=$PWD/gen", *lines, ""])
    return {"build.sh": text, "gen": GEN, "in": "in\n"}


def write(space: Space, files: dict[str, str]) -> None:
    space.write(files)
    for name in ("build.sh", "gen"):
        if (space.folder / name).exists():
            (space.folder / name).chmod(0o755)


def build(space: Space) -> Ended:
    ended = space.smpmake(ALL, "-j4", "--", "./build.sh")
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()
    make_them_slow(space)
    return ended


def again(space: Space, first: dict[str, str], *changes: dict[str, str]) -> list[Ended]:
    """The plain driver as oracle: a build, and one for each change of files, in the same tree."""
    write(space, first)
    expected = []
    for change in ({}, *changes):
        write(space, change)
        ended = space.run("./build.sh")
        expected.append((ended.status, ended.out, space.tree()))
    space.clear()
    write(space, first)
    found = []
    for change, (status, out, tree) in zip(({}, *changes), expected, strict=True):
        write(space, change)
        ended = build(space)
        assert space.tree() == tree, ended.err
        assert (ended.status, ended.out) == (status, out), ended.err
        found.append(ended)
    return found


def test_what_was_seen_runs_at_once(space: Space) -> None:
    first = script("$gen a a in", "$gen b b in", "cat a b > c")
    assert jobs(again(space, first, {})[1]) == 2
    gates = [space.folder / f"go-{name}" for name in "ab"]
    for gate in gates:
        os.mkfifo(gate)
    process = space.start(SMPMAKE, ALL, "-j4", "--", "./build.sh")
    release_together(process, gates)
    assert space.finish(process).status == 0
    assert (space.folder / "c").read_text() == "in\nain\nb"


def test_what_a_shell_sends_into_a_file_is_made_by_the_job(space: Space) -> None:
    first = script("$gen a - in > a", "$gen b - a > b", "echo end >> b")
    _, second = again(space, first, {})
    assert jobs(second) == 2


#: Scripts whose commands are better left where they are, and how many are jobs none the less.
LEFT = {
    "several into one file": ("{ $gen a - in; $gen b - in; } > a", 0),
    "appended": ("$gen a - in >> a; $gen b - in >> a", 0),
    "a pipe's end": ("echo 1 | $gen a a /dev/stdin", 0),
    "a pipe's beginning": ("$gen a - in | tr i o > a", 0),
    "its input is a file": ("$gen a a /dev/stdin < in", 0),
    "another descriptor": ("exec 5> log; $gen a a in; echo 1 >&5", 0),
    "caught": ('x=$($gen a - in); echo "$x" > a', 0),
    "its status is looked at": ("if $gen a a in; then echo 1 > b; fi", 1),
    "in a shell below": ("(mkdir -p d; cd d; $gen a ../a ../in)", 1),
    "behind the others": ("$gen a a in & wait; cat a > b", 1),
}


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("shell", often(("bash",), ("bash", "dash")))
def test_what_is_left_where_it_is(space: Space, name: str, shell: str) -> None:
    line, expected = LEFT[name]
    _, second = again(space, script(line, "cat a > z", shell=shell), {})
    assert jobs(second) == expected


def test_a_script_without_a_first_line_is_its_shells_affair(space: Space) -> None:
    plain = {"plain": "echo $BASH_VERSION > a\n", "in": ""}
    for shell in ("bash", "dash"):
        first = {**script("./plain; :", "cat a > b", shell=shell), **plain}
        write(space, first)
        (space.folder / "plain").chmod(0o755)
        expected = space.run("./build.sh").status, space.tree()
        for _ in range(2):
            ended = build(space)
            assert (ended.status, space.tree()) == expected, ended.err
        space.clear()


def test_a_script_that_is_called_by_a_relative_path_knows_that(space: Space) -> None:
    first = {**script("./said; :", "cat a > b"), "said": "#!/bin/sh\necho $0 > a\n"}
    write(space, first)
    (space.folder / "said").chmod(0o755)
    for _ in range(2):
        build(space)
        assert (space.folder / "b").read_text() == "./said\n"


def test_one_that_fails_now_is_told_the_script(space: Space) -> None:
    first = script("if $gen a a in; then echo 1 > b; else echo 2 > c; fi")
    _, second, third = again(space, first, {"fails": ""}, {})
    assert "is run again" in second.err
    assert "is run again" not in third.err, "it is waited for"


def test_one_that_failed_is_not_learnt(space: Space) -> None:
    first = script("$gen a a in || echo 2 > c")
    _, second = again(space, {**first, "fails": ""}, {})
    assert jobs(second) == 0


def test_one_that_does_something_else_is_undone(space: Space) -> None:
    other = GEN + 'open("more", "w").write("more")\n'
    _, second, _ = again(space, script("$gen a a in", "cat more > b; :"), {"gen": other}, {})
    assert "did not do what it did in an earlier build (wrote" in second.err


def test_without_it_scripts_run_as_they_are(space: Space) -> None:
    write(space, script("$gen a a in"))
    for _ in range(2):
        assert jobs(space.smpmake("--recipes=learned", "--", "./build.sh")) == 0
        make_them_slow(space)
