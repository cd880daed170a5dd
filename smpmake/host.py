"""Where a build's jobs run: a server of its own, in this very process.

`guest.py` is the other kind: a place in a server that was there before.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import resource
import shlex
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from smpmake import cpus, native
from smpmake.board import Board
from smpmake.build import Build
from smpmake.callers import WMAKES
from smpmake.config import Settings
from smpmake.driver import Driver
from smpmake.elf import takes_guard
from smpmake.folder import SessionFolder, listen, shims_for
from smpmake.memory import Memory
from smpmake.output import Transcript
from smpmake.records import BuildRecord
from smpmake.rules import Rules
from smpmake.wire import FileId

if TYPE_CHECKING:
    from smpmake.expectations import Expectations
    from smpmake.machine import Machine
    from smpmake.server import Server

_BUILD: Final = "main"
_RESERVE: Final = 0.05  # of the machine's memory
_MOST_RESERVE: Final = 1 << 30


class Host(Protocol):
    """What a session needs of the place where its jobs run.

    output  the descriptor that the driver must write to, or None for our own stdout and stderr.
    """

    folder: Path
    environment: dict[str, str]
    alive: int
    output: int | None

    async def open(self, record: BuildRecord) -> None:
        """Gets ready for a driver: what it will ask can wait a moment, in a socket's queue.

        Where that can be, `record` grows while the build runs."""

    def adopt(self, driver: Driver) -> None:
        """The driver has been started: now serves it."""

    def driver_lost(self) -> None:
        """The driver's keeper was killed: nothing may go on."""

    def stop(self, number: int) -> None:
        """Ends the build because of a signal; called again when it should be quicker."""

    def counts(self) -> tuple[int, int, int, int]:
        """Commands done, running, queued, and those of them that wait for memory."""

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """The jobs that an earlier build had: output and seconds; none as long as none is known."""

    async def drained(self, record: BuildRecord) -> None:
        """Returns when all that was deferred has ended, and fills the record."""

    def learn(self) -> list[str]:
        """Remembers, for this and later builds, that the driver is to be told the truth about the
        commands that failed after their success was promised; returns those that are new."""

    def start_over(self) -> None:
        """The driver is about to be run again."""

    async def close(self) -> list[str]:
        """Ends it all; returns what was left over that should not be (promise P9)."""


def rules_of(settings: Settings) -> Rules:
    """The part of the settings that decides verdicts."""
    links = settings.links or ("defer" if settings.guard else "wait")
    return Rules(
        settings.guard,
        links == "defer",
        settings.foreground,
        settings.exclusive,
        frozenset(settings.without),
    )


def reserve_of(settings: Settings) -> int:
    """Bytes of memory that jobs leave free, -1 if memory is not looked at."""
    if settings.memory is None:
        import psutil

        return min(_MOST_RESERVE, int(psutil.virtual_memory().total * _RESERVE))
    return settings.memory


def driver_environment(
    shims: Path, socket: Path, board: Path, build: str, *, guarded: str = ""
) -> dict[str, str]:
    """The user's environment, with what the driver needs to reach us.

    guarded is the driver's program, or "" for none.  A guard catches tools wherever they are called
    from, so PATH can stay as it is: what configures itself during the build finds the tools that
    it would find serially.  Without one (--no-guard, or a driver that takes none, whose children
    still may) our shims come first on PATH.
    """
    environment = dict(os.environ)
    path = environment.get("PATH", os.defpath)
    environment["SMPMAKE_SOCKET"] = os.fspath(socket)
    environment["SMPMAKE_BOARD"] = os.fspath(board)
    environment["SMPMAKE_BUILD"] = build
    for name in ("CALLER", "UNGUARDED", "COMMAND", "TRACE", "GUARD", "SHIMS"):
        environment.pop(f"SMPMAKE_{name}", None)
    if guarded:
        library = _preloadable(native.guard(), board.parent)
        others = environment.get("LD_PRELOAD", "").replace(":", " ").split()
        libraries = [library, *(other for other in others if other != library)]
        environment["LD_PRELOAD"] = ":".join(libraries)
        environment["SMPMAKE_GUARD"] = library
        environment["SMPMAKE_SHIMS"] = os.fspath(shims)
        if takes_guard(guarded):
            return environment
        environment["SMPMAKE_CALLER"] = "0000000000"
    if not path.startswith(f"{shims}:"):
        environment["PATH"] = f"{shims}:{path}"
    return environment


def _preloadable(library: str, folder: Path) -> str:
    """The library under a name that LD_PRELOAD can hold: blanks and colons part its entries."""
    if not re.search(r"[\s:;$]", library):
        return library
    link = folder / "guard.so"
    with contextlib.suppress(FileExistsError):
        link.symlink_to(library)
    return str(link)


def own_cpu_us() -> int:
    """Microseconds of CPU that this process has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e6)


def output_ids() -> tuple[FileId, FileId]:
    """Which files our own stdout and stderr are."""
    return _file_id(1), _file_id(2)


def _file_id(fd: int) -> FileId:
    try:
        info = os.fstat(fd)
    except OSError:
        info = os.stat("/dev/null")
    return FileId(info.st_dev, info.st_ino)


class OwnHost:
    """A server for one build (see Host).  `program` is the driver's."""

    def __init__(self, settings: Settings, slots: int, program: str) -> None:
        self._settings = settings
        self._program = program
        self._slots = slots
        self._spent_before = 0
        self._machine: Machine
        self._server: Server
        self._build = Build(_BUILD, rules_of(settings), settings.keep_going, output_ids())
        self._build.wmakes = os.path.basename(program) in WMAKES
        self.output: int | None = None
        self.environment: dict[str, str] = {}
        self.alive = -1
        self._pipe = -1
        self._started = False
        self._closed = False

    async def open(self, record: BuildRecord) -> None:
        """Raises FolderError, tools.ShimError or native.NativeMissingError."""
        build = self._build
        self._spent_before = own_cpu_us()  # before the build began
        record.commands, record.failures = build.records, build.failures
        record.reported = build.reported
        record.notices, record.stalls = build.notices, build.stalls
        self._session_folder = folder = SessionFolder()
        self.folder = folder.path
        try:
            self._shims = shims_for(os.environ.get("PATH", os.defpath))
            self._listener = listen(folder.socket)
            self._board = Board(folder.path / "board")
        except BaseException:
            folder.remove()
            raise
        self.alive, self._alive_write = os.pipe2(os.O_CLOEXEC)
        self._build.began = time.time()
        self._build.memory = Memory(os.getcwd())
        self.environment = driver_environment(
            self._shims,
            folder.socket,
            folder.path / "board",
            _BUILD,
            guarded=self._program if self._settings.guard else "",
        )
        if self._settings.output == "serial":
            self._pipe, self.output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            os.set_blocking(self.output, True)

    def adopt(self, driver: Driver) -> None:
        """See Host.  The large imports come here, while the driver reads its makefile."""
        if self._started:
            self._machine.keeper_pids.add(driver.process.pid)
            return
        self._started = True
        from smpmake.chaos import Chaos
        from smpmake.desk import Desk
        from smpmake.machine import Machine
        from smpmake.server import Server

        self._machine = machine = Machine(
            self.folder,
            self._board,
            self._slots,
            cpus=cpus.allowed() if self._settings.affinity else None,
            niceness=self._settings.nice,
            alive=self._alive_write,
            chaos=Chaos(self._settings.chaos),
            reserve=reserve_of(self._settings),
        )
        if self._settings.history:
            machine.foresight.await_expectations(self._slots)
        machine.builds[_BUILD] = self._build
        machine.keeper_pids.add(driver.process.pid)
        if self.output is not None:
            self._transcribe(self.output)
            os.close(self.output)
        self._server = Server(self._listener, machine, Desk(machine, self.folder, self._shims))
        if self._settings.history:
            looking_back = (asyncio.get_running_loop(), os.getcwd())
            threading.Thread(target=self._look_back, args=looking_back, daemon=True).start()

    def _look_back(self, loop: asyncio.AbstractEventLoop, cwd: str) -> None:
        """What earlier builds tell, in a thread: the build does not wait for it."""
        from smpmake import hindsight
        from smpmake.history import History

        history = History()
        known = hindsight.of_commands(cwd, history)
        with contextlib.suppress(RuntimeError):  # the build was over sooner
            loop.call_soon_threadsafe(self._expect, known)
            if known.past:
                known = hindsight.with_order(known, cwd, history)
                loop.call_soon_threadsafe(self._expect, known)

    def _expect(self, known: Expectations) -> None:
        if not self._closed:
            self._machine.expect(known)

    def driver_lost(self) -> None:
        """See Host."""
        self._machine.end_strays(keep_keepers=False)

    def stop(self, number: int) -> None:
        """See Host."""
        self._machine.stop(self._build, number)

    def counts(self) -> tuple[int, int, int, int]:
        """See Host."""
        return (self._build.done, *self._machine.counts)

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """See Host."""
        return self._machine.foresight.sequel

    async def drained(self, record: BuildRecord) -> None:
        """See Host."""
        await self._build.empty.wait()
        if self._build.transcript is not None:
            self._build.transcript.finish()
        record.server_cpu_us = own_cpu_us() - self._spent_before

    def learn(self) -> list[str]:
        """See Host."""
        build = self._build
        assert build.memory is not None
        news = []
        for digest, argv in build.wrong.items():
            if digest not in build.memory:
                build.memory.add(digest, argv)
                news.append(shlex.join(os.fsdecode(word) for word in argv[:-1].split(b"\0")))
        build.memory.save()
        return news

    def start_over(self) -> None:
        """See Host."""
        self._build.start_over()

    async def close(self) -> list[str]:
        """See Host."""
        self._closed = True
        self._server.close()
        if self._build.memory is not None:
            self._build.memory.save()
        leftovers = self._machine.close()
        self._session_folder.remove()
        for fd in (self.alive, self._alive_write, self._pipe):
            if fd >= 0:
                os.close(fd)
        return leftovers

    def _transcribe(self, write_end: int) -> None:
        """--output=serial: the driver writes into a pipe."""
        loop = asyncio.get_running_loop()
        read_end = self._pipe
        transcript = Transcript(self._machine.printer, 1, lambda: _drain(read_end))
        self._build.transcript = transcript
        info = os.fstat(write_end)
        self._build.driver_output = (FileId(info.st_dev, info.st_ino),) * 2

        def readable() -> None:
            data = _drain(read_end)
            if data is None:
                loop.remove_reader(read_end)
            else:
                transcript.add(data)

        loop.add_reader(read_end, readable)


def _drain(fd: int) -> bytes | None:
    """What a non-blocking pipe holds now; None at its end."""
    pieces = []
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(fd, 1 << 16):
            pieces.append(piece)
        return b"".join(pieces) if pieces else None
    return b"".join(pieces)
