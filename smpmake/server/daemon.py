"""The long-running server behind a name: `smpmake serve`."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from smpmake import cpus, native
from smpmake.config import Settings
from smpmake.decide.rules import rules_of
from smpmake.engine.assembly import assemble
from smpmake.engine.build import Build
from smpmake.errors import SmpmakeError
from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import wire
from smpmake.server.requests import SHELL_BUILD, Requests
from smpmake.server.rundir import LONGEST_SOCKET, listen
from smpmake.server.shims import shims_for
from smpmake.server.socket import Server

LONGEST_NAME: Final = 40
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServiceError(SmpmakeError):
    """A named server cannot be started or reached."""


def base_folder() -> Path:
    """Where named servers live: private to the user.  Raises ServiceError when it is not."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and os.access(runtime, os.W_OK):
        base = Path(runtime, "smpmake")
    else:
        base = Path(tempfile.gettempdir(), f"smpmake-services-{os.getuid()}")
    if len(os.fsencode(base)) + LONGEST_NAME + len("//socket") > LONGEST_SOCKET:
        base = Path("/tmp", f"smpmake-services-{os.getuid()}")
    try:
        base.mkdir(mode=0o700, exist_ok=True)
        info = base.lstat()
    except OSError as error:
        raise ServiceError(f"{base}: {error.strerror}") from None
    if info.st_uid != os.getuid() or info.st_mode & 0o077 or base.is_symlink():
        raise ServiceError(f"{base} is not private to you: remove it, or set XDG_RUNTIME_DIR")
    return base


def folder_of(name: str) -> Path:
    """The folder of a named server.  Raises ServiceError for an unusable name."""
    if not name or "/" in name or name.startswith(".") or len(name) > LONGEST_NAME:
        raise ServiceError(f"'{name}' is no name for a socket: use a short word without slashes")
    return base_folder() / name


class Service:
    """Serves builds until told to stop."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings
        self._path = folder_of(name)
        self._stopped = asyncio.Event()

    async def run(self, ready: Callable[[Path, int], None]) -> list[str]:
        """Until a stop request or a signal; returns what was left over.

        Calls `ready(socket, slots)` once clients may come.  Raises ServiceError.
        """
        lock = self._claim()
        slots = self._settings.jobs or cpus.usable().count
        alive, alive_write = os.pipe2(os.O_CLOEXEC)
        keeper, control = self._watch_over(alive)
        loop = asyncio.get_running_loop()
        for number in _STOP_SIGNALS:
            loop.add_signal_handler(number, self._end_at_once, number)
        try:
            shims = shims_for(os.environ.get("PATH", os.defpath))
            board = Scoreboard(self._path / "board")
            engine = self._engine = assemble(
                self._settings, self._path, board, slots, alive=alive_write, keeper=keeper.pid
            )
            requests = Requests(engine, self._path, shims, self._stopped.set)
            server = Server(listen(self._path / "socket"), engine, requests)
            engine.builds[SHELL_BUILD] = Build(
                SHELL_BUILD,
                rules_of(replace(self._settings, guard=False)),  # a shell has none
                self._settings.keep_going,
                began=time.time(),
                wmakes=True,  # a shell may start one
            )
            ready(self._path / "socket", slots)
            await self._stopped.wait()
            for build in engine.builds.values():
                await build.empty.wait()
            requests.close()
            server.close()
            leftovers = engine.close()
        finally:
            control.sendall(wire.encode_bye())
            control.close()
            keeper.wait()
            shutil.rmtree(self._path, ignore_errors=True)
            for fd in (alive, alive_write, lock):
                os.close(fd)
        return leftovers

    def _claim(self) -> int:
        """The folder, ours alone; what a killed server left in it is cleaned up."""
        self._path.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise ServiceError(
                f"a server named '{self._name}' is already running (smpmake stop ends it)"
            ) from None
        if (self._path / "journal").exists():
            os.close(lock)
            subprocess.run([native.program("keeper"), "clean", os.fspath(self._path)], check=False)
            return self._claim()
        return lock

    def _watch_over(self, alive: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs:
            keeper = subprocess.Popen(
                [
                    native.program("keeper"),
                    str(theirs.fileno()),
                    str(alive),
                    "0",
                    os.fspath(self._path),
                ],
                pass_fds=[theirs.fileno(), alive],
            )
        return keeper, ours

    def _end_at_once(self, number: int) -> None:
        for build in self._engine.builds.values():
            self._engine.stop(build, number)
        self._stopped.set()
