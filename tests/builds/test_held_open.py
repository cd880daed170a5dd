"""A file that somebody has open while a command writes into it (P1)."""

from __future__ import annotations

import shlex

import pytest

from tests.support.space import Space
from tests.support.variants import often

pytestmark = pytest.mark.slow

LONG = "".join(f"int a{n}(int x) {{ return x * {n}; }}\n" for n in range(3000))
MAKEFILE = "x: ; gcc -S a.c -o old\ny: a.s; sed s/a/b/ a.s > old\na.s: ; gcc -S a.c\n"
FILES = {"a.c": LONG, "b.c": "int b;\n", "old": "old\n", "Makefile": MAKEFILE}
MAPPED = """import mmap, subprocess
with open("old") as file:
    shown = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
subprocess.run("gcc -S a.c -o a.s; cp a.s old", shell=True)
open("seen", "wb").write(shown[:4])
"""
OPEN = """import subprocess, sys
with open("old") as file:
    subprocess.run(sys.argv[1:])
    open("seen", "w").write(file.read())
"""


def python(code: str, *words: str) -> str:
    """A command that runs Python."""
    return shlex.join(["python3", "-I", "-c", code, *words])


#: cp, ar and gcc -S write into the file that is there; as and ld put another in its place.
SCRIPTS = {
    "a copy": "exec 3<old; gcc -S a.c; cp a.s old; wc -c <&3 > seen",
    "its beginning": "exec 3<old; gcc -S a.c; cp a.s old; head -c 4 <&3 > seen",
    "a compile": "exec 3<old; gcc -S a.c -o old; wc -c <&3 > seen",
    "by a link": "ln -s old l; exec 3<old; gcc -S a.c -o l; wc -c <&3 > seen",
    "an input": "exec <old; gcc -S a.c -o old; wc -c > seen",
    "an archive": (
        "gcc -c b.c; ar rc l.a b.o; exec 3<l.a; gcc -c a.c; ar rc l.a a.o; wc -c <&3 > seen"
    ),
    "twice": "exec 3<old; gcc -S b.c; cp b.s old; gcc -S a.c; cp a.s old; wc -c <&3 > seen",
    "by a make": "exec 3<old; make -s x; wc -c <&3 > seen",
    "printed": "exec 3<old; make -s y; wc -c <&3 > seen",
    "for its caller": python(OPEN, "gcc", "-S", "a.c", "-o", "old"),
    "printed for its caller": python(OPEN, "make", "-s", "y"),
    "a mapping": python(MAPPED),
    "another in its place": "cc -shared b.c -o x; exec 3<old; gcc -c a.c -o x; wc -c <&3 > seen",
}


@pytest.mark.parametrize("guard", often(["--guard"], ["--guard", "--no-guard"]))
@pytest.mark.parametrize("name", SCRIPTS)
def test_p1_who_has_it_open_finds_what_was_written(space: Space, name: str, guard: str) -> None:
    space.expect_same(FILES, ["sh", "-c", SCRIPTS[name]], guard, "-j2")
