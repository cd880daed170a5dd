"""Who is lent slots by a job server of ours, and by what: two FIFOs each.

From the first a borrower's processes take a byte for each that begins, into the second they put it
when that has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from smpmake.schedule.job import Job

_TOKEN: Final = b"+"  # what make itself uses
MOST: Final = 1024  # lent to one; a FIFO has room for more
_BACK: Final = ".back"  # behind the first FIFO's name (native/layout/wire.h)


class JobserverClient:
    """A job: `lent` is the slots that it has beside its own."""

    def __init__(self, path: Path, returned: Callable[[], None], back: int = os.O_RDWR) -> None:
        """path: of the first FIFO.  returned: called when something is in the second, which is
        opened as `back` says.  Raises OSError."""
        self.lent = 0
        self._ends: list[int] = []
        self._loop = asyncio.get_running_loop()
        self._names: list[Path] = []
        try:
            for name, how in ((path, os.O_RDWR), (path.with_name(path.name + _BACK), back)):
                os.mkfifo(name, 0o600)
                self._names.append(name)
                self._ends.append(os.open(name, how | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            self.close()
            raise
        self._loop.add_reader(self._ends[1], returned)

    @property
    def used(self) -> int:
        """How many slots that is at most, beside those of commands."""
        return self.lent

    def lend(self) -> None:
        """One more."""
        os.write(self._ends[0], _TOKEN)
        self.lent += 1

    def settle(self) -> bool:
        """What its processes have done with is not lent any more; False once nobody else has the
        second FIFO open."""
        return self._read(1, MOST) is not None

    def take_back(self, most: int) -> int:
        """How many of those are slots again that none of its processes uses."""
        return self._read(0, most) or 0

    def _read(self, end: int, most: int) -> int | None:
        try:
            got = os.read(self._ends[end], most)
        except BlockingIOError:
            return 0
        found = min(len(got), self.lent)
        self.lent -= found
        return found if got else None

    def forget_names(self) -> None:
        """Nobody else will open them."""
        for name in self._names:
            with contextlib.suppress(OSError):
                name.unlink()
        self._names.clear()

    def close(self) -> None:
        """It is lent nothing any more."""
        for end in self._ends:
            self._loop.remove_reader(end)
            os.close(end)
        self._ends.clear()
        self.forget_names()


class ExternalClient(JobserverClient):
    """A process of the driver's, and those that it has started.  It has no slot, and works all the
    same; when it has ended those may still use what it was lent.

    The second FIFO has no writer but them, so that it ends when they are gone.
    """

    def __init__(self, path: Path, returned: Callable[[], None]) -> None:
        """See there."""
        super().__init__(path, returned, os.O_RDONLY)
        self.name = os.fsencode(path)
        #: Its children that wait for a command, or have started who does, by the command.
        self.waiting: dict[Job, int] = {}

    @property
    def used(self) -> int:
        """Who waits for a command needs no other slot.  One of them may be the one that was not
        lent any."""
        at_rest = len(set(self.waiting.values())) - 1
        return max(0, self.lent - max(0, at_rest))
