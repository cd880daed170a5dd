"""A tool whose output would go to a terminal has one: colours, width, and every byte."""

from __future__ import annotations

import os
import re
import shutil

import pexpect
import pytest

from tests.support.space import SMPMAKE, Space

pytestmark = pytest.mark.slow
ROWS, COLUMNS = 31, 77

#: Says what it is told about terminals, and writes its output as the configuration says.
TELLER = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *made = fopen(argv[2], "w");
	for (int fd = 1; fd <= 2; fd++) {
		struct winsize size = {0};
		int known = ioctl(fd, TIOCGWINSZ, &size);
		fprintf(made, "%d: %d %d %d\\n", fd, isatty(fd), known, size.ws_row * 1000 + size.ws_col);
	}
	fclose(made);
	for (int i = 0; i < (argc > 3 ? atoi(argv[3]) : 1); i++) {
		printf("out %d\\n", i);
		fprintf(stderr, "err %d\\n", i);
	}
	return 0;
}
"""
CONFIG = '[tools.teller]\noutput = ["-o"]\n'
WARNS = "int f(void) { int unused; return 1; }\n"
WRONG = "int f(void) { return oops; }\n"
FRAME = re.compile(rb"(?m)^(\x1b\[\S*|" + b" " * COLUMNS + rb"\r)?(smpmake|make): .*\r\n")


def on_terminal(space: Space, *command: str) -> tuple[bytes, int]:
    """What a user sees of a command, and its status."""
    child = pexpect.spawn(
        command[0],
        list(command[1:]),
        cwd=str(space.folder),
        env={**space.environment, "TERM": "xterm-256color", "GCC_COLORS": "error=01;31"},
        dimensions=(ROWS, COLUMNS),
        timeout=60,
    )
    seen = child.read()
    assert isinstance(seen, bytes)
    child.close()
    assert child.exitstatus is not None
    return seen, child.exitstatus


def twice(space: Space, files: dict[str, str], *command: str) -> tuple[bytes, bytes]:
    """What a user sees serially and with smpmake, which leave the same files and status."""
    space.write(files)
    plain, status = on_terminal(space, *command)
    tree = space.tree()
    space.clear()
    space.write(files)
    ours, our_status = on_terminal(space, SMPMAKE, "-q", "--", *command)
    assert (space.tree(), our_status) == (tree, status), ours
    space.expect_clean()
    return plain, ours


def teller(space: Space, script: str = "") -> None:
    """Puts a tool of that name on PATH: TELLER, or a script."""
    folder = space.root / "bin"
    folder.mkdir()
    tool = folder / "teller"
    if script:
        tool.write_text(f"#!/bin/sh\n{script}")
        tool.chmod(0o755)
    else:
        (folder / "teller.c").write_text(TELLER)
        space.ok("gcc", "-o", str(tool), str(folder / "teller.c"))
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"


@pytest.mark.parametrize(
    "recipe",
    ["gcc -Wall -c w.c", "gcc -Wall -shared -fPIC -o w.so w.c v.c", "gcc -c -o w.o e.c"],
    ids=["warning", "several sources", "error"],
)
def test_p4_messages_have_the_colours_of_a_terminal(space: Space, recipe: str) -> None:
    files = {"w.c": WARNS, "v.c": "int g;\n", "e.c": WRONG, "Makefile": f"all:\n\t@{recipe}\n"}
    plain, ours = twice(space, files, "make")
    assert b"\x1b[" in plain
    assert FRAME.sub(b"", plain) in FRAME.sub(b"", ours)


@pytest.mark.parametrize("redirected", ["", "2> log", "> log", "> log 2>&1", "2>&1 | cat"])
def test_a_tool_is_told_what_it_would_be_told(space: Space, redirected: str) -> None:
    """`told` says of each descriptor whether it is a terminal, and of what size."""
    teller(space)
    files = {".smpmake.toml": CONFIG, "Makefile": f"all:\n\tteller -o told {redirected}\n"}
    plain, ours = twice(space, files, "make")
    told = (space.folder / "told").read_text()
    assert (str(ROWS * 1000 + COLUMNS) in told) == (redirected in ("", "2> log", "> log"))
    assert [line for line in ours.splitlines() if line.startswith((b"out", b"err"))] == [
        line for line in plain.splitlines() if line.startswith((b"out", b"err"))
    ]


def test_nothing_of_a_long_output_is_lost(space: Space) -> None:
    """Far more than a terminal holds; in the tool's own order, since both are one."""
    teller(space)
    files = {".smpmake.toml": CONFIG, "Makefile": "all:\n\t@teller -o told 20000\n"}
    plain, ours = twice(space, files, "make")
    assert len(plain) > 400_000
    assert plain in ours


def test_who_keeps_the_terminal_holds_nobody_up(space: Space) -> None:
    """A child that the tool leaves behind has it open still."""
    teller(space, ": > $2\necho said\n(read line < hold; echo more) &\n")
    space.write(
        {
            ".smpmake.toml": CONFIG,
            "Makefile": "all:\n\tteller -o one\n\tteller -o two\n\techo ended\n",
        }
    )
    os.mkfifo(space.folder / "hold")
    seen, status = on_terminal(space, SMPMAKE, "-q", "make")
    assert status == 0
    assert b"ended" in seen
    assert seen.count(b"said") == 2


def test_stdin_is_what_it_is_without_a_terminal(space: Space) -> None:
    """Nothing to be read: not an error, and not the terminal either."""
    teller(space, "set -e\ncat > $2\n[ -t 0 ] && echo terminal >> $2 || :\n")
    files = {".smpmake.toml": CONFIG, "Makefile": "all:\n\tteller -o told </dev/null\n"}
    twice(space, files, "make")
    assert (space.folder / "told").read_text() == ""


def test_who_is_left_behind_may_go_on_printing(space: Space) -> None:
    teller(space, ": > $2\n(read line < hold; echo more; echo $? > done) &\n")
    recipe = "teller -o told\n\tcat told\n\techo go > hold; read said < done; echo $$said > made\n"
    space.write({".smpmake.toml": CONFIG, "Makefile": f"all:\n\t{recipe}"})
    for name in ("hold", "done"):
        os.mkfifo(space.folder / name)
    assert on_terminal(space, SMPMAKE, "-q", "make")[1] == 0
    assert (space.folder / "made").read_text() == "0\n"


def test_what_is_kept_of_a_failure_has_no_colours(space: Space) -> None:
    space.write({"e.c": WRONG, "Makefile": "all:\n\tgcc -c e.c\n"})
    seen, status = on_terminal(space, SMPMAKE, "make")
    assert status == 2
    assert b"\x1b[01;31m" in seen
    shown = space.smpmake("report").out
    assert "oops" in shown
    assert "\x1b" not in shown
    assert "^[" not in shown
    assert "\\u001b" not in space.smpmake("report", "--json").out


def test_without_pseudo_terminals_output_is_caught_as_before(space: Space) -> None:
    """Where /dev/ptmx is not to be had (some containers)."""
    hide = "mount --bind /dev/null /dev/ptmx"
    if shutil.which("unshare") is None or space.run("unshare", "-m", "sh", "-c", hide).status != 0:
        pytest.skip("/dev/ptmx cannot be hidden here: that takes a namespace of mounts")
    space.write({"w.c": WARNS, "Makefile": "all:\n\tgcc -Wall -c w.c\n"})
    seen, status = on_terminal(
        space, "unshare", "-m", "sh", "-c", f"{hide} && exec {SMPMAKE} -q make"
    )
    assert status == 0
    assert b"unused variable" in seen
