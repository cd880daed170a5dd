"""Links by libtool are jobs: the driver does not stand until their objects are there (P1, P2, P3).

One of their objects is held until the driver has come to the end of its recipes, or stands still.
"""

from __future__ import annotations

import pytest

from tests.builds.test_lines import check, commands
from tests.support.held import Held
from tests.support.space import FIXTURES, SMPMAKE, Space
from tests.support.variants import often

CALL = "sh ./libtool --mode"
COMPILES = [
    f"{CALL}=compile gcc {held}-c -o {n}.lo {n}.c" for n, held in (("a", "-Dheld "), ("b", ""))
]
LIBRARY = f"{CALL}=link gcc -o libx.la -rpath /usr/lib a.lo b.lo"
INSIDE = f"{CALL}=link gcc -o libx.la a.lo b.lo"
PROGRAM = ["gcc -c main.c", f"{CALL}=link gcc -o p main.o libx.la"]
SOURCES = {
    "a.c": "int a(void) { return 1; }\n",
    "b.c": "int b(void) { return 2; }\n",
    "bad.c": "int a(void) { return oops; }\n",
    "main.c": "int a(void); int main(void) { return a(); }\n",
    "libtool": (FIXTURES / "libtool" / "libtool").read_text(),
}
#: What comes behind the first recipes, and how many commands there are if none is waited for.
BEHIND = {
    "nothing": ([LIBRARY], 3),
    "a program": ([LIBRARY, *PROGRAM], 5),
    "a library within": ([INSIDE, *PROGRAM], 5),
    "two programs": ([LIBRARY, *PROGRAM, f"{CALL}=link gcc -o q main.o libx.la"], 6),
    "with a message": ([f"echo '  CCLD  ' libx.la;{LIBRARY}"], 3),
    "what it is to be loaded by": ([LIBRARY, "readlink .libs/libx.so > link"], 0),
    "whether it is there": ([LIBRARY, "test -f .libs/libx.lai && echo yes > there"], 0),
    "whether it is not there": ([INSIDE, "test -f .libs/libx.so || echo no > there"], 0),
    "all that is there": ([LIBRARY, "ls .libs > list; ls >> list"], 0),
    "the folder": ([LIBRARY, "test -d .libs && echo yes > there"], 3),
    "the folder, away": ([LIBRARY, "mv .libs libs"], 0),
    "the program": ([LIBRARY, *PROGRAM, "sh ./p; echo $$? > status"], 0),
    "the wrapper": ([LIBRARY, *PROGRAM, "cat p > text"], 0),
    "the other form": ([INSIDE, *PROGRAM, "./p; echo $$? > status; test -f .libs/p || echo no"], 0),
    "once more": ([LIBRARY, INSIDE, "ls .libs > list"], 0),
    "a pattern": ([LIBRARY, "echo .libs/* > list; cat .libs/* > all"], 0),
    "what a make finds": ([LIBRARY, "$(MAKE) -f inner.mk"], 0),
    "a program that lists": (
        [
            LIBRARY,
            "python3 -c 'import os; os.chdir(\".libs\"); [open(name) for name in os.listdir()]'",
        ],
        0,
    ),
    "called as it is": (
        [
            LIBRARY,
            "echo hello > .libs/libx.txt",
            "sed s/a/b/ a.c > .libs/libx.sed",
            "cp a.c .libs/libx.keep",
            "gcc -c b.c -o .libs/libx.so.4",
            "echo c > .libs/libx.laT; mv .libs/libx.laT .libs/libx.laU",
        ],
        0,
    ),
    "two that are called alike": (
        [LIBRARY, f"{CALL}=link gcc -o libx.b.la -rpath /usr/lib b.lo", "ls .libs > list"],
        0,
    ),
    "one called as the other's program": (
        [LIBRARY, *PROGRAM, f"{CALL}=link gcc -o lt-p main.o libx.la", "./lt-p; ls .libs > list"],
        0,
    ),
    "removed": ([LIBRARY, "rm -f libx.la .libs/libx.a; ls .libs > list"], 0),
}
SOME = ("a program", "with a message", "a pattern", "the folder", "called as it is")
FAILS = {
    "the object": ["COMPILE_BAD", LIBRARY, *PROGRAM],
    "the library": [f"{LIBRARY} none.lo", *PROGRAM, "echo yes > behind"],
    "the program": [LIBRARY, "gcc -c main.c -Da=c", PROGRAM[1], "echo yes > behind"],
    "tolerated": [f"-{LIBRARY} none.lo", "echo yes > behind"],
}


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


def files(*recipe: str) -> dict[str, str]:
    lines = "".join(f"\t{line}\n" for line in (*recipe, "@: > after"))
    inner = "all: $(patsubst .libs/%,%.copy,$(wildcard .libs/libx*))\n%.copy: .libs/%\n\tcp $< $@\n"
    return {**SOURCES, "Makefile": f"all:\n{lines}", "inner.mk": inner}


@pytest.mark.parametrize("name", often(SOME, BEHIND))
def test_p1_links_by_libtool(held: Held, name: str) -> None:
    recipe, count = BEHIND[name]
    ended = check(held, files(*COMPILES, *recipe))
    assert ended.status == 0
    if count:
        assert commands(ended) == count, ended.err


@pytest.mark.parametrize("name", often(["the library", "tolerated"], FAILS))
def test_p2_one_that_fails(held: Held, name: str) -> None:
    bad = f"{CALL}=compile gcc -Dheld -c -o a.lo bad.c"
    check(held, files(*COMPILES, *(bad if line == "COMPILE_BAD" else line for line in FAILS[name])))


@pytest.mark.parametrize("mask", ["022", "077"])
def test_p3_a_folder_that_was_made_for_one_goes_with_it(held: Held, mask: str) -> None:
    """It has the caller's mode, and what fails behind it takes it away, as nothing had been."""
    made = files(*COMPILES, LIBRARY)
    assert check(held, made, command=("sh", "-c", f"umask {mask}; make")).status == 0
    assert held.space.folder.joinpath(".libs").stat().st_mode & 0o777 == 0o777 & ~int(mask, 8)
    made["Makefile"] = "all:\n\tgcc -Dheld -c bad.c\n" + made["Makefile"].removeprefix("all:\n")
    assert check(held, made).status == 2
    assert not held.space.folder.joinpath(".libs").exists()


def test_p7_afterwards_there_is_nothing_to_do(held: Held) -> None:
    made = files()
    made["Makefile"] = (
        "all: p\np: main.o libx.la\n\t" + PROGRAM[1] + "\nmain.o: main.c\n\t" + PROGRAM[0] + "\n"
        f"libx.la: a.lo b.lo\n\t{LIBRARY}\na.lo: a.c\n\t{COMPILES[0]}\nb.lo: b.c\n\t{COMPILES[1]}\n"
    )
    check(held, made)
    exported = held.space.ok(SMPMAKE, "export", "ninja", "-").out
    assert "libx.so.0.0.0" in exported
    assert ".lnkscript" not in exported  # what might have been made was not
    assert held.space.ok("make", "-q").out == ""
    assert held.space.ok("make").out.count("\n") == 1
