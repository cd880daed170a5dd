"""The scoreboard, its questions on the wire, and a guard that reads it when it is full or stale."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake import native
from smpmake.guard.scoreboard import (
    ABOVE,
    FOLDERS,
    INPUT,
    KEPT,
    OUTPUT,
    SLOTS,
    Scoreboard,
    file_hash,
    name_hash,
)
from smpmake.protocol import frames, wire

_HEADER = struct.Struct("<QIIIIqIIIIII")


def header(path: Path) -> tuple[int, ...]:
    return _HEADER.unpack_from(path.read_bytes())


def roles(path: Path, value: int) -> int:
    """What a reader finds for a hash, as native/guard/lookup.c looks it up."""
    data = path.read_bytes()
    for step in range(SLOTS):
        place = _HEADER.size + 8 * ((value + step) % SLOTS)
        (slot,) = struct.unpack_from("<Q", data, place)
        if slot == 0:
            return 0
        if slot >> 32 == value and slot & 0xFF:
            return int(slot & 0x3F)
    return 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board"


def test_claims_come_and_go(path: Path) -> None:
    board = Scoreboard(path)
    name = name_hash(b"a.o")
    board.put_up(1, [(name, OUTPUT)])
    board.put_up(2, [(name, INPUT)])
    assert roles(path, name) == OUTPUT | INPUT
    board.take_down(1, [(name, OUTPUT)])
    assert roles(path, name) == INPUT
    board.take_down(2, [(name, INPUT)])
    assert roles(path, name) == 0
    board.close()


def test_names_are_folded_and_files_are_not() -> None:
    assert name_hash(b"Foo.O") == name_hash(b"foo.o")
    assert file_hash(1, 2) != file_hash(2, 1)


def test_a_collision_of_places_hides_nobody(path: Path) -> None:
    board = Scoreboard(path)
    first, second, third = 1000, 1000 + SLOTS, 1000 + 2 * SLOTS  # one place for all
    for owner, value in enumerate((first, second, third)):
        board.put_up(owner, [(value, OUTPUT)])
    board.take_down(1, [(second, OUTPUT)])
    assert [roles(path, value) for value in (first, second, third)] == [OUTPUT, 0, OUTPUT]
    board.put_up(1, [(second, INPUT)])
    assert roles(path, second) == INPUT
    board.close()


def test_a_full_table_says_so_and_recovers(path: Path) -> None:
    board = Scoreboard(path)
    claims = [(name_hash(b"n%d" % n), OUTPUT) for n in range(SLOTS // 2 + 500)]
    board.put_up(1, claims)
    assert header(path)[3] == 1  # full: guards ask always
    board.take_down(1, claims)
    board.show(0)
    board.put_up(2, claims[:10])
    assert header(path)[3] == 0
    assert all(roles(path, value) == OUTPUT for value, _ in claims[:10])
    board.close()


def test_slots_are_used_again_and_again(path: Path) -> None:
    board = Scoreboard(path)
    for n in range(3 * SLOTS):
        claim = [(name_hash(b"n%d" % n), OUTPUT)]
        board.put_up(n, claim)
        if n % 10_000 == 0:
            assert roles(path, claim[0][0]) == OUTPUT
        board.take_down(n, claim)
    assert header(path)[3] == 0
    board.close()


class Answering:
    """A server that lets everybody go on, and remembers what was asked."""

    def __init__(self, path: Path) -> None:
        self.asked: list[wire.Question] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(64)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                splitter = frames.Splitter()
                data = connection.recv(1 << 16)
                if not data:
                    return
                for kind, payload in splitter.feed(data):
                    assert kind == wire.QUESTION
                    self.asked.append(wire.decode_question(payload))
                connection.sendall(wire.encode_guard_answer(wire.GUARD_GO_ON))

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self._socket.getsockname())
        self._thread.join()
        self._socket.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Answering]:
    answering = Answering(tmp_path / "s")
    yield answering
    answering.close()


def look(tmp_path: Path, name: str, **more: str) -> None:
    """A guarded process that opens one file."""
    guarded(tmp_path, "dd", f"if={name}", "of=/dev/null", "status=none", **more)


def guarded(tmp_path: Path, *argv: str, **more: str) -> str:
    """What a guarded process prints."""
    return subprocess.run(
        argv,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": native.guard(),
            "SMPMAKE_SOCKET": str(tmp_path / "s"),
            "SMPMAKE_BOARD": str(tmp_path / "board"),
            "SMPMAKE_GUARD": native.guard(),
            "SMPMAKE_SHIMS": str(tmp_path),
            "SMPMAKE_BUILD": "main",
            **more,
        },
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("a.o", True),
        ("./sub/../a.o", True),
        ("A.O", True),
        ("sub//../a.o", True),
        ("other.o", False),
        ("sub/a.c", False),
    ],
)
def test_a_guard_asks_by_name(
    tmp_path: Path, path: Path, server: Answering, name: str, asks: bool
) -> None:
    board = Scoreboard(path)
    board.put_up(3, [(name_hash(b"a.o"), OUTPUT)])
    board.show(1)
    (tmp_path / "sub").mkdir()
    for each in ("a.o", "A.O", "other.o", "sub/a.c"):
        (tmp_path / each).touch()
    look(tmp_path, name)
    asked = [question for question in server.asked if question.kind == wire.ASK_READ]
    assert [q.path for q in asked] == ([f"{tmp_path}/{name}"] if asks else [])
    if asks:
        assert (asked[0].build, asked[0].command) == ("main", -1)
    board.close()


def test_nobody_asks_while_nothing_is_pending(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    board.put_up(3, [(name_hash(b"a.o"), OUTPUT)])
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o")
    assert server.asked == []
    board.close()


def test_a_job_does_not_ask_for_its_own(tmp_path: Path, path: Path, server: Answering) -> None:
    board = Scoreboard(path)
    board.put_up(6, [(name_hash(b"a.o"), OUTPUT)])
    board.show(1)
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o", SMPMAKE_COMMAND="7")  # number + 1
    assert server.asked == []
    look(tmp_path, "a.o", SMPMAKE_COMMAND="8")
    assert [question.command for question in server.asked] == [7]
    board.close()


@pytest.mark.parametrize("others", [INPUT, OUTPUT, KEPT])
def test_a_job_does_not_ask_for_what_others_are_to_read_of_its_own(
    tmp_path: Path, path: Path, server: Answering, others: int
) -> None:
    board = Scoreboard(path)
    claims = [(name_hash(b"a.o"), others)]
    board.put_up(6, [(name_hash(b"a.o"), OUTPUT), (name_hash(b"a.o"), INPUT)])
    board.put_up(9, claims)
    board.show(1)
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o", SMPMAKE_COMMAND="7")
    assert bool(server.asked) == (others != INPUT)
    look(tmp_path, "a.o", SMPMAKE_COMMAND="8")
    assert server.asked
    board.take_down(9, claims)
    server.asked.clear()
    look(tmp_path, "a.o", SMPMAKE_COMMAND="7")
    assert server.asked == []
    board.close()


def test_the_board_tells_what_time_a_folder_will_have(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    info = folder.stat()
    now = int(info.st_mtime)

    def seen() -> int:
        return int(guarded(tmp_path, "stat", "-c", "%Y", "folder"))

    board.put_up(1, [(name_hash(b"folder"), ABOVE)])
    board.show(1)
    for rounds in range(2):  # a number that was used
        number = board.folder_entered(file_hash(info.st_dev, info.st_ino))
        assert seen() == now
        board.folder_changes(number, (now + 9 + rounds) * 10**9)
        assert seen() == now + 9 + rounds
        board.folder_changes(number, 0)
        assert seen() == now
        board.folder_left(file_hash(info.st_dev, info.st_ino), number)
    assert seen() == now
    assert server.asked == []
    board.close()


def test_who_has_no_room_for_a_folder_is_asked(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    for key in range(FOLDERS):
        assert board.folder_entered(key) < FOLDERS
    info = tmp_path.stat()
    assert board.folder_entered(file_hash(info.st_dev, info.st_ino)) == FOLDERS
    board.show(1)
    guarded(tmp_path, "stat", ".")
    assert [question.kind for question in server.asked] == [wire.ASK_STAT]
    board.close()


def test_of_a_full_table_everything_is_asked(tmp_path: Path, path: Path, server: Answering) -> None:
    board = Scoreboard(path)
    board.put_up(1, [(name_hash(b"n%d" % n), OUTPUT) for n in range(SLOTS // 2 + 1)])
    board.show(1)
    (tmp_path / "unrelated").touch()
    look(tmp_path, "unrelated")
    assert f"{tmp_path}/unrelated" in {question.path for question in server.asked}
    board.close()


def test_questions_survive_the_wire() -> None:
    question = wire.Question(wire.ASK_MOVE, 12, 34, "main", "/a/b\udcff", "/c")
    ((kind, payload),) = frames.Splitter().feed(wire.encode_question(question))
    assert kind == wire.QUESTION
    assert wire.decode_question(payload) == question


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"x" * 24,
        wire.encode_question(wire.Question(1, 1, 1, "m", "relative", ""))[12:],
        wire.encode_question(wire.Question(99, 1, 1, "m", "/a", ""))[12:],
        wire.encode_question(wire.Question(1, 1, 1, "m", "/a\0b", ""))[12:],
        wire.encode_question(wire.Question(1, 1, 1, "m", "/a", ""))[12:-1],
    ],
)
def test_a_malformed_question_is_refused(payload: bytes) -> None:
    with pytest.raises(frames.WireError):
        wire.decode_question(payload)
