"""Below the job servers of other makes: GNU make 4.4 (a named pipe), 4.3 (descriptors), and a ninja
between.  Never more compilers than the outermost one allows, and its tokens come back (P6, P9)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.counting import COUNTING, MEETING, counted, most_at_once
from tests.support.space import SMPMAKE, Ended, Space, objects

from . import fetch
from .project import Debian

pytestmark = [pytest.mark.packages, pytest.mark.timeout(300), pytest.mark.xdist_group("make-4.4")]

MAKE = Debian(
    "make-dfsg",
    "4.4.1",
    "3b16b00ea1079af9f8096bbc71ff7cc00c249fc6a862003da3c42308a0adb0fe",
    suite="trixie",
)
RULES = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -c -o $@ $<\n"
BELOW = ".PHONY: a b c\nall: a b c\na b c:\n\t+smp -j4 make -C $@\n"
#: What a make says where its tokens are not what they were.
LOST = "jobserver tokens available"
NINJA = """\
rule smp
  command = smp -j4 make -C $in
build out_a: smp a
build out_b: smp b
build out_c: smp c
"""


@pytest.fixture(scope="module")
def make44() -> Path:
    """GNU make 4.4.1, built from its source, once."""
    cache = fetch.cache_folder()
    try:
        source = fetch.fetch(MAKE, cache)
    except fetch.UnavailableError as error:
        pytest.skip(f"make 4.4.1: {error}")
    made = cache / "made" / "make-4.4.1" / "make"
    with fetch.locked(cache, "make-4.4.1"):
        if not made.exists():
            work = cache / "work" / "make-4.4.1"
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(source, work)
            (work / "doc").mkdir()
            (work / "doc" / "Makefile.in").touch()  # the manual is not in this tarball
            for command in (
                ("./configure", "-q", "--disable-nls", "--without-guile"),
                ("make", "-j2", "-C", "lib"),
                ("make", "-j2", "make", "man_MANS="),
            ):
                subprocess.run(command, cwd=work, check=True, capture_output=True)
            made.parent.mkdir(parents=True, exist_ok=True)
            (work / "make").rename(made)
    return made


@pytest.fixture(params=["fifo", "pipe"])
def style(request: pytest.FixtureRequest) -> str:
    """How make 4.4 passes its job server on."""
    return f"--jobserver-style={request.param}"


def three(space: Space, count: int = 6) -> None:
    """Three builds below one, each by a smpmake of its own."""
    space.write({"Makefile": BELOW})
    for name in "abc":
        space.write({f"{name}/{path}": text for path, text in objects(count).items()})
        space.write({f"{name}/Makefile": RULES})
    (space.root / "tools" / "smp").symlink_to(SMPMAKE)


def is_right(space: Space, ended: Ended, count: int) -> None:
    assert ended.status == 0, ended.err
    assert LOST not in ended.out + ended.err
    assert len(list(space.folder.rglob("*.o"))) == count
    assert not os.listdir(space.temporary)


@pytest.mark.parametrize("jobs", [2, 3])
def test_p6_three_builds_below_make_44(space: Space, make44: Path, style: str, jobs: int) -> None:
    counted(space, COUNTING)
    three(space)
    is_right(space, space.run(str(make44), f"-j{jobs}", style), 18)
    assert most_at_once(space) <= jobs


def test_p6_a_make_44_within_and_below(space: Space, make44: Path, style: str) -> None:
    """make 4.4 runs makes 4.4, which run smpmake, which runs makes 4.4 and 4.3."""
    counted(space, COUNTING)
    three(space)
    within = BELOW.replace("smp -j4 make", f"smp -j4 {make44}")
    space.write({"inner.mk": within, "Makefile": "all:\n\t+$(MAKE) -f inner.mk\n"})
    is_right(space, space.run(str(make44), "-j2", style), 18)
    assert most_at_once(space) <= 2


@pytest.mark.parametrize("outer", ["4.4", "4.3"])
def test_p6_with_a_ninja_between(space: Space, make44: Path, outer: str) -> None:
    """A ninja that is a client of the same job server (from 1.13, if it is not told -j)."""
    counted(space, COUNTING)
    three(space)
    ninja = Path(sys.executable).with_name("ninja")
    space.write({"build.ninja": NINJA, "Makefile": f"all:\n\t+{ninja}\n"})
    is_right(space, space.run(str(make44) if outer == "4.4" else "make", "-j2"), 18)
    assert most_at_once(space) <= 2


@pytest.mark.parametrize("whom", ["smpmake", "group"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_p9_tokens_come_back_from_who_is_ended(
    space: Space, make44: Path, style: str, whom: str, number: int
) -> None:
    """One of two builds is ended while it has a token; the other one has it then, and make too."""
    if whom == "group" and number == signal.SIGKILL:
        pytest.skip("nobody is left to give anything back")
    counted(space, MEETING)
    go, pids = space.root / "go", space.root / "pids"
    os.mkfifo(go)
    tools = space.root / "tools"
    (tools / "smp").write_text(f'#!/bin/sh\necho $$ > {pids}\nexec {SMPMAKE} "$@"\n')
    (tools / "smp").chmod(0o755)
    space.write({**{f"a/{path}": text for path, text in objects(4).items()}, "a/Makefile": RULES})
    # Nobody waits for the keeper of a build that was killed: make could end before it gives back.
    cleaned = f"\t@while ls -d {space.temporary}/*/; do :; done >/dev/null 2>&1\n"
    after = f"{cleaned}\t+smp2 -j2 make -C b\n"
    space.write({"Makefile": f"all: b\na:\n\t+-smp -j4 make -C a\nb: a\n{after}.PHONY: all a b\n"})
    space.write({f"b/{path}": text for path, text in objects(4).items()})
    space.write({"b/Makefile": RULES.replace("gcc ", f"{shutil.which('gcc')} ")})
    (tools / "smp2").symlink_to(SMPMAKE)
    process = space.start(str(make44), "-j2", style)
    with open(go, "w"):  # somebody reads: two have met, by a token
        target = int(pids.read_text())
        if whom == "group":
            os.killpg(process.pid, number)
        else:
            os.kill(target, number)
    go.unlink()
    ended = space.finish(process)
    assert LOST not in ended.out + ended.err
    if whom == "smpmake":
        assert ended.status == 0, ended.err
        assert len(list(space.folder.glob("b/*.o"))) == 4
    else:
        assert ended.status in (2, -number)
