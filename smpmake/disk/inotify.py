"""Where something happens on the disk, told at once: Linux' inotify.

https://man7.org/linux/man-pages/man7/inotify.7.html
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

WRITTEN: Final = 0x2  # IN_MODIFY
MARKED: Final = 0x4 | 0x8  # IN_ATTRIB, IN_CLOSE_WRITE: a new time, or a writer that has left
USED: Final = 0x1 | 0x2 | 0x8 | 0x10 | 0x20  # of a FIFO: read, written, opened, closed
_EVENT: Final = struct.Struct("iIII")
_CHUNK: Final = 1 << 16


class Watch:
    """Calls what was registered for a path when that happens to it, or to a file in that folder.

    Raises OSError where the system gives no watch.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._called: dict[int, Callable[[], None]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def add(self, path: Path, call: Callable[[], None], what: int = WRITTEN) -> None:
        """From now on; what was to be called for that path before is forgotten."""
        number = self._libc.inotify_add_watch(self._fd, os.fsencode(path), what)
        if number < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
        self._called[number] = call

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        seen, at = set(), 0
        while at < len(data):
            number, _, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            seen.add(number)
        for number in seen:
            if number in self._called:
                self._called[number]()

    def close(self) -> None:
        """Nothing is called any more."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
