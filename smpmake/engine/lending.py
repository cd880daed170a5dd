"""Idle slots, lent to who can divide his work: gcc's link-time optimisation, cargo.

A job or a process is given a job server of its own: a FIFO with a byte for each slot that nobody
needs, and another one into which its processes put bytes that they have done with.  Two, because a
make that gives a token back takes the next one at once: from one FIFO nobody else would ever get
it.  What is in the first is taken back as soon as a command wants a slot; what comes by the second
is a slot again, and is lent once more if nobody wants it.  So slots in use and slots lent are never
more than there are.  Who holds a token and waits for a command of ours needs one slot, not two.

https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Final

from smpmake.commands.model import Divides
from smpmake.engine.command import command_of
from smpmake.engine.endings import Endings
from smpmake.engine.tokens import Tokens
from smpmake.records import DIVIDED
from smpmake.schedule.job import Job, Mode

_TOKEN: Final = b"+"  # what make itself uses
_MOST: Final = 1024  # lent to one job; a FIFO has room for more
_FILES: Final = resource.RLIMIT_NOFILE
_FEW_FILES: Final = 64  # a link that may have no more is not to have two taken from it
_BACK: Final = ".back"  # behind the first FIFO's name (native/worker.c)


class _Borrower:
    """A job's two FIFOs: `lent` is the slots that it has beside its own."""

    def __init__(self, path: Path, returned: Callable[[], None]) -> None:
        """returned: called when a slot comes back.  Raises OSError."""
        self.path = path
        self.lent = 0
        self._ends: list[int] = []
        self._loop = asyncio.get_running_loop()
        self._names = [path, path.with_name(path.name + _BACK)]
        try:
            for name in self._names:
                os.mkfifo(name, 0o600)
                self._ends.append(os.open(name, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            self.close()
            raise
        self._loop.add_reader(self._ends[1], returned)

    def lend(self) -> None:
        """One more."""
        os.write(self._ends[0], _TOKEN)
        self.lent += 1

    def settle(self) -> None:
        """Those that its processes have done with are not lent any more."""
        self._read(1, _MOST)

    def take_back(self, most: int) -> int:
        """How many of those are slots again that none of its processes uses."""
        return self._read(0, most)

    def _read(self, end: int, most: int) -> int:
        try:
            found = min(len(os.read(self._ends[end], most)), self.lent)
        except BlockingIOError:
            return 0
        self.lent -= found
        return found

    def close(self) -> None:
        for end in self._ends:
            self._loop.remove_reader(end)
            os.close(end)
        for name in self._names:
            with contextlib.suppress(OSError):
                name.unlink()


class Lending:
    """One per engine: what the scheduler and the executor know of tokens.

    slots   how many there are.
    tokens  who else has a say in how many may be used.  Where others want what is idle none is
            lent.
    """

    def __init__(self, slots: int, tokens: Tokens, folder: Path) -> None:
        self._slots = slots
        self._tokens = tokens
        self._folder = folder
        self._borrowers: dict[Job | int, _Borrower] = {}  # a process by its number
        self._endings = Endings()
        self._waited_for: set[Job] = set()

    @property
    def lent(self) -> int:
        """Slots that others have beside their own, but for those who wait for what has one."""
        own = sum(each.lent for who, each in self._borrowers.items() if isinstance(who, Job))
        return own + max(0, self._by_processes - len(self._waited_for))

    @property
    def _by_processes(self) -> int:
        return sum(each.lent for who, each in self._borrowers.items() if isinstance(who, int))

    def issued(self, job: Job) -> None:
        """A command has come: whoever called it may hold a token meanwhile."""
        if (job.mode is Mode.FOREGROUND and not job.light) or command_of(job).is_awaited:
            self._waited_for.add(job)

    def begin(self, job: Job, returned: Callable[[], None]) -> bytes:
        """The FIFO of a job that is about to start; b"" for most, and where none can be had.

        returned: called when it has done with a slot; `another` and `settle` are to follow.
        """
        command = command_of(job)
        if command.divides is Divides.NEVER or command.invoke.limit(_FILES) < _FEW_FILES:
            return b""
        self.ended(job)
        path = self._folder / f"lent-{job.number}"
        try:
            self._borrowers[job] = _Borrower(path, returned)
        except OSError:
            return b""
        if command.divides is Divides.IF_LET:
            command.record.detail = DIVIDED
        return os.fsencode(path)

    def ended(self, job: Job) -> None:
        """A job has ended, and with it whatever it used."""
        self._waited_for.discard(job)
        self._close(job)

    def begin_process(self, pid: int, returned: Callable[[], None]) -> bytes:
        """The FIFO of a process of the driver's that divides its work, until it ends; b"" where
        none can be had.  returned: see `begin`."""
        path = self._folder / f"lent-to-{pid}"
        try:
            borrower = _Borrower(path, returned)
        except OSError:  # one that has asked already, too
            return b""

        def on_end() -> None:
            self._close(pid)
            returned()

        if not self._endings.watch(pid, on_end):
            borrower.close()
            return b""
        self._borrowers[pid] = borrower
        return os.fsencode(path)

    def close(self) -> None:
        """Nothing is lent any more."""
        self._endings.close()
        for borrower in list(self._borrowers):
            self._close(borrower)

    def _close(self, who: Job | int) -> None:
        borrower = self._borrowers.pop(who, None)
        if borrower is not None:
            borrower.close()

    def another(self, busy: int) -> bool:
        """Whether one more slot may be used beside `busy`; takes one back where that needs one."""
        borrowers = self._borrowers.values()
        for each in borrowers:
            each.settle()
        if busy + self.lent >= self._slots and not any(each.take_back(1) for each in borrowers):
            return False
        return self._tokens.another(busy + self.lent)

    def settle(self, busy: int, wake: Callable[[], None] | None, *, lend: bool) -> None:
        """So many slots are in use now.

        wake  is called when there may be another; None: nobody wants one.
        lend  whether jobs may use what is idle (they need memory, too).
        """
        for each in self._borrowers.values():
            each.settle()
        if self._borrowers:
            may = lend and not self._tokens.wanted_elsewhere
            for each in self._borrowers.values():
                if not may:
                    each.take_back(_MOST)
            if may and wake is None:
                self._lend(busy)
        self._tokens.settle(busy + self.lent, wake)

    def _lend(self, busy: int) -> None:
        """Each has its share of what is idle; who came first has had all of it."""
        idle = self._slots - busy - self.lent
        while True:
            # A process has no slot of its own, and works nevertheless: one stays for commands.
            enough = self._by_processes >= self._slots - 1
            ranked = sorted(
                (who for who in self._borrowers if not enough or isinstance(who, Job)),
                key=lambda who: self._borrowers[who].lent,
            )
            if not ranked:
                return
            poorest, richest = (self._borrowers[ranked[each]] for each in (0, -1))
            if poorest.lent == _MOST:
                return
            if idle > 0 and self._tokens.another(busy + self.lent):
                idle -= 1
            elif richest.lent - poorest.lent < 2 or not richest.take_back(1):
                return
            poorest.lend()
