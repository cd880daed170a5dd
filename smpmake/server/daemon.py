"""The long-running server behind a name: `smpmake serve`."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from smpmake import cpus, folders, native, private
from smpmake.capacity.neighbours import neighbours
from smpmake.commands import families
from smpmake.config import Settings
from smpmake.errors import SmpmakeError
from smpmake.guard.files import programs_of_system
from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import keeping
from smpmake.protocol.client import Client, ServerGoneError
from smpmake.records import BuildRecord
from smpmake.server.client_requests import Requests
from smpmake.server.connections import Server
from smpmake.server.factory import create_engine
from smpmake.server.implicit_builds import BuildLog, ImplicitBuilds, State
from smpmake.server.rundir import clean, is_suitable, listen, open_folder
from smpmake.server.shim_cache import shims_for
from smpmake.undo.journal import UndoJournal

LONGEST_NAME: Final = 40
_PATIENCE: Final = 5.0  # s
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServiceError(SmpmakeError):
    """A named server cannot be started or reached."""


def base_folder() -> Path:
    """Where named servers live: private to the user.  Raises ServiceError when it is not."""
    own = f"smpmake-services-{os.getuid()}"
    runtime = folders.runtime()
    if runtime is not None and is_suitable(runtime / ("x" * LONGEST_NAME)):
        with contextlib.suppress(private.SharedError):  # another user's, who lets root write there
            return _closed(runtime)
    wished = Path(tempfile.gettempdir(), own)
    try:
        return _closed(wished if is_suitable(wished / ("x" * LONGEST_NAME)) else Path("/tmp", own))
    except private.SharedError as error:
        told = f"the folder of servers is not private to you: {error}"
        raise ServiceError(f"{told} (remove it, or set XDG_RUNTIME_DIR)") from None


def _closed(base: Path) -> Path:
    """A folder that is there now, for the user alone.  Raises ServiceError or SharedError."""
    try:
        folder = private.opened(base, private.FOLDER | os.O_NOFOLLOW, make=True)
        mode = os.fstat(folder).st_mode
        os.close(folder)
    except private.SharedError:
        raise
    except OSError as error:
        raise ServiceError(f"{base}: {error.strerror}") from None
    if mode & 0o077:
        raise private.SharedError(os.fspath(base), "is open to others")
    return base


def folder_of(name: str) -> Path:
    """The folder of a named server.  Raises ServiceError for an unusable name."""
    if not name or "/" in name or name.startswith(".") or len(name) > LONGEST_NAME:
        raise ServiceError(f"'{name}' is no name for a socket: use a short word without slashes")
    return base_folder() / name


class Service:
    """Serves builds until told to stop.

    note, look  see ImplicitBuilds.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        note: Callable[[BuildRecord], BuildLog],
        look: Callable[[], State],
    ) -> None:
        self._name = name
        self._settings = settings
        self._note = note
        self._look = look
        self._path = folder_of(name)
        self._stopped = asyncio.Event()

    async def run(self, ready: Callable[[Path, int], None]) -> list[str]:
        """Until a stop request or a signal; returns what was left over.

        Calls `ready(socket, slots)` once clients may come.  Raises ServiceError.
        """
        slots = self._settings.jobs or cpus.usable().count
        loop = asyncio.get_running_loop()
        leftovers: list[str] = []
        with contextlib.ExitStack() as held:  # given back from the last to the first
            held.callback(os.close, self._claim())
            held.callback(self._remove)
            try:
                alive, alive_write = os.pipe2(os.O_CLOEXEC)
                held.callback(os.close, alive)
                held.callback(os.close, alive_write)
                journal = UndoJournal(self._path)
                held.callback(journal.close)
                keeper = self._watch_over(alive, held)
                board = Scoreboard(self._path / "board")
                listener = held.enter_context(listen(self._path / "socket"))
            except OSError as error:
                raise ServiceError(f"{self._path} cannot be used: {error.strerror}") from None
            path = os.environ.get("PATH", os.defpath)
            board.set_initial_dirs(programs_of_system(path))
            shims = shims_for(path, self._path, families.described())
            others = neighbours(self._settings)
            if others is not None:
                held.callback(others.close)
            try:
                engine = self._engine = create_engine(
                    *(self._settings, self._path, journal, board, slots),
                    alive=alive_write,
                    keeper=keeper,
                    tokens=others,
                )
            except BaseException:
                board.close()
                raise
            held.callback(lambda: leftovers.extend(engine.close()))
            guests = ImplicitBuilds(engine, self._settings, self._note, self._look)
            requests = Requests(engine, self._path, shims, guests, self._stopped.set)
            server = Server(listener, engine, requests, guests.build_of)
            held.callback(server.close)
            held.callback(requests.close)
            for number in _STOP_SIGNALS:
                loop.add_signal_handler(number, self._end_at_once, number)
            turns = loop.create_task(guests.run())
            held.callback(turns.cancel)
            ready(self._path / "socket", slots)
            await self._stopped.wait()
            while pending := [b.commands for b in engine.builds.values() if b.commands.present]:
                await pending[0].empty.wait()
            server.close()  # who comes now is its own tool
            await guests.close()
        return leftovers

    def _claim(self) -> int:
        """The folder, ours alone; what a killed server left in it is cleaned up."""
        end = time.monotonic() + _PATIENCE
        while True:
            lock = self._try_lock()
            if lock >= 0:
                if not (self._path / "undo/head").exists():
                    return lock
                # The lock goes with the rest, and a new one is taken.
                try:
                    folder = open_folder(self._path)
                    clean(folder, self._path)
                    os.close(folder)
                except OSError as error:
                    raise self._unusable(error) from None
                finally:
                    os.close(lock)
            elif self._answers() or time.monotonic() > end:
                raise ServiceError(
                    f"a server named '{self._name}' is already running (smpmake stop ends it)"
                )
            else:  # one that starts or ends, or is being cleaned up after
                time.sleep(0.02)

    def _try_lock(self) -> int:
        """The lock of the folder that is there now, or -1."""
        try:
            self._path.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(
                self._path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            if isinstance(error, (FileNotFoundError, FileExistsError)) and (
                self._path.is_dir() or not os.path.lexists(self._path)
            ):
                return -1  # it went meanwhile
            raise self._unusable(error) from None
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.stat(self._path / "lock")):
                return lock
        os.close(lock)
        return -1

    def _unusable(self, error: OSError) -> ServiceError:
        return ServiceError(f"{self._path}: no folder for a server: {error.strerror}")

    def _answers(self) -> bool:
        try:
            Client(self._path / "socket").close()
        except ServerGoneError:
            return False
        return True

    def _remove(self) -> None:
        """The folder goes at once: while its files went one by one another server might come."""
        gone = self._path.with_name(f".{self._name}-{os.getpid()}")
        with contextlib.suppress(OSError):
            self._path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _watch_over(self, alive: int, held: contextlib.ExitStack) -> int:
        """A keeper, which cleans up if we are killed; returns its process id."""
        ours, theirs = socket.socketpair()
        held.enter_context(ours)
        with theirs:
            words = map(str, (theirs.fileno(), alive, 0, 0, self._path))
            keeper = subprocess.Popen(
                [native.program("keeper"), *words], pass_fds=[theirs.fileno(), alive]
            )
        held.callback(keeper.wait)
        held.callback(ours.close)
        held.callback(ours.sendall, keeping.encode_bye())
        return keeper.pid

    def _end_at_once(self, number: int) -> None:
        for build in self._engine.builds.values():
            self._engine.stop_build(build, number)
        self._stopped.set()
