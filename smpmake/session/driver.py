"""The command that the user prefixed, run under the keeper."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import socket
import subprocess
from pathlib import Path
from typing import Final

from smpmake import native
from smpmake.errors import SmpmakeError
from smpmake.protocol import frames, wire
from smpmake.protocol.wire import DriverEvent

#: Signals that end a build.
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DriverError(SmpmakeError):
    """The driver's keeper cannot be started."""


class Driver:
    """Starts the driver at once; `ended` resolves to how it went.

    `alone` resolves after a KILL, when nothing is left of what the driver started.
    An event of kind DRIVER_FAILED carries the errno of exec; None means that the keeper was lost.
    Raises DriverError.
    """

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        folder: Path,
        *,
        alive: int,
        nofile: int | None = None,
        output: int | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[DriverEvent | None] = loop.create_future()
        self.alone: asyncio.Future[None] = loop.create_future()
        self.pid = -1
        self._loop = loop
        self._splitter = frames.Splitter()
        ours, theirs = socket.socketpair()
        soft = nofile if nofile is not None else resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        keeper = native.program("keeper")
        # The keeper stands whatever comes; until it does, what comes waits.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        words = [keeper, *map(str, (theirs.fileno(), alive, soft)), os.fspath(folder), *command]
        try:
            self.process = subprocess.Popen(
                words,
                env=environment,
                pass_fds=[theirs.fileno(), alive],
                stdout=output,
                stderr=output,
            )
        except OSError as error:
            ours.close()
            raise DriverError(f"{command[0]} cannot be started: {error.strerror}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        ours.setblocking(False)
        self._socket = ours
        loop.add_reader(ours.fileno(), self._readable)

    def signal(self, number: int) -> None:
        """Signals the driver and everything that it started."""
        with contextlib.suppress(OSError):
            self._socket.send(wire.encode_signal(number))

    def _readable(self) -> None:
        try:
            data = self._socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._socket.fileno())
            for what in (self.ended, self.alone):
                if not what.done():
                    what.set_result(None)
            return
        for kind, payload in self._splitter.feed(data):
            if kind != wire.DRIVER:
                continue
            event = wire.decode_driver(payload)
            if event.event == wire.DRIVER_STARTED:
                self.pid = event.status
            elif event.event == wire.DRIVER_ALONE:
                if not self.alone.done():
                    self.alone.set_result(None)
            elif not self.ended.done():
                self.ended.set_result(event)

    def close(self) -> None:
        """Releases the keeper, which leaves without touching anything, and reaps it."""
        if self._socket.fileno() < 0:
            return
        with contextlib.suppress(OSError):
            self._socket.send(wire.encode_bye())
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self.process.wait()
