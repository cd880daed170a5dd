"""What guards ask: who in the foreground, or which running job, touches what others have pending.

A guard's question becomes a waiter for exactly the commands concerned; a make's look at a pending
output, or at a folder, is answered at once with what a serial build would show.  The gate also
keeps the scoreboard, by which guards know when they need not ask.

It knows the scheduler, the board and names; it holds no socket and starts no command.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from smpmake.disk.include_path import could_hide, hides
from smpmake.disk.paths import Paths
from smpmake.guard.listings import Listings
from smpmake.guard.scoreboard import (
    ABOVE,
    INPUT,
    LISTED,
    OUTPUT,
    STALE,
    Claim,
    Scoreboard,
    file_hash,
    name_hash,
)
from smpmake.protocol import wire
from smpmake.protocol.wire import Question
from smpmake.records import Stall
from smpmake.schedule.hazards import EVERYBODY
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.scheduler import Action, Scheduler

_GO_ON: Final = wire.encode_guard_answer(wire.GUARD_GO_ON)
_ABSENT: Final = wire.encode_guard_answer(wire.GUARD_ABSENT)
_FOLDERS: Final = 0xFFFFFE  # the owner of what belongs to several commands

#: What a stall is called in records, by the kind of question.
CAUSES: Final = {
    wire.ASK_READ: "reads",
    wire.ASK_WRITE: "changes",
    wire.ASK_LIST: "lists",
    wire.ASK_TREE: "walks",
    wire.ASK_MOVE: "renames",
    wire.ASK_STAT: "looks at",
    wire.ASK_ALL: "runs",
    wire.ASK_LINK: "links to",
    wire.ASK_NAMES: "lists",
    wire.ASK_ALIAS: "links to",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What a path will be when the commands pending on it have ended: None for no file at all.

    mtime_ns  its time, or None where only the command itself will tell.
    """

    mtime_ns: int | None
    mode: int = 0o644
    absent: bool = False


@dataclass(slots=True)
class Waiter:
    """A question that has to wait (the payload of a job of its own).

    job      the running command whose process asks, None for the driver's.
    carrier  what stands for the waiter in the scheduler.
    """

    question: Question
    answer: Callable[[bytes], None]
    job: Job | None
    stall: Stall
    carrier: Job = field(init=False)


@dataclass(slots=True)
class _Entry:
    """What is kept of a deferred command beside its operands; thousands may be pending."""

    promises: tuple[tuple[str, Promise], ...]
    stale: tuple[tuple[int, int], ...]
    aliases: tuple[Claim, ...] = ()

    def promise(self, path: str) -> Promise:
        """What the command will leave at one of the paths that it writes."""
        for name, promise in self.promises:
            if name == path:
                return promise
        return Promise(None)


class Gate:
    """One per engine."""

    def __init__(self, scheduler: Scheduler, paths: Paths, board: Scoreboard, folder: Path) -> None:
        self._scheduler = scheduler
        self._hazards = scheduler.hazards
        self._paths = paths
        self._board = board
        self._listings = Listings(folder / "names")
        self._entries: dict[Job, _Entry] = {}
        self._running: dict[int, Job] = {}
        self._folders: Counter[str] = Counter()
        self._above: Counter[str] = Counter()
        self._listed: dict[str, Claim | None] = {}
        self._unknown = 0
        self._stale: dict[tuple[int, int], dict[Job, None]] = {}
        self._waits: Counter[Job] = Counter()
        self._held: dict[Job, list[Waiter]] = {}

    def close(self) -> None:
        """Gives the board back."""
        self._board.close()

    # ------------------------------------------------------------------ what is pending

    def entered(self, job: Job, promises: dict[str, Promise], stale: list[tuple[int, int]]) -> None:
        """A deferred command is about to be answered for: guards must know it before.

        stale  device and inode of the older files that it will replace.
        """
        keys = tuple(dict.fromkeys(stale))  # two names may be one file
        for key in keys:
            self._stale.setdefault(key, {})[job] = None
        entry = self._entries[job] = _Entry(tuple(promises.items()), keys)
        self._board.put_up(job.number, _claims(job, entry))
        for folder in _folders(job):
            self._folders[folder] += 1
            if self._folders[folder] == 1:
                self._folder_entered(folder)
        self.show()

    def left(self, job: Job) -> None:
        """A command has ended, or will not run."""
        self._running.pop(job.number, None)
        entry = self._entries.pop(job, None)
        if entry is None:
            return
        for folder in _folders(job):
            self._folders[folder] -= 1
            if self._folders[folder] == 0:
                del self._folders[folder]
                self._folder_left(folder)
        for key in entry.stale:
            del self._stale[key][job]
            if not self._stale[key]:
                del self._stale[key]
        self._board.take_down(job.number, _claims(job, entry))

    def show(self) -> None:
        """Brings the board's counts up to date."""
        hazards = self._hazards
        self._board.show(hazards.deferred, hazards.newest_undeclared_ns)

    def runs(self, job: Job) -> None:
        """A command's process is about to be started."""
        self._running[job.number] = job

    def promise(self, path: str) -> Promise | None:
        """What the last pending command to write a path will leave there."""
        writers = self._hazards.writers(path)
        if not writers:
            return None
        entry = self._entries.get(max(writers, key=lambda job: job.number))
        return entry.promise(path) if entry is not None else Promise(None)

    def _folder_entered(self, folder: str) -> None:
        for name in _parts(folder):
            self._above[name] += 1
            if self._above[name] == 1:
                self._board.put_up(_FOLDERS, [(_hash(name), ABOVE)])
        try:
            info = os.stat(folder)
        except OSError:
            self._listed[folder] = None
            self._unknown += 1
            self._board.unknown_folders(self._unknown)
            return
        claim = self._listed[folder] = (file_hash(info.st_dev, info.st_ino), LISTED)
        self._board.put_up(_FOLDERS, [claim])

    def _folder_left(self, folder: str) -> None:
        for name in _parts(folder):
            self._above[name] -= 1
            if self._above[name] == 0:
                del self._above[name]
                self._board.take_down(_FOLDERS, [(_hash(name), ABOVE)])
        claim = self._listed.pop(folder)
        if claim is not None:
            self._board.take_down(_FOLDERS, [claim])
        else:
            self._unknown -= 1
            self._board.unknown_folders(self._unknown)

    # ------------------------------------------------------------------ questions

    def ask(
        self, question: Question, answer: Callable[[bytes], None], ignored: frozenset[str]
    ) -> tuple[list[Action], Waiter | None]:
        """A guard's question: answered now, or by a waiter that is returned with what to do.

        ignored  causes (see CAUSES) that nobody waits for: to show in tests what they are for.
        """
        job = self._running.get(question.command) if question.command >= 0 else None
        before = question.command if question.command >= 0 else EVERYBODY
        if CAUSES[question.kind] in ignored:
            answer(_GO_ON)
            return [], None
        if question.kind == wire.ASK_NAMES:
            answer(self._names(question))
            return [], None
        if question.kind == wire.ASK_ALIAS:
            self._note_alias(question)
            answer(_GO_ON)
            return [], None
        blockers = self._blockers(question, before)
        if blockers and question.kind == wire.ASK_STAT and question.command < 0:
            shown = self._shown(question)
            if shown is not None:
                answer(shown)
                return [], None
        if not blockers:
            answer(_GO_ON)
            return [], None
        return self._wait(question, answer, job, blockers)

    def _note_alias(self, question: Question) -> None:
        """The name of a new symbolic link stands for what it leads to while that is pending."""
        claim = (_name(question.other), OUTPUT)
        for job in self._writers(self._paths.canonical("/", question.path), EVERYBODY):
            entry = self._entries.get(job)
            if entry is not None and claim not in _claims(job, entry):
                entry.aliases += (claim,)
                self._board.put_up(job.number, [claim])

    def _wait(
        self,
        question: Question,
        answer: Callable[[bytes], None],
        job: Job | None,
        blockers: set[Job],
    ) -> tuple[list[Action], Waiter]:
        now = time.monotonic_ns()
        last = max(blockers, key=lambda blocker: blocker.number)
        stall = Stall(
            _program(question.pid),
            CAUSES[question.kind],
            os.path.normpath(question.path),
            last.number,
            len(blockers),
            job.number if job is not None else -1,
            began=now,
        )
        waiter = Waiter(question, answer, job, stall)
        # Numbers order the queue, and a waiter never stands in it.
        waiter.carrier = Job(-1, "", Mode.WAITER, Operands(), light=True, payload=waiter)
        actions = self._scheduler.wait(waiter.carrier, blockers, now)
        if job is not None:
            self._waits[job] += 1
            actions += self._scheduler.pause(job)
        return actions, waiter

    def granted(self, waiter: Waiter) -> list[Action]:
        """What a waiter waited for has ended."""
        waiter.stall.ended = time.monotonic_ns()
        job = waiter.job
        if job is None:
            waiter.answer(_GO_ON)
            return []
        self._held.setdefault(job, []).append(waiter)
        return self._one_less(job)

    def withdrawn(self, waiter: Waiter) -> list[Action]:
        """A waiter's process has gone."""
        waiter.stall.ended = time.monotonic_ns()
        return self._one_less(waiter.job) if waiter.job is not None else []

    def _one_less(self, job: Job) -> list[Action]:
        self._waits[job] -= 1
        if self._waits[job] > 0:
            return []
        del self._waits[job]
        return self._scheduler.resume(job)

    def resumed(self, job: Job) -> None:
        """A paused command has its slot again."""
        for waiter in self._held.pop(job, []):
            waiter.answer(_GO_ON)

    # ------------------------------------------------------------------ who is concerned

    def _blockers(self, question: Question, before: int) -> set[Job]:
        hazards, kind = self._hazards, question.kind
        if kind == wire.ASK_ALL:
            return hazards.everybody(before)
        if kind in (wire.ASK_LIST, wire.ASK_TREE):
            folder = self._paths.folder(question.path)
            if kind == wire.ASK_LIST:
                return hazards.in_folder(folder, before)
            return hazards.below(folder, before, written=True)
        path = self._paths.canonical("/", question.path)
        if kind in (wire.ASK_READ, wire.ASK_STAT):
            return self._writers(path, before)
        if kind == wire.ASK_WRITE:
            return self._users(path, before)
        other = self._paths.canonical("/", question.other)
        if kind == wire.ASK_LINK:
            # A link changes the time by which it is told what could have been read.
            return self._users(path, before) | self._users(other, before)
        waits = self._users(path, before) | self._users(other, before)
        if os.path.isdir(path):
            self._paths.forget()
        return waits

    def _writers(self, path: str, before: int) -> set[Job]:
        """Who will write the path, or the file that it leads to."""
        hazards = self._hazards
        waits = hazards.writers(path, before)
        if not waits:
            real = os.path.realpath(path)
            if real != path:
                waits = hazards.writers(real, before)
        if not waits:
            waits = self._replacing(path, before) or self._in_other_case(path, before)
        return waits

    def _users(self, path: str, before: int) -> set[Job]:
        hazards = self._hazards
        try:
            info = os.lstat(path)
        except OSError:
            new = 0 if could_hide(path) and hides(path, hazards.searches()) else None
            return hazards.users(path, before, new) | self._in_other_case(path, before)
        if stat.S_ISDIR(info.st_mode):
            return hazards.below(path, before)
        is_file = stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)
        waits = hazards.users(path, before, info.st_ctime_ns if is_file else None)
        if stat.S_ISLNK(info.st_mode):
            waits |= hazards.users(os.path.realpath(path), before)
        if is_file and info.st_nlink > 1:
            waits |= self._by_other_names(info, before)
        return waits | self._replacing(path, before) | self._in_other_case(path, before)

    def _by_other_names(self, info: os.stat_result, before: int) -> set[Job]:
        """Who reads or writes a file under another of its names."""
        waits = set()
        for job in self._hazards.everybody(before):
            for path in (*job.operands.reads, *job.operands.writes):
                with contextlib.suppress(OSError):
                    other = os.stat(path)
                    if (other.st_dev, other.st_ino) == (info.st_dev, info.st_ino):
                        waits.add(job)
        return waits

    def _replacing(self, path: str, before: int) -> set[Job]:
        """Who will replace the older file that a hard link leads to."""
        if not self._stale:
            return set()
        try:
            info = os.stat(path)
        except OSError:
            return set()
        jobs = self._stale.get((info.st_dev, info.st_ino), ())
        return {job for job in jobs if job.number < before}

    def _in_other_case(self, path: str, before: int) -> set[Job]:
        """On a file system that does not tell the case two spellings may be one file."""
        folder, name = os.path.split(path)
        lower = name.lower()
        waits: set[Job] = set()
        for job in self._hazards.in_folder(folder, before):
            for written in job.operands.writes:
                if written != path and os.path.basename(written).lower() == lower:
                    waits.add(job)
        return waits

    # ------------------------------------------------------------------ what a make is shown

    def _shown(self, question: Question) -> bytes | None:
        path = self._paths.canonical("/", question.path)
        promise = self.promise(path) or self.promise(os.path.realpath(path))
        if promise is None:
            return None
        if promise.absent:
            return _ABSENT
        if promise.mtime_ns is None:
            return None
        return wire.encode_guard_answer(wire.GUARD_FILE, promise.mode, promise.mtime_ns)

    def _names(self, question: Question) -> bytes:
        folder = self._paths.folder(question.path)
        names = self._hazards.pending_names(folder)
        if not names:
            return _GO_ON
        come: set[str] = set()
        go: set[str] = set()
        for name, job in names.items():
            entry = self._entries.get(job)
            goes = entry is not None and entry.promise(f"{folder}/{name}").absent
            (go if goes else come).add(name)
        with contextlib.suppress(OSError):
            shadow = self._listings.of(folder, come, go)
            return wire.encode_guard_answer(wire.GUARD_ELSEWHERE, path=os.fsencode(shadow))
        return _GO_ON


def _claims(job: Job, entry: _Entry) -> list[Claim]:
    """What a command has on the board."""
    claims = [(_name(path), OUTPUT) for path in job.operands.writes]
    claims += [(_name(path), INPUT) for path in job.operands.reads]
    claims += [(file_hash(*key), STALE) for key in entry.stale]
    return claims + list(entry.aliases)


def _folders(job: Job) -> set[str]:
    """Where a command's operands lie."""
    return {os.path.dirname(path) for path in (*job.operands.writes, *job.operands.reads)}


def _hash(name: str) -> int:
    return name_hash(os.fsencode(name))


def _name(path: str) -> int:
    return _hash(path[path.rfind("/") + 1 :])


def _parts(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part]


def _program(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"
