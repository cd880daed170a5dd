"""Every row of the table of hazards (docs/architecture.md): right with the rule, wrong without."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import pytest

from tests.support.held import Held
from tests.support.space import MAIN, Space

pytestmark = pytest.mark.slow

FILES = {
    "held.c": '#include "h.h"\nint held = VALUE;\n',
    "h.h": "#define VALUE 1\n",
    "new.h": "#define VALUE 2\n",
    "main.c": MAIN,
    "sub/held.c": "int sub;\n",
    "b.s": '.data\n.incbin "held.o"\n',
    "c.c": "int c;\n",
    "y.c": "#warning held\n",
    "hide.c": '#include "v.h"\nint v = VALUE;\n',
    "near/other.h": "",
    "far/v.h": "#define VALUE 1\n",
    "outside.c": """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(void)
{
    struct sockaddr_un name = {AF_UNIX, "ds"};
    int got, s = socket(AF_UNIX, SOCK_DGRAM, 0);
    sigset_t set;
    char c;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    bind(s, (struct sockaddr *)&name, sizeof name);
    close(open("rep", O_WRONLY)); /* ready */
    if (HOW == 1)
        sigwait(&set, &got);
    else if (HOW == 2)
        recv(s, &c, 1, 0);
    else
        read(open("req", O_RDONLY), &c, 1);
    int is = access("held.o", F_OK) == 0;
    dprintf(open("rep", O_WRONLY), is ? "there\\n" : "not there\\n");
}
""",
    "sub.mk": "all:\n\tgcc -Dheld -c y.c\n",
}


def python(code: str) -> str:
    """A command that runs Python."""
    return f"python3 -I -c {shlex.quote(code)}"


NFTW = (
    "import ctypes; c = ctypes.CDLL(None); names = []; "
    "K = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, "
    "ctypes.c_void_p); c.nftw(b'sub', K(lambda n, *_: names.append(n) or 0), 8, 0); "
    "open('names', 'w').write(str(sorted(names)))"
)


#: What takes both slots, so that the next commands are not even started.
BUSY = "gcc -Dheld -c c.c -o 1.o; gcc -Dheld -c c.c -o 2.o; "


#: Opens a folder, and reads it behind a compile; the names of the entries are 19 bytes in.
LISTS = """import ctypes, subprocess
c = ctypes.CDLL(None)
c.opendir.restype = c.readdir.restype = ctypes.c_void_p
c.readdir.argtypes = c.rewinddir.argtypes = [ctypes.c_void_p]
d, names = c.opendir(b"."), []
{}
subprocess.run(["gcc", "-c", "held.c"])
while entry := c.readdir(d):
    names.append(ctypes.string_at(entry + 19))
open("names", "w").write(str(sorted(names)))
"""
#: Starts a program without a guard, and tells it something.
OUTSIDE = (
    "mkfifo req rep; gcc -static -DHOW={} -o outside outside.c || exit; ./outside & read x < rep; "
    "touch -d 2000-01-01 ds; gcc -c held.c; {}; read x < rep; echo $x > seen; wait"
)


@dataclass(frozen=True)
class Row:
    """What a driver does while gcc is held, and the cause that the wait is recorded under.

    alone  nothing is let go before all other jobs have ended, or wait.
    """

    cause: str
    script: str
    alone: bool = False


ROWS = {
    "opens a pending output": Row("reads", "gcc -c held.c; od held.o > copy"),
    "looks whether it is there": Row("reads", "gcc -c held.c; test -f held.o && echo yes > seen"),
    "asks for its size": Row(
        "reads",
        "gcc -c held.c; "
        + python("import os; open('x', 'w').write(str(os.stat('held.o').st_size))"),
    ),
    "runs a program that is being linked": Row(
        "reads", "gcc -o held main.c; ./held && echo ran > ran"
    ),
    "reads it through another spelling": Row(
        "reads",
        "ln -s sub other; gcc -c sub/held.c -o sub/held.o; od ./other/../other//held.o > copy",
    ),
    "reads it through a new link": Row(
        "reads",
        "gcc -c held.c; "
        + python("import os; os.symlink('held.o', 'alias')")
        + "; od alias > copy",
    ),
    "reads it through an older link": Row(
        "reads", "echo old > held.o; ln -s held.o link; gcc -c held.c; od link > copy"
    ),
    "loads it": Row(
        "reads, loads",
        "gcc -shared -fPIC -o held.so c.c; "
        + python("import ctypes; open('loaded', 'w').write(str(bool(ctypes.CDLL('./held.so'))))"),
    ),
    "links to it": Row("links to", "gcc -c held.c; " + python("import os; os.link('held.o', 'b')")),
    "lists its folder": Row("lists", "gcc -c held.c; ls *.c . > names"),
    "lists a folder that it had opened": Row("lists", python(LISTS.format(""))),
    "lists a folder once more": Row(
        "lists", python(LISTS.format("while c.readdir(d): pass\nc.rewinddir(d)"))
    ),
    "walks its folder": Row("walks", f"gcc -c sub/held.c -o sub/held.o; {python(NFTW)}"),
    "overwrites it": Row("changes", "gcc -c held.c; echo text > held.o"),
    "removes it": Row("changes", "gcc -c held.c; " + python("import os; os.unlink('held.o')")),
    "changes its mode": Row(
        "changes", "gcc -c held.c; " + python("import os; os.chmod('held.o', 0o600)")
    ),
    "rewrites a source": Row("changes", "gcc -c held.c; echo 'int other;' > held.c"),
    "rewrites a header": Row("changes", "gcc -c held.c; echo '#define VALUE 3' > h.h"),
    "removes a header": Row("changes", "gcc -c held.c; " + python("import os; os.remove('h.h')")),
    "moves a header into place": Row(
        "renames", "gcc -c held.c; " + python("import os; os.rename('new.h', 'h.h')")
    ),
    "makes a header that hides another": Row(
        "changes", "gcc -Dheld -Inear -Ifar -c hide.c; echo '#define VALUE 3' > near/v.h"
    ),
    "moves a header before another": Row(
        "renames",
        "gcc -Dheld -Inear -Ifar -c hide.c; " + python("import os; os.rename('new.h', 'near/v.h')"),
    ),
    "renames its folder": Row(
        "renames", "gcc -c sub/held.c -o sub/held.o; " + python("import os; os.rename('sub', 'm')")
    ),
    "renames a folder that is searched": Row(
        "renames",
        "gcc -Dheld -Ifar -c hide.c; " + python("import os; os.rename('far', 'x')") + "; "
        "mkdir far; cp new.h far/v.h",
    ),
    "renames a folder above one that is searched": Row(
        "renames",
        "mkdir -p t/inc n/inc; cp far/v.h t/inc; cp new.h n/inc/v.h; "
        "gcc -Dheld -It/inc -c hide.c; "
        + python("import os; os.rename('t', 'x'); os.rename('n', 't')"),
    ),
    "moves a folder onto the search path": Row(
        "renames",
        "mkdir n; cp new.h n/v.h; gcc -Dheld -Ifirst -Ifar -c hide.c; "
        + python("import os; os.rename('n', 'first')"),
    ),
    "retargets a link through which it writes": Row(
        "changes",
        "mkdir one two; ln -s one out; gcc -Dheld -c c.c -o out/c.o; "
        + python("import os; os.unlink('out'); os.symlink('two', 'out')"),
    ),
    "retargets a link through which it reads": Row(
        "changes",
        "mkdir two; echo 'int other;' > two/held.c; ln -s sub src; gcc -Dheld -c src/held.c; "
        + python("import os; os.unlink('src'); os.symlink('two', 'src')"),
    ),
    "removes the folder in which it works": Row(
        "changes", f"{BUSY}mkdir w; (cd w && gcc -c ../c.c -o ../w.o); rmdir w"
    ),
    "renames the folder in which it works": Row(
        "renames",
        f"{BUSY}mkdir w; (cd w && gcc -c ../c.c -o ../w.o); "
        + python("import os; os.rename('w', 'x')"),
    ),
    "greps the log of what it called": Row(
        "reads", "make -s -f sub.mk > log 2>&1; grep -c warning: log > count"
    ),
    "signals to one without a guard": Row("runs", OUTSIDE.format(1, "kill -USR1 $!")),
    "sends a datagram to one": Row(
        "runs",
        OUTSIDE.format(
            2,
            python("import socket; socket.socket(1, 2).sendto(b'x', 'ds')"),
        ),
    ),
    "opens a FIFO that one reads": Row("runs", OUTSIDE.format(3, "echo > req")),
    "a later job reads it undeclared": Row("reads", "gcc -c held.c; gcc -c b.s", True),
    "a later job finds a library by LIBRARY_PATH": Row(
        "reads",
        "export LIBRARY_PATH=.; gcc -shared -fPIC -Dheld -o libx.so c.c; gcc -o prog main.c -lx",
        True,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_with_the_rule_the_result_is_the_serial_one(space: Space, name: str) -> None:
    held = Held(space)
    command = ["sh", "-c", f"{ROWS[name].script}; echo > after"]
    status, expected = held.serial(FILES, command)
    ended, tree = held.parallel(FILES, command, "-j2", alone=ROWS[name].alone)
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()


@pytest.mark.chaos
@pytest.mark.parametrize("name", ROWS)
def test_without_the_rule_it_is_not(space: Space, name: str) -> None:
    config = space.root / "config" / "smpmake" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('undo = "off"\n')  # or a compile that fails for want of it is made good
    held = Held(space)
    row = ROWS[name]
    without = [word for cause in row.cause.split(", ") for word in ("--without", cause)]
    command = ["sh", "-c", f"{row.script}; echo > after"]
    status, expected = held.serial(FILES, command)
    ended, tree = held.parallel(FILES, command, "-j2", *without, alone=row.alone)
    assert (ended.status, tree) != (status, expected)


@pytest.mark.parametrize(
    "how",
    [
        "cp new.h near/v.h",
        "mv new.h near/v.h",
        "ln -s ../new.h near/v.h",
        "ln new.h near/v.h",
        "install -m 644 new.h near/v.h",
        "gcc -E -P -o near/v.h new.h",
    ],
)
@pytest.mark.parametrize("guard", ["--guard", "--no-guard"])
def test_a_command_that_makes_a_header_that_hides_another_waits(
    space: Space, how: str, guard: str
) -> None:
    held = Held(space)
    command = ["sh", "-c", f"gcc -Dheld -Inear -Ifar -c hide.c; {how}; echo > after"]
    status, expected = held.serial(FILES, command)
    ended, tree = held.parallel(FILES, command, guard, command_waits=True)
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()


MAKES = {
    "Makefile": ("all:\n\tgcc -c held.c -o sub/held.o\n\t$(MAKE) -C sub; echo > after\n"),
    "sub/Makefile": (
        "prog: held.o main.o\n\tgcc -o $@ held.o main.o\nmain.o: main.c\n\tgcc -c main.c\n"
    ),
    "sub/main.c": MAIN,
    "held.c": "int held;\n",
}


def test_a_make_is_shown_a_pending_output_and_does_not_wait(space: Space) -> None:
    held = Held(space)
    status, expected = held.serial(MAKES, ["make"])
    ended, tree = held.parallel(MAKES, ["make"], witness="after")
    assert (ended.status, tree) == (status, expected), ended.err
    assert "up to date" in space.run("make", "-C", "sub").out  # promise P7


def test_without_the_rule_a_sub_make_has_no_rule(space: Space) -> None:
    held = Held(space)
    ended, _ = held.parallel(MAKES, ["make"], "--without", "looks at")
    assert "No rule to make target" in ended.err


def test_a_make_lists_a_folder_with_the_pending_names(space: Space) -> None:
    files = {
        "Makefile": "all:\n\tgcc -c held.c -o sub/held.o\n\t$(MAKE) -C sub\n\techo > after\n",
        "sub/Makefile": "all:\n\techo $(sort $(wildcard *.o *.c)) > names\n",
        "sub/other.c": "",
        "held.c": "int held;\n",
    }
    held = Held(space)
    status, expected = held.serial(files, ["make"])
    ended, tree = held.parallel(files, ["make"], witness="after")
    assert (ended.status, tree) == (status, expected), ended.err
    assert (space.folder / "sub/names").read_text() == "held.o other.c\n"


@pytest.mark.parametrize(
    "names",
    ["echo *.o", "bash -c 'echo *.[co]'", python("import os; print(sorted(os.listdir('.')))")],
)
def test_who_wants_names_alone_is_shown_them(space: Space, names: str) -> None:
    held = Held(space)
    command = ["sh", "-c", f"gcc -Dheld -c c.c; {names} > n; echo > after"]
    status, expected = held.serial(FILES, command)
    ended, tree = held.parallel(FILES, command, witness="after")
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()


def test_a_job_that_waits_gives_its_slot_back(space: Space) -> None:
    """Of two slots one is held, one waits for it: a third job runs all the same."""
    held = Held(space)
    command = ["sh", "-c", "gcc -c held.c; gcc -c b.s; gcc -c c.c; echo > after"]
    status, expected = held.serial(FILES, command)
    ended, tree = held.parallel(FILES, command, "-j2", witness="c.o")
    assert (ended.status, tree) == (status, expected), ended.err
