"""Messages of jobs name files as compilers do: editors must still open the right ones (P8)."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.held import Held
from tests.support.space import Space

#: How editors read make's folders: a pattern for both words, and which of them is the end.
EDITORS = {
    "Emacs": r"(?:Entering|Leavin(g)) directory [`'](.+)'$",  # compilation-directory-matcher
    "Vim": r"^\w+(?:\[\d+\])?: (?:Entering|Leavin(g)) directory [`']([^']+)'",  # %D, %X
    "VS Code": r"^make(?:\[\d+\])?: (?:Entering|Leavin(g)) directory '(.*)'$",  # Makefile Tools
}
TOP = """all:
\t@{cc} top.c
\t@$(MAKE) --no-print-directory -C quiet
\t@$(MAKE) -C a
\t@$(MAKE) -C b
"""
WARNS = "int f(void) { int unused; return 0; }\n"


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


def opened(output: str, pattern: str, start: str) -> list[str]:
    """The files that an editor opens for the warnings, in their order."""
    folders, found = [start], []
    for line in output.splitlines():
        moved = re.search(pattern, line)
        warned = re.match(r"(\w+\.c):\d+:\d+: warning", line)
        if moved and moved[1]:
            folders.pop()
        elif moved:
            folders.append(moved[2])
        elif warned:
            found.append(os.path.join(folders[-1], warned[1]))
    assert folders == [start]
    return found


@pytest.mark.parametrize("flags", ["", "MAKEFLAGS= "])
@pytest.mark.parametrize("editor", EDITORS)
def test_p8_an_editor_opens_the_right_file(held: Held, editor: str, flags: str) -> None:
    """The first two compiles end when make is in the third folder, or behind it.

    flags  before each command: make 4.4 does not write there that it is an inner one.
    """
    space = held.space
    files = {"Makefile": TOP.format(cc=f"{flags}gcc -Wall -Dheld -c"), "top.c": WARNS}
    for name, word in (("quiet", ""), ("a", "-Dheld"), ("b", "")):
        files |= {f"{name}/{name}.c": WARNS}
        files |= {f"{name}/Makefile": f"all:\n\t@{flags}gcc -Wall {word} -c {name}.c\n"}
    files["b/Makefile"] += "\t@touch ../after\n"
    space.write(files)
    process = held.start("-j4", "sh", "-c", "make 2>&1")
    while not (space.folder / "after").exists():
        assert process.poll() is None
    held.release(process)
    said = space.finish(process)
    assert said.status == 0, said.out
    names = {f"{space.folder}/{name}" for name in ("top.c", "a/a.c", "b/b.c")}
    found = opened(said.out, EDITORS[editor], str(space.folder))
    assert names <= set(found)
    assert len(found) == 4
