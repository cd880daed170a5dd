"""What a caller does with a command's own process: limit its time, end it, wait for it (P1, P4)."""

from __future__ import annotations

import pytest

from tests.support.needs import require_mounts
from tests.support.space import SMPMAKE, Space

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


def test_what_the_build_mounts_it_can_unmount(space: Space) -> None:
    """Commands have read and written there, so its clock was looked at."""
    require_mounts()
    script = """
set -e
mkdir mnt
mount -t tmpfs none mnt
cp a.c mnt
(cd mnt && gcc -c a.c && gcc -c a.c -o b.o)
gcc -c mnt/a.c -o mnt/c.o
cp mnt/*.o .
cat a.o b.o c.o > all
umount mnt
"""
    space.write({"a.c": "int a;\n", "build.sh": script})
    ended = space.run("unshare", "-m", SMPMAKE, "sh", "build.sh")
    assert ended.status == 0, ended.err
    assert {"a.o", "b.o", "c.o"} <= set(space.tree())
    space.expect_clean()
