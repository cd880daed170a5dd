"""--output-sync=serial: the driver prints into a pipe of ours; what it prints leaves in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select

from smpmake.engine.sinks import Printer, Transcript
from smpmake.session.driver_environment import file_id


class DriverOutput:
    """Reads the pipe of the driver, and of one that follows it; prints to `out`.

    Once nobody reads `out` any more nobody reads the pipe either: whoever prints into it ends as
    it would by itself (`smpmake --output-sync=serial make | head`).

    transcript  the order that is restored.
    file        what the driver's output is, as those who print there know it.
    Takes over `pipe`, the end that is read.
    """

    def __init__(self, printer: Printer, pipe: int, *, out: int = 1) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._watch: select.epoll | None = None
        self.file = file_id(pipe)
        self.transcript = Transcript(printer, out, self._drain)
        self._loop.add_reader(pipe, self._readable)
        self._watch_reader(out)

    def close(self) -> None:
        """Reads no more; whoever goes on printing is told so by the system."""
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
        if self._watch is not None:
            self._loop.remove_reader(self._watch.fileno())
            self._watch.close()
            self._watch = None

    def _watch_reader(self, out: int) -> None:
        """Has `close` called when the other end of `out`, if it has one, is gone."""
        watch = select.epoll()
        try:
            watch.register(out, 0)  # no event but those that are always told: the end, an error
        except OSError:  # a file, or closed
            watch.close()
            return
        self._watch = watch
        self._loop.add_reader(watch.fileno(), self.close)

    def _readable(self) -> None:
        data = self._drain()
        if data is None:
            self._loop.remove_reader(self._pipe)
        else:
            self.transcript.add_output(data)

    def _drain(self) -> bytes | None:
        """What the pipe holds now; None at its end."""
        pieces = []
        with contextlib.suppress(BlockingIOError):
            while self._pipe >= 0 and (piece := os.read(self._pipe, 1 << 16)):
                pieces.append(piece)
            return b"".join(pieces) if pieces else None
        return b"".join(pieces)
