"""What a caller does with a command's own process: limit its time, end it, wait for it (P1, P4)."""

from __future__ import annotations

import pytest

from tests.support.space import Space

pytestmark = pytest.mark.slow

#: A compiler that never ends with slow.c.
ENDLESS = """#!/bin/sh
case "$*" in *slow.c*) exec tail -f /dev/null;; esac
exec /usr/bin/gcc "$@"
"""


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_p1_a_time_limit_and_a_kill_meet_the_compiler_itself(space: Space, shell: str) -> None:
    space.fake("gcc", ENDLESS)
    script = """
gcc -c a.c
timeout 0.3 gcc -c slow.c || echo slow > said
timeout 0.3 sh -c 'gcc -c slow.c; :' || echo slow >> said
gcc -c slow.c & kill $!; wait $! || echo $? >> said
gcc -c b.c & wait $! && echo made >> said
"""
    files = {"slow.c": "", "a.c": "int a;\n", "b.c": "int b;\n", "build.sh": script}
    space.expect_same(files, [shell, "build.sh"])
    assert (space.folder / "said").read_text() == "slow\nslow\n143\nmade\n"


def test_what_has_a_limit_and_runs_in_the_background_has_named_reasons(space: Space) -> None:
    files = {n: f"int {n[0]};\n" for n in ("a.c", "b.c", "c.c")}
    script = "timeout 9 gcc -c a.c\ngcc -c b.c & wait\ntimeout 9 make c.o\n"
    space.expect_same({**files, "build.sh": script}, ["sh", "build.sh"])
    reasons = [space.smpmake("why", f"{n}.o").out for n in "abc"]
    assert "time-limit" in reasons[0]
    assert "background" in reasons[1]
    assert "time-limit" not in reasons[2]  # a make's limit is for all of its work
