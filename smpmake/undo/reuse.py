"""Results that need not be made twice: a build was undone whole, and is run once more.

What a command made is put aside before the undoing.  When the same command is issued again, in the
same folder and environment, and all that it read is what it was, it gets its results back instead
of being run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from smpmake.disk.include_path import could_hide
from smpmake.protocol.wire import Invoke, Result
from smpmake.records import CommandRecord
from smpmake.undo.journal import DATA, ENDED, ISSUED, META, MOVE, NEW, STAYS, Change, UndoJournal

Print = tuple[int, int, int] | str
"""What a file was: its inode, size and time where nobody has changed it, else a hash of it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has succeeded, what it printed, and whether all that it read is known."""

    record: CommandRecord
    invoke: Invoke
    argv: bytes
    result: Result
    is_known: bool


@dataclass(slots=True)
class _Results:
    """What is kept of a command: where its files lie, what they were read from."""

    finished: Finished
    files: list[tuple[str, str]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    prints: dict[str, Print] = field(default_factory=dict)


def key_of(invoke: Invoke, argv: bytes) -> bytes:
    """Equal for commands that do the same with the same files."""
    variables = sorted(v for v in invoke.env.split(b"\0") if not v.startswith(b"SMPMAKE_"))
    parts = (invoke.cwd, argv, b"%o" % invoke.mask, invoke.limits, invoke.real, *variables)
    return hashlib.blake2b(b"\0\0".join(parts), digest_size=16).digest()


class Reusable:
    """Results of an undone run.  `collect` before the undoing, `undone` behind it, then `take`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_key: dict[bytes, list[_Results]] = {}
        self._headers: set[str] = set()
        self._seen = (0, 0)

    # ------------------------------------------------------------------ collecting

    def collect(self, finished: Iterable[Finished], changes: list[Change]) -> None:
        """Puts aside what the commands made, where it is theirs alone."""
        self._by_key.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._headers |= _new_headers(changes)
        places = {c.command: c.at for c in reversed(changes) if c.kind == ISSUED}
        histories = _histories(changes, places)
        mine: dict[int, dict[str, bool]] = {}
        for change in changes:
            if change.command in places and change.kind not in (ISSUED, ENDED, STAYS):
                in_place = change.kind in (DATA, META)
                for path in _made(change):
                    paths = mine.setdefault(change.command, {})
                    paths[path] = paths.get(path, False) or in_place
        count = 0
        for each in finished:
            number = each.record.number
            place = places.get(number)
            if place is None or not each.is_known:
                continue
            results = _Results(each)
            if not self._note_reads(results, histories, (place, number)):
                continue
            paths = {p: way for p, way in mine.get(number, {}).items() if os.path.lexists(p)}
            if any(histories[path][-1][1] != number for path in paths):
                continue  # somebody else has changed it since
            results.files = [(path, f"{self._folder}/{count + n}") for n, path in enumerate(paths)]
            count += len(paths)
            key = key_of(each.invoke, each.argv)
            self._by_key.setdefault(key, []).append(results)
        # Only now: one command's result is what the next one has read.
        for group in self._by_key.values():
            for results in list(group):
                ways = mine.get(results.finished.record.number, {})
                if not all(_put_aside(path, to, in_place=ways[path]) for path, to in results.files):
                    group.remove(results)

    @staticmethod
    def _note_reads(
        results: _Results, histories: Mapping[str, list[tuple[int, int]]], place: tuple[int, int]
    ) -> bool:
        """Whether it is known what everything was that the command has read."""
        number = place[1]
        record = results.finished.record
        for path in dict.fromkeys(record.reads + record.inputs):
            history = [each for each in histories.get(path, ()) if each[1] != number]
            before = [each for each in history if each < place]
            if not before:
                results.unchanged.append(path)
            elif len(before) < len(history):
                return False
            else:
                results.hashes[path] = _hash(path)
        return True

    def undone(self) -> None:
        """Everything is as it was at the beginning: so were the files that nobody had changed."""
        known: dict[str, Print] = {}
        for group in self._by_key.values():
            for results in group:
                for path in results.unchanged:
                    if path not in known:
                        known[path] = _print(path)
                    results.prints[path] = known[path]
        self._seen = (0, 0)

    # ------------------------------------------------------------------ giving back

    def take(self, key: bytes, number: int, issued_ns: int, undo: UndoJournal) -> Finished | None:
        """Puts a command's results into place, if there are some and they still hold.

        number, issued_ns  of the command that gets them.
        """
        group = self._by_key.get(key)
        if not group or not self._same_headers(undo):
            return None
        results = group.pop(0)
        if any(_print(path) != was for path, was in results.prints.items()):
            return None
        if any(_hash(path) != was for path, was in results.hashes.items()):
            return None
        try:
            for path, kept in results.files:
                undo.renames(number, kept, path)
                _move(kept, path)
                os.utime(path, ns=(issued_ns, issued_ns), follow_symlinks=False)
        except OSError:
            return None
        return results.finished

    def _same_headers(self, undo: UndoJournal) -> bool:
        """Whether no header has appeared that was not there in the run that was undone."""
        new = _new_headers(undo.changes(self._seen))
        self._seen = undo.end
        if new <= self._headers:
            return True
        self._by_key.clear()
        return False


def _histories(
    changes: Iterable[Change], places: Mapping[int, int]
) -> dict[str, list[tuple[int, int]]]:
    """Who changed each path, in the order of the serial build: positions and numbers."""
    found: dict[str, list[tuple[int, int]]] = {}
    for change in changes:
        if change.kind in (ISSUED, ENDED, STAYS):
            continue
        job = change.command in places
        who = (places[change.command], change.command) if job else (change.at, 1 << 62)
        for path in (change.path, change.other):
            if path.startswith("/"):
                found.setdefault(path, []).append(who)
    for history in found.values():
        history.sort()
    return found


def _made(change: Change) -> tuple[str, ...]:
    return (change.other,) if change.kind == MOVE else (change.path,)


def _new_headers(changes: Iterable[Change]) -> set[str]:
    made = (c for c in changes if c.kind in (NEW, MOVE))
    return {path for c in made for path in _made(c) if could_hide(path)}


def _put_aside(path: str, to: str, *, in_place: bool) -> bool:
    """What was changed in place is copied: its file is to be as it was."""
    try:
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode) and not stat.S_ISLNK(info.st_mode):
            return False
        if in_place and info.st_nlink > 1:
            return False
        if in_place:
            shutil.copy2(path, to, follow_symlinks=False)
        else:
            _move(path, to)
    except OSError:
        return False
    return True


def _move(source: str, destination: str) -> None:
    try:
        os.rename(source, destination)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(destination)
        shutil.copy2(source, destination, follow_symlinks=False)
        os.unlink(source)


def _print(path: str) -> Print:
    try:
        info = os.stat(path)
    except OSError:
        return ""
    return info.st_ino, info.st_size, info.st_mtime_ns


def _hash(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError:
        return ""
