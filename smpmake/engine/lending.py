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

import os
import resource
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Final

from smpmake.commands.model import Divides
from smpmake.decide.procfs import Processes
from smpmake.engine.borrowers import MOST, Borrower, Outsider
from smpmake.engine.command import command_of
from smpmake.engine.endings import Endings
from smpmake.engine.tokens import Tokens
from smpmake.records import DIVIDED
from smpmake.schedule.job import Job, Mode

_FILES: Final = resource.RLIMIT_NOFILE
_FEW_FILES: Final = 64  # a link that may have no more is not to have two taken from it


class Lending:
    """One per engine: what the scheduler and the executor know of tokens.

    slots   how many there are.
    tokens  who else has a say in how many may be used.  Where others want what is idle none is
            lent.
    """

    def __init__(self, slots: int, tokens: Tokens, folder: Path, processes: Processes) -> None:
        self._slots = slots
        self._tokens = tokens
        self._folder = folder
        self._processes = processes
        self._jobs: dict[Job, Borrower] = {}
        self._outsiders: dict[int, Outsider] = {}
        self._left: set[Outsider] = set()  # they have ended, and what they started has not
        self._callers: dict[Job, Outsider] = {}
        self._endings = Endings()

    @property
    def lent(self) -> int:
        """Slots that others have beside their own, but for those who wait for what has one."""
        return sum(each.used for each in self._all())

    def _all(self) -> Iterable[Borrower]:
        return chain(self._jobs.values(), self._outsiders.values(), self._left)

    @property
    def has_outsiders(self) -> bool:
        """Whether a process of the driver's has a job server of ours."""
        return bool(self._outsiders)

    def issued(self, job: Job) -> None:
        """A command has come: whoever called it may hold a token meanwhile."""
        if not self._outsiders:
            return
        command = command_of(job)
        if (job.mode is not Mode.FOREGROUND or job.light) and not command.is_awaited:
            return
        child = command.invoke.parent
        for process in self._processes.above(child, sys.maxsize):
            outsider = self._outsiders.get(process.pid)
            if outsider is not None:
                outsider.waiting[job] = child
                self._callers[job] = outsider
                return
            child = process.pid

    def begin(self, job: Job, returned: Callable[[], None]) -> bytes:
        """The FIFO of a job that is about to start; b"" for most, and where none can be had.

        returned: called when it has done with a slot; `another` and `settle` are to follow.
        """
        command = command_of(job)
        if command.divides is Divides.NEVER or command.invoke.limit(_FILES) < _FEW_FILES:
            return b""
        self._close_job(job)
        path = self._folder / f"lent-{job.number}"
        try:
            self._jobs[job] = Borrower(path, returned)
        except OSError:
            return b""
        if command.divides is Divides.IF_LET:
            command.record.detail = DIVIDED
        return os.fsencode(path)

    def ended(self, job: Job) -> None:
        """A job has ended, and with it whatever it used."""
        caller = self._callers.pop(job, None)
        if caller is not None:
            del caller.waiting[job]
        self._close_job(job)

    def begin_process(self, pid: int, returned: Callable[[], None]) -> bytes:
        """The FIFO of a process of the driver's that divides its work; b"" where none can be had.

        It has that, with all that it starts, until they have ended; who asks again is given the
        same.  returned: see `begin`.
        """
        known = self._outsiders.get(pid)
        if known is not None:
            return known.name

        def on_return() -> None:
            if not outsider.settle():
                self._let_go(pid, outsider)
            returned()

        def on_end() -> None:
            if self._outsiders.get(pid) is not outsider:
                return  # it has given up what it had
            outsider.forget_names()
            outsider.take_back(MOST)
            if outsider.settle() and outsider.lent > 0:
                self._left.add(outsider)
                del self._outsiders[pid]
            else:
                self._let_go(pid, outsider)
            returned()

        try:
            outsider = Outsider(self._folder / f"lent-to-{pid}", on_return)
        except OSError:
            return b""
        if not self._endings.watch(pid, on_end):
            outsider.close()
            return b""
        self._outsiders[pid] = outsider
        return outsider.name

    def close(self) -> None:
        """Nothing is lent any more."""
        self._endings.close()
        for borrower in self._all():
            borrower.close()
        self._jobs.clear()
        self._outsiders.clear()
        self._left.clear()

    def _close_job(self, job: Job) -> None:
        borrower = self._jobs.pop(job, None)
        if borrower is not None:
            borrower.close()

    def _let_go(self, pid: int, outsider: Outsider) -> None:
        if self._outsiders.get(pid) is outsider:
            del self._outsiders[pid]
        self._left.discard(outsider)
        outsider.close()

    def another(self, busy: int) -> bool:
        """Whether one more slot may be used beside `busy`; takes one back where that needs one."""
        for each in self._all():
            each.settle()
        if busy + self.lent >= self._slots and not any(each.take_back(1) for each in self._all()):
            return False
        return self._tokens.another(busy + self.lent)

    def settle(self, busy: int, wake: Callable[[], None] | None, *, lend: bool) -> None:
        """So many slots are in use now.

        wake  is called when there may be another; None: nobody wants one.
        lend  whether jobs may use what is idle (they need memory, too).
        """
        if self._jobs or self._outsiders or self._left:
            may = lend and not self._tokens.wanted_elsewhere
            for each in self._all():
                each.settle()
                if not may:
                    each.take_back(MOST)
            if may and wake is None:
                self._lend(busy)
        self._tokens.settle(busy + self.lent, wake)

    def _lend(self, busy: int) -> None:
        """Each has its share of what is idle; who came first has had all of it."""
        idle = self._slots - busy - self.lent
        while True:
            # A process has no slot of its own, and works nevertheless: one stays for commands.
            outside = sum(each.lent for each in chain(self._outsiders.values(), self._left))
            ranked: list[Borrower] = list(self._jobs.values())
            if outside < self._slots - 1:
                ranked += self._outsiders.values()
            if not ranked:
                return
            ranked.sort(key=lambda each: each.lent)
            poorest, richest = ranked[0], ranked[-1]
            if poorest.lent == MOST:
                return
            if idle > 0 and self._tokens.another(busy + self.lent):
                idle -= 1
            elif richest.lent - poorest.lent < 2 or not richest.take_back(1):
                return
            poorest.lend()
