"""Frames: C encodes and Python decodes, and the other way round; garbage harms nobody."""

from __future__ import annotations

import array
import itertools
import os
import random
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpmake import native
from smpmake.protocol import frames, keeping, layout, wire, working
from smpmake.protocol.wire import FileId, Invoke
from tests.support.served import Running
from tests.support.space import Space


class Listener:
    """Accepts one shim and answers it as told."""

    def __init__(self, path: Path, answer: bytes) -> None:
        self.path = path
        self.frames: list[tuple[int, bytes]] = []
        self.descriptors: list[FileId] = []
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        splitter = frames.Splitter()
        with connection:
            while not self.frames:
                data, fds, _, _ = socket.recv_fds(connection, 1 << 16, 4)
                if not data:
                    return
                for fd in fds:  # kept open they would keep the shim's pipes open
                    info = os.fstat(fd)
                    self.descriptors.append(FileId(info.st_dev, info.st_ino))
                    os.close(fd)
                self.frames += splitter.feed(data)
            connection.sendall(self._answer)

    def close(self) -> None:
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def shims(space: Space) -> Iterator[Path]:
    folder = space.root / "shims"
    folder.mkdir()
    (folder / "gcc").symlink_to(native.program("shim"))
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"
    yield folder


def test_a_shims_invocation_as_python_reads_it(space: Space, shims: Path) -> None:
    listener = Listener(space.root / "s", wire.answer_exit(42 << 8, b"said\n"))
    argv = ["gcc", "-c", "a b.c", "", "-DX=\xff\n"]
    ended = space.run(
        *argv, _SMPMAKE_SOCKET=str(listener.path), _SMPMAKE_BUILD="b7", _SMPMAKE_BOARD="x", MARK="m"
    )
    listener.close()
    assert (ended.status, ended.err) == (42, "said\n")
    ((kind, payload),) = listener.frames
    invoke = wire.decode_invoke(payload)
    assert kind == layout.WIRE_INVOKE
    assert invoke.tool == "gcc"
    assert invoke.build == "b7"
    assert invoke.real == b"/usr/bin/gcc"
    assert invoke.cwd == os.fsencode(space.folder)
    assert frames.strings(invoke.argv) == [os.fsencode(word) for word in argv]
    environment = dict(v.split(b"=", 1) for v in frames.strings(invoke.env))
    assert environment[b"MARK"] == b"m"
    assert environment[b"_SMPMAKE_DEPTH"] == b"1"
    assert not {b"_SMPMAKE_SOCKET", b"_SMPMAKE_BUILD", b"_SMPMAKE_BOARD"} & environment.keys()
    assert environment[b"PATH"] == os.fsencode(space.environment["PATH"].split(":", 1)[1])
    assert listener.descriptors == [invoke.out, invoke.err]


def test_long_command_lines_and_environments(space: Space, shims: Path) -> None:
    listener = Listener(space.root / "s", wire.answer_exit(0))
    words = ["-D" + "x" * 100_000 for _ in range(6)]
    environment = {f"LONG_{n}": "y" * 100_000 for n in range(10)}
    ended = space.run("gcc", *words, _SMPMAKE_SOCKET=str(listener.path), **environment)
    listener.close()
    assert ended.status == 0
    invoke = wire.decode_invoke(listener.frames[0][1])
    assert [os.fsdecode(word) for word in frames.strings(invoke.argv)[1:]] == words
    assert len(invoke.argv) + len(invoke.env) > 1_500_000


def test_the_answer_may_replace_the_command(space: Space, shims: Path) -> None:
    argv = frames.join_strings([b"gcc", b"-dumpversion"])
    listener = Listener(space.root / "s", wire.answer_exec(argv, b"first this\n"))
    ended = space.run("gcc", "-c", "x.c", _SMPMAKE_SOCKET=str(listener.path))
    listener.close()
    assert ended.status == 0
    assert ended.out.strip().isdigit()
    assert ended.err == "first this\n"


def test_p5_a_server_that_hangs_up_leaves_the_real_tool(space: Space, shims: Path) -> None:
    for garbage in (b"", b"garbage that is no frame", frames.frame(99, b"x")):
        listener = Listener(space.root / f"s{len(garbage)}", garbage)
        ended = space.run("gcc", "-dumpversion", _SMPMAKE_SOCKET=str(listener.path))
        listener.close()
        assert ended.status == 0
        assert ended.out.strip().isdigit()


@given(
    st.builds(
        Invoke,
        st.integers(0, 2**32 - 1),
        st.integers(0, 0o777),
        st.builds(FileId, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
        st.builds(FileId, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
        st.text(st.characters(codec="utf-8"), max_size=20),
        st.binary(min_size=1, max_size=20).filter(lambda b: b"\0" not in b),
        st.binary(max_size=20).map(lambda b: b"/" + b.replace(b"\0", b"")),
        st.text(st.characters(codec="utf-8"), max_size=20),
        st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\0", b"")), min_size=1).map(
            frames.join_strings
        ),
        st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\0", b""))).map(
            frames.join_strings
        ),
        st.sampled_from([b"", bytes(range(16)), b"\xff" * 32]),
        inherited=st.integers(0, 2**64 - 1),
        ignored=st.integers(0, 2**64 - 1),
        blocked=st.integers(0, 2**64 - 1),
        nice=st.integers(-20, 19),
    )
)
def test_what_is_encoded_is_decoded(invoke: Invoke) -> None:
    splitter = frames.Splitter()
    data = wire.encode_invoke(invoke)
    whole = [frame for byte in data for frame in splitter.feed(bytes([byte]))]
    ((kind, payload),) = whole
    found = wire.decode_invoke(payload)
    assert kind == layout.WIRE_INVOKE
    assert all(getattr(found, name) == getattr(invoke, name) for name in Invoke.__slots__)


@pytest.mark.parametrize("size", [1, 8, 15, 17])
def test_limits_that_are_no_pairs_are_refused(size: int) -> None:
    file = FileId(0, 0)
    invoke = Invoke(1, 0, file, file, "t", b"/t", b"/", "b", b"t\0", b"", bytes(size))
    ((_, payload),) = frames.Splitter().feed(wire.encode_invoke(invoke))
    with pytest.raises(frames.WireError, match="pairs"):
        wire.decode_invoke(payload)


@given(st.binary(max_size=400))
def test_no_payload_is_more_than_an_error(payload: bytes) -> None:
    for decode in (
        wire.decode_invoke,
        working.decode_result,
        working.decode_worker,
        keeping.decode_driver,
        frames.decode_json,
        frames.strings,
    ):
        try:
            decode(payload)
        except frames.WireError:
            continue


def test_a_stream_of_garbage_is_refused() -> None:
    with pytest.raises(frames.WireError, match="not a frame"):
        frames.Splitter().feed(b"GET / HTTP/1.0\r\n\r\n")
    with pytest.raises(frames.WireError, match="version 9"):
        frames.Splitter().feed(frames.HEADER.pack(layout.WIRE_MAGIC, 9, 1, 0))
    with pytest.raises(frames.WireError, match="limit"):
        frames.Splitter().feed(
            frames.HEADER.pack(layout.WIRE_MAGIC, layout.WIRE_VERSION, 1, 1 << 30)
        )


@pytest.mark.slow
def test_garbage_truncation_and_silence_harm_nobody(space: Space) -> None:
    rng = random.Random(7)
    server = Running(space)
    good = wire.encode_invoke(
        Invoke(
            os.getpid(),
            0o22,
            FileId(0, 0),
            FileId(0, 0),
            "gcc",
            b"/usr/bin/gcc",
            os.fsencode(space.folder),
            "shell",
            b"gcc\0-c\0a.c\0",
            b"PATH=/usr/bin\0",
            b"",
        )
    )
    silent = server.connect()
    silent.sendall(good[:20])
    for attempt in range(60):
        with server.connect() as connection:
            if attempt % 3 == 0:
                connection.sendall(rng.randbytes(rng.randrange(1, 300)))
            elif attempt % 3 == 1:
                connection.sendall(good[: rng.randrange(1, len(good))])
            else:  # whole, but without its descriptors
                connection.sendall(good)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""  # hung up on
    three = array.array("i", [1, 2, 0]).tobytes()
    with server.connect() as connection:
        connection.sendmsg([good], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, three)])
        assert connection.recv(1) == b""
    with server.connect() as client:
        client.sendall(frames.encode_json(layout.WIRE_REQUEST, {"op": "no such thing"}))
        ((_, reply),) = frames.Splitter().feed(client.recv(4096))
        assert "no such request" in frames.decode_json(reply)["error"]
        client.sendall(frames.encode_json(layout.WIRE_REQUEST, {"op": "begin"}))
        ((_, reply),) = frames.Splitter().feed(client.recv(4096))
        assert "malformed request" in frames.decode_json(reply)["error"]
    # After all that it still works.
    space.write({"a.c": "int a;\n"})
    script = f'eval "$({server_command()} env --socket t)"; gcc -c a.c; {server_command()} wait'
    assert space.run("sh", "-c", script).status == 0
    assert "a.o" in space.tree()
    silent.close()
    log = server.stop()
    assert log.count("refused: process") > 50
    assert "Traceback" not in log


def server_command() -> str:
    from tests.support.space import SMPMAKE

    return SMPMAKE


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
def test_a_strangers_uid_is_refused(space: Space) -> None:
    """Even one who can reach the socket, which its private folder prevents."""
    server = Running(space)
    folder = Path(server.socket).parent
    assert folder.stat().st_mode & 0o077 == 0
    above = itertools.takewhile(lambda each: each != Path("/tmp"), (folder, *folder.parents))
    opened = list(above)
    for each in opened:
        each.chmod(0o777)
    Path(server.socket).chmod(0o777)
    code = (
        "import socket,sys; s=socket.socket(socket.AF_UNIX); s.settimeout(20); "
        "s.connect(sys.argv[1]); sys.exit(0 if s.recv(1) == b'' else 1)"
    )
    stranger = subprocess.run(
        ["/usr/bin/python3", "-c", code, server.socket], user=65534, check=False, cwd="/"
    )
    for each in reversed(opened):  # or nobody speaks to it
        each.chmod(0o700)
    log = server.stop()
    assert stranger.returncode == 0
    assert "refused: a connection of user 65534" in log
