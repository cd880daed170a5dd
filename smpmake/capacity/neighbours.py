"""Builds at once: all together never run more tools than there are CPUs.

They share a table (see capacity.table).  Who has fewer than he could use says so there, and takes
what others give back, until each has his share.  Who was told to run more jobs than there are CPUs
does so as long as he has all of them.

The first tool of a build never waits for others: a build that another one runs must not wait for
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpmake import cpus, private
from smpmake.capacity.table import SLOTS, Standing, Table, Wait
from smpmake.config import Settings

if TYPE_CHECKING:
    from smpmake.disk.inotify import Watch

NAME: Final = "smpmake-slots-"  # of each table
_UNSHARED: Final = "this build does not share the CPUs with your other builds"


class SharedSlots:
    """One build's part of it (see capacity.tokens).

    path   the file that the builds share.
    slots  how many all of them may use, and `jobs` how many this one would.
    common whether the file is others', too.
    shared whether others have had some that we could have used.
    Needs a running loop once others want something.  Raises OSError.
    """

    def __init__(self, path: Path, slots: int, jobs: int = 0, *, common: bool = False) -> None:
        self._slots = min(slots, SLOTS)
        self._table: Table | None = Table(path, common=common)
        self.path = path
        self.held: list[int] = []
        self.shared = False
        self._busy = 0
        self._wake: Callable[[], None] | None = None
        self._wishing = False
        self._watch: Watch | None = None
        self._standing = Standing(self._slots, jobs or self._slots)
        self._table.tell(self._standing)

    @property
    def contended(self) -> bool:
        """See Tokens."""
        return self._table is not None and bool(self._table.wishers())

    def most_slots(self, wanted: int) -> int:
        """See Tokens; the first slot, of which nobody asks, is one of them."""
        if self._table is None:
            return wanted
        share = min(wanted, self._slots)
        if self.contended:
            share = min(share, self._share(self._table))
            most = min(share, self._take(self._table, share))
        else:
            most = self._take(self._table, share)
            most = wanted if most >= self._slots else min(wanted, most)
        self.shared |= most < wanted
        return most

    def settle_tokens(self, busy: int, wake: Callable[[], None] | None) -> None:
        """See Tokens."""
        table = self._table
        if table is None:
            return
        self._busy, self._wake = busy, wake
        moved = len(self.held) > busy
        while len(self.held) > busy:
            table.give(self.held.pop())
        backed = min(busy, self._slots)
        is_short = len(self.held) < backed and self._take(table, backed) < backed
        wishing = is_short or wake is not None
        if wishing is not self._wishing:
            self._wishing = wishing
            table.wish(wishing=wishing)
            if wishing:
                # What was given back before anybody could read that was not announced.
                asyncio.get_running_loop().call_soon(self._look)
            moved |= not wishing
        if moved and self.contended:
            table.announce()

    def tell(self, running: int, waiting: int, why: Wait) -> None:
        """See Tokens."""
        standing = self._standing._replace(running=running, waiting=waiting, why=why)
        if standing != self._standing and self._table is not None:
            self._standing = standing
            self._table.tell(standing)

    def close(self) -> None:
        """Gives everything back; once."""
        self.settle_tokens(0, None)
        if self._watch is not None:
            self._watch.close()
        if self._table is not None:
            self._table.close()
            self._table = None

    def _look(self) -> None:
        """Somebody may have given something back."""
        if self._table is None:
            return
        if self._wishing and self._watch is None:
            from smpmake.disk.inotify import MARKED, Watch  # most builds have no neighbours

            with contextlib.suppress(OSError):  # then at our own jobs' ends
                self._watch = Watch()
                self._watch.add(self._table.path, self._look, MARKED)
        if self._wake is not None:
            self._wake()
        elif self._wishing:
            self.settle_tokens(self._busy, None)

    def _take(self, table: Table, wanted: int) -> int:
        """Takes as many as can be had, up to `wanted`; how many may be used now.  What a stopped
        build (Ctrl-Z) holds is nobody's."""
        free = (slot for slot in range(self._slots) if slot not in self.held)
        while len(self.held) < wanted:
            slot = next(free, -1)
            if slot < 0:
                return len(self.held) + len(table.holders(self._slots, stopped=True))
            if table.take(slot):
                self.held.append(slot)
        return len(self.held)

    def _share(self, table: Table) -> int:
        """How many each may have where all want more."""
        builds = {*table.holders(self._slots), *table.wishers()}
        return -(-self._slots // (1 + len(builds)))


def neighbours(settings: Settings) -> SharedSlots | None:
    """What a build has to do with others; None where it is to have none, or can have none."""
    if settings.own_pool:
        return None
    usable = cpus.usable()
    jobs = settings.jobs or usable.count
    if settings.machine_pool:
        path = Path(settings.machine_pool, _name())
        try:
            return SharedSlots(path, usable.affinity, jobs, common=True)
        except OSError as error:
            told = error if isinstance(error, private.SharedError) else error.strerror or error
            shared = private.SharedError(os.fspath(path.parent), f"cannot be the pool: {told}")
            private.complain(
                shared, "this build shares the CPUs with your own builds only", _REMEDY
            )
    last: private.SharedError | None = None
    for folder in places():
        try:
            return SharedSlots(folder / _name(usable.quota), usable.count, jobs)
        except private.SharedError as error:
            last = error
        except OSError:
            continue
    if last is not None:
        private.complain(last, _UNSHARED, "move it away")
    return None


_REMEDY: Final = "let machine-pool name a folder in which all of its users may write"


def places() -> Iterator[Path]:
    """Folders for the user's table, the best first: the same in all sessions of a user, whatever
    his home and his variables are.

    In a home or a folder that XDG names, builds of agents or of CI would not find each other: these
    have homes of their own.
    """
    user = os.geteuid()
    runtime = Path(f"/run/user/{user}")
    if os.access(runtime, os.W_OK):
        yield runtime
    for base in ("/dev/shm", "/tmp"):
        if os.access(base, os.W_OK):
            yield Path(base, f"smpmake-{user}")


def _name(quota: float | None = None) -> str:
    """Builds that may use the same CPUs have one file."""
    about = [repr(cpus.allowed())]
    if quota is not None:  # which is shared with whoever is in the same group
        with contextlib.suppress(OSError):
            about += [repr(quota), Path("/proc/self/cgroup").read_text()]
    return f"{NAME}{zlib.crc32(chr(10).join(about).encode()):08x}"
