"""What is pending, as guards must know it: promises, claims on the scoreboard, folders, files.

It knows the hazards' table, the board and names on the disk.  Who asks, and who waits, is
questions.py's.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from smpmake.guard.files import File, Files, file_of
from smpmake.guard.names_in_order import NamesInOrder
from smpmake.guard.scoreboard import (
    Claim,
    Promised,
    Scoreboard,
    file_hash,
    output_check,
    output_hash,
    path_hash,
)
from smpmake.protocol import layout
from smpmake.protocol.layout import ROLE_ABOVE, ROLE_ANYWHERE, ROLE_INPUT, ROLE_OUTPUT, ROLE_STALE
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job
from smpmake.schedule.names import is_library

_FOLDERS: Final = 0xFFFFFE  # the owner of what belongs to several commands


class Promise(NamedTuple):
    """What a path will be when the commands pending on it have ended: None for no file at all.

    mtime_ns  its time, or None where only the command itself will tell.
    mode      its permissions.
    absent    it will be gone.
    anew      it is made anew where it is there already: its folder changes, too.
    perhaps   it may not come at all, and nobody is told a name of it.
    unsure    it may not be there, or may be a link: only the command itself will tell.
    leads_to  it is a symbolic link: the canonical name of what it leads to.
    """

    mtime_ns: int | None
    mode: int = 0o644
    absent: bool = False
    anew: bool = False
    perhaps: bool = False
    unsure: bool = False
    leads_to: str = ""


class _Entry:
    """What is kept of a deferred command beside its operands; thousands may be pending.

    stale    older files that it will replace.
    outputs  claims of what it writes, where the folder is there.
    aliases  claims of links that lead to its outputs.
    """

    __slots__ = ("aliases", "outputs", "promises", "stale")

    def __init__(self, promises: tuple[tuple[str, Promise], ...], stale: tuple[File, ...]) -> None:
        self.promises = promises
        self.stale = stale
        self.outputs: tuple[Claim, ...] = ()
        self.aliases: tuple[Claim, ...] = ()

    def promise(self, path: str) -> Promise:
        """What the command will leave at one of the paths that it writes."""
        for name, promise in self.promises:
            if name == path:
                return promise
        return Promise(None, unsure=True)  # what an output's link leads to


class Pending:
    """One per engine.  own: the session's folder."""

    def __init__(self, hazards: Hazards, board: Scoreboard, own: str) -> None:
        self._hazards = hazards
        self._board = board
        self._entries: dict[Job, _Entry] = {}
        self._running: dict[int, Job] = {}
        self._folders: Counter[str] = Counter()
        self._above: Counter[str] = Counter()
        self._listed: dict[str, tuple[File, int] | None] = {}  # itself, and its number on the board
        self._changes: dict[str, dict[Job, int]] = {}
        self._unknown = 0
        self._replaced = 0
        self._stale: dict[File, dict[Job, None]] = {}
        self._files = Files()
        self._held = 0
        self._libraries: dict[str, set[Job]] = {}
        self._in_order = NamesInOrder(own)

    def close(self) -> None:
        """Gives the board back."""
        self._board.close()

    # ------------------------------------------------------------------ commands come and go

    def job_entered(
        self,
        job: Job,
        promises: Mapping[str, Promise],
        stale: Iterable[File],
        files: Mapping[str, File],
        *,
        behind: Mapping[str, Promise] = MappingProxyType({}),
        asked: bool = False,
    ) -> None:
        """A deferred command is about to be answered for: guards must know it before.

        stale  older files that it will replace.
        files  what its operands were at issue, those that were there.
        behind what is promised of files that links among its outputs lead to.
        asked  makes are to ask about its outputs, also where the board could tell.
        """
        keys = tuple(dict.fromkeys(stale))  # two names may be one file
        for key in keys:
            self._stale.setdefault(key, {})[job] = None
        entry = self._entries[job] = _Entry((*promises.items(), *behind.items()), keys)
        self._files.names_entered(_operands(job), files)
        self._note_libraries(job, come=True)
        for folder in _folders(job):
            self._folders[folder] += 1
            if self._folders[folder] == 1:
                self._folder_entered(folder)
        for folder in set(map(os.path.dirname, job.operands.writes)):
            listed = self._listed.get(folder)
            if listed is not None:
                self._in_order.job_entered(job.number, folder, listed[0][0], files)
        self._board.count_ordered(self._in_order.pending)
        self._put_outputs(job, entry, {} if asked else {**behind, **promises})
        self._board.publish_claims(job.number, [*_claims(job, entry), *self._unkeyed(job)])
        for path, promise in promises.items():
            if promise.absent or promise.anew or path not in files:
                self._folder_changes(os.path.dirname(path), job)
        self.show_counts()

    def job_left(self, job: Job) -> None:
        """A command has ended, or will not run."""
        self._running.pop(job.number, None)
        entry = self._entries.pop(job, None)
        self._files.names_left(job.operands.writes, _operands(job) if entry is not None else ())
        if entry is None:
            return
        self._in_order.job_left(job.number, job.operands.writes, self._running)
        self._board.count_ordered(self._in_order.pending)
        self._note_libraries(job, come=False)
        for folder in set(map(os.path.dirname, job.operands.writes)):
            self._folder_changed(folder, job)
        for folder in _folders(job):
            self._folders[folder] -= 1
            if self._folders[folder] == 0:
                del self._folders[folder]
                self._folder_left(folder)
        for key in entry.stale:
            del self._stale[key][job]
            if not self._stale[key]:
                del self._stale[key]
        self._board.retract_claims(job.number, _claims(job, entry))
        if self._replaced and not self._entries:
            self._replaced = 0
            self._show_unknown()

    def show_newest(self, dated_ns: int) -> None:
        """The time that the newest of all results will have."""
        self._board.show_newest(dated_ns)

    def job_runs(self, job: Job) -> None:
        """A command's process is about to be started."""
        self._running[job.number] = job

    def running_job(self, number: int) -> Job | None:
        """The command of that number, if its process may be there."""
        return self._running.get(number)

    def checks_of(self, paths: Iterable[str]) -> tuple[int, ...]:
        """The numbers by which guards know outputs of commands that have entered."""
        splits = map(os.path.split, paths)
        known = ((self._listed.get(folder), name) for folder, name in splits)
        return tuple(
            output_check(listed[0], os.fsencode(name))
            for listed, name in known
            if listed is not None
        )

    def running_jobs(self) -> list[Job]:
        """Deferred commands whose processes may be there."""
        return [job for job in self._running.values() if job in self._entries]

    def show_counts(self) -> None:
        """Brings the board's counts up to date."""
        hazards = self._hazards
        pending = hazards.deferred + self._held
        self._board.show_counts(pending, hazards.newest_undeclared_ns, hazards.blind)

    def block_all(self) -> None:
        """Has guards take something for pending until `unblock`."""
        self._held = 1
        self.show_counts()

    def query_all(self) -> None:
        """Has guards take any file for pending until `unblock`, so that no command runs unasked."""
        self._board.set_query_all(on=True)
        self.block_all()

    def unblock(self) -> None:
        """Ends `block_all` and `query_all`."""
        self._held = 0
        if self._board.asks_all:
            self._board.set_query_all(on=False)
        self.show_counts()

    def end_query(self) -> None:
        """Ends `query_all`: the driver has come to all that it was to be told."""
        if self._board.asks_all:
            self.unblock()

    def _note_libraries(self, job: Job, *, come: bool) -> None:
        found = [os.path.basename(path) for path in job.operands.writes if is_library(path)]
        for name in found:
            jobs = self._libraries.setdefault(name, set())
            (jobs.add if come else jobs.discard)(job)
            if not jobs:
                del self._libraries[name]
        if found:
            self._board.count_libraries(len(self._libraries))

    def _folder_entered(self, folder: str) -> None:
        for name in _parts(folder):
            self._above[name] += 1
            if self._above[name] == 1:
                self._board.publish_claims(_FOLDERS, [(path_hash(name), ROLE_ABOVE)])
        itself = file_of(folder)
        if itself is not None:
            self._listed[folder] = itself, self._board.folder_entered(file_hash(*itself))
            return
        self._listed[folder] = None
        self._unknown += 1
        self._show_unknown()

    def _put_outputs(self, job: Job, entry: _Entry, promises: Mapping[str, Promise]) -> None:
        """Claims of a command's outputs themselves, beside their names."""
        for path in job.operands.writes:
            folder, name = os.path.split(path)
            listed = self._listed.get(folder)
            if listed is None:
                continue
            called = os.fsencode(name)
            value = output_hash(listed[0], called)
            check = output_check(listed[0], called)
            self._board.show_promise(job.number, value, check, _told(promises.get(path)))
            entry.outputs += ((value, ROLE_OUTPUT),)

    def _unkeyed(self, job: Job) -> list[Claim]:
        """Claims of outputs whose folders are not there yet: of these the names tell."""
        return [
            (path_hash(path), ROLE_ANYWHERE)
            for path in job.operands.writes
            if self._listed.get(os.path.dirname(path)) is None
        ]

    def _folder_changes(self, folder: str, job: Job) -> None:
        """A command will make or remove an entry: that will be the folder's time."""
        changes = self._changes.setdefault(folder, {})
        changes[job] = job.issued_ns
        self._show_time(folder, job.issued_ns)

    def _folder_changed(self, folder: str, job: Job) -> None:
        """It has; from now on the folder's own time tells."""
        changes = self._changes.get(folder)
        if changes is None or changes.pop(job, 0) == 0:
            return
        self._show_time(folder, next(reversed(changes.values()), 0))  # in the order of issue
        if not changes:
            del self._changes[folder]

    def _show_time(self, folder: str, newest: int) -> None:
        listed = self._listed.get(folder)
        if listed is not None:
            self._board.folder_changes(listed[1], newest)

    def _folder_left(self, folder: str) -> None:
        for name in _parts(folder):
            self._above[name] -= 1
            if self._above[name] == 0:
                del self._above[name]
                self._board.retract_claims(_FOLDERS, [(path_hash(name), ROLE_ABOVE)])
        listed = self._listed.pop(folder)
        if listed is not None:
            itself, number = listed
            self._board.folder_left(file_hash(*itself), number)
        else:
            self._unknown -= 1
            self._show_unknown()

    def _show_unknown(self) -> None:
        self._board.unknown_folders(self._unknown + self._replaced)
        self._board.names_alone(tell=self._replaced > 0)

    # ------------------------------------------------------------------ what is promised

    def folders_change(self) -> None:
        """A command is about to replace a folder in which later ones have outputs: until nothing is
        pending names alone tell, since the folder will be another one."""
        self._replaced = 1
        self._show_unknown()

    @property
    def replaces_folders(self) -> bool:
        """Whether a command is about to replace such a folder, which may be gone for a moment."""
        return self._replaced > 0

    def promise_at(self, path: str) -> Promise | None:
        """What the last pending command to write a path will leave there."""
        writers = self._hazards.writers(path)
        if not writers:
            return None
        return self.promise_of(max(writers, key=lambda job: job.number), path)

    def promise_of(self, job: Job, path: str) -> Promise:
        """What a command will leave at a path that it writes."""
        entry = self._entries.get(job)
        return entry.promise(path) if entry is not None else Promise(None, unsure=True)

    def names_of(self, file: File) -> Iterable[str]:
        """The operands of pending commands that lead to a file."""
        return self._files.names_of(file)

    def is_to_come(self, path: str, before: int) -> bool:
        """Whether a command that was issued before a number is still to write a path."""
        return bool(self._hazards.writers(path, before))

    def link_made(self, link: str, writers: Iterable[Job]) -> None:
        """A new symbolic link leads to what is pending: its name stands for that meanwhile."""
        claim = (path_hash(link), ROLE_OUTPUT)
        for job in writers:
            entry = self._entries.get(job)
            if entry is not None and claim not in _claims(job, entry):
                entry.aliases += (claim,)
                self._board.publish_claims(job.number, [claim])

    def making_library(self, name: str, before: int) -> set[Job]:
        """The commands that will write a shared library of that name, in whatever folder."""
        return {job for job in self._libraries.get(name, ()) if job.number < before}

    # ------------------------------------------------------------------ files by their inode

    def writers_replacing(self, file: File) -> Iterable[Job]:
        """The commands that will replace an older file."""
        return self._stale.get(file, ())

    def replaces_any(self) -> bool:
        """Whether any older file is to be replaced."""
        return bool(self._stale)

    def users_of_file(self, file: File, before: int) -> set[Job]:
        """The commands issued before a number that read or write a file, under whatever name."""
        waits: set[Job] = set()
        for name in self._files.names_of(file):
            waits |= self._hazards.users(name, before)
        for job in self._running.values():  # what it writes may be there by now
            if job.number >= before or job not in self._entries:
                continue
            if any(file_of(path) == file for path in job.operands.writes):
                waits.add(job)
        return waits


def _operands(job: Job) -> tuple[str, ...]:
    return (*job.operands.reads, *job.operands.writes)


def _claims(job: Job, entry: _Entry) -> list[Claim]:
    """What a command has on the board."""
    claims = [(path_hash(path), ROLE_OUTPUT) for path in job.operands.writes]
    claims += [(path_hash(path), ROLE_INPUT) for path in job.operands.reads + job.operands.through]
    claims += [(file_hash(*key), ROLE_STALE) for key in entry.stale]
    return [*claims, *entry.outputs, *entry.aliases]


def _told(promise: Promise | None) -> Promised | None:
    """What of a promise the board can tell a make."""
    if promise is None or promise.mtime_ns is None:
        return None
    return Promised(layout.GUARD_FILE, promise.mode, promise.mtime_ns)


def _folders(job: Job) -> set[str]:
    """Where a command's operands lie, and where it works."""
    operands = (*_operands(job), *job.operands.through)
    places = {job.operands.cwd, job.operands.temporary} - {""}
    return places | set(map(os.path.dirname, operands))


def _parts(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part]
