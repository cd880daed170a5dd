"""Who sets itself a time, moves file systems about or confines itself waits for all before it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.protocol import layout
from tests.support.waiting import Waiting

pytestmark = pytest.mark.slow

#: By machine: the numbers of system calls that only libc's syscall() makes here.
NUMBERS = {
    "x86_64": "SETITIMER, TIMERFD, MOUNT, UMOUNT, SECCOMP, SOCKET = 38, 286, 165, 166, 317, 41",
    "aarch64": "SETITIMER, TIMERFD, MOUNT, UMOUNT, SECCOMP, SOCKET = 103, 86, 40, 39, 277, 198",
}
PRELUDE = f"""
import ctypes, signal
{NUMBERS.get(platform.machine(), "")}
libc = ctypes.CDLL(None)
long = ctypes.c_long
set_ = (long * 4)(0, 0, 1000, 0)  # an interval, and the time until the first
unset = (long * 4)()
before = (long * 4)()
timer = ctypes.c_void_p()
"""
LIMITS = {
    "alarm": "signal.alarm(1000)",
    "ualarm": "libc.ualarm(999999, 0); signal.alarm(0)",
    "setitimer": "signal.setitimer(signal.ITIMER_REAL, 1000)",
    "timer_settime": "libc.timer_create(1, None, ctypes.byref(timer));"
    "libc.timer_settime(timer, 0, set_, None)",
    "timerfd_settime": "libc.timerfd_settime(libc.timerfd_create(1, 0), 0, set_, None)",
    "SYS_setitimer": "libc.syscall(long(SETITIMER), long(0), set_, before)",
    "SYS_timerfd_settime": "fd = libc.timerfd_create(1, 0);"
    "libc.syscall(long(TIMERFD), long(fd), long(0), set_, None)",
}
NO_LIMITS = {
    "alarm": "signal.alarm(0)",
    "setitimer": "signal.setitimer(signal.ITIMER_REAL, 0)",
    "a profiler": "signal.setitimer(signal.ITIMER_PROF, 1000)",
    "its own time": "signal.setitimer(signal.ITIMER_VIRTUAL, 1000)",
    "timerfd_settime": "libc.timerfd_settime(libc.timerfd_create(1, 0), 0, unset, None)",
    "SYS_setitimer": "libc.syscall(long(SETITIMER), long(2), set_, before)",
}
#: They fail, whoever runs them.
MOUNTS = {
    "mount": "libc.mount(b'none', b'none', b'no such type', 0, None)",
    "umount": "libc.umount(b'none')",
    "umount2": "libc.umount2(b'none', 0)",
    "pivot_root": "libc.pivot_root(b'none', b'none')",
    "SYS_mount": "libc.syscall(long(MOUNT), b'none', b'none', b'no such type', long(0), None)",
    "SYS_umount2": "libc.syscall(long(UMOUNT), b'none', long(0))",
    "move_mount": "libc.move_mount(-1, b'none', -1, b'none', 0)",
    "open_tree": "libc.open_tree(-1, b'none', 0)",
    "fsmount": "libc.fsmount(-1, 0, 0)",
    "mount_setattr": "libc.mount_setattr(-1, b'none', 0, None, 0)",
}
#: Who makes a socket is killed.
FILTER = """
import struct
code = b"".join(struct.pack("=HBBI", *each) for each in [
    (0x20, 0, 0, 0),          # the call's number
    (0x15, 0, 1, SOCKET),     # is it this one?
    (0x06, 0, 0, 0x80000000), # then end the process,
    (0x06, 0, 0, 0x7fff0000), # else let it go on
])
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_char_p)]
program = ctypes.byref(Program(4, code))
assert libc.prctl(38, long(1), long(0), long(0), long(0)) == 0  # no new privileges
"""
CONFINED = {
    "prctl": "assert libc.prctl(22, long(2), program, long(0), long(0)) == 0",
    "SYS_seccomp": "assert libc.syscall(long(SECCOMP), long(1), long(0), program) == 0",
}
#: As a program does that looks whether it could.
TRIES = "libc.syscall(long(SECCOMP), long(1), long(0), None)"


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    made = Waiting(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("way", LIMITS)
def test_who_sets_itself_a_limit_of_time_waits_first(waiting: Waiting, way: str) -> None:
    waiting.run("", PRELUDE + LIMITS[way])
    assert layout.ASK_ALL in waiting.kinds()


@pytest.mark.parametrize("way", NO_LIMITS)
def test_who_sets_none_does_not_wait(waiting: Waiting, way: str) -> None:
    waiting.run("", PRELUDE + NO_LIMITS[way])
    assert layout.ASK_ALL not in waiting.kinds()


@pytest.mark.parametrize("way", MOUNTS)
def test_who_moves_file_systems_about_waits_first(waiting: Waiting, way: str) -> None:
    waiting.run("", PRELUDE + MOUNTS[way])
    assert layout.ASK_ALL in waiting.kinds()


@pytest.mark.parametrize("way", CONFINED)
@pytest.mark.parametrize("job", [False, True])
def test_who_confines_itself_waits_first_and_is_asked_nothing_then(
    waiting: Waiting, way: str, job: bool
) -> None:
    """Looks, opens, lists, changes, starts a thread, and ends."""
    uses = (
        "\nopen('text').close(); os.stat('text'); os.listdir('.'); open('text', 'a').close()"
        "\nos.rename('text', 'other'); os.symlink('other', 'text'); os.unlink('text')"
    )
    waiting.run("", PRELUDE + FILTER + CONFINED[way] + uses, job=job)
    asked = [question.kind for question in waiting.server.asked]
    assert asked.count(layout.ASK_ALL) == 1
    assert asked[-1] == layout.ASK_ALL


def test_who_only_tries_is_guarded_on(waiting: Waiting) -> None:
    waiting.run("", f"{PRELUDE}{TRIES}\nopen('text').close()")
    assert waiting.asked(layout.ASK_READ)
