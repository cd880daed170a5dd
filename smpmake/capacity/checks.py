"""Checks of configure scripts, which shims run without asking while nothing is at work.

There are hundreds in a row, and each would wait for our answer.  Only one runs so at a time: its
process holds a lock on a file of the session, by which it counts as one more slot in use, unless
its guard has it wait.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from smpmake.decide.procfs import Processes
from smpmake.guard.questions import Waiter
from smpmake.guard.scoreboard import CHECK, Scoreboard
from smpmake.schedule.job import Job

_DEEPEST: Final = 64  # processes above one
_LOCK: Final = struct.Struct("hhqqi")  # struct flock where addresses have 64 bits


class UntrackedChecks:
    """One per engine."""

    def __init__(self, folder: Path, board: Scoreboard, processes: Processes) -> None:
        self._board = board
        self._processes = processes
        self._path = folder / CHECK
        self._fd = -1
        self._none = False  # nor can one begin, by what the board has said since

    def at_work(self, waiting: Iterable[Job] = ()) -> int:
        """How many checks are at work, one at most; none begins before `others_use`.

        waiting: those whose guards have them wait; a check among them is not at work.

        A shim takes the lock and then looks at the board; here it is the other way round.
        """
        if self._none:
            return 0
        self._board.set_busy_slots(1)
        holder = self._holder()
        self._none = holder is None
        return int(holder is not None and not any(self._is_part(job, holder) for job in waiting))

    def others_use(self, slots: int) -> None:
        """So many are in use, or lent; beside none a check may begin."""
        self._board.set_busy_slots(slots)
        self._none = self._none and slots > 0

    def close(self) -> None:
        """Nobody asks any more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _is_part(self, waiter: Job, holder: int) -> bool:
        """Whether a process that waits is the check, or below it; in doubt it is."""
        assert isinstance(waiter.payload, Waiter)
        above = self._processes.above(waiter.payload.question.pid, _DEEPEST)
        return holder == 0 or any(caller.pid == holder for caller in above)

    def _holder(self) -> int | None:
        """The process that has the lock, 0 if it has no number here; None where nobody has it."""
        wanted = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        try:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            found = fcntl.fcntl(self._fd, fcntl.F_GETLK, wanted)
        except OSError:  # a file system without locks: no shim has one, and each asks
            return None
        kind, *_, pid = _LOCK.unpack(found[: _LOCK.size])
        return None if kind == fcntl.F_UNLCK else max(pid, 0)
