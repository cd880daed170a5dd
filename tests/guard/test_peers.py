"""Who talks to a server that was there before the build waits for what is pending (P1)."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import layout
from tests.support.guarded import Answering, guarded

UNIX = """import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1].replace("@", chr(0)))
"""
BY_NUMBER = """import ctypes, socket, struct, sys
address = struct.pack("=H", socket.AF_UNIX) + sys.argv[1].encode() + bytes(1)
with socket.socket(socket.AF_UNIX) as client:
    call = ctypes.CDLL(None).syscall
    assert call({number}, client.fileno(), ctypes.c_char_p(address), len(address)) == 0
"""
TCP = """import socket, sys
socket.create_connection((sys.argv[1], int(sys.argv[2]))).close()
"""


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Answering]:
    board = Scoreboard(tmp_path / "board")
    board.show_counts(1, 0, blind=False)
    server = Answering(tmp_path / "s")
    yield server
    server.close()
    board.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is no session's."""
    folder = tmp_path.parent / f"{tmp_path.name}-out"
    folder.mkdir()
    return folder


def listening(path: str, at: int) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(path.replace("@", "\0"))
    server.listen()
    if not path.startswith("@"):
        os.utime(path, (at, at))
    return server


def asked(server: Answering) -> bool:
    return layout.ASK_ALL in [question.kind for question in server.asked]


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("compiler-server", True),
        ("sccache.sock", False),
        ("distccd.socket", False),
        ("iceccd.socket", False),
        ("dbus-session", False),
        ("bus", False),
    ],
)
@pytest.mark.parametrize("is_file", [True, False], ids=["a file", "none"])
def test_p1_an_older_server_reads_nothing_too_early(
    tmp_path: Path, outside: Path, serving: Answering, name: str, waits: bool, is_file: bool
) -> None:
    path = str(outside / name) if is_file else f"@/smp-{os.getpid()}/{name}"
    with closing(listening(path, 1000)):
        guarded(tmp_path, sys.executable, "-I", "-c", UNIX, path)
    assert asked(serving) is waits


def test_p1_nor_one_that_is_met_by_its_system_call(
    tmp_path: Path, outside: Path, serving: Answering
) -> None:
    number = {"x86_64": 42, "aarch64": 203}.get(os.uname().machine)
    if number is None:
        pytest.skip(f"its number on {os.uname().machine} is not known here")
    path = str(outside / "compiler-server")
    with closing(listening(path, 1000)):
        guarded(tmp_path, sys.executable, "-I", "-c", BY_NUMBER.format(number=number), path)
    assert asked(serving)


@pytest.mark.parametrize(
    ("folder", "waits"),
    [("/run/systemd", False), ("/var/run/nscd", False), ("/run/mine", True), ("/systemd", True)],
)
def test_the_systems_own_servers_read_nothing_of_a_builds(
    tmp_path: Path, serving: Answering, folder: str, waits: bool
) -> None:
    path = f"@{folder}/smp-{os.getpid()}"
    with closing(listening(path, 1000)):
        guarded(tmp_path, sys.executable, "-I", "-c", UNIX, path)
    assert asked(serving) is waits


def test_what_the_build_has_started_itself_is_not_waited_for(
    tmp_path: Path, outside: Path, serving: Answering
) -> None:
    young = str(outside / "young")
    with closing(listening(young, 4_000_000_000)):
        guarded(tmp_path, sys.executable, "-I", "-c", UNIX, young)
        guarded(tmp_path, sys.executable, "-I", "-c", UNIX, str(tmp_path / "s"))
    assert not asked(serving)


def test_part_of_a_command_does_not_wait(tmp_path: Path, outside: Path, serving: Answering) -> None:
    path = str(outside / "compiler-server")
    with closing(listening(path, 1000)):
        guarded(tmp_path, sys.executable, "-I", "-c", UNIX, path, _SMPMAKE_COMMAND="1")
    assert not asked(serving)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("is_caches", [False, True], ids=["a server", "sccache"])
def test_p1_a_server_of_this_host_reads_nothing_too_early(
    tmp_path: Path, serving: Answering, host: str, is_caches: bool
) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"nothing can listen at {host} here")
    with closing(server):
        port = str(server.getsockname()[1])
        more = {"SCCACHE_SERVER_PORT": port} if is_caches else {}
        guarded(tmp_path, sys.executable, "-I", "-c", TCP, host, port, **more)
    assert asked(serving) is not is_caches
