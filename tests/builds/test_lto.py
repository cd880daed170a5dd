"""Links with gcc's link-time optimisation: jobs that use what slots are idle, and no more (P6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import needs
from tests.support.space import SMPMAKE, Space
from tests.support.variants import often

COUNT = 6
NAMES = [f"f{n}" for n in range(COUNT)]
FILES = {
    **{f"{name}.c": f"int {name}(int x) {{ return x * {len(name)}; }}\n" for name in NAMES},
    "main.c": "".join(f"int {name}(int);\n" for name in NAMES)
    + f"int main(int n, char **v) {{ return {' + '.join(f'{name}(n)' for name in NAMES)}; }}\n",
    "Makefile": "FLAGS = -O1 -fno-inline -flto-partition=1to1 -frandom-seed=$@ $(LTO)\n"
    f"OBJECTS = main.o {' '.join(f'{name}.o' for name in NAMES)}\n"
    "prog: $(OBJECTS)\n\tgcc $(FLAGS) -o $@ $(OBJECTS)\n"
    "%.o: %.c\n\tgcc $(FLAGS) -c $<\n",
}
#: What gcc calls as make: says what it has been told, and becomes it.
WITNESS = '#!/bin/sh\nprintf "%s\\n" "$MAKEFLAGS" >> "$SAID"\nexec make "$@"\n'
#: What gcc's make has for a shell: says how many of it are at work.
COUNTING = """#!/bin/sh
: > "$AT_WORK/$$"
ls "$AT_WORK" | wc -l >> "$SAID"
/bin/sh "$@"; status=$?
rm "$AT_WORK/$$"
exit $status
"""
#: Takes tokens as lto1 of gcc 13 and newer does, which is a client by itself: until a read finds
#: none and says so.
TAKING = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *named = strstr(getenv("MAKEFLAGS"), "--jobserver-auth=");
    int from, to, count = 0;
    char tokens[64];
    if (argc < 1 || named == NULL || sscanf(named, "--jobserver-auth=%d,%d", &from, &to) != 2)
        return 1;
    while (count < 64 && read(from, tokens + count, 1) == 1)
        count++;
    if (errno != EAGAIN || write(to, tokens, (size_t)count) != count)
        return 1;
    execvp("make", argv);
    return 1;
}
"""


@pytest.fixture(autouse=True)
def prepare(space: Space) -> None:
    needs.require("gcc", "-flto")
    space.environment["SAID"] = str(space.root / "said")


def witness(space: Space, text: str) -> Path:
    """A program that gcc is to take for make."""
    path = space.root / "witness"
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "option", often(["-flto"], ["-flto", "-flto=auto", "-flto=7", "-flto=jobserver"])
)
def test_p1_a_link_with_a_job_server_of_its_own(space: Space, option: str) -> None:
    make = witness(space, WITNESS)
    script = f"make LTO={option} MAKE={make}; export MAKE={make}; rm prog; make -e LTO={option}"
    ended = space.expect_same(FILES, ["sh", "-c", script], "-j2")
    assert ended.status == 0
    assert "0 in place" in ended.err
    said = (space.root / "said").read_text().splitlines()
    assert " -j --jobserver-auth=3,4" in said[-1]


@pytest.mark.parametrize("slots", [1, 3])
def test_who_takes_tokens_until_there_is_none(space: Space, slots: int) -> None:
    source = space.root / "taking.c"
    source.write_text(TAKING)
    space.ok("gcc", "-o", str(space.root / "taking"), str(source))
    script = f"export MAKE={space.root / 'taking'}; make -e LTO=-flto"
    space.write(FILES)
    ended = space.smpmake(f"-j{slots}", "--", "sh", "-c", script)
    assert ended.status == 0, ended.err
    assert (space.folder / "prog").exists()


@pytest.mark.parametrize("slots", often([2], [1, 2, 4]))
@pytest.mark.parametrize("option", often(["-flto=7"], ["-flto", "-flto=7"]))
def test_p6_no_more_processes_than_slots(space: Space, slots: int, option: str) -> None:
    (space.root / "at-work").mkdir()
    space.environment["AT_WORK"] = str(space.root / "at-work")
    (space.root / "shell").write_text(COUNTING)
    (space.root / "shell").chmod(0o755)
    make = witness(space, f'#!/bin/sh\nexec make SHELL={space.root}/shell .SHELLFLAGS="-c" "$@"\n')
    ended = space.expect_same(
        FILES, ["sh", "-c", f"export MAKE={make}; make -e LTO={option}"], f"-j{slots}"
    )
    assert ended.status == 0
    counts = [int(line) for line in (space.root / "said").read_text().split()]
    assert len(counts) >= 2 * COUNT  # the serial build has said it, too
    assert max(counts[len(counts) // 2 :]) <= slots


def test_below_a_make_with_a_job_server(space: Space) -> None:
    """Its slots are not ours to lend, nor are they the link's."""
    make = witness(space, WITNESS)
    smp = space.root / "smp"
    smp.symlink_to(SMPMAKE)
    space.write({**FILES, "Above": f"all:\n\t+{smp} -j4 -- make LTO=-flto\n"})
    ended = space.run("make", "-f", "Above", "-j3", MAKE=str(make))
    assert ended.status == 0, ended.err
    assert "jobserver" not in ended.err + ended.out
    assert (space.folder / "prog").exists()
    assert "--jobserver-auth=3,4" in (space.root / "said").read_text()


def test_a_link_that_fails_gives_its_slots_back(space: Space) -> None:
    """One of its processes had a slot; what is behind it is compiled all the same."""
    make = witness(space, "#!/bin/sh\ndd bs=1 count=1 <&3 > /dev/null 2>&1\nexit 1\n")
    script = f"export MAKE={make}; make -e LTO=-flto=4; gcc -c main.c -o n.o; gcc -c f0.c -o o.o"
    ended = space.expect_same(FILES, ["sh", "-c", script], "-j3")
    assert (space.folder / "o.o").exists(), ended.err
