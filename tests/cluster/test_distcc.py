"""What distcc says, and what it is told."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from smpmake.cluster import distcc
from smpmake.cluster.discovery import discover
from smpmake.cluster.distcc import Distcc, host_of
from smpmake.cluster.farm import ClusterError, Host


@pytest.fixture(autouse=True)
def _without_icecream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICECC_SCHEDULER", "127.0.0.1:1")  # nobody listens there


@pytest.mark.parametrize(
    ("spec", "host"),
    [
        ("plain", Host("plain", "plain/4", 4)),
        ("10.0.0.2:3632/8", Host("10.0.0.2:3632", "10.0.0.2:3632/8", 8)),
        ("[::1]:3632/2", Host("[::1]:3632", "[::1]:3632/2", 2)),
        ("@far/3", Host("far", "@far/3", 3)),
        ("me@far/3,lzo", Host("far", "me@far/3,lzo", 3)),
        ("near:33/6,lzo,cpp,auth", Host("near:33", "near:33/6,lzo,auth", 6)),
        ("localhost/2", None),
        ("localhost", None),
        ("--randomize", None),
        ("none/0", None),
        ("two words", None),
        ("", None),
    ],
)
def test_a_host_as_distcc_writes_it(spec: str, host: Host | None) -> None:
    assert host_of(spec) == host


REFUSED = """\
distcc[1] ERROR: nonblocking connect to far:1 failed: Connection refused
distcc[1] (dcc_build_somewhere) ERROR: failed to distribute and fallbacks are disabled
"""


def state(phase: int, host: bytes, size: int = 296) -> bytes:
    text = bytearray(size)
    text[152 : 152 + len(host)] = host
    struct.pack_into("=I", text, 284, phase)
    return bytes(text)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (b"", None),
        (state(3, b"localhost"), None),
        (state(4, b"far"), None),
        (state(5, b"far"), True),
        (state(6, b"far"), True),
        (state(5, b"localhost"), False),
        (state(5, b"far", 304), None),
    ],
)
def test_when_nothing_is_left_to_do_here(tmp_path: Path, text: bytes, sent: bool | None) -> None:
    client = Distcc("/usr/bin/distcc")
    watched = client.prepare(tmp_path)
    assert client.is_sent(tmp_path) is None
    (watched / "binstate_1").write_bytes(text)
    assert client.is_sent(tmp_path) is sent
    client.prepare(tmp_path)
    assert client.is_sent(tmp_path) is None


def test_a_host_that_was_let_alone_is_tried_again(tmp_path: Path) -> None:
    client = Distcc("/usr/bin/distcc")
    client.prepare(tmp_path)
    note = tmp_path / "lock" / "backoff_tcp_far_3632_0"
    note.touch()
    client.prepare(tmp_path)
    assert not note.exists()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (REFUSED, "nonblocking connect to far:1 failed: Connection refused"),
        ("gcc: error: no such thing\ncompilation terminated.\n", "compilation terminated."),
        ("", ""),
    ],
)
def test_what_is_wrong_in_one_line(said: str, fault: str) -> None:
    assert Distcc("distcc").fault(said) == fault


def program(folder: Path, hosts: str, status: int = 0) -> str:
    """A distcc with such hosts; returns a PATH."""
    script = folder / "distcc"
    script.write_text(f"#!/bin/sh\ncat <<E\n{hosts}\nE\nexit {status}\n")
    script.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("hosts", "status", "said"),
    [
        ("localhost/4", 0, "no host besides this machine"),
        ("", 0, "no host besides this machine"),
        ("far", 1, "status 1"),
    ],
)
def test_without_hosts_it_cannot_be_used(
    tmp_path: Path, hosts: str, status: int, said: str
) -> None:
    path = program(tmp_path, hosts, status)
    with pytest.raises(ClusterError, match=said):
        discover("distcc", path)
    assert discover("auto", path) is None
    assert discover("local", path) is None


def test_a_host_that_is_named_twice(tmp_path: Path) -> None:
    program(tmp_path, "far/2,lzo\nnear/3\nfar/4")
    found = distcc.hosts(str(tmp_path / "distcc"))
    assert [(host.address, host.slots) for host in found] == [("far/6", 6), ("near/3", 3)]


def test_without_the_guard_there_is_no_engine(tmp_path: Path) -> None:
    path = program(tmp_path, "far/2")
    assert discover("auto", path) is not None
    with pytest.raises(ClusterError, match="--no-guard"):
        discover("distcc", path, guard=False)
    assert discover("auto", path, guard=False) is None


def test_without_distcc(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="not on PATH"):
        discover("distcc", str(tmp_path))
    assert discover("auto", str(tmp_path)) is None


@pytest.mark.parametrize(
    ("hosts", "taken"), [("127.0.0.1", ""), ("127.0.0.1/4\nfar/2\n[::1]:3/2", "far")]
)
def test_auto_knows_this_machine(tmp_path: Path, hosts: str, taken: str) -> None:
    path = program(tmp_path, hosts)
    found = discover("auto", path)
    assert (found.hosts[0].name if found is not None else "") == taken
    assert len(distcc.hosts(str(tmp_path / "distcc"))) == len(hosts.split())
