"""When the promise of success was wrong, and the driver would have gone on (or not)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from smpmake.session.rerun import can_run_again
from tests.builds.test_colours import on_terminal
from tests.support.space import MAIN, SMPMAKE, Space, objects

TOLERANT = {
    **objects(4),
    "main.c": MAIN,
    "bad.c": "int x = oops;\n",
    "other.c": "int x = 1;\n",
    "Makefile": (
        "OBJECTS = f0.o x.o f1.o f2.o f3.o main.o\n"
        "prog: $(OBJECTS)\n\tgcc -o $@ $^\n"
        "x.o:\n\tgcc -c bad.c -o x.o || gcc -c other.c -o x.o\n"
    ),
}


@pytest.mark.slow
def test_p1_a_failure_that_the_makefile_tolerates(space: Space) -> None:
    ended = space.expect_same(TOLERANT, ["make"])
    assert "make ran a second time" in ended.err
    assert "smpmake: failed: " not in ended.err  # make has decided


@pytest.mark.slow
def test_the_next_build_knows(space: Space) -> None:
    space.write(TOLERANT)
    space.smpmake("make")
    space.clear()
    space.write(TOLERANT)
    ended = space.smpmake("make")
    assert ended.status == 0
    assert "second time" not in ended.err
    assert "1 status-matters" in ended.err


@pytest.mark.slow
def test_a_real_error_is_told_as_by_make(space: Space) -> None:
    files = {**TOLERANT, "Makefile": "all: f0.o bad.o f1.o\n%.o: %.c\n\tgcc -c $< -o $@\n"}
    space.write(files)
    ended = space.smpmake("make")
    assert ended.status == 2
    assert ended.err.count("'oops' undeclared") == 1
    assert "bad.o] Error 1" in ended.err
    # Nothing of ours stands before the compiler's message, and little behind it.
    first, *_, again, last = ended.err.splitlines()
    assert first.startswith("bad.c:")
    assert again.startswith("smpmake: make ran a second time (")
    assert again.endswith("s) to stop at the failure as plain make does")
    assert last.startswith("smpmake: make failed, status 2: gcc -c bad.c -o bad.o (")
    assert ended.err.count("smpmake") == 3
    assert "bad.o" not in space.tree()
    space.expect_clean()
    # Two runs of make are one build; what make saw fail is in its report with its message.
    (told,) = json.loads(space.smpmake("report", "1", "--json").out)["failures"]
    assert "'oops' undeclared" in told["output"]
    assert told["reported"]
    assert len(json.loads(space.smpmake("history", "--json").out)["builds"]) == 1


@pytest.mark.slow
def test_what_was_mended_is_deferred_again(space: Space) -> None:
    files = {**TOLERANT, "Makefile": "all: f0.o bad.o f1.o\n%.o: %.c\n\tgcc -c $< -o $@\n"}
    space.write(files)
    space.smpmake("make")
    space.write({"bad.c": "int x;\n"})
    assert "1 status-matters" in space.smpmake("make").err
    (space.folder / "bad.o").unlink()
    ended = space.smpmake("make")
    assert ended.status == 0
    assert "1 in parallel, 0 in place" in ended.err


@pytest.mark.slow
def test_a_script_is_undone_and_run_again(space: Space) -> None:
    files = {
        **TOLERANT,
        "build.sh": "echo run >> log\ngcc -c bad.c || gcc -c other.c\ngcc -c f0.c\n",
    }
    space.write(files)
    ended = space.smpmake("sh", "build.sh")
    assert ended.status == 0
    assert (space.folder / "log").read_text() == "run\n"
    assert ended.err.count("'oops' undeclared") == 1
    assert {"other.o", "f0.o"} <= set(space.tree())


@pytest.mark.slow
def test_a_script_whose_input_is_gone_ends_where_it_failed(space: Space) -> None:
    """A pipe's data come once: nothing is repeated, and what followed the failure is undone."""
    script = "echo before > log\ngcc -c bad.c\necho behind >> log\ngcc -c f0.c\n"
    space.write({**TOLERANT, "build.sh": script})
    ended = space.run("sh", "-c", f"echo 1 | {SMPMAKE} sh build.sh")
    assert ended.status == 1
    assert (space.folder / "log").read_text() == "before\n"
    assert "smpmake: failed: gcc -c bad.c" in ended.err
    assert "\n  exit status 1\nsmpmake: sh failed, status 1: gcc -c bad.c (" in ended.err
    ended = space.smpmake("--memo=off", "sh", "build.sh")  # knows
    assert ended.status == 0
    assert " time (" not in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-v",)], ids=["begun ahead", "with options"])
def test_so_it_is_when_it_has_read_the_pipe_to_its_end(
    space: Space, options: tuple[str, ...]
) -> None:
    """However late we look: the driver of a plain build runs before a session is there."""
    script = "read name\necho $name > log\ngcc -c bad.c\ngcc -c f0.c\n"
    space.write({**TOLERANT, "build.sh": script})
    smpmake = " ".join([SMPMAKE, *options])
    ended = space.run("sh", "-c", f"echo said once | {smpmake} sh build.sh")
    assert ended.status == 1
    assert (space.folder / "log").read_text() == "said once\n"
    assert " time (" not in ended.err


@pytest.mark.parametrize(
    ("command", "again"),
    [
        (["make", "-C", "src"], True),
        (["/usr/bin/gmake"], True),
        (["ninja", "-j1"], True),
        (["pip", "wheel", "."], True),
        (["python3", "-m", "pip", "wheel", "."], True),
        (["python3.11", "-m", "build"], True),
        (["cmake", "--build", "b"], True),
        (["cmake", "-S", "."], False),
        (["python3", "setup.py", "build"], False),
        (["./build.sh"], False),
        (["sh", "-c", "make"], False),
    ],
)
def test_who_can_be_run_again(command: list[str], again: bool) -> None:
    assert can_run_again(command) is again


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("#!/usr/bin/make -f", True),
        ("#! /usr/bin/env -S MAKELEVEL=0 gmake -f", True),
        ("#!/bin/sh", False),
        ("#!/usr/bin/env", False),
        ("#!", False),
        ("all:", False),
        ("", False),
    ],
)
def test_a_makefile_that_is_a_program_is_a_make(tmp_path: Path, line: str, again: bool) -> None:
    rules = tmp_path / "rules"
    rules.write_text(f"{line}\nall:\n")
    assert can_run_again([str(rules), "build"]) is again
    assert not can_run_again([str(tmp_path), "build"])


def test_p2_a_makefile_that_is_a_program_fails_as_plainly(space: Space) -> None:
    """Also behind what cannot be undone, from where a script could not be run again."""
    final = f"{sys.executable} -c 'import os; os.setuid(os.getuid())'"
    rules = space.root / "rules"
    rules.write_text(
        f"#!/usr/bin/make -f\nall: f1.o first bad.o f0.o\nfirst:\n\t{final}\n"
        "%.o: %.c\n\tgcc -c $<\n"
    )
    rules.chmod(0o755)
    ended = space.expect_same(TOLERANT, [str(rules)])
    assert ended.status == 2
    assert "rules ran a second time" in ended.err


def test_p1_ldd_changes_nothing(space: Space) -> None:
    """Its program is the loader, which takes no guard: what came before can be undone still."""
    told = "ldd /bin/sh | sed 's/ (.*//' > ldd"  # but for the addresses
    script = f"set -e\necho x >> log\ngcc -c f0.c\n{told}\ngcc -c bad.c\necho y >> log\n"
    ended = space.expect_same({**TOLERANT, "build.sh": script}, ["sh", "build.sh"])
    assert "sh ran a second time" in ended.err


def test_p1_a_command_that_comes_twice_and_prints_elsewhere(space: Space) -> None:
    """What it has printed into one stream is not taken for what it prints into two."""
    script = "gcc -c w.c 2> said\ngcc -c w.c 2>&1 | tr a-z A-Z\ngcc -c nothere.c\n"
    files = {"w.c": "#warning hello\nint w;\n", "build.sh": script}
    space.write(files)
    on_terminal(space, "sh", "build.sh")
    expected = space.tree()
    space.clear()
    space.write(files)
    seen, status = on_terminal(space, SMPMAKE, "--memo=off", "sh", "build.sh")
    assert b"sh ran a second time" in seen
    assert (space.tree(), status) == (expected, 1)


#: Reads what comes only once, and then goes on behind a false promise.
READING = {
    "a.c": "int a;\n",
    "bad.c": "int x = oops;\n",
    "data": "data\n",
    "Makefile": "all:\n\tgcc -c a.c\n\tcat {0}> read\n\tgcc -c bad.c || :\n\techo > end\n",
    "build.sh": "gcc -c a.c\ncat {0}> read\ngcc -c bad.c || :\necho > end\n",
}


@pytest.mark.parametrize("driver", ["make", "sh build.sh"])
@pytest.mark.parametrize("descriptor", ["", "<&3 "], ids=["stdin", "descriptor 3"])
@pytest.mark.parametrize("given", ["{1} {0}<data", "cat data | {1} {0}<&0"], ids=["file", "pipe"])
def test_p2_what_was_read_is_not_lost(
    space: Space, driver: str, descriptor: str, given: str
) -> None:
    """A file is read again; of a pipe nobody has the data, and the build ends where it failed."""
    space.write({name: text.format(descriptor) for name, text in READING.items()})
    number = "3" if descriptor else ""
    ended = space.run("sh", "-c", given.format(number, f"{SMPMAKE} {driver}"))
    tree = space.tree()
    assert tree["read"] == tree["data"]
    assert ended.status == (1 if "|" in given else 0), ended.err
    assert ("end" in tree) == ("|" not in given)
    space.expect_clean()


@pytest.mark.parametrize("words", ["-sf -", "-f/dev/fd/0", "-f /proc/self/fd/0"])
def test_p2_a_makefile_that_comes_only_once(space: Space, words: str) -> None:
    space.write({**READING, "Makefile": "all:\n\tgcc -c a.c\n\tgcc -c bad.c\n"})
    ended = space.run("sh", "-c", f"cat Makefile | {SMPMAKE} make {words}")
    assert ended.status == 1
    assert "'oops' undeclared" in ended.err
    assert "No targets" not in ended.err
    assert "a.o" in space.tree()


def test_a_pipe_that_nobody_reads_keeps_no_make_from_deciding(space: Space) -> None:
    space.write(TOLERANT)
    ended = space.run("sh", "-c", f"cat main.c | {{ sleep 0; {SMPMAKE} make; }}")
    assert ended.status == 0, ended.err
    assert "make ran a second time" in ended.err


@pytest.mark.parametrize("before", ["echo data; ", ""], ids=["with data", "without"])
def test_nor_one_whose_writer_stays(space: Space, before: str) -> None:
    space.write(TOLERANT)
    stays = f"mkfifo wait; {{ {before}read line < wait; }}"
    make = f"{{ {SMPMAKE} make; status=$?; echo > wait; exit $status; }}"
    ended = space.run("sh", "-c", f"{stays} | {make}")
    assert ended.status == 0, ended.err
    assert "make ran a second time" in ended.err
