"""The command that the user prefixed, run under the keeper."""

from __future__ import annotations

import asyncio

from smpmake.protocol import frames, keeping, layout
from smpmake.protocol.keeping import DriverEvent
from smpmake.session.keeper import Keeper


class Driver:
    """What its keeper says of a driver; `ended` resolves to how it went.

    `alone` resolves after a KILL, when nothing is left of what the driver started.
    An event of kind DRIVER_FAILED carries the errno of exec; None means that the keeper was lost.
    """

    def __init__(self, keeper: Keeper) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[DriverEvent | None] = loop.create_future()
        self.alone: asyncio.Future[None] = loop.create_future()
        self.keeper = keeper
        self._loop = loop
        self._splitter = frames.Splitter()
        loop.add_reader(keeper.control.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            data = self.keeper.control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self.keeper.control.fileno())
            for what in (self.ended, self.alone):
                if not what.done():
                    what.set_result(None)
            return
        for event in keeping.driver_events(self._splitter.feed(data)):
            if event.event == layout.DRIVER_ALONE:
                if not self.alone.done():
                    self.alone.set_result(None)
            elif event.event != layout.DRIVER_STARTED and not self.ended.done():
                self.ended.set_result(event)

    def close(self, *, is_undone: bool = True) -> None:
        """Releases the keeper (see there); once is enough."""
        if self.keeper.control.fileno() >= 0:
            self._loop.remove_reader(self.keeper.control.fileno())
        self.keeper.release(is_undone=is_undone)
