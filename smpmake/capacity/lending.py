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
import sys
from collections.abc import Callable
from pathlib import Path

from smpmake.capacity.clients import MOST, ExternalClient, JobserverClient
from smpmake.capacity.watcher import ProcessWatcher
from smpmake.decide.procfs import Processes
from smpmake.schedule.job import Job


class Lending:
    """One per engine: who is lent slots, and how many.

    slots     how many there are.
    returned  called when somebody has done with a slot, or wants one.
    """

    def __init__(
        self, slots: int, folder: Path, processes: Processes, returned: Callable[[], None]
    ) -> None:
        self._slots = slots
        self._folder = folder
        self._processes = processes
        self._returned = returned
        #: By job or process; by itself where that has ended, and what it started has not.
        self._clients: dict[Job | int | JobserverClient, JobserverClient] = {}
        self._callers: dict[Job, ExternalClient] = {}
        self._watcher = ProcessWatcher()

    def most(self, wanted: int) -> int:
        """How many commands may run beside what is lent; takes that back where `wanted` may not."""
        self._settle()
        while wanted + self.lent > self._slots and any(
            each.take_back(1) for each in self._clients.values()
        ):
            pass
        return self._slots - self.lent

    def _settle(self) -> None:
        for each in self._clients.values():
            each.settle()

    @property
    def lent(self) -> int:
        """Slots that others have beside their own, but for those who wait for what has one."""
        return sum(each.used for each in self._clients.values())

    @property
    def is_idle(self) -> bool:
        """Whether there is nobody who could be lent any."""
        return not self._clients

    @property
    def has_external(self) -> bool:
        """Whether a process of the driver's has a job server of ours."""
        return any(isinstance(key, int) for key in self._clients)

    def issued(self, job: Job, caller: int) -> None:
        """A command has come that `caller` waits for, who may hold a token meanwhile."""
        if not self.has_external:
            return
        child = caller
        for process in self._processes.above(child, sys.maxsize):
            client = self._clients.get(process.pid)
            if isinstance(client, ExternalClient):
                client.waiting[job] = child
                self._callers[job] = client
                return
            child = process.pid

    def begin(self, job: Job) -> bytes:
        """The FIFO of a job that is about to start; b"" where none can be had."""
        self._close(job)
        path = self._folder / f"lent-{job.number}"
        try:
            self._clients[job] = JobserverClient(path, self._returned)
        except OSError:
            return b""
        return os.fsencode(path)

    def ended(self, job: Job) -> None:
        """A job has ended, and with it whatever it used."""
        caller = self._callers.pop(job, None)
        if caller is not None:
            del caller.waiting[job]
        self._close(job)

    def begin_process(self, pid: int) -> bytes:
        """The FIFO of a process of the driver's that divides its work; b"" where none can be had.

        It has that, with all that it starts, until they have ended; who asks again is given the
        same.
        """
        known = self._clients.get(pid)
        if isinstance(known, ExternalClient):
            return known.name

        def on_return() -> None:
            if not client.settle():
                self._close(pid if self._clients.get(pid) is client else client)
            self._returned()

        def on_end() -> None:
            if self._clients.get(pid) is not client:
                return  # it has given up what it had
            client.forget_names()
            client.take_back(MOST)
            self._clients[client] = self._clients.pop(pid)
            if not client.settle() or client.lent == 0:
                self._close(client)
            self._returned()

        try:
            client = ExternalClient(self._folder / f"lent-to-{pid}", on_return)
        except OSError:
            return b""
        self._clients[pid] = client
        if not self._watcher.watch(pid, on_end):
            self._close(pid)
            return b""
        return client.name

    def close(self) -> None:
        """Nothing is lent any more."""
        self._watcher.close()
        for key in list(self._clients):
            self._close(key)

    def _close(self, key: Job | int | JobserverClient) -> None:
        client = self._clients.pop(key, None)
        if client is not None:
            client.close()

    def take_back(self) -> None:
        """None is lent but what is in use."""
        for each in self._clients.values():
            each.settle()
            each.take_back(MOST)

    def share_out(self, busy: int, is_mine: Callable[[int], bool]) -> None:
        """Each has its share of what is idle; who came first has had all of it.

        busy     slots that commands use.
        is_mine  whether one more may be used beside so many.
        """
        self._settle()
        idle = self._slots - busy - self.lent
        while True:
            # A process has no slot of its own, and works nevertheless: one stays for commands.
            outside = sum(c.lent for c in self._clients.values() if isinstance(c, ExternalClient))
            kinds = (Job, int) if outside < self._slots - 1 else Job
            ranked = [client for key, client in self._clients.items() if isinstance(key, kinds)]
            if not ranked:
                return
            ranked.sort(key=lambda each: each.lent)
            poorest, richest = ranked[0], ranked[-1]
            if poorest.lent == MOST:
                return
            if idle > 0 and is_mine(busy + self.lent):
                idle -= 1
            elif richest.lent - poorest.lent < 2 or not richest.take_back(1):
                return
            poorest.lend()
