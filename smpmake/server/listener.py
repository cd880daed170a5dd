"""Where connections come in: one at a time, from our own user, and never the last descriptor."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import select
import socket
import struct
from collections.abc import Callable
from typing import Final

log = logging.getLogger("smpmake")

_CREDENTIALS: Final = struct.Struct("iII")
_RESERVE: Final = 20  # descriptors that are not for connections
_EACH: Final = 5  # that a connection takes at most, with what it sends and what follows it
_PAUSE: Final = 0.05  # s without new connections where no descriptor was left for one


class Listener:
    """Accepts what comes to a listening socket; `welcome` gets it, and the process at its end.

    most  how many descriptors this process may have.
    """

    def __init__(
        self,
        listener: socket.socket,
        welcome: Callable[[socket.socket, int], None],
        most: int | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._uid = os.getuid()
        self._socket = listener
        self._welcome = welcome
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if most is None else most
        self._room = 0  # for so many connections without another look
        self._paused: asyncio.TimerHandle | None = None
        self._told: set[int] = set()
        self._loop.add_reader(self._socket.fileno(), self._accept)

    def close(self) -> str:
        """Nobody comes in any more; returns the socket's name."""
        if self._paused is not None:
            self._paused.cancel()
        self._loop.remove_reader(self._socket.fileno())
        path = str(self._socket.getsockname())
        self._socket.close()
        return path

    def has_pending(self) -> bool:
        """Whether somebody waits to be let in, and will be."""
        if self._paused is not None:
            return False
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(0))

    def complain(self, error: OSError) -> None:
        """Says what is short, once."""
        if error.errno not in self._told:
            self._told.add(error.errno or 0)
            log.warning("tools wait longer or run plainly: %s", error.strerror)

    def _accept(self) -> None:
        # One at a time: a driver issues one command after the other.
        try:
            self._keep_reserve()
            accepted, _address = self._socket.accept()
        except BlockingIOError:
            return
        except OSError as error:
            self._pause(error)
            return
        self._room -= 1
        accepted.setblocking(False)
        pid, uid, _ = _CREDENTIALS.unpack(
            accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        if uid not in (self._uid, 0):
            log.warning("refused: a connection of user %d (process %d)", uid, pid)
            accepted.close()
            return
        self._welcome(accepted, pid)

    def _keep_reserve(self) -> None:
        """Raises OSError where one more connection would leave too few descriptors for the rest:
        the history, /proc, modules that are loaded late."""
        if self._room > 0:
            return
        left = self._most - len(os.listdir("/proc/self/fd")) - _RESERVE
        if left <= 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._room = max(1, left // _EACH)

    def _pause(self, error: OSError) -> None:
        """The socket stays readable: whoever wants something waits in it for a moment."""
        self.complain(error)
        self._loop.remove_reader(self._socket.fileno())
        self._paused = self._loop.call_later(_PAUSE, self._listen_again)

    def _listen_again(self) -> None:
        self._paused = None
        self._loop.add_reader(self._socket.fileno(), self._accept)
