"""Words that a compiler hands on in a response file: what they name is read and written, too."""

from __future__ import annotations

import pytest

from tests.support.held import Held
from tests.support.space import MAIN, Space

pytestmark = pytest.mark.slow

FILES = {"held.c": MAIN, "other.c": "int other(void) { return 1; }\n"}
SCRIPTS = {
    "a map": "gcc -c held.c; echo -Map=p.map > o.rsp; gcc -o p held.o -Wl,@o.rsp; head p.map > top",
    "a map, one file further": "gcc -c held.c; echo @n.rsp > o.rsp; echo -Map=p.map > n.rsp; "
    "gcc -o p held.o -Wl,@o.rsp; head p.map > top",
    "a listing": "echo -ahln=m.lst > o.rsp; gcc -c held.c -Wa,@o.rsp; head m.lst > top",
    "an object": "gcc -c held.c; gcc -c other.c; echo other.o > o.rsp; "
    "gcc -o p held.o -Wl,@o.rsp; rm other.o",
    "rewritten behind a link": "echo -Map=p.map > o.rsp; gcc -c held.c; "
    "gcc -o p held.o -Wl,@o.rsp; "
    "echo -Map=q.map > o.rsp; gcc -o q held.o -Wl,@o.rsp",
    "rewritten behind a compile": "echo -ahln=m.lst > o.rsp; gcc -c held.c -Wa,@o.rsp; "
    "echo -ahln=n.lst > o.rsp; gcc -c other.c -Wa,@o.rsp",
    "not there": "gcc -c held.c; gcc -o p held.o -Wl,@o.rsp || echo no > top",
    "written by a command": "echo -Map=p.map > held; cp held o.rsp; gcc -c held.c; "
    "gcc -o p held.o -Wl,@o.rsp; head p.map > top",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_p1_what_a_response_file_hands_on(space: Space, name: str) -> None:
    held = Held(space)
    lines = [*SCRIPTS[name].split("; "), "echo > after"]
    # A make's, because what a script has just written is taken for a probe's.
    files = {**FILES, "Makefile": "all:\n\t" + "\n\t".join(lines) + "\n"}
    status, expected = held.serial(files, ["make"])
    ended, tree = held.parallel(files, ["make"], command_waits=True)
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()
