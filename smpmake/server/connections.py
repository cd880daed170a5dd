"""The Unix socket: hears shims and clients that `door` lets in, and brings them to the engine.

Whatever arrives that is not a whole frame of ours, from our own user, is refused with a line in
the log and harms nobody.  Descriptors travel beside the first bytes, which is why asyncio's streams
(they drop them) are not used.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from smpmake.engine.build import Build
from smpmake.engine.engine import Engine
from smpmake.protocol import frames, layout, wire
from smpmake.protocol.wire import Invoke
from smpmake.schedule.job import Job
from smpmake.server.leases import Leases
from smpmake.server.listener import Listener

log = logging.getLogger("smpmake")

_CHUNK: Final = 1 << 16
_SPACE: Final = socket.CMSG_SPACE(2 * array.array("i").itemsize)
_ACCEPTED: Final = wire.answer_exit(0)
_MOST_UNREAD: Final = 4 << 20  # bytes of replies that a client may leave unread


class RequestHandler(Protocol):
    """What clients (not shims) may ask; see client_requests.py."""

    def request(self, client: Connection, message: dict[str, Any]) -> None:
        """A JSON request came; the answer, now or later, goes to `client.reply`."""

    def gone(self, client: Connection) -> None:
        """A client that had asked for something closed its connection."""


class Server:
    """Serves a socket that listens already (rundir.listen).

    build_of  tells whose build a command is.
    door      lets callers in; `leases` watches what their shims became.
    """

    def __init__(
        self,
        listener: socket.socket,
        engine: Engine,
        requests: RequestHandler,
        build_of: Callable[[Invoke], Build | None],
    ) -> None:
        self.engine = engine
        self._build_of = build_of
        self._requests = requests
        self.loop = asyncio.get_running_loop()
        self._open: set[Connection] = set()
        self.leases = Leases(engine.lease_ended)
        self.door = Listener(listener, self._welcome)
        self._is_closed = False

    def close(self) -> None:
        """Stops listening and removes the socket; once."""
        if self._is_closed:
            return
        self._is_closed = True
        path = self.door.close()
        for connection in list(self._open):
            connection.close()
        self.leases.close()
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _welcome(self, accepted: socket.socket, pid: int) -> None:
        # What the shim sent is usually there already; then no reader is ever registered.
        Connection(self, accepted, pid).readable()

    # ------------------------------------------------------------------ for connections

    def opened(self, connection: Connection) -> None:
        """A connection that will be heard of again."""
        self._open.add(connection)

    def closed(self, connection: Connection) -> None:
        """A connection's end."""
        self._open.discard(connection)

    def frame(self, connection: Connection, kind: int, payload: bytes, fds: list[int]) -> None:
        """A whole frame arrived.  Raises WireError for what does not belong here."""
        if not connection.may_send(kind):
            raise frames.WireError(f"a frame of kind {kind} after another")
        if kind == layout.WIRE_INVOKE:
            invoke = wire.decode_invoke(payload)
            if len(fds) != 2:
                raise frames.WireError(f"an invocation with {len(fds)} descriptors")
            out, err = fds
            fds.clear()  # the engine's now
            build = self._build_of(invoke)
            self.engine.invoke(build, invoke, connection, out, err, connection.pid)
        elif kind == layout.WIRE_GIVEN:
            given = wire.decode_given(payload)
            self.engine.note_given(self._build_of(given.invoke), given)
        elif kind == layout.WIRE_QUESTION:
            connection.ask(wire.decode_question(payload))
        elif kind == layout.WIRE_REQUEST:
            connection.is_client = True
            self._requests.request(connection, frames.decode_json(payload))
        else:
            raise frames.WireError(f"a frame of kind {kind}")

    def gone(self, connection: Connection) -> None:
        """The other side closed."""
        if connection.is_client:
            self._requests.gone(connection)


class Connection:
    """One peer: a shim (a command.Reply), a guard, or a client with requests."""

    __slots__ = (
        "_drained",
        "_fds",
        "_lease",
        "_leaving",
        "_registered",
        "_server",
        "_socket",
        "_splitter",
        "_unsent",
        "_waiting",
        "is_client",
        "pid",
    )

    def __init__(self, server: Server, accepted: socket.socket, pid: int) -> None:
        self.pid = pid
        self.is_client = False
        self._server = server
        self._socket = accepted
        self._splitter = frames.Splitter()
        self._fds: list[int] = []
        self._registered = False
        self._waiting: Callable[[], None] | None = None
        self._lease: Job | None = None
        self._unsent: deque[memoryview] = deque()
        self._leaving = False
        self._drained: asyncio.Future[None] | None = None

    # ------------------------------------------------------------------ reading

    def may_send(self, kind: int) -> bool:
        """A client sends requests alone; shims and guards send one frame, and are answered."""
        if self.is_client:
            return kind == layout.WIRE_REQUEST
        return self._waiting is None and self._lease is None

    def readable(self) -> None:
        """Reads what is there."""
        try:
            data, control, flags, _address = self._socket.recvmsg(_CHUNK, _SPACE)
        except BlockingIOError:
            self._register()
            return
        except OSError as error:
            log.warning("process %d: %s", self.pid, error)
            self._end()
            return
        if control:
            self._take_descriptors(control)
        if flags & socket.MSG_CTRUNC:
            if len(self._fds) < 2:  # there was no room for more
                self._server.door.complain(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
            else:
                log.warning("refused: process %d sent too many descriptors", self.pid)
            self._end()
            return
        if not data:
            if self._splitter.pending:
                log.warning("refused: process %d closed in the middle of a frame", self.pid)
            self._end()
            return
        try:
            for kind, payload in self._splitter.feed(data):
                if self._socket.fileno() < 0:
                    return  # what went before was its end
                self._server.frame(self, kind, payload, self._fds)
        except frames.WireError as error:
            log.warning("refused: process %d: %s", self.pid, error)
            self._end()
            return
        except Exception:
            # A fault of ours: the shim sees the end and becomes the real tool (promise P5).
            log.exception("a command could not be taken; its shim runs the real tool")
            self._end()
            return
        self._register()

    def _register(self) -> None:
        if not self._registered and not self._leaving and self._socket.fileno() >= 0:
            self._registered = True
            self._server.opened(self)
            self._server.loop.add_reader(self._socket.fileno(), self.readable)

    def _take_descriptors(self, control: list[tuple[int, int, bytes]]) -> None:
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(data[: len(data) - len(data) % received.itemsize])
                self._fds.extend(received)

    def _end(self) -> None:
        """The peer is gone or not welcome."""
        lease, self._lease = self._lease, None
        waiting, self._waiting = self._waiting, None
        self.close()
        self._server.gone(self)
        if lease is not None:
            self._server.engine.lease_ended(lease)
        elif waiting is not None:
            waiting()

    def close(self) -> None:
        """Closes our side."""
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()
        self._unregister()
        if self._unsent:
            self._unsent.clear()
            self._server.loop.remove_writer(self._socket.fileno())
            self._server.closed(self)
        self._socket.close()
        self._note_drained()

    def _unregister(self) -> None:
        if self._registered:
            self._registered = False
            self._server.loop.remove_reader(self._socket.fileno())
            self._server.closed(self)

    # ------------------------------------------------------------------ answering a shim

    def leave(self, status: int, message: bytes = b"", out: bytes = b"") -> None:
        """See command.Reply."""
        self._waiting = None
        plain = not (status or message or out)
        self._send(_ACCEPTED if plain else wire.answer_exit(status, message, out))
        self._leave()

    def wait(self, withdraw: Callable[[], None]) -> None:
        """The answer comes later; if the shim goes away before, `withdraw` is called."""
        self._waiting = withdraw

    def decline(self) -> None:
        """See command.Reply."""
        self._leave()

    def become(self, job: Job, argv: bytes = b"", message: bytes = b"") -> None:
        """See command.Reply."""
        self._waiting = None
        watched = job.light or self._server.leases.watch(job, self.pid)
        self._send(wire.answer_exec(argv, message, keep_open=not watched, command=job.number))
        if watched:
            self._leave()
        else:
            self._lease = job
            self._register()

    # ------------------------------------------------------------------ answering a guard

    def ask(self, question: wire.Question) -> None:
        """A guard's question goes to the engine.

        Who asks is not told by what it says, which in another namespace is another number."""
        question = question._replace(pid=self.pid)
        withdraw = self._server.engine.ask(question, self._settle)
        if withdraw is not None and self._socket.fileno() >= 0:
            self._waiting = withdraw

    def _settle(self, answer: bytes) -> None:
        self._waiting = None
        self._send(answer)
        self._leave()

    # ------------------------------------------------------------------ answering a client

    def reply(self, message: dict[str, Any]) -> None:
        """Sends a reply; the connection stays.  A client that leaves too much unread is cut off."""
        if sum(map(len, self._unsent)) > _MOST_UNREAD:
            log.warning("process %d does not read its replies: its connection is closed", self.pid)
            self._end()
            return
        self._send(frames.encode_json(layout.WIRE_REPLY, message))

    async def drained(self) -> bool:
        """Waits until the peer has taken everything; False if it is gone."""
        if self._unsent:
            self._drained = self._drained or self._server.loop.create_future()
            await asyncio.shield(self._drained)
        return self._socket.fileno() >= 0

    # ------------------------------------------------------------------ sending

    def _send(self, data: bytes) -> None:
        """Sends what the peer takes at once, and the rest when it can take more."""
        if self._socket.fileno() < 0:
            return
        if self._unsent:
            self._unsent.append(memoryview(data))
            return
        sent = 0
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            pass
        except OSError:  # the peer is gone; its end is seen where we read
            return
        if sent < len(data):
            self._unsent.append(memoryview(data)[sent:])
            self._server.opened(self)
            self._server.loop.add_writer(self._socket.fileno(), self._writable)

    def _writable(self) -> None:
        data = self._unsent.popleft()
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._unsent.appendleft(data)
            self._end()
            return
        if sent < len(data):
            self._unsent.appendleft(data[sent:])
        if self._unsent:
            return
        self._server.loop.remove_writer(self._socket.fileno())
        self._note_drained()
        if self._leaving:
            self._server.closed(self)
            self.close()

    def _leave(self) -> None:
        """Nothing more is said: closes the connection when the peer has got everything."""
        if not self._unsent:
            self.close()
            return
        self._leaving = True
        self._unregister()
        self._server.opened(self)  # so that the server's own end closes it

    def _note_drained(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
