"""Descriptors that jobs' output goes to: whole pieces, in order, never blocking the server.

A slow reader (a pager, a full pipe) must not hold up the build, so one thread does the writing.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable
from typing import Final

from smpmake.protocol.wire import FileId
from smpmake.threads import Worker

_MOST_REMEMBERED: Final = 16 << 20  # bytes


class Printer:
    """Writes pieces to descriptors, one after the other, in a thread of its own.

    fault  why a piece could not be written, though its reader is there; "" if all could.
    """

    fault = ""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._has_begun = False

    def write(self, fd: int, data: bytes) -> None:
        """Queues a piece."""
        self._do(lambda: self._write(fd, data))

    def discard(self, fd: int) -> None:
        """Closes a descriptor once everything queued for it is written."""
        if self._has_begun:
            self._do(lambda: _close(fd))
        else:
            os.close(fd)

    def close(self) -> None:
        """Waits until everything is written."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _do(self, what: Callable[[], None]) -> None:
        """Where the system gives no thread, or its thread dies, the server waits for the reader."""
        try:
            if not self._has_begun:
                self._has_begun = True
                self._worker = Worker()
            if self._worker is not None:
                self._worker.submit(what)
                return
        except RuntimeError:
            self.close()
        what()

    def _write(self, fd: int, data: bytes) -> None:
        """A reader that went away (a closed pipe) takes its own output with it, nobody else's."""
        try:
            write_all(fd, data)
        except BrokenPipeError:
            return
        except OSError as error:
            self.fault = self.fault or error.strerror or str(error)


def _close(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Writes the whole of `data`, waiting where the descriptor is not blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            _wait_writable(fd)


def _wait_writable(fd: int) -> None:
    poll = select.poll()  # select() knows no descriptor beyond 1023
    poll.register(fd, select.POLLOUT)
    poll.poll()


class Sinks:
    """Descriptors that pending jobs' output goes to: one a file, however many jobs share it.

    Given back with the last job, because whoever reads a pipe waits until all its writers are gone.
    """

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._open: dict[FileId, tuple[int, int]] = {}  # descriptor, users

    def take_descriptor(self, file: FileId, fd: int) -> None:
        """A job prints to `file`; `fd` leads there and is ours now."""
        known = self._open.get(file)
        if known is None:
            self._open[file] = (fd, 1)
        else:
            self._open[file] = (known[0], known[1] + 1)
            os.close(fd)

    def give_back_descriptor(self, file: FileId) -> None:
        """A job prints to `file` no more; the last one closes its descriptor."""
        fd, users = self._open[file]
        if users > 1:
            self._open[file] = (fd, users - 1)
        else:
            del self._open[file]
            self._printer.discard(fd)

    def descriptor(self, file: FileId) -> int:
        """The descriptor of a file that some job prints to; it stays ours."""
        return self._open[file][0]

    def write(self, file: FileId, data: bytes, *, at_once: bool = False) -> None:
        """Queues output.  For plain files, which take it at once, it can be there on return."""
        if at_once:
            with contextlib.suppress(OSError):
                write_all(self._open[file][0], data)
        else:
            self._printer.write(self._open[file][0], data)

    def close(self) -> None:
        """Closes all descriptors."""
        for fd, _ in self._open.values():
            self._printer.discard(fd)
        self._open.clear()


class Transcript:
    """The order of a serial build, restored: the driver's output and its jobs' in between.

    The driver's output comes through a pipe.  When a command is issued everything that the driver
    wrote before is in that pipe, so it is known where the command's output belongs: after it.
    Pieces leave as soon as everything before them is complete.
    """

    def __init__(self, printer: Printer, fd: int, drain: Callable[[], bytes | None]) -> None:
        self.printer = printer
        self._fd = fd
        self._drain = drain
        self._pieces: list[bytes | None] = []  # None: kept free for a job that still runs
        self._first = 0  # number of the piece at the head of the list
        self._positions: dict[int, int] = {}
        self._sent = bytearray()  # what has been printed
        self._again = b""  # what had been printed when the driver was run again,
        self._repeated = 0  # and how much of that has come once more

    def start_over(self) -> None:
        """The driver runs again: drops what was held back, and will not repeat what was printed."""
        self._drain()
        self._pieces.clear()
        self._positions.clear()
        self._first = 0
        self._again, self._repeated = bytes(self._sent), 0

    def add_output(self, data: bytes) -> None:
        """The driver has printed something."""
        self._pieces.append(data)
        self._flush()

    def reserve_place(self, number: int) -> None:
        """Keeps room for a job's output: after all that the driver has written so far."""
        self._pieces.append(self._drain() or b"")
        self._positions[number] = self._first + len(self._pieces)
        self._pieces.append(None)

    def fill_place(self, number: int, data: bytes) -> None:
        """A job ended, with or without output, which gets the place kept for it."""
        position = self._positions.pop(number, None)
        if position is None:
            self.add_output(data)
            return
        self._pieces[position - self._first] = data
        self._flush()

    def finish(self) -> None:
        """The driver has ended: takes what is still in the pipe (others may hold it open)."""
        self._pieces = [piece or b"" for piece in self._pieces]
        self.add_output(self._drain() or b"")

    def _flush(self) -> None:
        done = 0
        for piece in self._pieces:
            if piece is None:
                break
            done += 1
            if piece:
                self._send(piece)
        del self._pieces[:done]
        self._first += done

    def _send(self, piece: bytes) -> None:
        if self._again:
            due = self._again[self._repeated : self._repeated + len(piece)]
            same = _same(piece, due)
            self._repeated += same
            piece = piece[same:]
            if not piece:
                return
            is_other = self._repeated < len(self._again)
            self._again = b""
            if is_other:
                piece = b"smpmake: what was printed so far was undone in part\n" + piece
        if len(self._sent) < _MOST_REMEMBERED:
            self._sent += piece
        self.printer.write(self._fd, piece)


def _same(one: bytes, other: bytes) -> int:
    """How many bytes two pieces begin with in common; nearly always it is the whole of `other`."""
    if one.startswith(other):
        return len(other)
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
