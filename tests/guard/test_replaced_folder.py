"""A job may replace the folder in which later ones have outputs: then names alone tell (P1)."""

from __future__ import annotations

import pytest

from tests.support.held import Held
from tests.support.space import Space

pytestmark = pytest.mark.slow

REGEN = """#!/bin/sh
[ "$1" = -o ] || exit 2
mkdir new && cp "$3" "new/$(basename "$2")"
rm -r "$(dirname "$2")" && mv new "$(dirname "$2")"
"""
HEAD = (
    "mkdir -p out\n"
    "regen -o out/a.c a.c\n"
    "gcc -Dheld -c a.c -o out/a.o\n"
    "until [ ! -e out/old ]; do :; done\n"  # by its shell alone: nobody is asked
)


@pytest.mark.parametrize(
    "last",
    ["cat out/a.o > copy", "echo mine > out/a.o", "make -f rules"],
)
def test_p1_what_is_pending_in_a_folder_that_a_job_replaces(space: Space, last: str) -> None:
    held = Held(space)
    tool = space.root / "tools" / "regen"
    tool.write_text(REGEN)
    tool.chmod(0o755)
    files = {
        ".smpmake.toml": '[tools.regen]\nkind = "compile"\noutput = ["-o"]\nheaders = false\n',
        "a.c": "int a;\n",
        "out/old": "",
        "rules": "made: out/a.o\n\tcp out/a.o made\n",
        "build.sh": f"{HEAD}{last}\n: > after\n",
    }
    status, expected = held.serial(files, ["sh", "-e", "build.sh"])
    ended, tree = held.parallel(files, ["sh", "-e", "build.sh"], "-j2")
    assert (ended.status, tree) == (status, expected), ended.err


#: In between it gives whoever comes too early the time to show it.
SLOW_REGEN = """#!/bin/sh
[ "$1" = -o ] || exit 2
folder=$(dirname "$2")
mkdir new && cp "$3" "new/$(basename "$2")"
rm -r "$folder"
: > gone
n=0
while [ ! -s early ] && [ $n -lt 20000 ]; do n=$((n + 1)); done
mv new "$folder"
"""


@pytest.mark.parametrize(
    "last",
    [
        "ls out > names || echo no > early",
        "[ -d out ] || echo no > early",
        "make -f rules",
        "mkdir out 2> /dev/null && echo yes > early",
        "cp a.c out || echo no > early",
    ],
)
def test_p1_the_folder_itself_while_it_is_not_there(space: Space, last: str) -> None:
    tool = space.root / "tools" / "regen"
    tool.parent.mkdir()
    tool.write_text(SLOW_REGEN)
    tool.chmod(0o755)
    space.environment["PATH"] = f"{tool.parent}:{space.environment['PATH']}"
    head = "mkdir -p out\nregen -o out/a.c a.c\nuntil [ -e gone ]; do :; done\n"
    files = {
        ".smpmake.toml": '[tools.regen]\nkind = "compile"\noutput = ["-o"]\nheaders = false\n',
        "a.c": "int a;\n",
        "out/old": "",
        "rules": "made: out\n\tls out > made\nout:\n\techo no > early; exit 1\n",
        "build.sh": f"{head}{last}\n: > after\n",
    }
    space.write(files)
    serial = space.run("sh", "build.sh")
    expected = space.tree()
    assert not (space.folder / "early").exists()
    space.clear()
    space.write(files)
    ours = space.smpmake("-j2", "sh", "build.sh")
    assert (ours.status, space.tree()) == (serial.status, expected), ours.err


#: A file is there as late as this: by its age alone who was issued before knows that.
MOMENT = "t=$(date +%s%N); until [ $(($(date +%s%N) - t)) -gt 40000000 ]; do :; done\n"


@pytest.mark.parametrize(
    ("comes", "goes"), [("mkdir h.h", "rmdir h.h"), ("ln -s none h.h", "rm h.h")]
)
def test_p1_a_file_that_comes_in_the_place_of(space: Space, comes: str, goes: str) -> None:
    """An earlier command has made what was called so then: that is not what is there now."""
    held = Held(space)
    files = {
        "f.c": '#include "h.h"\nint f;\n',
        "g.c": "int g;\n",
        "h.h": "int older;\n",
        "build.sh": f"gcc -Dheld -c g.c\nrm h.h\n{comes}\ngcc -Dheld -c f.c\n{goes}\n{MOMENT}"
        "echo 'int h;' > h.h\n: > after\n",
    }
    status, expected = held.serial(files, ["sh", "build.sh"])
    assert "f.o" not in expected
    ended, tree = held.parallel(files, ["sh", "build.sh"], "-j2")
    assert (ended.status, tree) == (status, expected), ended.err
