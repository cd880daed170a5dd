"""Checks of configure scripts, which run without asking while nothing is at work (P1, P6)."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.support.counting import COUNTING, counted, most_at_once
from tests.support.held import Held
from tests.support.space import MAIN, Ended, Space
from tests.support.variants import often

CONFIGURE = """#!/bin/sh
gcc --version > /dev/null || exit 1
gcc -V > /dev/null 2>&1 && exit 1
echo 'int main(void) { return 0; }' > conftest.c
gcc -o conftest conftest.c && ./conftest && echo runs >> config.h
gcc -c conftest.c && nm conftest.o | grep -q main && echo main >> config.h
gcc -E conftest.c | grep -q main && echo expands >> config.h
echo 'int main(void) { return oops; }' > conftest.c
gcc -c -o conftest2.o conftest.c 2> conftest.err || echo fails >> config.h
ls conftest* >> config.h
guess=`mktemp -d "${TMPDIR:-/tmp}/cgXXXXXX"` || exit 1
echo 'int dummy;' > "$guess/dummy.c"
gcc -c -o "$guess/dummy.o" "$guess/dummy.c" && rm -r "$guess"
rm -f conftest*
"""
#: Stands at a check until the word is given, and then is gcc.
HELD = """#!/bin/sh
case "$*" in *conftest*) until [ -e go ]; do :; done;; esac
exec {gcc} "$@"
"""


def in_place(ended: Ended) -> int:
    found = re.search(r"(\d+) in place", ended.err)
    return int(found[1]) if found else 0


@pytest.mark.parametrize("option", ["", "--no-guard", "-j1"])
def test_nobody_hears_of_them(space: Space, option: str) -> None:
    ended = space.expect_same(
        {"configure": CONFIGURE}, ["sh", "configure"], *filter(None, [option])
    )
    assert in_place(ended) == 0, ended.err


QUESTIONS = """#!/bin/sh
exec < /dev/null > answers 2>&1
ld=`gcc -g -O2 -print-prog-name=ld` && echo "$ld"
gcc -print-search-dirs | sed 1q
echo 'int name;' > conftest.c
echo __GNUC__ | cc -E - | tail -n 1
gcc -E conftest.c | grep name
gcc -c conftest.c && nm -B conftest.o | grep name && nm -B /dev/null 2>&1 | sed 1q
nm -B --help | sed 1q
ld -m elf_x86_64 --help | sed 1q
ld -m elf_x86_64 -v
echo conftest.o > conftest.lst
ar crD libconftest.a @conftest.lst && ar t libconftest.a
rm -f conftest.* libconftest.a
"""


@pytest.mark.parametrize("option", ["", "--no-guard", "-j1"])
def test_nobody_hears_of_questions(space: Space, option: str) -> None:
    ended = space.expect_same(
        {"configure": QUESTIONS}, ["sh", "configure"], *filter(None, [option])
    )
    assert in_place(ended) == 0, ended.err


def test_behind_something_pending_they_are_commands(space: Space) -> None:
    held = Held(space)
    files = {
        "g.c": "int g;\n",
        "build.sh": f"gcc -Dheld -c g.c\n{CONFIGURE}\ngcc -shared g.o -o g\n",
    }
    status, serial = held.serial(files, ["sh", "build.sh"])
    space.clear()
    space.write(files)
    process = held.start("sh", "build.sh")
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert (ended.status, held.tree()) == (status, serial), ended.err
    assert in_place(ended) >= 6, ended.err


PARALLEL = """
for n in 1 2 3 4 5 6; do gcc -o conftest.$n.o -c conftest.c & done; wait
for n in 1 2 3; do gcc -o g.$n.o -c g.c; gcc -o conftest.1$n.o -c conftest.c & done; wait
gcc -o conftest.20.o -c conftest.c & for n in 4 5 6; do gcc -o g.$n.o -c g.c; done; wait
"""


@pytest.mark.parametrize("slots", often(["1", "2"], ["1", "2", "3"]))
def test_p6_one_of_them_counts_as_one_of_the_slots(space: Space, slots: str) -> None:
    counted(space, COUNTING)
    files = {"build.sh": PARALLEL * 3, "g.c": "int g;\n", "conftest.c": MAIN}
    space.write(files)
    ended = space.smpmake("-j", slots, "sh", "build.sh")
    assert ended.status == 0, ended.err
    assert most_at_once(space) <= int(slots)


#: Checks with somebody at the other end who may want their slot; more than a pipe holds.
MEETING = {
    "a pipe": "gcc -S conftest.c -o - | as - -o conftest.o",
    "what it prints": "gcc -E conftest.c | gcc -xc - -c -o conftest.o",
    "its input": "(gcc -c a.c; cat conftest.c) | gcc -xc - -c -o conftest.o",
    "a FIFO": "mkfifo conftest.x; gcc -xc -c conftest.x -o conftest.o &\n"
    "if gcc -c a.c; then cat conftest.c > conftest.x; fi; wait; rm conftest.x",
    "a process": "bash -c 'gcc -xc -c <(gcc -c a.c; cat conftest.c) -o conftest.o'",
}


@pytest.mark.parametrize("name", MEETING)
def test_one_that_meets_others_is_a_command(space: Space, name: str) -> None:
    text = "".join(f"int a_long_name_of_function_number_{n}(void) {{}}\n" for n in range(4000))
    build = f"set -e\n{MEETING[name]}\n"
    files = {"build.sh": build, "conftest.c": text, "a.c": "int a;\n"}
    space.expect_same(files, ["bash", "build.sh"], "-j1")


def test_one_that_waits_does_not_keep_its_slot(space: Space) -> None:
    """It began when nothing was pending; what it reads has been issued since, by others."""
    space.fake("gcc", HELD.format(gcc=shutil.which("gcc")))
    build = "(gcc -o conftest conftest.c g.o) &\ngcc -c g.c\n: > go\nwait\n"
    files = {"build.sh": build, "g.c": "int g;\n", "conftest.c": MAIN}
    space.expect_same(files, ["sh", "build.sh"], "-j1")
