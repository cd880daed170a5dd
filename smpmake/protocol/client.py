"""Asking a named server over its socket: requests have ids, and so have their replies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from pathlib import Path
from typing import Any, NamedTuple

from smpmake.errors import SmpmakeError
from smpmake.protocol import frames, layout
from smpmake.records import CommandRecord, Failure, Stall, from_row


class ServerGoneError(SmpmakeError):
    """No server answers at a socket, or it went away, or it refused."""


class Outcome(NamedTuple):
    """How a build on a server went.

    parallel  see BuildRecord.
    """

    commands: list[CommandRecord]
    failures: list[Failure]
    notices: list[str]
    stalls: list[Stall]
    parallel: str = ""


class Replies:
    """What has come in answer to which request.  Pure."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._splitter = frames.Splitter()
        self._portions: dict[int, list[list[Any]]] = {}

    def feed(self, data: bytes) -> list[tuple[int, dict[str, Any]]]:
        """Whole replies with their requests' ids; portions of rows are put together.

        Raises ServerGoneError for what is no reply.
        """
        try:
            messages = [frames.decode_json(payload) for _, payload in self._splitter.feed(data)]
        except frames.WireError as error:
            raise ServerGoneError(f"{self._server}: {error}") from None
        whole = []
        for message in messages:
            number = message.pop("id", None)
            if not isinstance(number, int):
                raise ServerGoneError(f"{self._server}: a reply to no request")
            if "rows" in message:
                self._portions.setdefault(number, []).append(message["rows"])
            else:
                portions = self._portions.pop(number, [])
                whole.append(
                    (number, {**message, "rows": [row for rows in portions for row in rows]})
                )
        return whole


def outcome_of(reply: dict[str, Any]) -> Outcome:
    """What `end` is answered with."""
    stalls = [Stall(*stall) for stall in reply["stalls"]]
    rows = list(map(from_row, reply["rows"]))
    return Outcome(
        rows, failures_of(reply), list(reply["notices"]), stalls, str(reply.get("parallel", ""))
    )


def failures_of(reply: dict[str, Any]) -> list[Failure]:
    """Of what `end` and `wait` are answered with."""
    import base64  # few commands fail

    return [
        Failure(from_row(f["row"]), base64.b64decode(f["output"]), f["why"])
        for f in reply["failures"]
    ]


def _checked(reply: dict[str, Any]) -> dict[str, Any]:
    if "error" in reply:
        raise ServerGoneError(f"the server refused: {reply['error']}")
    return reply


class Client:
    """A connection to a server; a request waits for its reply."""

    def __init__(self, path: Path | str) -> None:
        self.path = os.fspath(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._replies = Replies(self.path)
        self._count = 0
        self._has_answered = False
        try:
            self.socket.connect(self.path)
        except OSError as error:
            self.socket.close()
            raise ServerGoneError(
                f"no server at {self.path}: {error.strerror} (smpmake serve starts one)"
            ) from None

    def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        """One request, one reply.  Raises ServerGoneError, also when the server refuses."""
        self._count += 1
        request = {"op": operation, "id": self._count, **fields}
        with contextlib.suppress(OSError):  # the reply tells
            self.socket.sendall(frames.encode_json(layout.WIRE_REQUEST, request))
        while True:
            try:
                data = self.socket.recv(1 << 18)
            except OSError as error:
                raise ServerGoneError(f"{self.path}: {error}") from None
            if not data:
                raise ServerGoneError(f"the server at {self.path} went away{self._perhaps()}")
            for number, reply in self._replies.feed(data):
                if number == self._count:
                    self._has_answered = True
                    return _checked(reply)

    def _perhaps(self) -> str:
        """A server refuses frames of another version by closing the connection."""
        if self._has_answered:
            return ""
        return (
            " without an answer (if another version of smpmake started it, end it and start it "
            "again)"
        )

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()


class AsyncClient:
    """A Client's connection, taken over by the event loop: several requests may be under way."""

    def __init__(self, client: Client) -> None:
        self._path = client.path
        self._socket = client.socket
        self._socket.setblocking(False)
        self._replies = Replies(self._path)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 1 << 20  # the Client before us has used the lower ids
        self._unsent = b""
        self._gone = ""
        self._loop.add_reader(self._socket.fileno(), self._readable)

    async def ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        """One request, one reply.  Raises ServerGoneError, also when the server refuses."""
        return _checked(await self.request(operation, **fields))

    def request(self, operation: str, **fields: Any) -> asyncio.Future[dict[str, Any]]:
        """Sends a request at once; its reply, or a ServerGoneError, comes later."""
        reply: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        # Nobody may be interested: then an error is no news.
        reply.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._gone:
            reply.set_exception(ServerGoneError(self._gone))
            return reply
        self._count += 1
        self._waiting[self._count] = reply
        request = {"op": operation, "id": self._count, **fields}
        if not self._unsent:
            self._loop.add_writer(self._socket.fileno(), self._writable)
        self._unsent += frames.encode_json(layout.WIRE_REQUEST, request)
        self._writable()
        return reply

    def _writable(self) -> None:
        with contextlib.suppress(OSError):  # the reader is told of the end
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())

    def _readable(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
            replies = self._replies.feed(data) if data else None
        except BlockingIOError:
            return
        except (OSError, ServerGoneError) as error:
            self._lost(f"{self._path}: {error}")
            return
        if replies is None:
            self._lost(f"the server at {self._path} went away")
            return
        for number, reply in replies:
            waiting = self._waiting.pop(number, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)

    def _lost(self, why: str) -> None:
        self._gone = why
        self._stop()
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(ServerGoneError(why))
        self._waiting.clear()

    def _stop(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())

    def close(self) -> None:
        """Closes the connection; who still waits for a reply is told so."""
        if self._socket.fileno() >= 0:
            self._lost(self._gone or f"the connection to {self._path} is closed")
            self._socket.close()
