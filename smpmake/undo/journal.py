"""The journal: what a build changes is written down before, so that it can be taken back.

Guards write what the processes of the build are about to do (native/guard/journal.c), this server
what it promised and what it does itself; native/takeback.c undoes by both, newest first, here or
after everything has been killed.  The layout is native/undo.h's.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from smpmake import native
from smpmake.disk.shared import shared_map
from smpmake.protocol import layout
from smpmake.protocol.layout import (
    UNDO_DATA,
    UNDO_ENDED,
    UNDO_GONE,
    UNDO_GREW,
    UNDO_ISSUED,
    UNDO_MAGIC,
    UNDO_MARK,
    UNDO_MOVE,
    UNDO_NEW,
    UNDO_SEGMENT,
    UNDO_STAYS,
    UNDO_VERSION,
    UNDO_WHOLE,
    structure,
)
from smpmake.undo.entries import ENTRY, Change, scan, writer_of
from smpmake.undo.places import excepted, store_near

_HEAD: Final = structure(layout.UNDO_HEAD_CODES, before="store")
_AT: Final = layout.UNDO_HEAD_AT
_STORE: Final = layout.UNDO_STORE_LAYOUT
_EXCEPT: Final = struct.Struct("256s")
# Words of 64 bits, and one of 32.
_USED, _ROOM, _START = _AT["used"] // 8, _AT["room"] // 8, _AT["start"] // 8
_BASE, _KEPT, _ISSUES = _AT["base_ns"] // 8, _AT["kept"] // 8, _AT["issues"] // 8
_LOST: Final = _AT["lost"] // 4
_TRIES, _PAUSE = 200, 0.05  # to have a process; s between two
_COARSE: Final = 5  # CLOCK_REALTIME_COARSE: what file times are made of


class UndoJournal:
    """One per session.  Raises NoRoomError or OSError where there is no room for one.

    budget  bytes of older contents that may be kept; what would need more waits until everything
            promised before is final.
    """

    def __init__(self, folder: Path, tree: str, budget: int) -> None:
        self._folder = folder
        own = folder / "undo"
        kept = own / "kept"
        kept.mkdir(mode=0o700, parents=True)
        self._budget = budget
        self._map = shared_map(own / "head", 8 * (_ISSUES + 1))
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._log = os.open(own / "log", flags, 0o600)
        self._server = os.open(own / "server", flags | os.O_APPEND, 0o600)
        self._written = 0
        self._moved = False
        try:
            os.posix_fallocate(self._log, 0, UNDO_SEGMENT)
        except OSError:
            os.close(self._log)
            os.close(self._server)
            raise
        # Outside of the session's folder: nothing may fail behind it.
        stores = [kept, *store_near(tree, kept)]
        self._stores = [os.fspath(store) for store in stores]
        _HEAD.pack_into(
            self._map,
            0,
            UNDO_MAGIC,
            UNDO_VERSION,
            0,
            UNDO_SEGMENT,
            0,
            now_ns(),
            0,
            budget,
            0,
            len(stores),
        )
        at = _HEAD.size
        self._devices = []
        for store in self._stores:
            device = _device(os.stat(store).st_dev)
            self._devices.append(device)
            _STORE.pack_into(self._map, at, device, os.fsencode(store))
            at += _STORE.size
        at = _AT["except"]
        for each in excepted(folder, _EXCEPT.size):
            _EXCEPT.pack_into(self._map, at, each)
            at += _EXCEPT.size
        self._words = memoryview(self._map).cast("Q")
        self._times = memoryview(self._map).cast("q")
        self._halves = memoryview(self._map).cast("I")

    # ------------------------------------------------------------------ its state

    @property
    def position(self) -> int:
        """Where the next entry of a guard will stand."""
        return self._words[_USED]

    @property
    def is_whole(self) -> bool:
        """Whether it reaches back to the beginning of the build."""
        return not self._moved and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """Whether something could not be written down, so that nothing can be undone now."""
        return bool(self._halves[_LOST])

    @property
    def kept(self) -> int:
        """Bytes of older contents that are kept."""
        return self._words[_KEPT]

    def lose(self) -> None:
        """Something happens that cannot be undone, and cannot wait."""
        self._halves[_LOST] = 1

    def grow(self, *, wanted: bool = False) -> None:
        """Makes room for what guards will write, before they need it."""
        used, room = self._words[_USED], self._words[_ROOM]
        while used + UNDO_SEGMENT // 2 > room or (wanted and used >= room - UNDO_SEGMENT):
            try:
                os.posix_fallocate(self._log, room, UNDO_SEGMENT)
            except OSError:
                self.lose()
                return
            room += UNDO_SEGMENT
            self._words[_ROOM] = room
            wanted = False

    def commit(self) -> None:
        """What was done so far is final: from now on it cannot be undone, and need not be."""
        os.ftruncate(self._server, 0)
        self._written = 0
        self._words[_START] = self._words[_USED]
        self._moved = True
        self._times[_BASE] = now_ns()
        self._halves[_LOST] = 0
        self._empty_stores()

    # ------------------------------------------------------------------ what the server writes

    def issued(self, number: int, absent: Iterable[str]) -> None:
        """A command has been promised; `absent` are its outputs that are not there yet."""
        self._words[_ISSUES] += 1
        entries = [self._entry(UNDO_ISSUED, number)]
        entries += [self._entry(UNDO_NEW, number, path) for path in absent]
        self._write(b"".join(entries))

    def ended(self, number: int) -> None:
        """A promise was kept."""
        self._write(self._entry(UNDO_ENDED, number))

    def stays(self, numbers: Iterable[int]) -> None:
        """What these commands made is to stay, though it was issued behind what has not ended."""
        self._write(b"".join(self._entry(UNDO_STAYS, number) for number in numbers))

    def grew(self, path: str, info: os.stat_result) -> None:
        """A file that somebody has open may be appended to from now on."""
        self._write(self._entry(UNDO_DATA, -1, path, info=info, flags=UNDO_GREW))

    def makes(self, number: int, path: str) -> None:
        """What a command makes first is about to be made by us."""
        self._write(self._entry(UNDO_NEW, number, path))

    def renames(self, number: int, source: str, destination: str) -> None:
        """A command's rename is about to be done by us.  Raises OSError."""
        before = os.lstat(source)
        with contextlib.suppress(FileNotFoundError):
            self._replaces(number, destination, os.lstat(destination))
        self._write(self._entry(UNDO_MOVE, number, source, destination, info=before))

    def removes(self, number: int, path: str) -> None:
        """What a command has made, or was to make, is about to be removed by us."""
        try:
            self._replaces(number, path, os.lstat(path))
        except OSError:
            if os.path.lexists(path):
                self.lose()

    def keeps(self, number: int, path: str, info: os.stat_result) -> None:
        """A command that has no guard will write an older file: its contents are copied."""
        try:
            if stat.S_ISLNK(info.st_mode):
                self._replaces(number, path, info)
                self._keeps_behind(number, path)
            elif stat.S_ISREG(info.st_mode):
                for kind in (UNDO_GONE, UNDO_DATA):  # it may be replaced, or written over
                    self._copies(kind, number, path, info)
            else:
                return
        except OSError:
            self.lose()
            return
        self._write(self._entry(UNDO_NEW, number, path))

    def _keeps_behind(self, number: int, link: str) -> None:
        """The same for what a link leads to: it is not known which of both will be written."""
        target = os.path.realpath(link)
        try:
            info = os.lstat(target)
        except OSError:
            self._write(self._entry(UNDO_NEW, number, target))
            return
        if target != link and not stat.S_ISLNK(info.st_mode):  # else it leads round
            self.keeps(number, target, info)

    def _copies(self, kind: int, number: int, path: str, info: os.stat_result) -> None:
        import shutil

        self._affords(info.st_size)
        shutil.copy2(path, self._item(0))  # it may be moved back as it is
        self._write(self._entry(kind, number, path, info=info, store=1, flags=UNDO_WHOLE))

    def _affords(self, size: int) -> None:
        # Guards count here, too; one that does so at this moment is forgotten.
        self._words[_KEPT] += size
        if self.kept > self._budget:
            raise OSError(errno.EDQUOT, "beyond the budget")

    def _replaces(self, number: int, path: str, info: os.stat_result) -> None:
        if stat.S_ISLNK(info.st_mode):
            self._write(self._entry(UNDO_GONE, number, path, os.readlink(path), info=info))
            return
        device = _device(info.st_dev)
        store = self._devices.index(device) if device in self._devices else -1
        if stat.S_ISREG(info.st_mode) and store >= 0:
            self._affords(info.st_size)
            with contextlib.suppress(OSError):
                os.link(path, self._item(store))
                self._write(self._entry(UNDO_GONE, number, path, info=info, store=store + 1))
                return
        self.keeps(number, path, info)

    def _item(self, store: int) -> str:
        """The name of what the next entry keeps."""
        return f"{self._stores[store]}/s{self._written:016x}"

    def _entry(
        self,
        kind: int,
        number: int,
        path: str = "/",
        other: str = "",
        *,
        info: os.stat_result | None = None,
        flags: int = 0,
        store: int = 0,
    ) -> bytes:
        texts = b"%b\0%b\0" % (os.fsencode(path), os.fsencode(other))
        size = (ENTRY.size + len(texts) + 7) & ~7
        about = (0,) * 9
        if info is not None:
            about = (
                _device(info.st_dev),
                info.st_ino,
                info.st_mode,
                info.st_uid,
                info.st_gid,
                store,
                info.st_size,
                info.st_atime_ns,
                info.st_mtime_ns,
            )
        folder = _folder_time(path) if kind in (UNDO_NEW, UNDO_GONE, UNDO_MOVE) else 0
        target = _folder_time(other) if kind == UNDO_MOVE else 0
        return ENTRY.pack(
            size,
            UNDO_MARK,
            self.position,
            kind,
            flags,
            number + 1,
            now_ns(),
            *about,
            folder,
            target,
            0,
            0,
        ) + texts.ljust(size - ENTRY.size, b"\0")

    def _write(self, entries: bytes) -> None:
        try:
            done = os.write(self._server, entries)
        except OSError:
            done = 0
        if done < len(entries):
            self.lose()
        self._written += len(entries)

    # ------------------------------------------------------------------ undoing

    @property
    def end(self) -> tuple[int, int]:
        """Where both logs end now (see `changes`)."""
        return self.position, self._written

    def changes(self, since: tuple[int, int] = (0, 0)) -> list[Change]:
        """What was written down since an earlier `end`, or since the last commit; oldest first."""
        start, written = max(since[0], self._words[_START]), min(since[1], self._written)
        log = os.pread(self._log, self.position - start, start)
        server = os.pread(self._server, self._written - written, written)
        found = [(c.at, 1, c) for c in scan(log)]
        found += [(c.at, 0, c) for c in scan(server)]
        found.sort(key=lambda each: each[:2])
        return [change for _, _, change in found]

    def writer_of(self, path: str) -> tuple[int, int] | None:
        """The process that last made or changed a file, and its parent, as numbers.

        path: its name, absolute.  None where the newest part of the journal (up to two mebibytes)
        does not tell.
        """
        start = max(0, self.position // UNDO_SEGMENT - 1) * UNDO_SEGMENT
        return writer_of(path, os.pread(self._log, self.position - start, start), start)

    def take_back(self, *, everything: bool) -> list[str]:
        """Undoes everything, or what lies behind the first promise that was not kept.

        Nobody of the build may run meanwhile.  Returns complaints: what could not be undone.
        Raises OSError where no process can be had for it, in a while.
        """
        import subprocess  # few builds need it, all would wait for it

        extent = "all" if everything else "stop"
        command = [native.program("keeper"), "undo", os.fspath(self._folder), extent]
        for left in reversed(range(_TRIES)):
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
                break
            except BlockingIOError:  # the user has as many as he may
                if not left:
                    raise
                time.sleep(_PAUSE)
        lines = done.stdout.decode(errors="replace").splitlines()
        was_whole = self.is_whole
        self.commit()
        self._moved = not (was_whole and everything)
        if done.returncode != 0:
            lines.append(f"the undoing ended with status {done.returncode}")
        return lines

    def _empty_stores(self) -> None:
        self._words[_KEPT] = 0
        for store in self._stores:
            with contextlib.suppress(OSError):  # somebody else has removed it
                for entry in os.scandir(store):
                    if not entry.is_dir(follow_symlinks=False):  # what is to be used again
                        os.unlink(entry.path)

    @property
    def shelf(self) -> Path:
        """A folder's name, on the tree's file system, for what is to be used again."""
        return Path(self._stores[-1], "shelf")

    def close(self) -> None:
        """Gives everything back; what lies in the session's folder goes with that."""
        import shutil

        for store in self._stores[1:]:
            shutil.rmtree(store, ignore_errors=True)
        for view in (self._words, self._times, self._halves):
            view.release()
        self._map.close()
        os.close(self._log)
        os.close(self._server)


def now_ns() -> int:
    """The clock that file times are made of, ns."""
    return time.clock_gettime_ns(_COARSE)


def _device(number: int) -> int:
    return os.major(number) << 32 | os.minor(number)


def _folder_time(path: str) -> int:
    try:
        return os.stat(os.path.dirname(path)).st_mtime_ns
    except OSError:
        return 0
