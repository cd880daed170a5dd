"""A session that fails at any step: the build is done all the same, nothing is left (P5, P9)."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.support.space import Space, objects
from tests.support.variants import often

pytestmark = pytest.mark.slow

#: smpmake, in a process in which something fails.
PROGRAM = """
import errno, sys
{fault}
from smpmake.cli import main
sys.argv = ["smpmake", *sys.argv[1:]]
sys.exit(main())
"""

POPEN = """
import subprocess
count = 0
class Popen(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        global count
        count += 1
        if count {when}:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        super().__init__(*args, **kwargs)
subprocess.Popen = Popen
"""

#: The keeper, which is a program of our own, is not started as others are.
SPAWN = """
import os
def fails(*args, **kwargs):
    raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
os.posix_spawn = fails
"""

#: Nothing can be written where the session's journal is to be.
OPEN = """
import json
import os
real = os.open
def fails(path, *args, **kwargs):
    if str(path).endswith("/undo/server"):
        raise OSError(errno.ENOSPC, "No space left on device")
    return real(path, *args, **kwargs)
os.open = fails
"""

BIND = """
import _socket
class Socket(_socket.socket):
    def bind(self, address):
        raise OSError(errno.ENOSPC, "No space left on device")
_socket.socket = Socket
"""

#: What a session needs cannot be loaded, be it ahead of the driver or behind it.
LOAD = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "smpmake.session.{module}":
            raise {error}
sys.meta_path.insert(0, Finder())
"""

FAULTS = {
    "no keeper": SPAWN,
    "no worker": POPEN.format(when="== 1"),
    "no second worker": POPEN.format(when="== 2"),
    "no process at all": SPAWN + POPEN.format(when=">= 1"),
    "no journal": OPEN,
    "no socket": BIND,
    "no memory": LOAD.format(module="local", error="MemoryError"),
    "no module": LOAD.format(module="session", error="ImportError('no such module')"),
    "no bytes": LOAD.format(module="backend", error="OSError(errno.EIO, 'Input/output error')"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "options",
    [(), ("-j2", "--"), ("-j2", "--output-sync=serial", "--")],
    ids=["ahead", "live", "serial"],
)
def test_p5_a_session_that_cannot_be_had_costs_speed_alone(
    space: Space, fault: str, options: tuple[str, ...]
) -> None:
    files = {
        **objects(3),
        "Makefile": "all: f0.o f1.o f2.o\n\techo linked\n%.o: %.c\n\tgcc -c -o $@ $<\n",
    }
    space.write(files)
    plain = space.ok("make")
    expected = space.tree()
    space.clear()
    space.write(files)
    program = PROGRAM.format(fault=FAULTS[fault])
    ended = space.run(sys.executable, "-c", program, *options, "make")
    assert ended.status == 0, ended.err
    assert space.tree() == expected
    assert ended.out == plain.out
    said = "worker processes: 1, and no more" if fault == "no second worker" else "plainly"
    assert said in ended.err
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()


#: What a session loads beside the build cannot be loaded: each time it leaves a word.
LATE = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "smpmake.{module}":
            open("asked", "w").close()
            raise OSError(errno.EMFILE, "Too many open files")
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("session.monitor", "CPU and memory were not watched"),
        ("cli.closing", "no summary"),
        ("history.recorder", "no summary"),
    ],
)
def test_p5_what_is_loaded_beside_the_build_costs_its_record_alone(
    space: Space, module: str, said: str
) -> None:
    space.write(objects(2))
    script = "gcc -c f0.c; until [ -e asked ]; do :; done; gcc -c f1.c; echo over; exit 3"
    program = PROGRAM.format(fault=LATE.format(module=module))
    ended = space.run(sys.executable, "-c", program, "sh", "-c", script)
    assert (ended.status, ended.out) == (3, "over\n"), ended.err
    assert (space.folder / "f1.o").exists()
    assert said in ended.err
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()


#: The second command cannot be started, for a reason that nobody has thought of.
BUG = """
from smpmake.engine import execute
real, count = execute.order_of, 0
def fails(*args):
    global count
    count += 1
    if count == 2:
        raise ValueError("a bug")
    return real(*args)
execute.order_of = fails
"""


@pytest.mark.chaos
@pytest.mark.parametrize("driver", often(["trap '' TERM; make"], ["make", "trap '' TERM; make"]))
def test_a_fault_of_ours_ends_the_build(space: Space, driver: str) -> None:
    """Nobody waits for a command that will never be started; it does not look like a success."""
    rules = "all: f0.o f1.o f2.o\n\tcat $^ > all\n%.o: %.c\n\tgcc -c -o $@ $<\n"
    space.write({**objects(3), "Makefile": rules})
    program = PROGRAM.format(fault=BUG)
    ended = space.run(sys.executable, "-c", program, "-j2", "--", "sh", "-c", driver)
    assert ended.status == 125, ended.err
    assert "internal error: ValueError('a bug')" in ended.err
    assert not (space.folder / "all").exists()
    space.expect_clean()


@pytest.mark.parametrize("options", [(), ("--output-sync=serial",)], ids=["live", "serial"])
@pytest.mark.parametrize("status", [0, 3])
def test_what_asks_nothing_needs_no_server(
    space: Space, options: tuple[str, ...], status: int
) -> None:
    """It prints more than a pipe holds, and ends at once."""
    script = (
        f"i=0; while [ $i -lt 3000 ]; do echo a line of output: $i; i=$((i+1)); done; exit {status}"
    )
    plain = space.run("sh", "-c", script)
    ended = space.smpmake(*options, "--", "sh", "-c", script)
    assert plain.status == status
    assert (ended.status, ended.out) == (plain.status, plain.out)
    assert ("sh -c" in space.smpmake("history").out) == (status != 0)
    space.expect_clean()


@pytest.mark.parametrize("attempt", range(10))
def test_p1_a_driver_is_over_before_its_children_have_called(space: Space, attempt: int) -> None:
    """The server may have been loaded for them alone: they are heard, and their jobs end."""
    space.write({"w.c": "int w;\n"})
    ended = space.smpmake("sh", "-c", "gcc -c w.c & exit 3")
    assert ended.status == 3, ended.err
    assert "left over" not in ended.err


def test_the_keeper_is_not_interrupted_before_it_stands(space: Space) -> None:
    """Ctrl-C goes to the whole group, and may come before the keeper has its handlers."""
    ended = space.smpmake("sh", "-c", "grep SigBlk /proc/$PPID/status")
    blocked = int(ended.out.split()[1], 16)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        assert blocked & 1 << (number - 1)
