"""What a make prints that is run again: nothing, until it comes to what it did not know before.

The same lines stand there already, from the run that was undone.  So its output goes through us,
and what comes before the command that has failed is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import struct
import termios
from typing import Final

from smpmake.engine.sinks import Printer
from smpmake.protocol.wire import FileId
from smpmake.session.driver_environment import file_id

_LONGEST: Final = 10.0  # s that anything is held back: somebody may be waiting for a prompt
_MOST: Final = 4 << 20  # bytes
_FOLDER: Final = re.compile(rb"^\w+(?:\[\d+\])?: (Entering|Leaving) directory .*\n", re.MULTILINE)


class Repeated:
    """Stands between a make and our stdout and stderr.  Raises OSError where that cannot be.

    real      which descriptors these are.
    out, err  what the make is to have as its own; closed by `started`.
    files     which files these are, and what stands behind them.
    """

    def __init__(self, printer: Printer, real: tuple[int, int] = (1, 2)) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._streams: list[_Stream] = []
        try:
            for fd in real[: 1 if os.path.sameopenfile(*real) else 2]:
                self._streams.append(_Stream(printer, fd))
        except BaseException:
            self.close()
            raise
        self.out, self.err = self._streams[0].theirs, self._streams[-1].theirs
        self.files: tuple[FileId, FileId] = (file_id(self.out), file_id(self.err))
        self.behind = {file_id(stream.theirs): stream.real for stream in self._streams}

    def driver_started(self) -> None:
        """The make has them."""
        for stream in self._streams:
            stream.started()
        self._timer = asyncio.get_running_loop().call_later(_LONGEST, self._give_up)

    def show_what_follows(self) -> None:
        """It has come to what is new."""
        for stream in self._streams:
            stream.go_on()

    def _give_up(self) -> None:
        for stream in self._streams:
            stream.show()

    def close(self) -> None:
        """It has ended: what it has printed since is shown, and all if it did not come so far."""
        for stream in self._streams:
            stream.close()
        if self._timer is not None:
            self._timer.cancel()


class _Stream:
    """One of the two: a terminal where ours is one, else a pipe."""

    def __init__(self, printer: Printer, real: int) -> None:
        self.real = real
        self._printer = printer
        self._held: bytearray | None = bytearray()
        self._ours, self.theirs = _terminal_like(real) if os.isatty(real) else os.pipe()
        os.set_blocking(self._ours, False)

    def started(self) -> None:
        os.close(self.theirs)
        self.theirs = -1
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    def go_on(self) -> None:
        """Drops what has come, but for the folders that make is in."""
        if self._held is None or self._ours < 0:
            return
        self._read()
        held, self._held = self._held, None
        inside: list[bytes] = []
        for found in _FOLDER.finditer(held or b""):
            if found[1] == b"Entering":
                inside.append(found[0])
            elif inside:
                inside.pop()
        self._print(b"".join(inside))

    def show(self) -> None:
        """Holds nothing back any more."""
        held, self._held = self._held, None
        self._print(bytes(held or b""))

    def close(self) -> None:
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1
        if self._ours >= 0:
            self._read()
        if self._ours >= 0:
            self._end()
        self.show()

    def _read(self) -> None:
        """Takes what is there; others may hold the other end open for long."""
        with contextlib.suppress(BlockingIOError):
            while data := _some(self._ours):
                self._take(data)
            self._end()

    def _take(self, data: bytes) -> None:
        if self._held is None:
            self._print(data)
            return
        self._held += data
        if len(self._held) > _MOST:
            self.show()

    def _print(self, data: bytes) -> None:
        if data:
            self._printer.write(self.real, data)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)
        self._ours = -1


def _some(fd: int) -> bytes:
    """The next piece; nothing at the end, of which a terminal makes an error."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        raise
    except OSError:
        return b""


def _terminal_like(real: int) -> tuple[int, int]:
    """A terminal of that size, which leaves to the real one what is to be done with lines."""
    ours, theirs = os.openpty()
    try:
        size = os.get_terminal_size(real)
        attributes = termios.tcgetattr(theirs)
        attributes[0] = attributes[3] = 0
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size.lines, size.columns, 0, 0))
    except BaseException:
        os.close(ours)
        os.close(theirs)
        raise
    return ours, theirs
