"""Asking a named server: one request, one reply, over its socket."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from smpmake.errors import SmpmakeError
from smpmake.protocol import wire
from smpmake.records import CommandRecord, Failure, Stall, from_row


class ServerGoneError(SmpmakeError):
    """No server answers at a socket, or it went away."""


class Outcome(NamedTuple):
    """How a build on a server went."""

    commands: list[CommandRecord]
    failures: list[Failure]
    notices: list[str]
    stalls: list[Stall]


class Client:
    """A connection to a server; requests wait for their reply."""

    def __init__(self, path: Path | str) -> None:
        self._path = os.fspath(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._splitter = wire.Splitter()
        self._ready: list[dict[str, Any]] = []
        try:
            self._socket.connect(self._path)
        except OSError as error:
            self._socket.close()
            raise ServerGoneError(
                f"no server at {self._path}: {error.strerror} (smpmake serve starts one)"
            ) from None

    def fileno(self) -> int:
        """The connection, to wait for a reply elsewhere."""
        return self._socket.fileno()

    def send(self, operation: str, **fields: Any) -> None:
        """Sends a request; `receive` gets the reply."""
        with contextlib.suppress(OSError):  # the reply tells
            self._socket.sendall(wire.encode_json(wire.REQUEST, {"op": operation, **fields}))

    def receive(self) -> dict[str, Any]:
        """The next reply.  Raises ServerGoneError, also for an error that the server reports."""
        while not self._ready:
            try:
                data = self._socket.recv(1 << 18)
                frames = self._splitter.feed(data)
            except (OSError, wire.WireError) as error:
                raise ServerGoneError(f"{self._path}: {error}") from None
            if not data:
                raise ServerGoneError(f"the server at {self._path} went away")
            self._ready += [wire.decode_json(payload) for _, payload in frames]
        reply = self._ready.pop(0)
        if "error" in reply:
            raise ServerGoneError(f"the server refused: {reply['error']}")
        return reply

    def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        """One request, one reply."""
        self.send(operation, **fields)
        return self.receive()

    def receive_outcome(self) -> Outcome:
        """What `end` and `wait` are answered with."""
        commands: list[CommandRecord] = []
        for reply in self._portions():
            commands += map(from_row, reply.get("rows", []))
        failures = [
            Failure(from_row(f["row"]), base64.b64decode(f["output"]), f["why"])
            for f in self._last["failures"]
        ]
        stalls = [Stall(*stall) for stall in self._last["stalls"]]
        return Outcome(commands, failures, list(self._last["notices"]), stalls)

    def _portions(self) -> Iterator[dict[str, Any]]:
        while True:
            reply = self.receive()
            if "rows" not in reply:
                self._last = reply
                return
            yield reply

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()
