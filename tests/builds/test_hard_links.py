"""Outputs that have a second name: what is written to the one is there by the other, too (P1)."""

from __future__ import annotations

import pytest

from tests.support.space import Space
from tests.support.variants import often

pytestmark = pytest.mark.slow

LONG = "".join(f"int a{n}(int x) {{ return x * {n}; }}\n" for n in range(3000))
FILES = {"a.c": LONG, "b.c": "int b;\n", "sub/keep": ""}
#: gcc -S and -E write into the file that is there, as cp does; as and ld put another in its place.
SCRIPTS = {
    "a compile": "gcc -S b.c -o x; ln x y; gcc -S a.c -o x; cat y > seen",
    "two": "gcc -S b.c -o x; ln x sub/y; gcc -S b.c -o sub/y; gcc -S a.c -o x; cat sub/y > seen",
    "by a link": "gcc -S b.c -o x; ln x y; ln -s x l; gcc -S a.c -o l; cat y > seen",
    "a preprocessor": "gcc -E b.c -o x; ln x y; gcc -E a.c -o x; cat y > seen",
    "a copy": "gcc -c b.c -o x; ln x y; gcc -S a.c -o a.s; cp a.s x; cat y > seen",
    "another in its place": "gcc -c b.c -o x; ln x y; gcc -c a.c -o x; cat y > seen",
    "a side output": "gcc -MD -c b.c; ln b.d y; gcc -MD -MF b.d -c a.c; cat y > seen",
}


@pytest.mark.parametrize("guard", often(["--guard"], ["--guard", "--no-guard"]))
@pytest.mark.parametrize("name", SCRIPTS)
def test_p1_a_reader_by_the_other_name(space: Space, name: str, guard: str) -> None:
    space.expect_same(FILES, ["sh", "-c", SCRIPTS[name]], guard, "-j2")
