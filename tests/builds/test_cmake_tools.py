"""cmake -E in makefiles: what copies, links and removes does not hold the build up (P1, P7)."""

from __future__ import annotations

import os

import pytest

from smpmake.commands.generators import cmake
from smpmake.commands.reading import makes
from tests.commands.disk import meaning
from tests.support import needs
from tests.support.held import Held
from tests.support.space import Space, words

FIRST = "gcc -Dheld -shared -fPIC x.c -o libx.so.1.2"
#: What stands behind the held link, and how many commands of each are jobs.
RECIPES = {
    "the links of a library": (
        [
            "cmake -E cmake_symlink_library libx.so.1.2 libx.so.1 libx.so",
            "cmake -E touch_nocreate libx.so",
        ],
        2,
    ),
    "a link of a program": (["cmake -E cmake_symlink_executable libx.so.1.2 x"], 1),
    "copied": (["cmake -E copy libx.so.1.2 copy.so"], 2),
    "copied over an older one": (["cmake -E copy libx.so.1.2 older"], 2),
    "copied into a folder": (["cmake -E copy libx.so.1.2 x.c sub"], 2),
    "copied if it is another": (["cmake -E copy_if_different libx.so.1.2 older"], 2),
    "moved on": (["cmake -E copy libx.so.1.2 copy.so", "cmake -E rm -f libx.so.1.2"], 3),
    "removed": (["cmake -E rm libx.so.1.2"], 2),
    "touched": (["cmake -E touch libx.so.1.2"], 2),
    "linked": (["cmake -E create_symlink libx.so.1.2 l.so"], 1),
    "a folder": (["cmake -E make_directory new", "cmake -E copy libx.so.1.2 new/l.so"], 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_tool_for_files_goes_on(space: Space, name: str) -> None:
    needs.require("cmake")
    recipe, jobs = RECIPES[name]
    lines = "".join(f"\t{line}\n" for line in (FIRST, *recipe, ": > after"))
    made = {
        "x.c": "int x;\n",
        "older": "older\n",
        "sub/here": "",
        "Makefile": f"all:\n{lines}",
    }
    held = Held(space)
    status, serial = held.serial(made, ["make"])
    space.clear()
    space.write(made)
    process = held.start(*words([], ["make"]))
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert (ended.status, held.tree()) == (status, serial), ended.err
    assert f"{jobs} in parallel" in ended.err, ended.err
    assert "stalls" not in ended.err, ended.err
    space.expect_clean()


@pytest.mark.slow
def test_a_build_below_cmake_is_the_build(space: Space) -> None:
    """It becomes the make, and what that calls are commands of the build."""
    needs.require("cmake")
    sources = {f"{name}.c": f"int {name};\n" for name in "abc"}
    lists = "cmake_minimum_required(VERSION 3.10)\nproject(t C)\nadd_library(t a.c b.c c.c)\n"
    space.write({**sources, "CMakeLists.txt": lists})
    space.ok("cmake", "-S", ".", "-B", "b")
    ended = space.smpmake("cmake", "--build", "b")
    assert ended.status == 0, ended.err
    assert "5 in parallel" in ended.err, ended.err


def test_the_native_programs_know_the_same_commands() -> None:
    assert sorted(cmake.COMMANDS) == sorted(makes.FILE_COMMANDS)


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("cmake --build b", "not-pending"),
        ("cmake -E cmake_link_script link.txt", "not-pending"),
        ("cmake -E copy a", "malformed-command"),
        ("cmake -E copy a b c", "malformed-command"),
        ("cmake -E copy -t d a", "unknown-option"),
        ("cmake -E rm -x a", "unknown-option"),
        ("cmake -E create_symlink a", "malformed-command"),
        ("cmake -E cmake_symlink_library a b", "malformed-command"),
        ("cmake -E touch", "malformed-command"),
    ],
)
def test_what_is_no_job(line: str, refusal: str) -> None:
    assert meaning(line).refusal == refusal


def test_what_is_touched_through_a_link_is_older_than_what_comes_behind(space: Space) -> None:
    """Also where the link itself is younger, as one is that the kernel dates within a tick."""
    script = (
        "gcc -Dheld -shared -fPIC x.c -o libx.so.1\nln -s libx.so.1 libx.so\n"
        "touch -h -d '1 hour' libx.so\ntouch -c libx.so\ngcc -c x.c -o later.o\n: > after\n"
    )
    files = {"x.c": "int x;\n", "build.sh": script}
    held = Held(space)
    status, expected = held.serial(files, ["sh", "build.sh"])
    ended, tree = held.parallel(files, ["sh", "build.sh"], witness="after")
    assert (ended.status, tree) == (status, expected), ended.err
    library, later = (os.stat(space.folder / name) for name in ("libx.so.1", "later.o"))
    assert library.st_mtime_ns <= later.st_mtime_ns
    assert "4 in parallel, 1 in place" in ended.err, ended.err
