"""Remembered results of other machines: the session's part, between smpmake-memo and a server.

native/memo/remote.h has what smpmake-memo asks.  A few threads answer, each with a connection of
its own; one more sends what is stored here, if the user wants that.  They never hold a build up for
long: a command waits two seconds at most, and a server that fails three times is left alone.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import queue
import shutil
import socket
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from smpmake.protocol import layout
from smpmake.server.rundir import FolderError, open_listener
from smpmake.session.action_result import Digest
from smpmake.threads import Thread

if TYPE_CHECKING:
    from smpmake.session.memo_http import Server

_SOCKET: Final = "remote"  # native/memo/remote.c
_PATIENCE: Final = layout.REMOTE_MS / 1000
_THREADS: Final = 4
_FAULTS: Final = 3  # so many, and a server is left alone
#: s: a server that answers as quickly is asked for everything, another one only for what takes
#: longer than a few of its answers, us.  A check of configure takes 30 ms.
_NEAR: Final = 0.003
_LONG: Final = 100_000
_TRIED: Final = 5  # as many of a kind are asked for before anything is known of it
_LAST: Final = 31  # answers whose times count
_SEND_PATIENCE: Final = 5.0  # s for each step of a sending
_TO_HEAR: Final = 1.0  # s for a command to say something
_END: Final = 0  # a kind of ask that no command has
_AT_THE_END: Final = 5.0  # s for what is still to be sent
_SLOW: Final = f"it took more than {layout.REMOTE_MS // 1000} s"
_LEFT_FREE: Final = 4 << 30  # bytes of the store's disk (native/memo/store.h)
_WAITING: Final = 64 << 20  # bytes that may wait to be sent


@dataclass
class Exchanged:
    """What went between this machine and the server.

    asked    questions; `errors` things that went wrong with them, or with a sending.
    received, sent  bytes.
    stored   results that were sent; `dropped` those that were not, for want of time or by a fault.
    """

    asked: int = 0
    errors: int = 0
    received: int = 0
    sent: int = 0
    stored: int = 0
    dropped: int = 0

    def document(self) -> dict[str, int]:
        """For counts.json."""
        return asdict(self)


class _Result(NamedTuple):
    """What is to be sent: a question, its entries, and the contents that these need."""

    key: str
    entries: bytes
    contents: list[Digest]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self.entries) + sum(each.size for each in self.contents)


class Worth:
    """Whether to ask: that costs a while, which a command may not take itself."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._answers: deque[float] = deque(maxlen=_LAST)
        self._costs: dict[bytes, tuple[int, int]] = {}  # how many are alike, and all their CPU time

    def answered(self, seconds: float) -> None:
        """So long the server took."""
        with self._lock:
            self._answers.append(seconds)

    def took(self, alike: bytes, cpu_us: int) -> None:
        """So long such a command takes where it runs."""
        with self._lock:
            count, total = self._costs.get(alike, (0, 0))
            self._costs[alike] = count + 1, total + cpu_us

    def has(self, alike: bytes) -> bool:
        """Whether the server is near, or such commands take long, or nobody knows yet."""
        with self._lock:
            answers = sorted(self._answers)
            if len(answers) < _TRIED or answers[len(answers) // 2] < _NEAR:
                return True
            count, total = self._costs.get(alike, (0, 0))
            return count < _TRIED or total / count > _LONG


class Faults:
    """What has gone wrong with a server; `is_final` once it has been too much."""

    def __init__(self) -> None:
        self.count = 0
        self.last = ""

    @property
    def is_final(self) -> bool:
        return self.count >= _FAULTS

    def add(self, what: object) -> None:
        self.count += 1
        self.last = str(what) or type(what).__name__


class Remote:
    """A server, for one session.

    exchanged  what went there and came from there.
    """

    def __init__(self, url: str, session: Path, store: Path, *, pushes: bool) -> None:
        """Raises OSError or RuntimeError where there can be none."""
        self._url, self._store = url, store
        self._path = session / _SOCKET
        self.exchanged = Exchanged()
        self._worth = Worth()
        self._asking, self._sending = Faults(), Faults()
        self._waiting: dict[Server, float] = {}  # since when
        self._left: queue.SimpleQueue[_Result | None] = queue.SimpleQueue()
        self._bytes_left = 0
        self._all_sent: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()  # a word of each thread
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._offered = 0
        self._pushes = pushes
        if url.startswith("https:"):
            import ssl  # here, as nothing else is loaded at the same time (early_start)

            del ssl
        try:
            self._listener = socket.socket(fileno=open_listener(self._path))
        except FolderError as error:
            raise OSError(str(error)) from None
        self._lock = _thread.allocate_lock()
        self._listener.setblocking(True)
        try:
            for _ in range(_THREADS):
                Thread(self._serve)
            Thread(self._watch)
            if pushes:
                Thread(self._send_all)
        except RuntimeError:
            self._stop_listening()
            raise

    def notices(self) -> list[str]:
        """What the user is to be told at the end."""
        for faults, did in ((self._asking, "asking"), (self._sending, "sending results to")):
            if faults.is_final:
                told = (
                    f"smpmake stopped {did} the server of --memo-remote after {_FAULTS} failures, "
                    f"the last: {faults.last} (the build went on without it; check the address and "
                    "the server)"
                )
                return [told]
        return []

    def close(self) -> Exchanged:
        """Nobody asks any more; what is to be sent has a few seconds."""
        if self._pushes:
            self._hear_the_last()
            self._pushes = False
            self._left.put(None)
            with contextlib.suppress(queue.Empty, KeyboardInterrupt):
                self._all_sent.get(timeout=_AT_THE_END)
            self.exchanged.dropped = self._offered - self.exchanged.stored
        self._stop_listening()
        return self.exchanged

    def _hear_the_last(self) -> None:
        """Commands that have ended may still be in line: behind them come our own words."""
        try:
            for _ in range(_THREADS):
                with socket.socket(socket.AF_UNIX) as last:
                    last.setblocking(False)
                    last.connect(os.fspath(self._path))
                    last.send(layout.REMOTE_ASK_LAYOUT.pack(_END, 0, 0, 0, b"", b""))
        except OSError:  # the line is full, or nobody is there any more
            return
        with contextlib.suppress(queue.Empty, KeyboardInterrupt):
            for _ in range(_THREADS):
                self._ended.get(timeout=_TO_HEAR)

    def _stop_listening(self) -> None:
        self._over.put(None)
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes those who accept
        self._listener.close()

    # ------------------------------------------------------------------ answers

    def _serve(self) -> None:
        server: Server | None = None
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            with connection, contextlib.suppress(EOFError):
                connection.settimeout(_TO_HEAR)
                ask = _Ask(connection)
                if ask.kind == _END:
                    break
                if ask.kind == layout.REMOTE_STORED:
                    self._take(ask)
                elif not self._is_left_alone() and self._worth.has(ask.alike):
                    server = server or self._server(self._asking, _PATIENCE)
                    if server is not None:
                        self._converse(ask, server)
        if server is not None:
            server.close()
        self._ended.put(None)

    def _watch(self) -> None:
        """A server that trickles is never late by the byte: threads would wait for it for ever."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._over.get(timeout=_PATIENCE / 4)
            now = time.monotonic()
            for server, since in list(self._waiting.items()):
                if now - since > _PATIENCE:
                    server.abort()

    def _server(self, faults: Faults, patience: float) -> Server | None:
        from smpmake.session.memo_http import FAULTS, Address, Server

        try:
            return Server(Address(self._url), patience)
        except FAULTS as error:
            self._fault(faults, error)
            return None

    def _is_left_alone(self) -> bool:
        """A server that hangs, or trickles, holds threads: they count as if it had failed."""
        now = time.monotonic()
        hanging = sum(now - since > _PATIENCE for since in list(self._waiting.values()))
        if not self._asking.is_final and self._asking.count + hanging >= _FAULTS:
            for _ in range(hanging):
                self._fault(self._asking, _SLOW)
        return self._asking.is_final

    def _fault(self, faults: Faults, what: object) -> None:
        faults.add(what)
        self._add("errors", 1)
        if self._asking.is_final and not self._pushes:
            self._path.unlink(missing_ok=True)  # no command even asks

    def _add(self, name: str, number: int) -> None:
        """To one of the counts, in whichever thread."""
        with self._lock:
            setattr(self.exchanged, name, getattr(self.exchanged, name) + number)

    def _converse(self, ask: _Ask, server: Server) -> None:
        """With one command, until it has what it wants."""
        from smpmake.session.memo_http import FAULTS

        spent = 0.0
        received = server.received
        is_asked = False
        while ask.kind in (layout.REMOTE_FIND, layout.REMOTE_FETCH):
            is_find = ask.kind == layout.REMOTE_FIND
            began = self._waiting[server] = time.monotonic()
            try:
                if is_find:
                    self._add("asked", not is_asked)  # a question has two keys
                    is_asked = True
                    found = server.entries(ask.hash)
                else:
                    found = server.content(Digest(ask.hash, ask.size))
            except FAULTS as error:
                is_slow = time.monotonic() - began > _PATIENCE
                self._fault(self._asking, _SLOW if is_slow else error)
                return
            finally:
                del self._waiting[server]
            took = time.monotonic() - began
            spent += took
            if is_find:
                self._worth.answered(took)
            if spent > _PATIENCE:
                self._fault(self._asking, _SLOW)
                return
            self._add("received", server.received - received)
            received = server.received
            if is_find:
                ask.answer(found or b"", sends=True)
            else:
                ask.answer(found if found and self._keep(ask.hash, found) else b"", sends=False)
            ask = _Ask(ask.connection)
        self._worth.took(ask.alike, ask.cpu_us)

    def _keep(self, hash_: str, data: bytes) -> bool:
        """Puts a content into the store, whole."""
        place = self._place(hash_)
        fresh = self._store / f"new-{os.getpid()}-{hash_[:16]}"
        try:
            disk = shutil.disk_usage(self._store)
            if disk.free - len(data) < min(disk.total // 10, _LEFT_FREE):
                return False
            for folder in (place.parent.parent, place.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            end = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with open(end, "wb") as file:
                file.write(data)
            fresh.rename(place)
        except OSError:
            fresh.unlink(missing_ok=True)
            return False
        return True

    def _place(self, hash_: str) -> Path:
        return self._store / "c" / hash_[:1] / hash_[1:]

    # ------------------------------------------------------------------ sending

    def _take(self, ask: _Ask) -> None:
        """What a command has stored."""
        contents, entries = ask.stored()
        is_worth = self._worth.has(ask.alike)
        self._worth.took(ask.alike, ask.cpu_us)
        if not (self._pushes and entries and is_worth):
            return
        result = _Result(ask.hash, entries, contents)
        with self._lock:
            self._offered += 1
            if self._sending.is_final or self._bytes_left + result.size > _WAITING:
                return
            self._bytes_left += result.size
        self._left.put(result)

    def _send_all(self) -> None:
        server: Server | None = None
        there: set[str] = set()
        while (result := self._left.get()) is not None:
            server = server or self._server(self._sending, _SEND_PATIENCE)
            if server is not None and not self._sending.is_final:
                self.exchanged.stored += self._send(result, server, there)
            with self._lock:
                self._bytes_left -= result.size
        if server is not None:
            server.close()
        self._all_sent.put(None)

    def _send(self, result: _Result, server: Server, there: set[str]) -> bool:
        """The parts, and then what refers to them."""
        from smpmake.session.memo_http import FAULTS

        sent = server.sent
        try:
            for each in result.contents:
                if each.hash in there:
                    continue
                try:
                    data = self._place(each.hash).read_bytes()
                except OSError:  # it was just cleaned away
                    return False
                if server.put_content(data) != each:
                    return False
                there.add(each.hash)
            server.put_result(result.key, server.put_content(result.entries), result.contents)
        except FAULTS as error:
            self._fault(self._sending, error)
            return False
        finally:
            self.exchanged.sent += server.sent - sent
        return True


class _Ask:
    """What smpmake-memo says.  EOFError where it has gone, or says what nobody understands."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        said = self._bytes(layout.REMOTE_ASK_LAYOUT.size)
        fields = layout.REMOTE_ASK_LAYOUT.unpack(said)
        self.kind, self._count, self.size, self.cpu_us, hash_, self.alike = fields
        self.hash: str = hash_.hex()

    def stored(self) -> tuple[list[Digest], bytes]:
        """The contents and the file of entries that are behind a STORED."""
        if self._count > layout.REMOTE_CONTENTS or self.size > layout.REMOTE_LARGEST_FILE:
            raise EOFError
        each = layout.REMOTE_CONTENT_LAYOUT
        listed = each.iter_unpack(self._bytes(self._count * each.size))
        contents = [Digest(hash_.hex(), size) for hash_, size in listed]
        return contents, self._bytes(self.size)

    def answer(self, found: bytes, *, sends: bool) -> None:
        """How many bytes there are, and if it `sends` them, these."""
        said = layout.REMOTE_SAID_LAYOUT.pack(len(found))
        try:
            self.connection.sendall(said + found if sends else said)
        except OSError:
            raise EOFError from None

    def _bytes(self, size: int) -> bytes:
        found = bytearray(size)
        room = memoryview(found)
        while room:
            try:
                got = self.connection.recv_into(room)
            except OSError:
                raise EOFError from None
            if got == 0:
                raise EOFError
            room = room[got:]
        return bytes(found)
