"""Headers that no recipe makes: asked for by --sources, since they break rebuilding and not -j."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpmake.checking.findings import Kind
from tests.checking.makefiles import checked

FILES = {
    "a.c": '#include "a.h"\n#include "in/b.h"\n',
    "a.h": "",
    "in/b.h": "",
    "main.c": '#include "a.h"\nint main(void) { return 0; }\n',
}

RIGHT = {
    "said": "a.o: a.c a.h in/b.h\n\t$(CC) -c a.c\n",
    "written-down": "-include a.d\na.o: a.c\n\t$(CC) -MD -c a.c\n",
    "written-down-and-moved": (
        "-include a.d\na.o: a.c\n\t$(CC) -MD -MF a.t -c a.c && mv a.t a.d\n"
    ),
    "automake": (
        "-include .deps/a.Po\na.o: a.c\n\t@mkdir -p .deps\n"
        "\t$(CC) -MT a.o -MD -MP -MF .deps/a.Tpo -c a.c && mv -f .deps/a.Tpo .deps/a.Po\n"
    ),
    "by-another": "a.o: a.c list\n\t$(CC) -c a.c\nlist: a.h in/b.h ; touch $@\n",
}


@pytest.mark.parametrize("makefile", RIGHT.values(), ids=RIGHT)
def test_headers_that_are_declared(tmp_path: Path, makefile: str) -> None:
    assert checked(tmp_path, makefile, FILES, sources=True).advices == []


def test_headers_that_are_not(tmp_path: Path) -> None:
    makefile = "all: a.o main.o\na.o: a.c\n\t$(CC) -c a.c\nmain.o: main.c\n\t$(CC) -c main.c\n"
    result = checked(tmp_path, makefile, FILES, sources=True)
    assert {each.kind for each in result.advices} == {Kind.SOURCE}
    found = {
        (each.readers[0], os.path.relpath(path, tmp_path)): each.line.text
        for each in result.advices
        for path in each.paths
    }
    assert found == {
        ("a.o", "a.h"): "a.o: a.h",
        ("a.o", "in/b.h"): "a.o: in/b.h",
        ("main.o", "a.h"): "main.o: a.h",
    }


def test_nobody_is_told_who_did_not_ask(tmp_path: Path) -> None:
    assert checked(tmp_path, "a.o: a.c\n\t$(CC) -c a.c\n", FILES).advices == []
