"""The journal: what a build changes is written down before, so that it can be taken back.

Guards write what the processes of the build are about to do (native/guard/change/journal.c), this
server what it promised and what it does itself; native/keeper/rollback.c undoes by both, newest
first, here or after everything has been killed.  The layout is native/layout/undo.h's.

Where nothing can be undone the server writes all the same what concerns its promises: a kill leaves
nothing half-made, no older target out of sight, and no file that speaks of what was not done.
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
from typing import Final, NamedTuple

from smpmake import native
from smpmake.disk.shared import shared_map
from smpmake.disk.trees import remove_tree
from smpmake.protocol import layout
from smpmake.protocol.layout import (
    UNDO_ASIDE,
    UNDO_DATA,
    UNDO_EMPTY,
    UNDO_ENDED,
    UNDO_GONE,
    UNDO_GREW,
    UNDO_ISSUED,
    UNDO_MAGIC,
    UNDO_MARK,
    UNDO_META,
    UNDO_MOVE,
    UNDO_NEW,
    UNDO_SEGMENT,
    UNDO_STAYS,
    UNDO_STORES,
    UNDO_VERSION,
    UNDO_WHOLE,
)
from smpmake.undo.backup_dirs import backup_dirs, excepted, move
from smpmake.undo.entries import ENTRY, Change, Vow, scan, writer_of

_AT: Final = layout.UNDO_HEAD_AT
_STORE: Final = layout.UNDO_STORE_LAYOUT
_EXCEPT: Final = struct.Struct("256s")
# Words of 64 bits, and one of 32.
_USED, _ROOM, _START = _AT["used"] // 8, _AT["room"] // 8, _AT["start"] // 8
_BASE, _KEPT, _ISSUES = _AT["base_ns"] // 8, _AT["kept"] // 8, _AT["issues"] // 8
_BUDGET: Final = _AT["budget"] // 8
_LOST, _STORES = _AT["lost"] // 4, _AT["stores"] // 4
_TRIES, _PAUSE = 200, 0.05  # to have a process; s between two
_COMPLETE, _IN_PART = 0, 1  # how an undoing ends (native/keeper/keeper.c)
_COARSE: Final = 5  # CLOCK_REALTIME_COARSE: what file times are made of


class Undone(NamedTuple):
    """How an undoing ended.

    complete    the tree is what it was.
    complaints  what could not be undone, and where what it would have brought back is now.
    """

    complete: bool
    complaints: list[str]


class UndoJournal:
    """One per server.  Raises NoRoomError or OSError where there is no room for one.

    undoes  whether everything is written down, so that it can be undone (`begin`).
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        own = folder / "undo"
        self._kept = own / "kept"
        self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.undoes = False
        self._map = shared_map(own / "head", layout.UNDO_HEAD_LAYOUT.size)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._log = os.open(own / "log", flags, 0o600)
        self._server = os.open(own / "server", flags, 0o600)
        self._written = 0
        self._moved = False
        self._vows: dict[int, list[Vow]] = {}
        self._words = memoryview(self._map).cast("Q")
        self._halves = memoryview(self._map).cast("I")
        self._halves[0], self._halves[1] = UNDO_MAGIC, UNDO_VERSION
        self._stores: list[str] = []
        self._devices: list[int] = []
        self._add_store(self._kept)

    def begin(self, tree: str, budget: int) -> None:
        """From now on everything is undone.  Raises OSError where there is no room for that.

        budget  bytes of older contents that may be kept, no more than a quarter of what is free;
                what would need more waits until everything promised before is final.
        """
        os.posix_fallocate(self._log, 0, UNDO_SEGMENT)
        self._words[_BUDGET] = budget
        # Outside of the session's folder: nothing may fail behind it.
        for store in backup_dirs(tree, self._kept):
            self._add_store(store)
        at = _AT["except"]
        for each in excepted(self._folder, _EXCEPT.size):
            _EXCEPT.pack_into(self._map, at, each)
            at += _EXCEPT.size
        self._words[_ROOM] = UNDO_SEGMENT
        self._words[_BASE] = now_ns()
        self.undoes = True

    def _add_store(self, store: Path) -> None:
        # A build may remove what is large to have room for what comes.
        free = os.statvfs(store)
        most = free.f_bavail * free.f_frsize // 4
        self._words[_BUDGET] = min(self._words[_BUDGET], most)
        device = _device(os.stat(store).st_dev)
        at = _AT["store"] + len(self._stores) * _STORE.size
        _STORE.pack_into(self._map, at, device, os.fsencode(store))
        self._stores.append(os.fspath(store))
        self._devices.append(device)
        self._halves[_STORES] = len(self._stores)

    # ------------------------------------------------------------------ its state

    @property
    def position(self) -> int:
        """Where the next entry of a guard will stand."""
        return self._words[_USED]

    @property
    def is_whole(self) -> bool:
        """Whether it reaches back to the beginning of the build."""
        return not self._moved and not self.is_incomplete

    @property
    def is_incomplete(self) -> bool:
        """Whether something could not be written down, so that nothing can be undone now."""
        return bool(self._halves[_LOST])

    @property
    def kept(self) -> int:
        """Bytes of older contents that are kept."""
        return self._words[_KEPT]

    def mark_incomplete(self) -> None:
        """Something happens that cannot be undone, and cannot wait."""
        if self.undoes:
            self._halves[_LOST] = 1

    def grow(self, *, wanted: bool = False) -> None:
        """Makes room for what guards will write, before they need it."""
        used, room = self._words[_USED], self._words[_ROOM]
        while used + UNDO_SEGMENT // 2 > room or (wanted and used >= room - UNDO_SEGMENT):
            try:
                os.posix_fallocate(self._log, room, UNDO_SEGMENT)
            except OSError:
                self.mark_incomplete()
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
        self._words[_BASE] = now_ns()
        self._halves[_LOST] = 0
        self._empty_stores()

    def rest(self) -> None:
        """Nothing is pending: where nothing can be undone, nothing need be known of what was."""
        if self._written and not self.undoes:
            self.commit()

    # ------------------------------------------------------------------ what the server writes

    def issued(self, number: int) -> None:
        """A command has been promised."""
        self._words[_ISSUES] += 1
        self._write(self._entry(UNDO_ISSUED, number))

    def ended(self, number: int) -> None:
        """A promise was kept."""
        kinds = (UNDO_ENDED,) if self.undoes else (UNDO_ENDED, UNDO_STAYS)
        self._write(b"".join(self._entry(kind, number) for kind in kinds))
        for vow in self._vows.pop(number, ()):
            if vow.kept and not self.undoes:
                with contextlib.suppress(OSError):
                    os.unlink(vow.kept)

    def stays(self, numbers: Iterable[int]) -> None:
        """What these commands made is to stay, though it was issued behind what has not ended."""
        self._write(b"".join(self._entry(UNDO_STAYS, number) for number in numbers))

    def sets_aside(self, number: int, path: str, info: os.stat_result) -> str:
        """A command is to make a file anew: until it has ended the older one is out of sight.

        Returns where that is, "" where it could not be moved.
        """
        store = self._store_for(path, info)
        vow = Vow(UNDO_GONE, path, info, self._item(store))
        try:
            text = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
            flags, store = UNDO_ASIDE, store + 1
            entry = self._entry(UNDO_GONE, number, path, text, info=info, flags=flags, store=store)
            if not self._write(entry):  # a kill would lose it
                return ""
            move(path, vow.kept)
        except OSError:
            return ""
        self._words[_KEPT] += info.st_size
        self._vows.setdefault(number, []).append(vow)
        return vow.kept

    def vouches(self, numbers: Iterable[int], path: str, source: str = "") -> None:
        """A file is about to say that commands are done.

        source  the file that is renamed to it: its tool makes it anew wherever it is missing.
        """
        kind, flags, info = UNDO_NEW, UNDO_EMPTY, None
        with contextlib.suppress(OSError):
            if not source:
                path = os.path.realpath(path)
            info = os.lstat(source or path)
            kind, flags = (UNDO_NEW if source else UNDO_META), 0
        for number in numbers:
            self._write(self._entry(kind, number, path, info=info, flags=flags))
            self._vows.setdefault(number, []).append(Vow(kind, path, info))

    def withdraw(self, number: int) -> None:
        """A command will not have been done: no file says so, and what it has not replaced of what
        was set aside for it is back."""
        for vow in reversed(self._vows.get(number, ())):
            vow.take_back()
        if not self.undoes:  # else it is still to be undone
            self.ended(number)

    def grew(self, path: str, info: os.stat_result) -> None:
        """A file that somebody has open may be appended to from now on."""
        self._write(self._entry(UNDO_DATA, -1, path, info=info, flags=UNDO_GREW))

    def makes(self, number: int, *paths: str) -> None:
        """What is not there is about to be made by a command, or by us for it."""
        self._write(b"".join(self._entry(UNDO_NEW, number, path) for path in paths))

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
                self.mark_incomplete()

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
            self.mark_incomplete()
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
        if self.kept > self._words[_BUDGET]:
            raise OSError(errno.EDQUOT, "beyond the budget")

    def _replaces(self, number: int, path: str, info: os.stat_result) -> None:
        if stat.S_ISLNK(info.st_mode):
            self._write(self._entry(UNDO_GONE, number, path, os.readlink(path), info=info))
            return
        store = self._store_for(path, info)
        if stat.S_ISREG(info.st_mode) and self._devices[store] == _device(info.st_dev):
            self._affords(info.st_size)
            with contextlib.suppress(OSError):
                os.link(path, self._item(store))
                self._write(self._entry(UNDO_GONE, number, path, info=info, store=store + 1))
                return
        self.keeps(number, path, info)

    def _store_for(self, path: str, info: os.stat_result) -> int:
        """Which store is on a file's own file system; the first where none can be there."""
        device = _device(info.st_dev)
        if device not in self._devices and len(self._stores) < UNDO_STORES:
            for store in backup_dirs(os.path.dirname(path), self._kept):
                self._add_store(store)
        return self._devices.index(device) if device in self._devices else 0

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
        about = (0,) * 10
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
                info.st_ctime_ns,  # it was made then, or before
            )
        # Of a folder in which other changes stay the time stays, too.
        named = self.undoes and kind in (UNDO_NEW, UNDO_GONE, UNDO_MOVE)
        folder = _folder_time(path) if named else 0
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

    def _write(self, entries: bytes) -> bool:
        """Writes entries whole, or (where the disk is full) not at all; returns whether."""
        try:
            done = os.pwrite(self._server, entries, self._written)
        except OSError:
            done = 0
        if done < len(entries):
            os.ftruncate(self._server, self._written)
            self.mark_incomplete()
        self._written += len(entries)
        return done == len(entries)

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

    def take_back(self, *, everything: bool) -> Undone:
        """Undoes everything, or what lies behind the first promise that was not kept.

        Nobody of the build may run meanwhile.  Raises OSError where no process can be had for it,
        in a while, or where it does not come to its end: then the journal is as it was.
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
        if done.returncode not in (_COMPLETE, _IN_PART):
            raise OSError(errno.ECHILD, f"the undoing ended with status {done.returncode}")
        was_whole = self.is_whole
        self.commit()
        self._moved = not (was_whole and everything)
        lines = done.stdout.decode(errors="replace").splitlines()
        return Undone(done.returncode == _COMPLETE, lines)

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

    def close(self, *, to_keeper: bool = False) -> None:
        """Gives everything back; what lies in the session's folder goes with that.

        to_keeper  what was kept stays: another process undoes by it.
        """
        for store in self._stores[1:] if not to_keeper else ():
            remove_tree(store)
        self._words.release()
        self._halves.release()
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
