"""Who tells a process that has no guard something waits for what is pending: it may look (P1)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake import native
from smpmake.protocol import layout
from tests.support.waiting import Waiting

pytestmark = pytest.mark.slow

#: By machine: kill, tgkill, rt_sigqueueinfo, pidfd_send_signal, sendto, sendmsg.
NUMBERS = {"x86_64": [62, 234, 129, 424, 44, 46], "aarch64": [129, 131, 138, 424, 206, 211]}
PRELUDE = f"""
import ctypes, os, signal, socket
KILL, TGKILL, QUEUE, PIDFD, SENDTO, SENDMSG = {NUMBERS.get(platform.machine(), range(6))}
libc = ctypes.CDLL(None)
long = ctypes.c_long
SIGNAL = signal.SIGURG
"""
#: `name` is the other's number.
SIGNALS = {
    "kill": "os.kill(int(name), SIGNAL)",
    "killpg": "os.killpg(int(name), SIGNAL)",
    "a group": "os.kill(-int(name), SIGNAL)",
    "sigqueue": "assert libc.sigqueue(int(name), SIGNAL, None) == 0",
    "tgkill": "assert libc.tgkill(int(name), int(name), SIGNAL) == 0",
    "pidfd": "signal.pidfd_send_signal(os.pidfd_open(int(name)), SIGNAL)",
    "SYS_kill": "assert libc.syscall(long(KILL), long(int(name)), long(SIGNAL)) == 0",
    "SYS_tgkill": "assert libc.syscall(long(TGKILL), *[long(int(name))] * 2, long(SIGNAL)) == 0",
    "SYS_pidfd_send_signal": "fd = os.pidfd_open(int(name));"
    "assert libc.syscall(long(PIDFD), long(fd), long(SIGNAL), None, long(0)) == 0",
}
HARMLESS = {
    "a look": "os.kill(int(name), 0)",
    "its end": "os.kill(int(name), signal.SIGKILL)",
    "itself": "os.kill(os.getpid(), SIGNAL); signal.raise_signal(SIGNAL)",
    "its own group": "os.killpg(0, SIGNAL)",
    "a child": "child = os.fork() or os._exit(signal.pause()); os.kill(child, signal.SIGTERM);"
    "os.waitpid(child, 0)",
    "nobody": "child = os.fork() or os._exit(0); os.waitpid(child, 0)\n"
    "try: os.kill(child, SIGNAL)\nexcept ProcessLookupError: pass",
}
DATAGRAMS = {
    "sendto": "s.sendto(b'x', to)",
    "sendmsg": "s.sendmsg([b'x'], [], 0, to)",
}
PAIR = "s, other = socket.socketpair(type=socket.SOCK_DGRAM); s.send(b'x'); s.sendmsg([b'x'])"
UNIX = "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); to = name;"
INET = "s = socket.socket(type=socket.SOCK_DGRAM); to = ('127.0.0.1', int(name));"

QUEUE = """
queue = libc.mq_open(name.encode(), os.O_WRONLY)
assert libc.mq_send(queue, b"x", long(1), 0) == 0
"""
SETS = """
class Step(ctypes.Structure):
    _fields_ = [(name, ctypes.c_short) for name in ("number", "step", "flags")]
set_ = libc.semget(0, 1, 0o1600)
def step(up): assert libc.semop(set_, ctypes.byref(Step(0, up, 0o4000)), long(1)) == 0
step(1)
step(-1)
"""
SENDS = """
queue = libc.msgget(0, 0o1600)
done = libc.msgsnd(queue, (long * 2)(1, 1), long(8), 0)
libc.msgctl(queue, 0, None)
assert done == 0
"""
SYSTEM_V = {
    "msgsnd": SENDS,
    "with a semaphore": f"{SETS}{SENDS}libc.semctl(set_, 0, 0)",
    "given back": f"{SETS}step(1){SENDS}libc.semctl(set_, 0, 0)",
}


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    made = Waiting(tmp_path)
    yield made
    made.close()


@contextlib.contextmanager
def running(*, guarded: bool) -> Iterator[str]:
    """The number of a process, which leads a group of its own."""
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": native.guard() if guarded else ""}
    with subprocess.Popen(
        ["sh", "-c", "echo ready; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write(b"x")  # it is cat, and has its libraries, when this comes back
        process.stdin.flush()
        process.stdout.read(1)
        try:
            yield str(process.pid)
        finally:
            process.kill()


@contextlib.contextmanager
def reading(path: Path, *, guarded: bool) -> Iterator[None]:
    """Somebody reads a FIFO."""
    os.mkfifo(path)
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": native.guard() if guarded else ""}
    with subprocess.Popen(["cat", path], stdout=subprocess.DEVNULL, env=environment) as process:
        yield
        if process.poll() is None:
            process.kill()


def waits(waiting: Waiting) -> bool:
    return layout.ASK_ALL in waiting.kinds()


@pytest.mark.parametrize("way", SIGNALS)
@pytest.mark.parametrize("guarded", [False, True], ids=["a stranger", "of the build"])
def test_p1_a_signal(waiting: Waiting, way: str, guarded: bool) -> None:
    with running(guarded=guarded) as name:
        waiting.run(name, PRELUDE + SIGNALS[way])
    assert waits(waiting) is not guarded


@pytest.mark.parametrize("way", HARMLESS)
def test_a_signal_that_tells_nobody_anything(waiting: Waiting, way: str) -> None:
    with running(guarded=False) as name:
        waiting.run(name, f"import os\nos.setpgid(0, 0)\n{PRELUDE}{HARMLESS[way]}")
    assert not waits(waiting)


def test_part_of_a_command_does_not_wait(waiting: Waiting) -> None:
    with running(guarded=False) as name:
        waiting.run(name, PRELUDE + SIGNALS["kill"], job=True)
    assert not waits(waiting)


@pytest.mark.parametrize("how", ["open(name, 'w')", "os.open(name, os.O_WRONLY)"])
@pytest.mark.parametrize("guarded", [False, True], ids=["a stranger", "of the build"])
def test_p1_a_fifo(waiting: Waiting, tmp_path: Path, how: str, guarded: bool) -> None:
    with reading(tmp_path / "fifo", guarded=guarded):
        waiting.run(str(tmp_path / "fifo"), f"import os\n{how}")
    assert waits(waiting) is not guarded


def test_who_reads_a_fifo_as_well_tells_nobody(waiting: Waiting, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    waiting.run(str(tmp_path / "fifo"), "import os\nos.open(name, os.O_RDWR)")
    assert not waits(waiting)


@pytest.mark.parametrize("way", DATAGRAMS)
@pytest.mark.parametrize("is_older", [True, False])
def test_p1_a_datagram(waiting: Waiting, tmp_path: Path, way: str, is_older: bool) -> None:
    path = str(tmp_path / "ds")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as other:
        other.bind(path)
        os.utime(path, (1000, 1000) if is_older else (4e9, 4e9))
        waiting.run(path, PRELUDE + UNIX + DATAGRAMS[way])
    assert waits(waiting) is is_older


def test_p1_a_datagram_over_the_network(waiting: Waiting) -> None:
    with contextlib.closing(socket.socket(type=socket.SOCK_DGRAM)) as other:
        other.bind(("127.0.0.1", 0))
        waiting.run(str(other.getsockname()[1]), PRELUDE + INET + DATAGRAMS["sendto"])
    assert waits(waiting)


def test_p1_a_queue_of_messages(waiting: Waiting) -> None:
    name, libc = f"/smp-{os.getpid()}", ctypes.CDLL(None)
    queue = libc.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
    assert queue >= 0
    try:
        waiting.run(name, PRELUDE + QUEUE)
    finally:
        libc.mq_unlink(name.encode())
        os.close(queue)
    assert waits(waiting)


@pytest.mark.parametrize("way", SYSTEM_V)
@pytest.mark.parametrize("is_older", [True, False])
def test_p1_a_queue_of_system_v(waiting: Waiting, way: str, is_older: bool) -> None:
    build = waiting.folder / "session" / "s"
    os.utime(build, (4e9, 4e9) if is_older else (1000, 1000))
    waiting.run("", PRELUDE + SYSTEM_V[way])
    assert waits(waiting) is (is_older and way != "with a semaphore")


def test_one_between_two_of_the_build(waiting: Waiting) -> None:
    waiting.run("", PRELUDE + PAIR)
    assert not waits(waiting)
