"""Paths of ours inside a shell's text, the environment and LD_PRELOAD, whatever is in them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from smpmake.history import History
from tests.support.space import Space
from tests.support.variants import often

pytestmark = pytest.mark.slow

#: Clears its environment, or only breaks it, and hands its second word to a shell.
CALLER = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  if (strstr(argv[1], "broken")) {
    setenv("_SMPMAKE_SHIMS", "", 1);
    setenv("LD_PRELOAD", "", 1);
  } else
    clearenv();
  if (strstr(argv[1], "system"))
    return system(argv[2]) >> 8;
  FILE *from = popen(argv[2], "r");
  char line[1000];
  while (fgets(line, sizeof line, from))
    fputs(line, stdout);
  fflush(stdout);
  return pclose(from) >> 8;
}
"""
COMMAND = """PATH=/usr/bin:/bin; export PATH
gcc -c a.c -o 'it'\\''s a.o'; wc -c < *.o; nonsense; nm *.o | grep -c "T f" # a 'comment
env -0 | tr '\\n\\0' '_\\n' | grep -v '^_SMPMAKE_\\|^LD_PRELOAD=' | sort; echo "$0 $LINENO"
exit 3"""
ODD = {
    "text": "a b;touch injected;`touch injected`$(touch injected)'\"$HOME${x\\\n*~#&|<>",
    "colon": os.fsdecode(b"a:b \xff"),
}
WAYS = ("system", "popen", "system broken", "popen broken")


def odd_folder(space: Space, where: str, kind: str) -> Path:
    """A variable of the environment gets an odd folder."""
    folder = (space.temporary if where == "TMPDIR" else space.root) / ODD[kind]
    folder.mkdir()
    if where == "HOME":
        for name in ("CACHE", "CONFIG", "STATE"):
            del space.environment[f"XDG_{name}_HOME"]
    space.environment[where] = str(folder)
    return folder


def files(way: str = "", command: str = COMMAND) -> dict[str, str]:
    calls = f"./caller {shlex.quote(way)} {shlex.quote(command)} > seen 2>&1\necho $? >> seen\n"
    script = f"gcc -o caller caller.c\n{calls}rm -f caller\n"
    return {"a.c": "int f(void) { return 1; }\n", "caller.c": CALLER, "build.sh": script}


@pytest.mark.chaos
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("where", often(["TMPDIR"], ["TMPDIR", "HOME", "XDG_CACHE_HOME"]))
def test_p1_a_shell_of_a_program_that_cleared_its_environment(
    space: Space, where: str, kind: str
) -> None:
    folder = odd_folder(space, where, kind)
    ways = [files(f"{way} {where}") for way in WAYS]
    script = "".join(each["build.sh"].replace("seen", f"seen{n}") for n, each in enumerate(ways))
    outer = space.temporary
    space.temporary = folder if where == "TMPDIR" else outer
    ended = space.expect_same({**files(), "build.sh": script}, ["sh", "build.sh"])
    space.temporary = outer
    assert not (space.folder / "injected").exists()
    assert "plainly" not in ended.err
    record = History(next(space.root.rglob("history.db"))).last()
    assert record is not None
    jobs = [each for each in record.commands if each.verdict == "deferred"]
    # What popen catches runs in the foreground.
    assert len([each for each in jobs if b"a.c" in each.argv]) == 2
