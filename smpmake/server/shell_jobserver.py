"""A job server for a shell (`smpmake env --jobserver`): its plain make, ninja and cargo have slots
of the table that all builds of the user share.

Tokens lie in a FIFO, from which these take one for each job beyond their first.  One process per
shell keeps it: it puts a token in for each slot that it has in the table, takes those back that
nobody uses while other builds want slots, and ends with the shell.  Whoever is killed with a token
puts none back: what is missing once none of the shell's builds has the FIFO open is there again.

https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import struct
import tempfile
import termios
from pathlib import Path
from typing import Final

import psutil

from smpmake import cpus
from smpmake.capacity.neighbours import SharedSlots, neighbours
from smpmake.capacity.table import Wait
from smpmake.capacity.watcher import ProcessWatcher
from smpmake.commands.reading.makes import SHELL, SHELLS
from smpmake.config import Settings
from smpmake.disk.inotify import USED, Watch
from smpmake.server.rundir import SessionFolder

_TURN: Final = 0.25  # s between looks at clients, and at others who want slots
_SOON: Final = 0.01
_TRIES: Final = 3
_PATIENCE: Final = 10  # s until a shell has told its process
_PLAIN: Final = re.compile(r"[\w/.+,@:=-]+", re.ASCII)
_TOKEN: Final = b"+"


class ShellJobserver:
    """The FIFO `path`, which is there, and whoever has it open.

    jobs  how many of theirs run if nobody else builds.
    """

    def __init__(self, path: Path, slots: SharedSlots, jobs: int) -> None:
        """Raises OSError.  Needs a running loop."""
        self._slots = slots
        self._jobs = jobs
        self._given = 0  # tokens in the FIFO, or in somebody's hands
        self._clients: set[int] = set()
        self._watcher = ProcessWatcher()
        self._tries = 0  # looks until it is believed that nobody has it open
        self._turn: asyncio.TimerHandle | None = None
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._file = os.fstat(self._fd)
        self._watch = Watch()
        self._watch.add(path, self._happened, USED)
        self.settle()

    @property
    def is_idle(self) -> bool:
        """Whether nobody has it open."""
        return not self._clients

    def _look(self) -> None:
        """Clients end without a word, and so do others begin to want slots."""
        self._turn = None
        self._tries -= 1
        self._find_clients()
        if self._clients or self._tries > 0:
            self._later(_TURN)
        self.settle()

    def _find_clients(self) -> None:
        """Who is new has no more tokens than it has use for: others were lost before it came.

        If it was about to use one, that is one too many until it is given back.
        """
        known = {each for each in self._clients if self._is_client(f"/proc/{each}")}
        if not known:
            known = self._openers()
            for each in known:
                self._watcher.watch(each, self._happened)  # a kill is not told by the FIFO
            lying = self._lying()
            self._given = lying + min(self._given - lying, sum(map(_useful, known)))
        self._clients = known

    def _happened(self) -> None:
        if self._clients:
            self._find_clients()
            self.settle()
            return
        self._tries = _TRIES  # it may be told before the file is in its process' table
        self._later(_SOON)

    def _later(self, seconds: float) -> None:
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_later(seconds, self._look)

    def settle(self) -> None:
        """As many tokens are given as there may be now."""
        if not self._clients:
            self._given = self._lying()  # who held the others is dead
            self._take_back(self._given)
            self._slots.settle_tokens(0, None)
            self._slots.tell(0, 0, Wait.NOTHING)
            return
        lying = self._lying()
        wanted = self._jobs
        if self._slots.contended:  # one is offered, to see whether anybody takes it
            wanted = min(wanted, 1 + self._given - lying + 1)
        most = min(wanted, self._slots.most_slots(wanted))
        self._take_back(self._given - (most - 1))
        self._give(most - 1)
        is_short = most < wanted and not lying
        self._slots.settle_tokens(1 + self._given, self.settle if is_short else None)
        self._slots.tell(
            1 + self._given - self._lying(), 0, Wait.SLOTS if is_short else Wait.NOTHING
        )

    def _give(self, most: int) -> None:
        while self._given < most:
            os.write(self._fd, _TOKEN)
            self._given += 1

    def _take_back(self, count: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._given -= len(os.read(self._fd, count)) if count > 0 else 0

    def _lying(self) -> int:
        """Tokens in the FIFO."""
        lying = int(struct.unpack("i", fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4)))[0])
        self._given = max(self._given, lying)
        return lying

    def _openers(self) -> set[int]:
        """Processes that have it open, but for ourselves."""
        found = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid()}
        return {each for each in found if self._is_client(f"/proc/{each}")}

    def _is_client(self, process: str) -> bool:
        try:
            return any(self._is_it(f"{process}/fd/{each}") for each in os.listdir(f"{process}/fd"))
        except OSError:  # gone, or another user's
            return False

    def _is_it(self, link: str) -> bool:
        try:
            return os.path.samestat(os.stat(link), self._file)
        except OSError:
            return False

    def close(self) -> None:
        """Once."""
        self._clients.clear()
        self._watcher.close()
        self._slots.settle_tokens(0, None)
        if self._turn is not None:
            self._turn.cancel()
        self._watch.close()
        os.close(self._fd)


def run(settings: Settings, ready: int) -> None:
    """Until the shell has ended, and what this has started; see ShellJobserver.

    ready  is written its folder to once clients may come; nothing where there can be no job server.
    Raises SmpmakeError or OSError.
    """
    slots = neighbours(settings)
    if slots is None:
        return
    where = os.path.realpath(tempfile.gettempdir())
    # MAKEFLAGS has no way to name a path with blanks.
    os.environ["TMPDIR"] = where if _PLAIN.fullmatch(where) else "/tmp"
    folder = SessionFolder()
    try:
        asyncio.run(_serve(folder.path, slots, settings.jobs or cpus.usable().count, ready))
    finally:
        folder.remove()


async def _serve(folder: Path, slots: SharedSlots, jobs: int, ready: int) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    os.mkfifo(folder / SHELL, 0o600)
    os.mkfifo(folder / SHELLS, 0o600)
    jobserver = ShellJobserver(folder / SHELLS, slots, jobs)
    shell = os.open(folder / SHELL, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    watcher = ProcessWatcher()

    def told() -> None:
        number = os.read(shell, 64).decode(errors="replace").strip()
        impatient.cancel()
        loop.remove_reader(shell)
        if not number.isdigit() or not watcher.watch(int(number), over.set):
            over.set()

    impatient = loop.call_later(_PATIENCE, over.set)
    loop.add_reader(shell, told)
    os.write(ready, os.fsencode(folder))
    os.close(ready)
    try:
        await over.wait()
        while not jobserver.is_idle:
            await asyncio.sleep(_TURN)
    finally:
        watcher.close()
        jobserver.close()
        slots.close()


def _useful(process: int) -> int:
    """How many tokens one may hold: its first child, or thread, needs none."""
    try:
        seen = psutil.Process(process)
        return max(len(seen.children()), seen.num_threads()) - 1
    except psutil.Error:
        return 0
