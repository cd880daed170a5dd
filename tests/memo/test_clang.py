"""clang's results: it draws random numbers, and asks where its files lie."""

from __future__ import annotations

import os
import subprocess
from typing import Final

import pytest

from tests.memo.test_jobs import build
from tests.support import needs
from tests.support.remembered import settle
from tests.support.space import Space

pytestmark = pytest.mark.slow

COMPILES: Final = {
    "C": ("clang -O2 -g -MD -c a.c", "a.o a.d"),
    "C++": ("clang -x c++ -MMD -MF a.dep -c a.c -o out.o", "out.o a.dep"),
    "a text": ("clang -S a.c", "a.s"),
    "a program": ("clang a.c -o prog", "prog"),
}
SOURCE: Final = """#include <stddef.h>
#include "in/x.h"
#ifdef BAD
#error "so it is"
#endif
int main(void) { int unused; return x; }
"""

#: A compiler of our own, which draws numbers as LLVM does, and uses them as its word says.
DRAWS: Final = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char name[64] = "t-", to[64] = "";
    int used = strcmp(argv[1], "three") == 0 ? 3 : 8;
    for (int i = 0; i < used; i++)
        sprintf(name + 2 + i, "%x", arc4random() & 15);
    if (strcmp(argv[1], "more") == 0)
        arc4random();
    if (strcmp(argv[1], "other") == 0)
        strcpy(name, "t-none");
    strcat(name, ".tmp");
    if (strcmp(argv[1], "beside") == 0)
        open("fixed.tmp", O_RDWR | O_CREAT | O_EXCL, 0666);
    int fd = open(name, O_RDWR | O_CREAT | (strcmp(argv[1], "plain") ? O_EXCL : 0), 0666);
    int shows = strcmp(argv[1], "content") == 0;
    dprintf(fd, "made %s\n", shows ? name : "");
    if (strcmp(argv[1], "message") == 0)
        fprintf(stderr, "%s: warning\n", name);
    if (strcmp(argv[1], "behind") == 0 && arc4random() == 1)
        puts("once in a while");
    if (strcmp(argv[1], "stays") == 0)
        return 0;
    if (strcmp(argv[1], "where") == 0)
        readlink("/proc/self/fd/1", to, sizeof to);
    return rename(name, "out.o") + argc * 0;
}
"""


def run(space: Space, command: str, *made: str, hits: int) -> None:
    """A command, as plainly, with that many results given back; what it makes is removed."""
    build(space, hits=hits, command=("sh", "-c", command))
    for name in made:
        (space.folder / name).unlink()
    settle(space.folder)


@pytest.fixture
def tree(space: Space) -> Space:
    needs.require("clang")
    space.write({"a.c": SOURCE, "in/x.h": "enum { x = 3 };\n"})
    settle(space.folder)
    return space


@pytest.mark.parametrize(("command", "made"), COMPILES.values(), ids=COMPILES)
def test_the_second_result_is_given_back(tree: Space, command: str, made: str) -> None:
    for hits in range(2):
        run(tree, command, *made.split(), hits=hits)
    tree.write({"in/x.h": "enum { x = 4 };\n"})
    run(tree, command, *made.split(), hits=0)


ABSOLUTE: Final = '#warning "so it is"\n'


def test_a_header_that_now_lies_elsewhere(tree: Space) -> None:
    """The very file: but clang tells where it lies, links or not."""
    tree.write({"one/sys.h": ABSOLUTE, "two/none": "", "a.c": '#include "way/sys.h"\n'})
    way = tree.folder / "way"
    way.symlink_to("one")
    command = "clang -fdiagnostics-absolute-paths -I. -c a.c 2> told; cat told"
    for hits in range(2):
        run(tree, command, "a.o", "told", hits=hits)
    way.unlink()
    way.symlink_to("two")
    os.rename(tree.folder / "one/sys.h", tree.folder / "two/sys.h")
    settle(tree.folder)
    run(tree, command, "a.o", "told", hits=0)


def test_a_compiled_header_knows_its_sources_times(tree: Space) -> None:
    """A touched one makes it useless, and that is an error."""
    tree.write({"a.c": "int y = x;\n"})
    tree.ok("clang", "-x", "c-header", "in/x.h", "-o", "in/x.h.pch")
    settle(tree.folder)
    command = "clang -include in/x.h -c a.c -o out.o 2> told || touch out.o"
    for hits in range(2):
        run(tree, command, "out.o", "told", hits=hits)
    os.utime(tree.folder / "in/x.h", ns=(1, 1_000_000_000))
    settle(tree.folder)
    run(tree, command, "out.o", "told", hits=0)


@pytest.fixture
def draws(tree: Space) -> Space:
    tools = tree.root / "tools"
    tools.mkdir()
    (tools / "draws.c").write_text(DRAWS)
    done = subprocess.run(["gcc", "-w", "draws.c", "-o", "clang"], cwd=tools, check=False)
    if done.returncode != 0:
        pytest.skip("this libc has no arc4random")
    settle(tools)
    tree.environment["PATH"] = f"{tools}:{tree.environment['PATH']}"
    return tree


USES: Final = {
    "name": (1, "out.o"),
    "beside": (1, "out.o fixed.tmp"),
    **dict.fromkeys(("more", "other", "behind", "plain", "three", "where"), (0, "out.o")),
}


@pytest.mark.parametrize(("how", "hits", "made"), [(how, *told) for how, told in USES.items()])
def test_digits_that_name_a_temporary_file(draws: Space, how: str, hits: int, made: str) -> None:
    for again in range(2):
        run(draws, f"clang {how} -c a.c -o out.o", *made.split(), hits=hits * again)


@pytest.mark.parametrize("how", ["content", "message", "stays"])
def test_digits_that_stay(draws: Space, how: str) -> None:
    """No two plain runs are alike either."""
    for _ in range(2):
        ended = draws.smpmake("--memo=on", "--", "sh", "-c", f"clang {how} -c a.c -o out.o")
        assert ended.status == 0
        assert "remembered result" not in ended.err
        for path in (*draws.folder.glob("t-*"), draws.folder / "out.o"):
            path.unlink(missing_ok=True)
