"""Idle slots, lent to a job that can divide its work: gcc's link-time optimisation.

Such a job is given a job server of its own, a FIFO with a byte for each slot that nobody needs.
What the job's processes do not use is taken back as soon as a command wants a slot, and is a slot
again; what they use comes back when one of them ends.  So slots in use and slots lent are never
more than there are.

https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from smpmake.commands.model import Divides
from smpmake.engine.command import command_of
from smpmake.engine.tokens import Tokens
from smpmake.records import DIVIDED
from smpmake.schedule.job import Job

_TOKEN: Final = b"+"  # what make itself uses
_MOST: Final = 1024  # lent to one job; a FIFO has room for more


class _Borrower:
    """A job's FIFO: `lent` is the slots that are in it or in use by the job's processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lent = 0
        self.is_watched = False
        os.mkfifo(path, 0o600)
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except BaseException:
            path.unlink()
            raise

    def lend(self) -> None:
        os.write(self.fd, _TOKEN)
        self.lent += 1

    def take_back(self, most: int) -> int:
        """Slots that were not in use; at most so many."""
        try:
            found = len(os.read(self.fd, most))
        except BlockingIOError:
            return 0
        self.lent -= min(found, self.lent)
        return found

    def watch(self, wake: Callable[[], None] | None) -> None:
        """`wake` is called when a slot comes back; None: nobody wants one."""
        if (wake is not None) is self.is_watched:
            return
        loop = asyncio.get_running_loop()
        if wake is not None:
            loop.add_reader(self.fd, wake)
        else:
            loop.remove_reader(self.fd)
        self.is_watched = wake is not None

    def close(self) -> None:
        self.watch(None)
        os.close(self.fd)
        with contextlib.suppress(OSError):
            self.path.unlink()


class Lending:
    """One per engine: what the scheduler and the executor know of tokens.

    slots   how many there are.
    tokens  who else has a say in how many may be used.  Where somebody has, none is lent: he has
            a use for what is idle.
    """

    def __init__(self, slots: int, tokens: Tokens, folder: Path) -> None:
        self._slots = slots
        self._tokens = tokens
        self._folder = folder
        self._borrowers: dict[Job, _Borrower] = {}

    @property
    def lent(self) -> int:
        """Slots that jobs have beside their own."""
        return sum(each.lent for each in self._borrowers.values())

    def begin(self, job: Job) -> bytes:
        """The FIFO of a job that is about to start; b"" for most, and where none can be had."""
        command = command_of(job)
        if command.divides is Divides.NEVER:
            return b""
        self.ended(job)
        path = self._folder / f"lent-{job.number}"
        try:
            self._borrowers[job] = _Borrower(path)
        except OSError:
            return b""
        if command.divides is Divides.IF_LET:
            command.record.detail = DIVIDED
        return os.fsencode(path)

    def ended(self, job: Job) -> None:
        """A job has ended, and with it whatever it used."""
        borrower = self._borrowers.pop(job, None)
        if borrower is not None:
            borrower.close()

    def another(self, busy: int) -> bool:
        """Whether one more slot may be used beside `busy`; takes one back where that needs one."""
        lent = self.lent
        if busy + lent >= self._slots:
            if not any(each.take_back(1) for each in self._borrowers.values()):
                return False
            lent -= 1
        return self._tokens.another(busy + lent)

    def settle(self, busy: int, wake: Callable[[], None] | None, *, lend: bool) -> None:
        """So many slots are in use now.

        wake  is called when there may be another; None: nobody wants one.
        lend  whether jobs may use what is idle (they need memory, too).
        """
        if not lend or wake is not None:
            for each in self._borrowers.values():
                if not lend:
                    each.take_back(_MOST)
                each.watch(wake)
        else:
            self._lend(busy)
        self._tokens.settle(busy + self.lent, wake)

    def _lend(self, busy: int) -> None:
        """Each has its share of what is idle; who came first has had all of it."""
        for each in self._borrowers.values():
            each.watch(None)
        if not self._borrowers or self._tokens.wanted_elsewhere:
            return
        idle = self._slots - busy - self.lent
        while True:
            ranked = sorted(self._borrowers.values(), key=lambda each: each.lent)
            poorest, richest = ranked[0], ranked[-1]
            if poorest.lent == _MOST:
                return
            if idle > 0:
                idle -= 1
            elif richest.lent - poorest.lent < 2 or not richest.take_back(1):
                return
            poorest.lend()
