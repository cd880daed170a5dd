"""Builds of one user at once: all together never run more tools than there are CPUs.

They share a file with a row for each CPU and one for each build.  Whose a row is stands in it; that
it is his he holds by a lock on the byte of its number, which the kernel gives back however he ends:
no server, and nobody who cleans up.  Who has fewer than he could use writes that into his build's
row, and takes what others give back, until each has his share.

The first tool of a build never waits for others: a build that another one runs must not wait for
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpmake import cpus, folders, private

if TYPE_CHECKING:
    from smpmake.disk.inotify import Watch

_SLOTS: Final = 1024  # rows: CPUs, and behind them
_BUILDS: Final = 64
_WHO: Final = struct.Struct("4sI")  # in a row: any bytes of a build's own, its process; or zeros
_ID: Final = _WHO.size
_NOBODY: Final = bytes(_ID)
_LOCK: Final = struct.Struct("hhqqi0q")  # struct flock
_TRIES: Final = 9
_BOOT: Final = "/proc/sys/kernel/random/boot_id"


class CrowdedError(OSError):
    """More builds than there are rows."""


class SharedSlots:
    """One build's part of it (see capacity.tokens).

    path   the file that the builds share.
    slots  how many all of them may use.
    shared whether others have had some that we could have used.
    Needs a running loop once others want something.  Raises OSError.
    """

    def __init__(self, path: Path, slots: int) -> None:
        self._path = path
        self._slots = min(slots, _SLOTS)
        self._id = _WHO.pack(os.urandom(4), os.getpid())
        self._fd = _open(path)
        try:
            self._row = self._moved_in()
        except BaseException:
            os.close(self._fd)
            raise
        self.held: list[int] = []
        self.shared = False
        self._busy = 0
        self._wake: Callable[[], None] | None = None
        self._wishing = False
        self._watch: Watch | None = None

    @property
    def contended(self) -> bool:
        """See Tokens."""
        return bool(self._rows(_SLOTS, _BUILDS))

    def most_slots(self, wanted: int) -> int:
        """See Tokens; the first slot, of which nobody asks, is one of them."""
        if self._fd < 0:
            return wanted
        share = min(wanted, self._share()) if self.contended else wanted
        most = min(share, self._take(share))
        self.shared |= most < wanted
        return most

    def settle_tokens(self, busy: int, wake: Callable[[], None] | None) -> None:
        """See Tokens."""
        if self._fd < 0:
            return
        self._busy, self._wake = busy, wake
        moved = len(self.held) > busy
        while len(self.held) > busy:
            slot = self.held.pop()
            self._write(slot, _NOBODY)
            self._lock(slot, fcntl.F_UNLCK)
        is_short = len(self.held) < busy and self._take(busy) < busy
        wishing = is_short or wake is not None
        if wishing is not self._wishing:
            self._wishing = wishing
            self._write(self._row, self._id if wishing else _NOBODY)
            if wishing:
                # What was given back before anybody could read that was not announced.
                asyncio.get_running_loop().call_soon(self._look)
            moved |= not wishing
        if moved and self.contended:
            with contextlib.suppress(OSError):  # they look again when a job of theirs ends
                os.utime(self._fd)

    def close(self) -> None:
        """Gives everything back; once.  The last one takes the file with him."""
        self.settle_tokens(0, None)
        if self._watch is not None:
            self._watch.close()
        self._lock(self._row, fcntl.F_UNLCK)
        fd, self._fd = self._fd, -1
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(self._path)
        os.close(fd)

    def _look(self) -> None:
        """Somebody may have given something back."""
        if self._fd < 0:
            return
        if self._wishing and self._watch is None:
            from smpmake.disk.inotify import MARKED, Watch  # most builds have no neighbours

            with contextlib.suppress(OSError):  # then at our own jobs' ends
                self._watch = Watch()
                self._watch.add(self._path, self._look, MARKED)
        if self._wake is not None:
            self._wake()
        elif self._wishing:
            self.settle_tokens(self._busy, None)

    def _take(self, wanted: int) -> int:
        """Takes as many as can be had, up to `wanted`; how many may be used now.  What a stopped
        build (Ctrl-Z) holds is nobody's."""
        free = (slot for slot in range(self._slots) if slot not in self.held)
        while len(self.held) < wanted:
            slot = next(free, -1)
            if slot < 0:
                return len(self.held) + len(self._rows(0, self._slots, stopped=True))
            if self._lock(slot, fcntl.F_WRLCK):
                self._write(slot, self._id)
                self.held.append(slot)
        return len(self.held)

    def _share(self) -> int:
        """How many each may have where all want more."""
        builds = {*self._rows(0, self._slots), *self._rows(_SLOTS, _BUILDS)}
        return -(-self._slots // (1 + len(builds)))

    def _rows(self, first: int, count: int, *, stopped: bool = False) -> list[bytes]:
        """Whose those rows are that others hold, who run or who are stopped; what a killed build
        left is nobody's."""
        rows = os.pread(self._fd, count * _ID, first * _ID) if self._fd >= 0 else b""
        if rows.count(0) == len(rows):
            return []
        found = []
        for at in range(0, len(rows), _ID):
            who = rows[at : at + _ID]
            if who in (_NOBODY, self._id) or not self._is_locked(first + at // _ID):
                continue
            if _is_stopped(_WHO.unpack(who)[1]) is stopped:
                found.append(who)
        return found

    def _moved_in(self) -> int:
        for row in range(_SLOTS, _SLOTS + _BUILDS):
            if self._lock(row, fcntl.F_WRLCK):
                self._write(row, _NOBODY)
                return row
        raise CrowdedError(f"{self._path}: more than {_BUILDS} builds")

    def _lock(self, row: int, how: int) -> bool:
        try:
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _LOCK.pack(how, os.SEEK_SET, row, 1, 0))
        except OSError:
            return False
        return True

    def _is_locked(self, row: int) -> bool:
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, row, 1, 0)
        try:
            answer = fcntl.fcntl(self._fd, fcntl.F_OFD_GETLK, asked)
        except OSError:
            return False
        return bool(_LOCK.unpack(answer)[0] != fcntl.F_UNLCK)

    def _write(self, row: int, whose: bytes) -> None:
        with contextlib.suppress(OSError):  # no room: then he counts for nobody
            os.pwrite(self._fd, whose, row * _ID)


def _is_stopped(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # gone, or in another container
        return False
    return state in "Tt"


def neighbours(slots: int) -> SharedSlots | None:
    """What a build with so many slots has to do with others; None where there can be no others, or
    where it was told to have more slots than there are CPUs."""
    usable = cpus.usable()
    if slots > usable.count:
        return None
    try:
        return SharedSlots(_place(usable.quota), usable.count)
    except private.SharedError as error:
        told = "this build does not share the CPUs with your other builds"
        private.complain(error, told, private.ANOTHER_CACHE)
        return None
    except (OSError, folders.NoHomeError):
        return None


def _place(quota: float | None) -> Path:
    """Builds that may use the same CPUs have one file.

    It outlives a build that is killed, so it is not with what is temporary; a home may be that
    of several machines.
    """
    about = [repr(cpus.allowed()), Path(_BOOT).read_text()]
    if quota is not None:  # which is shared with whoever is in the same group
        with contextlib.suppress(OSError):
            about += [repr(quota), Path("/proc/self/cgroup").read_text()]
    name = f"{zlib.crc32(chr(10).join(about).encode()):08x}"
    runtime = folders.runtime()
    if runtime is not None:  # beside our folder there, which need not be
        return runtime.with_name(f"smpmake-slots-{name}")
    return folders.cache() / f"smpmake-slots-{name}"


def _open(path: Path) -> int:
    """The file that is there now, marked as in use.  Raises OSError."""
    for _ in range(_TRIES):
        fd = private.opened(path, os.O_RDWR | os.O_CREAT, make=True)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            info = os.fstat(fd)
            with contextlib.suppress(FileNotFoundError):  # its last user has left
                if os.path.samestat(info, os.stat(path)):
                    os.ftruncate(fd, (_SLOTS + _BUILDS) * _ID)
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    raise OSError(f"{path} goes as soon as it comes")
