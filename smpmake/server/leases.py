"""Processes that shims became: when each of them ends, and what CPU time it has taken.

The real tool runs in its shim's place and is its own parent's child, so nobody tells us how it
ended.  A pidfd says when.  What it has used stands in /proc until its parent has reaped it, and
from then on in what the parent's children have used; where neither can be told it stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from smpmake.capacity.watcher import ProcessWatcher
from smpmake.decide.procfs import Processes, Usage
from smpmake.engine.command import command_of
from smpmake.schedule.job import Job


class Cpu(NamedTuple):
    """Microseconds."""

    user: int
    system: int


class _Lease:
    """before: what the parent's children had used; alone: they ran one after the other since.

    known  it had ended before we were told: what it has used, as far as that can be told.
    """

    __slots__ = ("alone", "before", "known", "parent", "pid")

    def __init__(self, pid: int, parent: int, before: Usage | None, alone: bool) -> None:
        self.pid = pid
        self.parent = parent
        self.before = before
        self.alone = alone
        self.known: tuple[Cpu | None] | None = None


class Meter:
    """Finds out what processes have used whose parents may reap them at any moment."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._open: dict[int, _Lease] = {}

    def begin(self, pid: int, parent: int) -> None:
        """A process becomes a tool."""
        beside = []
        for lease in self._open.values():
            if lease.parent == parent and lease.known is None:
                now = self._processes.usage(lease.pid)
                if now is None or now.is_over:  # its parent has gone on already
                    lease.known = (self._used(lease),)
                else:
                    lease.alone = False
                    beside.append(lease)
        usage = self._processes.usage(parent) if not beside else None
        self._open[pid] = _Lease(pid, parent, usage, not beside)

    def end(self, pid: int) -> Cpu | None:
        """It has ended."""
        lease = self._open.pop(pid, None)
        if lease is None:  # it claimed to have become several tools
            return None
        return lease.known[0] if lease.known is not None else self._used(lease)

    def _used(self, lease: _Lease) -> Cpu | None:
        last = self._processes.usage(lease.pid)
        if last is not None and last.is_over and last.parent == lease.parent:
            return Cpu(last.user + last.children_user, last.system + last.children_system)
        after = self._processes.usage(lease.parent)
        if not lease.alone or lease.before is None or after is None:
            return None
        return Cpu(
            max(0, after.children_user - lease.before.children_user),
            max(0, after.children_system - lease.before.children_system),
        )


class Leases:
    """One per server."""

    def __init__(
        self,
        ended: Callable[[Job], None],
        processes: Processes | None = None,
    ) -> None:
        self._ended = ended
        self._meter = Meter(processes or Processes())
        self._watcher = ProcessWatcher()

    def watch(self, job: Job, pid: int) -> bool:
        """Tells when the process that a shim became has ended; False where that cannot be."""
        if not self._watcher.watch(pid, lambda: self._on_end(job, pid)):
            return False
        self._meter.begin(pid, command_of(job).invoke.parent)
        return True

    def _on_end(self, job: Job, pid: int) -> None:
        used = self._meter.end(pid)
        if used is not None:
            record = command_of(job).record
            record.user_us, record.system_us = used
        self._ended(job)

    def close(self) -> None:
        """Watches nobody any more."""
        self._watcher.close()
