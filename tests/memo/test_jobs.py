"""The jobs of a build with --memo: compiles, links and archives that are given back."""

from __future__ import annotations

import os
import shutil

import pytest

from smpmake.protocol import layout
from tests.support.held import Held
from tests.support.remembered import counts, settle
from tests.support.space import SMPMAKE, Ended, Space

MAKEFILE = """\
CFLAGS = -O1 -MD -Ifirst -Isecond
all: one two
one: one.o a.o b.o libx.a
	gcc -o $@ one.o a.o b.o -L. -lx
two: two.o libx.a
	gcc -o $@ two.o libx.a
libx.a: c.o d.o e.o
	ar rc $@ $^
	ranlib $@
%.o: %.c
	gcc $(CFLAGS) -c -o $@ $<
gen.h: gen.in
	sed 's/@/1/' $< > $@
a.o b.o one.o two.o: gen.h
clean:
	rm -f *.o *.d one two libx.a gen.h
"""
FILES = {
    "Makefile": MAKEFILE,
    "gen.in": "#define GEN @\n",
    "first/unused.h": "",
    "second/x.h": "#define X 1\n",
    **{f"{n}.c": f'#include "x.h"\nint {n}(void) {{ return X; }}\n' for n in "cde"},
    **{
        f"{n}.c": f'#include "gen.h"\n#include "x.h"\nint {n}(void) {{ return X + GEN; }}\n'
        for n in "ab"
    },
    "one.c": '#include "gen.h"\nint a(void), c(void);\n'
    "int main(void) { return a() + c() != 2 + GEN; }\n",
    "two.c": '#include "gen.h"\nint c(void);\nint main(void) { return c() != GEN; }\n',
}
COMMANDS = 7 + 2 + 2  # compiles, of the archive, links


def serial(space: Space, *command: str) -> dict[str, str]:
    """What a plain build leaves of the tree as it lies there; then it is as before."""
    kept = space.root / "kept"
    shutil.copytree(space.folder, kept, symlinks=True)
    space.run(*command)
    expected = space.tree()
    space.clear()
    shutil.copytree(kept, space.folder, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(kept)
    settle(space.folder)
    return expected


def build(space: Space, *options: str, hits: int, command: tuple[str, ...] = ("make",)) -> Ended:
    """Builds what lies there as plain make would, with that many results given back."""
    expected = serial(space, *command)
    ended = space.smpmake("--memo=on", *options, "--", *command)
    assert space.tree() == expected, ended.err
    space.expect_clean()
    assert counts(space)["hits"] == hits, (counts(space), ended)
    return ended


@pytest.fixture
def warm(space: Space) -> Space:
    """A project whose results are remembered, and which has been cleaned."""
    space.write(FILES)
    build(space, hits=0)
    space.ok("make", "clean")
    return space


def test_a_second_build_gets_all_of_its_results_back(warm: Space) -> None:
    build(warm, hits=COMMANDS)
    assert counts(warm)["misses"] == {}
    assert "Nothing to be done" in warm.ok("make").out
    assert warm.run("./one").status == warm.run("./two").status == 0


def test_a_header_has_changed(warm: Space) -> None:
    warm.write({"second/x.h": "#define X 2\n"})
    build(warm, hits=2)  # of one.c and two.c
    warm.ok("make", "clean")
    build(warm, hits=COMMANDS)
    warm.ok("make", "clean")
    warm.write({"second/x.h": "#define X 1\n"})
    build(warm, hits=COMMANDS)


def test_a_header_appears_in_an_earlier_folder(warm: Space) -> None:
    warm.write({"first/x.h": "#define X 7\n"})
    build(warm, hits=2)
    assert counts(warm)["misses"][str(layout.MEMO_APPEARED)] == 5


def test_the_generated_header_is_another(warm: Space) -> None:
    warm.write({"gen.in": "#define GEN @+2\n"})
    build(warm, hits=3 + 2)  # those of the library


# ---------------------------------------------------------------------- beside what is pending

#: A job that takes the one slot until somebody waits, or the script is at its end.
SLOW = "gcc -Dheld -c slow.c; echo > started; "
PENDING = {
    "x.h": "#define X 1\n",
    "other.h": "#define X 2\n",
    "a.c": '#include "x.h"\nint a = X;\n',
    "b.c": '#if __has_include("y.h")\n#include "y.h"\n#endif\nint b;\n',
    "slow.c": "int slow;\n",
}
#: What is remembered while nothing else is pending; then, what is done while a job holds up all
#: others, and how many results are given back all the same.
MEANWHILE = {
    "nothing": ("cc -c a.c", "cc -c a.c", 1),
    "its header is written over": ("cc -c a.c", "cc -c a.c; cp other.h x.h", 1),
    "its header is removed": ("cc -c a.c", "cc -c a.c; rm x.h", 1),
    "its header is replaced": ("cc -c a.c", "cc -c a.c; mv other.h x.h", 1),
    "its header was another": ("cc -c a.c", "cp other.h x.h; cc -c a.c", 0),
    "a header comes": ("cc -c b.c", "cc -c b.c; echo 'int y;' > y.h", 1),
    "a header has come": ("cc -c b.c", "echo 'int y;' > y.h; cc -c b.c", 0),
    "each sees another header": (
        'for k in 1 2 3; do echo "#define X $k" > x.h; cc -c a.c -o a$k.o; cat a$k.o > /dev/null; done',
        'for k in 1 2 3; do echo "#define X $k" > x.h; cc -c a.c -o a$k.o; done',
        3,
    ),
    "a job makes its header": (
        "cc -c b.c; cc -E -P -dM -o y.h x.h",
        "cc -E -P -dM -o y.h x.h; cc -c b.c",
        1,
    ),
    "the same job makes another header": (
        "cc -E -P -dM -o y.h x.h; cc -c b.c; rm y.h",
        "mv other.h x.h; cc -E -P -dM -o y.h x.h; cc -c b.c",
        0,
    ),
    "an object is written over": ("cc -c a.c; rm a.o", "cc -c a.c; cc -DX=5 -c b.c -o a.o", 1),
    "what it makes is renamed": ("cc -c a.c", "cc -c a.c; mv a.o z.o", 1),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_result_is_that_of_its_place(space: Space, name: str) -> None:
    """A command gets the result that fits to what it was to find, however late it is looked up."""
    before, meanwhile, hits = MEANWHILE[name]
    held = Held(space)
    space.write(PENDING)
    settle(space.folder)
    assert space.smpmake("--memo=on", "sh", "-c", before).status == 0
    assert counts(space)["hits"] == 0
    files = {**PENDING, "do": f"{SLOW}{meanwhile}; echo > after\n"}
    expected = held.serial(files, ["sh", "./do"])
    for _ in range(2):
        space.clear()
        space.write(files)
        process = held.start("-j1", "--memo=on", "--", "sh", "./do")
        held.let_go_when_stuck(process)
        ended = space.finish(process)
        assert (ended.status, held.tree()) == expected, ended
        space.expect_clean()
        assert counts(space)["hits"] >= hits, counts(space)
