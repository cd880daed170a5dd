"""Results that need not be made twice: a build was undone whole, and is run once more.

What a command made is put aside before the undoing.  When the same command is issued again, in the
same folder and environment, and all that it read is what it was, it gets its results back instead
of being run.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from smpmake import variables
from smpmake.protocol.layout import (
    UNDO_DATA,
    UNDO_ENDED,
    UNDO_ISSUED,
    UNDO_META,
    UNDO_MOVE,
    UNDO_NEW,
    UNDO_STAYS,
    UNDO_SWAP,
)
from smpmake.protocol.wire import Invoke
from smpmake.protocol.working import Result
from smpmake.records import CommandRecord
from smpmake.schedule.names import is_product
from smpmake.undo.backup_dirs import move
from smpmake.undo.entries import Change
from smpmake.undo.journal import UndoJournal

_SHARE = 4  # of what is free a quarter is kept
_PREFIXES = tuple(map(os.fsencode, variables.PREFIXES))
Print = tuple[int, int, int] | None
"""What a file was: its inode, size and time; None where there was none."""


class Finished(NamedTuple):
    """A command that has succeeded.

    result    how, with what it printed.
    made      what was there at its end of all that it had written.
    is_known  whether all that it read is known.
    """

    record: CommandRecord
    invoke: Invoke
    argv: bytes
    result: Result
    made: dict[str, Print]
    is_known: bool


class _Results:
    """What is kept of a command.

    files      where each of its results is now, and where it lies; copied if changed in place.
    unchanged  what it read and nobody had changed, as it is before the undoing; behind it, too, or
               it was another file that stood there under the same name.
    hashes     what others had made before.
    places     folders in which it found, or looked for, files.
    """

    __slots__ = ("files", "finished", "hashes", "places", "unchanged")

    def __init__(self, finished: Finished, places: frozenset[str] = frozenset()) -> None:
        self.finished = finished
        self.files: list[_File] = []
        self.unchanged: dict[str, Print] = {}
        self.hashes: dict[str, str] = {}
        self.places = places


class _File:
    __slots__ = ("in_place", "kept", "now", "path")

    def __init__(self, path: str, now: str, in_place: bool) -> None:
        self.path = path
        self.now = now
        self.in_place = in_place
        self.kept = ""


def prints_of(paths: Iterable[str]) -> dict[str, Print]:
    """What files are now, those that are there."""
    found = {path: _print(path, follow=False) for path in paths}
    return {path: what for path, what in found.items() if what is not None}


def key_of(invoke: Invoke, argv: bytes) -> bytes:
    """Equal for commands that do the same with the same files."""
    variables = sorted(v for v in invoke.env.split(b"\0") if not v.startswith(_PREFIXES))
    handed_on = b"%d %d %d %d %d" % (
        *(invoke.mask, invoke.inherited),
        *(invoke.ignored, invoke.blocked, invoke.nice),
    )
    streams = b"one" if invoke.out == invoke.err else b"two"
    parts = (invoke.cwd, argv, streams, handed_on, invoke.limits, invoke.real, *variables)
    import hashlib  # few builds are undone

    return hashlib.blake2b(b"\0\0".join(parts), digest_size=16).digest()


class Reusable:
    """Results of an undone run.  `collect` before the undoing, `undone` behind it, then `take`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_key: dict[bytes, list[_Results]] = {}
        self._names: set[str] = set()
        self._new: list[str] = []
        self._count = 0
        self._seen = (0, 0)

    # ------------------------------------------------------------------ collecting

    def collect(self, finished: Iterable[Finished], changes: list[Change]) -> None:
        """Puts aside what the commands made, where it is theirs alone."""
        self._by_key.clear()
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:  # the session's folder has gone: all is made again
            return
        self._names.update(path for c in changes for path in c.made)
        past = _Past(changes)
        for each in finished:
            results = past.results_of(each) if each.is_known else None
            if results is not None:
                key = key_of(each.invoke, each.argv)
                self._by_key.setdefault(key, []).append(results)
        # The build may need the room, and gets no more of it than it would plainly.
        disk = os.statvfs(self._folder)
        room = disk.f_bavail * disk.f_frsize // _SHARE
        # Only now: one command's result is what the next one has read.
        for group in self._by_key.values():
            for results in list(group):
                room -= sum(was[1] for was in map(_print_of, results.files) if was)
                if room < 0:
                    group.remove(results)
                    continue
                for file in results.files:
                    # Never a name again: the undoing moves what was given back to where it lay.
                    file.kept = f"{self._folder}/{self._count}"
                    self._count += 1
                if not all(map(_stash, results.files)):
                    group.remove(results)

    def undone(self) -> None:
        """Everything is as it was at the beginning."""
        known: dict[str, Print] = {}
        for group in self._by_key.values():
            for results in list(group):
                for path, was in results.unchanged.items():
                    if path not in known:
                        known[path] = _print(path)
                    if known[path] != was:
                        group.remove(results)
                        break
        self._new = []
        self._seen = (0, 0)

    # ------------------------------------------------------------------ giving back

    def take(
        self, invoke: Invoke, argv: bytes, number: int, dated_ns: int, undo: UndoJournal
    ) -> Finished | None:
        """Puts a command's results into place, if there are some and they still hold.

        number, dated_ns  of the command that gets them.
        """
        group = self._by_key.get(key_of(invoke, argv))
        if not group:
            return None
        results = group.pop(0)
        if not self._finds_the_same(results, undo):
            return None
        if any(_print(path) != was for path, was in results.unchanged.items()):
            return None
        if any(_hash(path) != was for path, was in results.hashes.items()):
            return None
        try:
            for file in results.files:
                undo.renames(number, file.kept, file.path)
                move(file.kept, file.path)
                os.utime(file.path, ns=(dated_ns, dated_ns), follow_symlinks=False)
        except OSError:
            return None
        return results.finished

    def _finds_the_same(self, results: _Results, undo: UndoJournal) -> bool:
        """Whether nothing has appeared, where it looks, that was not made the last time.

        What is gone again (ar's temporary files have names of their own each time) does not count.
        """
        made = (path for c in undo.changes(self._seen) for path in c.made)
        self._new += [path for path in made if path not in self._names]
        self._seen = undo.end
        links = results.finished.record.kind != "compile"
        for path in self._new:
            if not links and is_product(path):
                continue
            near = any(
                path == place or path.startswith(f"{place}/") or place.startswith(f"{path}/")
                for place in results.places
            )
            if near and os.path.lexists(path):
                return False
        return True


class _Past:
    """Who changed what in the run that is to be undone, in the order of the serial build."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._places = {c.command: c.at for c in reversed(changes) if c.kind == UNDO_ISSUED}
        self._by_path: dict[str, list[tuple[tuple[int, int], int, Change]]] = {}
        self._by_command: dict[int, dict[str, None]] = {}
        for order, change in enumerate(changes):
            if change.kind in (UNDO_ISSUED, UNDO_ENDED, UNDO_STAYS):
                continue
            job = change.command in self._places
            who = (self._places[change.command], change.command) if job else (change.at, 1 << 62)
            for path in change.paths:
                self._by_path.setdefault(path, []).append((who, order, change))
                if job:
                    self._by_command.setdefault(change.command, {})[path] = None
        for history in self._by_path.values():
            history.sort(key=lambda each: each[:2])
        # Nothing changes meanwhile, and many commands have read the same.
        self._hash, self._print = functools.cache(_hash), functools.cache(_print)

    def results_of(self, finished: Finished) -> _Results | None:
        """What a command made and read; None where that is not its own, or not known."""
        number = finished.record.number
        if number not in self._places:
            return None
        place = (self._places[number], number)
        results = _Results(finished, places=_places(finished))
        own = self._by_command.get(number, {})
        for path in sorted({*own, *finished.made}):  # the same in every process
            if not self._add_file(results, path, place):
                return None
        for path in dict.fromkeys(finished.record.reads + finished.record.inputs):
            others = [who for who, _, _ in self._by_path.get(path, ()) if who != place]
            before = [who for who in others if who < place]
            if before and len(before) == len(others):
                results.hashes[path] = self._hash(path)
            elif others:
                return None  # it was something else in between
            elif path not in own:
                results.unchanged[path] = self._print(path)
        return results

    def _add_file(self, results: _Results, path: str, place: tuple[int, int]) -> bool:
        """Whether what became of a path that the command changed is known, and its own doing."""
        history = self._by_path.get(path, [])
        mine = [change for who, _, change in history if who == place]
        if not mine:  # it lies where nothing is undone, in a cache; or it is another's
            return not history
        behind = [change for who, _, change in history if who > place]
        kinds = {change.kind for change in mine}
        was = results.finished.made.get(path)
        if was is None:  # it came and went; or it was somebody's
            first = mine[0]
            return first.kind == UNDO_NEW or (first.kind == UNDO_MOVE and first.other == path)
        if kinds & {UNDO_DATA, UNDO_META} and os.path.islink(path):
            return False  # what was written is behind it
        if UNDO_SWAP in kinds or (kinds & {UNDO_DATA, UNDO_META} and history[0][0] < place):
            return False
        now = path
        if behind:  # somebody may have renamed it
            first = behind[0]
            if first.kind != UNDO_MOVE or first.path != path:
                return False
            now = first.other
        if _print(now, follow=False) != was:
            return False
        results.files.append(
            _File(path, now, bool(kinds & {UNDO_DATA, UNDO_META}) and UNDO_NEW not in kinds)
        )
        return True


_FOLDERS_OF = ("CPATH", "LIBRARY_PATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH")


def _places(finished: Finished) -> frozenset[str]:
    """Where a command finds files by their names: beside what it read, and what its words name."""
    cwd = os.fsdecode(finished.invoke.cwd)
    words = [os.fsdecode(word) for word in finished.argv.split(b"\0")]
    for variable in finished.invoke.env.split(b"\0"):
        name, _, value = os.fsdecode(variable).partition("=")
        if name in _FOLDERS_OF:
            words += value.split(":")
    named = [part for w in words for part in (w, w[2:], w.partition("=")[2]) if part]
    places = {os.path.normpath(os.path.join(cwd, part)) for part in named}
    own = set(finished.record.outputs)
    places |= {os.path.dirname(path) for path in finished.record.reads if path not in own}
    return frozenset(places - {"/", "/tmp", os.environ.get("TMPDIR", "/tmp")})


def _stash(file: _File) -> bool:
    """What was changed in place is copied: its file is to be as it was.  So is a file of several
    names, by whichever of them it is changed: such a one is made again."""
    try:
        info = os.lstat(file.now)
        if not stat.S_ISREG(info.st_mode) and not stat.S_ISLNK(info.st_mode):
            return False
        if info.st_nlink > 1:
            return False
        if file.in_place:
            import shutil  # few builds are undone

            shutil.copy2(file.now, file.kept, follow_symlinks=False)
        else:
            move(file.now, file.kept)
    except OSError:
        return False
    return True


def _print_of(file: _File) -> Print:
    return _print(file.now, follow=False)


def _print(path: str, *, follow: bool = True) -> Print:
    try:
        info = os.stat(path, follow_symlinks=follow)
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _hash(path: str) -> str:
    import hashlib

    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError:
        return ""
