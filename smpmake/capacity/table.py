"""The file in which builds share CPUs: a row for each CPU, and rows for each build.

Whose a row is stands in it; that it is his he holds by a lock on the byte of its number, which the
kernel gives back however he ends: no server, and nobody who cleans up.

https://man7.org/linux/man-pages/man2/fcntl_locking.2.html
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import stat
import struct
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from smpmake import private

SLOTS: Final = 1024  # rows of CPUs
BUILDS: Final = 256  # and of builds, behind them
#: In a row: any bytes of a build's own, its process and whose number that is; or zeros.
_WHO: Final = struct.Struct("<4sII")
_ID: Final = _WHO.size
_NOBODY: Final = bytes(_ID)
#: Behind all rows, for each build: who, and its Standing.
_STANDING: Final = struct.Struct("<12s5H2x")
_STANDINGS: Final = (SLOTS + BUILDS) * _ID
_LOCK: Final = struct.Struct("hhqqi0q")  # struct flock
_TRIES: Final = 9
_PAUSE: Final = 0.002  # s
_OWN: Final = os.O_RDWR | os.O_CREAT


class CrowdedError(OSError):
    """More builds than there are rows."""


class Wait(enum.IntEnum):
    """What jobs of a build wait for."""

    NOTHING = 0
    SLOTS = 1
    MEMORY = 2
    PRESSURE = 3
    LOAD = 4
    CLASS = 5


class Standing(NamedTuple):
    """What a build says of itself.

    slots    how many all builds of its table may use.
    jobs     how many jobs it would run if it were alone.
    running  how many it runs, and `waiting` those that could run.
    why      what these wait for, a Wait.
    """

    slots: int
    jobs: int
    running: int = 0
    waiting: int = 0
    why: int = Wait.NOTHING


class Member(NamedTuple):
    """A build in a table: its process, 0 where that has no number here; the rows that it holds."""

    process: int
    held: int
    standing: Standing


class Table:
    """One build's part of the file.

    common  whether the file is others', too.
    Raises OSError: CrowdedError, SharedError where others may change what is to be the user's own.
    """

    def __init__(self, path: Path, *, common: bool = False) -> None:
        self.path = path
        self._id = _WHO.pack(os.urandom(4), os.getpid(), _namespace())
        self.fd = _open(path, common=common)
        try:
            self._row = self._moved_in()
        except BaseException:
            os.close(self.fd)
            raise

    def take(self, slot: int) -> bool:
        """Whether it was free; it is ours then."""
        if not _lock(self.fd, slot, fcntl.F_WRLCK):
            return False
        self._write(slot, self._id)
        return True

    def give(self, slot: int) -> None:
        """Somebody else may have it."""
        self._write(slot, _NOBODY)
        _lock(self.fd, slot, fcntl.F_UNLCK)

    def wish(self, *, wishing: bool) -> None:
        """Whether we have fewer than we could use."""
        self._write(SLOTS + self._row, self._id if wishing else _NOBODY)

    def tell(self, standing: Standing) -> None:
        """For who asks how the builds stand."""
        most = [min(each, 0xFFFF) for each in standing]
        with contextlib.suppress(OSError):  # no room: then nobody is told
            os.pwrite(self.fd, _STANDING.pack(self._id, *most), _place_of(self._row))

    def announce(self) -> None:
        """Others look: something was given back."""
        with contextlib.suppress(OSError):  # they look again when a job of theirs ends
            os.utime(self.fd)

    def holders(self, slots: int, *, stopped: bool = False) -> list[bytes]:
        """Whose those rows are that others hold, who run or who are stopped."""
        return self._rows(0, slots, stopped=stopped)

    def wishers(self) -> list[bytes]:
        """Others who have fewer than they could use."""
        return self._rows(SLOTS, BUILDS)

    def close(self) -> None:
        """Once.  The last one takes the file with him."""
        with contextlib.suppress(OSError):
            os.pwrite(self.fd, bytes(_STANDING.size), _place_of(self._row))
        _lock(self.fd, SLOTS + self._row, fcntl.F_UNLCK)
        fd, self.fd = self.fd, -1
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(self.path)
        os.close(fd)

    def _rows(self, first: int, count: int, *, stopped: bool = False) -> list[bytes]:
        """What a killed build left is nobody's."""
        rows = os.pread(self.fd, count * _ID, first * _ID) if self.fd >= 0 else b""
        if rows.count(0) == len(rows):
            return []
        found = []
        for at in range(0, len(rows) - _ID + 1, _ID):
            who = rows[at : at + _ID]
            if who in (_NOBODY, self._id) or not _is_locked(self.fd, first + at // _ID):
                continue
            if _is_stopped(who) is stopped:
                found.append(who)
        return found

    def _moved_in(self) -> int:
        for row in range(BUILDS):
            if _lock(self.fd, SLOTS + row, fcntl.F_WRLCK):
                self._row = row
                self.wish(wishing=False)
                return row
        raise CrowdedError(f"{self.path}: more than {BUILDS} builds")

    def _write(self, row: int, whose: bytes) -> None:
        with contextlib.suppress(OSError):  # no room: then he counts for nobody
            os.pwrite(self.fd, whose, row * _ID)


def members(path: Path) -> list[Member]:
    """The builds that share a file.  Raises OSError where it cannot be read."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        rows = os.pread(fd, SLOTS * _ID, 0)
        told = os.pread(fd, BUILDS * _STANDING.size, _STANDINGS)
        held = [
            rows[at : at + _ID]
            for at in range(0, len(rows) - _ID + 1, _ID)
            if any(rows[at : at + _ID]) and _is_locked(fd, at // _ID)
        ]
        found = []
        for row, (who, *said) in enumerate(_standings(told)):
            if any(who) and _is_locked(fd, SLOTS + row):
                _, process, space = _WHO.unpack(who)
                here = process if space == _namespace() else 0
                found.append(Member(here, held.count(who), Standing(*said)))
        return found
    finally:
        os.close(fd)


def _standings(data: bytes) -> Iterable[tuple[bytes, int, int, int, int, int]]:
    whole = len(data) // _STANDING.size * _STANDING.size
    return _STANDING.iter_unpack(data[:whole])


def _place_of(row: int) -> int:
    return _STANDINGS + row * _STANDING.size


def _namespace() -> int:
    """Whose numbers those of processes are."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino & 0xFFFFFFFF
    except OSError:
        return 0


def _lock(fd: int, row: int, how: int) -> bool:
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _LOCK.pack(how, os.SEEK_SET, row, 1, 0))
    except OSError:
        return False
    return True


def _is_locked(fd: int, row: int) -> bool:
    asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, row, 1, 0)
    try:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, asked)
    except OSError:
        return False
    return bool(_LOCK.unpack(answer)[0] != fcntl.F_UNLCK)


def _is_stopped(who: bytes) -> bool:
    """By Ctrl-Z, as far as we can see."""
    _, process, space = _WHO.unpack(who)
    if space != _namespace():
        return False
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in "Tt"


def _open(path: Path, *, common: bool) -> int:
    """The file that is there now, marked as in use.  Raises OSError."""
    for _ in range(_TRIES):
        fd = _opened_by_all(path) if common else private.opened(path, _OWN, make=True)
        try:
            # Never waits: who leaves as the last one has it to himself for a moment, anybody with
            # a right to open it for as long as he likes.
            with contextlib.suppress(FileNotFoundError, BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                info = os.fstat(fd)
                if os.path.samestat(info, os.stat(path)):
                    os.ftruncate(fd, _place_of(BUILDS))
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        time.sleep(_PAUSE)
    raise OSError(f"{path} cannot be locked")


def _opened_by_all(path: Path) -> int:
    """A file in a folder where others write, too.  It is a file of that name alone: what they may
    have linked there is not changed.  Raises OSError."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)  # where the folder is sticky, O_CREAT fails for others' files
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            os.fchmod(fd, 0o660 | (stat.S_IMODE(os.stat(path.parent).st_mode) & 0o006))
            return fd
        fd = os.open(path, flags)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
        os.close(fd)
        raise private.SharedError(os.fspath(path), "is not a file of that name alone")
    return fd
