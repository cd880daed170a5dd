"""A command that somebody traces is run where that sees it (P1)."""

from __future__ import annotations

import pytest

from tests.support import needs
from tests.support.space import Space

pytestmark = pytest.mark.slow

FILES = {"a.c": "int a;\n", "b.c": "int b;\n", "m": "b.o: ; @gcc -c b.c\n"}
COUNT = "; grep -c 'execve.*cc1\"' log > seen; rm -f log"
SCRIPTS = {
    "a command": "strace -f -o log gcc -c a.c" + COUNT,
    "a shell's": "strace -f -o log sh -c 'gcc -c a.c; gcc -c b.c'" + COUNT,
    "a make's": "strace -f -o log make -f m" + COUNT,
    "one that moves": "gcc -c a.c; strace -f -o log mv a.o c.o; grep -c a.o log > n; rm n; rm log",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_p1_who_traces_a_command_sees_what_it_does(space: Space, name: str) -> None:
    needs.require("strace")
    space.expect_same(FILES, ["sh", "-c", SCRIPTS[name]], "--memo=off")


def test_p11_a_traced_command_is_given_no_remembered_result(space: Space) -> None:
    needs.require("strace")
    for _ in range(3):
        space.clear()
        space.expect_same(FILES, ["sh", "-c", SCRIPTS["a command"]], "--memo=on")
