"""clang's results: it draws random numbers, and asks where its files lie."""

from __future__ import annotations

import os
import subprocess
from typing import Final, NamedTuple

import pytest

from tests.memo.test_jobs import build, serial
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


class Dated(NamedTuple):
    """A command whose result depends on times, or on what no word of its own says.

    before   run plainly first.
    command  makes `out`; a failure is of the result, too.
    change   what comes between.
    """

    before: str
    command: str
    change: str = "touch -d 2020-01-01 in/x.h"
    files: tuple[tuple[str, str], ...] = ()


#: Times that a result has, or looks at; words in files; code of the build's own in the compiler.
DATED: Final = {
    "a compiled header of any name": Dated("", "clang -x c-header in/x.h -o out"),
    "a syntax tree": Dated("", "clang -emit-ast a.c -o out", "touch -d 2020-01-01 a.c"),
    "one in a folder": Dated(
        "mkdir p.pch; clang -x c-header in/x.h -o p.pch/c",
        "clang -include-pch p.pch/c -c b.c -o out",
    ),
    "one in an object": Dated(
        "clang -gmodules -x c-header in/x.h -o x.pch", "clang -include-pch x.pch -c b.c -o out"
    ),
    "gcc's of any name": Dated(
        "", "mkdir -p p.gch; gcc -x c-header in/x.h -o p.gch/c; mv p.gch/c out"
    ),
    "an object of Windows": Dated(
        "", "clang --target=x86_64-pc-windows-msvc -c b.c -o out", "touch -d 2020-01-01 b.c"
    ),
    "a plugin": Dated(
        "gcc -shared -fPIC p.c -o p.so",
        "clang -Xclang -load -Xclang ./p.so -c b.c -o out",
        "touch -d 2020-01-01 b.c",
        (("p.c", "int p;\n"),),
    ),
    "words in a file": Dated(
        "", "clang --config ./c.cfg -c b.c -o out", "true", (("c.cfg", "-ftime-report\n"),)
    ),
    "the time it took": Dated("", "clang -fproc-stat-report=t -c b.c -o out; rm t", "true"),
}


@pytest.mark.parametrize("case", DATED.values(), ids=DATED)
def test_what_has_times_in_it(tree: Space, case: Dated) -> None:
    """The second build ends as the plain one, with nothing given back."""
    tree.write({"b.c": "int b(void) { return x; }\n", **dict(case.files)})
    tree.write({"b.c": "int b;\n"} if "include-pch" not in case.command else {})
    tree.run("sh", "-c", case.before)
    settle(tree.folder)
    command = ("sh", "-c", f"{case.command}; echo $?")
    tree.smpmake("--memo=on", "--", *command)
    (tree.folder / "out").unlink(missing_ok=True)
    tree.ok("sh", "-c", case.change)
    settle(tree.folder)
    plain = tree.run(*command)
    (tree.folder / "out").unlink(missing_ok=True)
    settle(tree.folder)
    ended = tree.smpmake("--memo=on", "--", *command)
    assert "remembered result" not in ended.err
    assert ended.out.split()[-1] == plain.out.split()[-1]


def test_a_header_that_is_also_an_output(tree: Space) -> None:
    """clang asks by stat(2) whether there is one."""
    tree.write({"a.c": '#if __has_include("x.h")\nint y;\n#endif\n'})
    settle(tree.folder)
    command = "clang -MD -MF x.h -c a.c -o a.o"
    for names in (["a.o", "x.h"], ["a.o"], ["a.o"], ["a.o", "x.h"], ["a.o", "x.h"]):
        expected = serial(tree, "sh", "-c", command)
        assert tree.smpmake("--memo=on", "--", "sh", "-c", command).status == 0
        assert tree.tree() == expected
        for name in names:
            (tree.folder / name).unlink()
        settle(tree.folder)


@pytest.mark.parametrize("older", [("", "v2"), ("v2", ""), ("", "v2", "")], ids=str)
def test_a_listed_folder_that_is_also_an_outputs(tree: Space, older: tuple[str, ...]) -> None:
    """clang takes the newest of a system's C++ libraries: a name in a folder is of effect."""
    folder = tree.folder / "usr/include/c++"
    tree.write(
        {"usr/include/c++/v1/vector": "int v1;\n", "a.cc": "#include <vector>\nint f(void);\n"}
    )
    words = "clang++ -stdlib=libc++ --sysroot=. -c a.cc -MD -MF usr/include/c++/v2"
    command = ("sh", "-c", f"{words} 2> told; echo $?")
    for name in older:
        for path in (folder / "v2", tree.folder / "a.o", tree.folder / "told"):
            path.unlink(missing_ok=True)
        if name:
            (folder / name).write_text("#define OLDER 1\n")
        settle(tree.folder)
        expected = serial(tree, *command)
        assert tree.smpmake("--memo=on", "--", *command).status == 0
        assert tree.tree() == expected


def test_a_branch_and_back(space: Space) -> None:
    """What was made where nothing lay is given back over what another state left, and again."""
    files = {f"{name}.c": f'#include "x.h"\nint {name} = X;\n' for name in "abc"}
    space.write({**files, "Makefile": "a.o b.o c.o: x.h\nall: a.o b.o c.o\n"})
    for value, hits in ((1, 0), (2, 0), (1, 3), (2, 3)):
        space.write({"x.h": f"#define X {value}\n"})
        settle(space.folder)
        build(space, hits=hits, command=("make", "all"))
