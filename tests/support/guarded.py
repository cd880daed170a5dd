"""A guarded process without a session: a board by hand, and a server that lets everybody go on."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from smpmake import native
from smpmake.guard.scoreboard import Claim, name_hash, output_hash
from smpmake.protocol import frames, layout, wire
from smpmake.protocol.layout import ROLE_OUTPUT


def output(path: Path) -> list[Claim]:
    """Claims of a file that is to appear in a folder that is there."""
    info = path.parent.stat()
    name = os.fsencode(path.name)
    return [
        (name_hash(name), ROLE_OUTPUT),
        (output_hash((info.st_dev, info.st_ino), name), ROLE_OUTPUT),
    ]


class Answering:
    """A server that lets everybody go on, and remembers what was asked.

    first  what it does before it answers a question.
    answers  by the names of files, where it answers otherwise.
    """

    def __init__(self, path: Path, first: Callable[[wire.Question], object] | None = None) -> None:
        self.asked: list[wire.Question] = []
        self.answers: dict[str, int] = {}
        self._first = first
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
                    assert kind == layout.WIRE_QUESTION
                    self.asked.append(wire.decode_question(payload))
                    if self._first is not None:
                        self._first(self.asked[-1])
                with contextlib.suppress(ConnectionError):  # who asked may have ended
                    state = self.answers.get(Path(self.asked[-1].path).name, layout.GUARD_GO_ON)
                    connection.sendall(wire.encode_guard_answer(state))

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self._socket.getsockname())
        self._thread.join()
        self._socket.close()


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
            "_SMPMAKE_SOCKET": str(tmp_path / "s"),
            "_SMPMAKE_BOARD": str(tmp_path / "board"),
            "_SMPMAKE_GUARD": native.guard(),
            "_SMPMAKE_SHIMS": str(tmp_path),
            "_SMPMAKE_BUILD": "main",
            **more,
        },
        check=True,
    ).stdout
