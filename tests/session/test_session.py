"""A session that fails at any step: the build is done all the same, nothing is left (P5, P9)."""

from __future__ import annotations

import sys

import pytest

from tests.support.space import Space, objects

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

#: Nothing can be written where the session's journal is to be.
OPEN = """
import os
real = os.open
def fails(path, *args, **kwargs):
    if str(path).endswith("/journal"):
        raise OSError(errno.ENOSPC, "No space left on device")
    return real(path, *args, **kwargs)
os.open = fails
"""

BIND = """
import socket
class Socket(socket.socket):
    def bind(self, address):
        raise OSError(errno.ENOSPC, "No space left on device")
socket.socket = Socket
"""

FAULTS = {
    "no keeper": POPEN.format(when="== 1"),
    "no worker": POPEN.format(when="== 2"),
    "no second worker": POPEN.format(when="== 3"),
    "no process at all": POPEN.format(when=">= 1"),
    "no journal": OPEN,
    "no socket": BIND,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("options", [(), ("--output=serial",)], ids=["live", "serial"])
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
    ended = space.run(sys.executable, "-c", program, "-j2", *options, "--", "make")
    assert ended.status == 0, ended.err
    assert space.tree() == expected
    assert ended.out == plain.out
    said = "worker processes: 1, and no more" if fault == "no second worker" else "plainly"
    assert said in ended.err
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()
