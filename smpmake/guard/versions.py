"""Files that commands were issued for and others have changed since: who still is to find them.

Serially a command would have read what was there when it was issued.  Here others go on meanwhile,
and change, remove, replace or add files that it may read without having said so.  Before they do,
what was there is kept, and the command's guard is shown that under the old name; of what came later
it is told that it is not there.  Nobody waits, but for a command that has the file open just now.
"""

from __future__ import annotations

import contextlib
import enum
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from smpmake.disk.copying import copy_whole, remove_whole
from smpmake.guard.files import File
from smpmake.guard.versioned_paths import VersionedPaths
from smpmake.schedule.hazards import EVERYBODY, Hazards
from smpmake.schedule.job import Job

_MOST_COPIED: Final = 1 << 20  # bytes; a copy is made while the server serves nobody else
_LONGEST_WAY: Final = 40  # links
ABSENT: Final = ""


class Change(enum.Enum):
    """What becomes of the file at a path."""

    WRITTEN = enum.auto()  # it is another afterwards: its contents, mode, owner, times, names ...
    MOVED = enum.auto()  # it has another name
    GONE = enum.auto()  # it is removed or replaced


class _Version(NamedTuple):
    """What was at a path.

    limit   the commands below this number are to find it, if they were issued when it was there:
    since   its last change (ns); 0 where there was nothing,
    after   or behind the command of this number, which has made it.
    kept    where it is now, or ABSENT.
    file    which file it was, where that can still be found: under this name, or another.
    private whether `kept` is a file of ours.
    """

    path: str
    limit: int
    since: int
    after: int
    kept: str = ABSENT
    file: File | None = None
    private: bool = False

    def is_for(self, job: Job) -> bool:
        """Whether a command was issued when it was there, or was to be there."""
        was_there = job.issued_ns >= self.since or job.number > self.after
        return job.number < self.limit and was_there


class Versions:
    """One per engine.

    folder  where copies lie.
    kept    makes names known to guards: of versions, and of what commands have made, which may be
            changed now under those that were issued behind them.
    opened  whether a running command has opened a file of that name, as far as is known.
    """

    def __init__(
        self,
        hazards: Hazards,
        folder: Path,
        kept: VersionedPaths,
        opened: Callable[[Job, str], bool],
    ) -> None:
        self._hazards = hazards
        self._folder = folder
        self._kept_names = kept
        self._opened = opened
        self._in_order: deque[_Version] = deque()
        self._by_path: dict[str, list[_Version]] = {}
        self._by_file: dict[File, list[_Version]] = {}
        self._made: dict[str, tuple[int, int]] = {}
        self._products: deque[tuple[int, str]] = deque()
        self._shared: set[str] = set()
        self._count = 0
        self._themselves: dict[File, str] = {}

    def keep_version(
        self, path: str, before: int, change: Change, by: Job | None = None
    ) -> set[Job]:
        """A path is about to be changed, and some commands may still read what is there.

        before  the number of the command that changes it; EVERYBODY for the driver.
        by      the command that does so, if it is an output of that.
        Returns who has to be waited for.
        """
        self._rename(path)
        try:
            info = os.lstat(path)
        except OSError:
            info = None
        if info is not None and info.st_nlink > 1 and _file(info) in self._themselves:
            if not self._part(info):
                return self._hazards.may_read(before)
            info = os.lstat(path)
        if info is not None and not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
            return set()
        since, after = info.st_ctime_ns if info is not None else 0, self._maker(path)
        readers = self._hazards.may_read(before, since, after, by)
        waits = {job for job in readers if not job.guarded}
        readers -= waits
        if not readers:
            return waits
        version = _Version(path, min(before, self._hazards.next_number), since, after=after)
        if info is None:
            self._add(version)
            return waits
        if stat.S_ISLNK(info.st_mode):
            if os.path.isdir(path):
                return waits | readers
            self._add(version._replace(kept=os.path.realpath(path)))
            return waits
        kept = self._kept(path, info, change)
        if not kept:
            return waits | readers
        linked = info.st_nlink > 1
        stays = change is Change.WRITTEN or linked
        file = _file(info) if stays else None
        self._add(version._replace(kept=kept, file=file, private=True), linked=linked)
        if change is Change.WRITTEN:  # guards know of it: who has not opened it will not
            waits |= {job for job in readers if job.slot is not None and self._opened(job, path)}
        return waits

    def _rename(self, path: str) -> None:
        """A file that was written to under another name will not be found by its inode any more."""
        if self._by_file:
            with contextlib.suppress(OSError):
                info = os.stat(path)
                for older in self._by_file.get((info.st_dev, info.st_ino), [])[:]:
                    if older.path != path:
                        self._add(older._replace(path=path, file=None, private=False))

    def version_for(self, job: Job, path: str) -> str | None:
        """What a command is to find at a path: another path, ABSENT, or None for what is there."""
        found = self._of(job, path)
        for _ in range(8):  # a link that was changed, to a file that was
            if not found or (further := self._of(job, found)) is None:
                break
            found = further
        return self._shown(found) if found else found

    def _of(self, job: Job, path: str) -> str | None:
        if not self._by_path:
            return None
        for name in _on_the_way(path):
            kept = self._named(job, name)
            if kept is not None:
                return kept
        if self._by_file:
            with contextlib.suppress(OSError):
                info = os.stat(path)
                for version in self._by_file.get((info.st_dev, info.st_ino), ()):
                    if version.is_for(job):
                        return version.kept
        return None

    def _named(self, job: Job, name: str) -> str | None:
        versions = self._by_path.get(name, ())
        return next((version.kept for version in versions if version.is_for(job)), None)

    def has_older(self, job: Job, path: str) -> bool:
        """Whether something else of that name was there for a command; links are not followed."""
        return self._named(job, path) not in (None, ABSENT)

    def deleted_entries(self, folder: str, job: Job) -> set[str]:
        """The names in a folder that a command is to find, though later ones may have removed
        them, be it for a moment."""
        start = len(folder.rstrip("/")) + 1
        return {
            path[start:]
            for path in self._by_path
            if os.path.dirname(path) == folder and self._of(job, path)
        }

    def note_made(self, number: int, paths: Iterable[str], shared: Iterable[str]) -> None:
        """Command `number` has made files.

        shared  files that it has written without having said so: several commands may keep common
                books, with locks of their own, and each must find them as they are.
        """
        limit = self._hazards.next_number
        if limit > 0:
            self._shared.update(shared)
        for path in paths if limit > number + 1 else ():  # somebody was issued behind it
            self._made[path] = number, limit
            self._products.append((limit, path))
            self._kept_names.note_made(path)

    def _maker(self, path: str) -> int:
        """The number of the command that has made a file while others waited."""
        return self._made[path][0] if path in self._made else EVERYBODY

    def was_made_before(self, job: Job, path: str) -> bool:
        """Whether a file that came into being behind a command's issue is the work of earlier ones.

        That is: of those which had still to make it then.
        """
        number, limit = self._made.get(path, (job.number, 0))
        return number < job.number < limit or path in self._shared

    def has_past(self, path: str) -> bool:
        """Whether something else was at a path, or nothing, for commands that may be pending."""
        return path in self._made or path in self._by_path

    def drop_versions(self) -> None:
        """Drops the older files that no pending command can look for any more."""
        oldest = self._hazards.oldest_undeclared
        while self._products and (oldest is None or self._products[0][0] <= oldest):
            limit, path = self._products.popleft()
            self._kept_names.forget_made(path)
            if self._made.get(path, (0, 0))[1] == limit:
                del self._made[path]
        if oldest is None:
            self._shared.clear()
        while self._in_order and (oldest is None or self._in_order[0].limit <= oldest):
            version = self._in_order.popleft()
            _drop(self._by_path, version.path, version)
            if version.file is not None:
                _drop(self._by_file, version.file, version)
            if version.path not in self._by_path:
                self._kept_names.forget_paths(version.path)
            if version.private:
                with contextlib.suppress(OSError):
                    self._themselves.pop(_file(os.stat(version.kept)), None)
                remove_whole(version.kept)

    def _add(self, version: _Version, *, linked: bool = False) -> None:
        self._kept_names.version_path(version.path, version.limit, linked=linked)
        self._by_path.setdefault(version.path, []).append(version)
        if version.file is not None:
            self._by_file.setdefault(version.file, []).append(version)
        # Commands ask in any order, and what is dropped a little late does no harm.
        self._in_order.append(version)

    def _kept(self, path: str, info: os.stat_result, change: Change) -> str:
        """Where the file of now is to be found from now on; "" where it cannot be kept.

        A file that goes is kept itself, if that gives no other name of it one more to show.
        """
        self._count += 1
        kept = f"{self._folder}/{self._count}"
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if change is Change.GONE and info.st_nlink == 1:
                os.link(path, kept)
                self._themselves[_file(info)] = kept
                return kept
        return kept if copy_whole(path, kept, info, info.st_nlink, _MOST_COPIED) else ""

    def _shown(self, kept: str) -> str:
        """A file that is kept itself had one name; if the undo journal has it too it has two."""
        with contextlib.suppress(OSError):
            info = os.stat(kept)
            if info.st_nlink > 1:
                self._part(info)
        return kept

    def _part(self, info: os.stat_result) -> bool:
        """Of a file that is kept itself a copy is kept from now on; whether it could be made.

        It may be there still: who wanted to remove it could not, and may write to it instead.
        """
        kept = self._themselves.get(_file(info), "")
        if not kept:
            return True
        if not copy_whole(kept, f"{kept}.1", info, 1, info.st_size):
            return False
        os.rename(f"{kept}.1", kept)
        del self._themselves[_file(info)]
        return True


def _file(info: os.stat_result) -> File:
    return info.st_dev, info.st_ino


def _on_the_way(path: str) -> list[str]:
    """A path, and those that it leads to by links, one after the other."""
    found = [path]
    while len(found) < _LONGEST_WAY:
        try:
            target = os.readlink(found[-1])
        except OSError:
            break
        folder, name = os.path.split(os.path.join(os.path.dirname(found[-1]), target))
        found.append(f"{os.path.realpath(folder)}/{name}")
    return found


def _drop(table: dict[Any, list[_Version]], key: Any, version: _Version) -> None:
    table[key].remove(version)
    if not table[key]:
        del table[key]
