"""Builds of packages: fakeroot's processes take turns by a semaphore, and jobs take theirs."""

from __future__ import annotations

import os

import pytest

from tests.support.needs import require
from tests.support.space import SMPMAKE, Space

MAKEFILE = """\
all: t.lst
a.o: a.c ; gcc -c a.c -o a.o; chown 5:6 a.o
b.o: a.o ; cp -p a.o b.o; install -o 7 -g 8 -m 640 a.o c.o
t.lst: a.o b.o d.o ; tar cf t.tar --mtime=@0 a.o b.o c.o; tar tvf t.tar > t.lst
d.o: d.c ; gcc -c d.c; chown 9:9 d.o
"""
ORDERS = {
    "smpmake fakeroot make": (SMPMAKE, "fakeroot", "make"),
    "fakeroot smpmake make": ("fakeroot", SMPMAKE, "make"),
}


@pytest.mark.parametrize("order", ORDERS)
def test_p1_either_order(space: Space, order: str) -> None:
    """Nobody waits for a job that waits for its turn."""
    require("fakeroot")
    files = {"Makefile": MAKEFILE, "a.c": "int a;\n", "d.c": "int d;\n"}
    space.write(files)
    assert space.run("fakeroot", "make").status == 0
    expected = {name: kind for name, kind in space.tree().items() if name != "t.tar"}
    space.clear()
    space.write(files)
    for _ in range(2):
        done = space.run(*ORDERS[order])
        assert done.status == 0, done.err
        assert {name: kind for name, kind in space.tree().items() if name != "t.tar"} == expected
        for name in ("a.o", "b.o", "c.o", "d.o", "t.tar", "t.lst"):
            os.remove(space.folder / name)
