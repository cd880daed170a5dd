"""What guards ask: who in the foreground, or which running job, touches what others have pending.

A guard's question becomes a waiter for exactly the commands that stand in its way; a make's look at
a pending output, or at a folder, is answered at once with what a serial build would show.

It knows the scheduler, what is pending, and names; it holds no socket and starts no command.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from smpmake.disk.paths import Paths
from smpmake.guard.files import changed_ns_of, file_of
from smpmake.guard.libraries import Libraries
from smpmake.guard.listings import Listings
from smpmake.guard.pending import Pending
from smpmake.guard.search_paths import SearchPaths
from smpmake.guard.snapshots import NOT_THERE, Snapshots
from smpmake.guard.versioned_paths import VersionedPaths
from smpmake.guard.versions import Change, Versions
from smpmake.protocol import layout, wire
from smpmake.protocol.wire import Question
from smpmake.records import Stall
from smpmake.schedule.hazards import EVERYBODY
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.scheduler import Action, Scheduler

GO_ON: Final = wire.encode_guard_answer(layout.GUARD_GO_ON)
_AGAIN: Final = wire.encode_guard_answer(layout.GUARD_AGAIN)

_CHANGES_NAME: Final = (layout.ASK_MOVE, layout.ASK_REMOVE)
#: What becomes of the file that is asked about.
_CHANGES: Final = {
    layout.ASK_WRITE: Change.WRITTEN,
    layout.ASK_LINK: Change.WRITTEN,  # it has one name more
    layout.ASK_MOVE: Change.MOVED,
    layout.ASK_REMOVE: Change.GONE,
}

#: What a stall is called in records, by the kind of question.
CAUSES: Final = {
    layout.ASK_READ: "reads",
    layout.ASK_WRITE: "changes",
    layout.ASK_LIST: "lists",
    layout.ASK_TREE: "walks",
    layout.ASK_MOVE: "renames",
    layout.ASK_STAT: "looks at",
    layout.ASK_ALL: "runs",
    layout.ASK_LINK: "links to",
    layout.ASK_NAMES: "lists",
    layout.ASK_ALIAS: "links to",
    layout.ASK_COMMIT: "runs",
    layout.ASK_REMOVE: "changes",
    layout.ASK_LIBRARIES: "loads",
    layout.ASK_FOLDER: "changes",
}


class Waiter:
    """A question that has to wait (the payload of a job of its own).

    question what is asked.
    answer   called with the answer's bytes, once.
    job      the running command whose process asks, None for the driver's.
    stall    the record of the waiting.
    carrier  what stands for the waiter in the scheduler.
    """

    __slots__ = ("answer", "carrier", "job", "question", "stall")

    def __init__(
        self, question: Question, answer: Callable[[bytes], None], job: Job | None, stall: Stall
    ) -> None:
        self.question = question
        self.answer = answer
        self.job = job
        self.stall = stall
        self.carrier: Job  # set when there is one


class Questions:
    """One per engine.  folder: the session's, for listings.  now: the monotonic clock, ns."""

    def __init__(
        self,
        scheduler: Scheduler,
        paths: Paths,
        pending: Pending,
        versions: Versions,
        kept: VersionedPaths,
        views: Snapshots,
        folder: Path,
        now: Callable[[], int],
    ) -> None:
        self._now = now
        self._scheduler = scheduler
        self._hazards = scheduler.hazards
        self._paths = paths
        self._pending = pending
        self._versions = versions
        self._kept = kept
        self._views = views
        self._searches = SearchPaths(self._hazards, paths, versions)
        self._libraries = Libraries(self._writers, self._pending.making_library)
        self._listings = Listings(folder / "names")
        self._waits: Counter[Job] = Counter()
        self._held: dict[Job, list[Waiter]] = {}

    def drop_listings(self) -> None:
        """Removes all listings: no process of a build is left that could read one."""
        self._listings.drop_listings()
        self._kept.forget_folders()

    # ------------------------------------------------------------------ questions

    def ask(
        self, question: Question, answer: Callable[[bytes], None], ignored: Collection[str]
    ) -> tuple[list[Action], Waiter | None]:
        """A guard's question: answered now, or by a waiter that is returned with what to do.

        ignored  causes (see CAUSES) that nobody waits for: to show in tests what they are for.
        """
        job = self._pending.running_job(question.command) if question.command >= 0 else None
        before = question.command if question.command >= 0 else EVERYBODY
        if CAUSES[question.kind] in ignored:
            answer(GO_ON)
            return [], None
        if question.kind == layout.ASK_ALIAS:
            writers = self._writers(self._paths.canonical("/", question.path), EVERYBODY)
            self._pending.link_made(question.other, writers)
            answer(GO_ON)
            return [], None
        if question.kind == layout.ASK_READ and job is not None and job.mode is Mode.DEFERRED:
            view = self._views.snapshot_for(question, job)
            if view is not None:
                answer(view)
                return [], None
        moves_folder = question.kind in _CHANGES_NAME and os.path.isdir(question.path)
        if job is not None and moves_folder:
            self._pending.folders_change()
        blockers = self._blockers(question, job, before)
        if moves_folder:
            self._folders_go(question)
        lists = question.kind == layout.ASK_NAMES and job is not None and job.mode is Mode.DEFERRED
        shown = self._shown(question, job) if blockers or lists else GO_ON
        if shown is not None:
            answer(shown)
            return [], None
        return self._wait(question, answer, job, blockers)

    def _wait(
        self,
        question: Question,
        answer: Callable[[bytes], None],
        job: Job | None,
        blockers: set[Job],
    ) -> tuple[list[Action], Waiter]:
        now = self._now()
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

    def look_again(self) -> list[Action]:
        """smpmake knows of more commands what they read: processes that wait may wait for fewer."""
        now, actions = self._now(), []
        for carrier in self._scheduler.waiting():
            waiter = carrier.payload
            if isinstance(waiter, Waiter) and waiter.question.kind in _CHANGES:
                question = waiter.question
                before = question.command if question.command >= 0 else EVERYBODY
                blockers = self._blockers(question, waiter.job, before)
                actions += self._scheduler.wait_less(carrier, blockers, now)
        return actions

    def waiter_granted(self, waiter: Waiter) -> list[Action]:
        """Answers a process: the commands that it waited for have ended."""
        waiter.stall.ended = self._now()
        if waiter.question.kind in _CHANGES_NAME:
            self._folders_go(waiter.question)  # meanwhile more may be kept of what is in it
        job = waiter.job
        if job is None:
            waiter.answer(_over(waiter.question))
            return []
        self._held.setdefault(job, []).append(waiter)
        return self._one_less(job)

    def waiter_withdrawn(self, waiter: Waiter) -> list[Action]:
        """A process went away before it was answered."""
        waiter.stall.ended = self._now()
        return self._one_less(waiter.job) if waiter.job is not None else []

    def _one_less(self, job: Job) -> list[Action]:
        self._waits[job] -= 1
        if self._waits[job] > 0:
            return []
        del self._waits[job]
        return self._scheduler.resume(job)

    def _folders_go(self, question: Question) -> None:
        paths = (question.path, question.other)
        self._kept.folders_go(self._paths.canonical("/", path) for path in paths if path)

    def job_resumed(self, job: Job) -> None:
        """A paused command has its slot again: its process may go on."""
        for waiter in self._held.pop(job, []):
            waiter.answer(_over(waiter.question))

    # ------------------------------------------------------------------ who stands in the way

    def _blockers(self, question: Question, asker: Job | None, before: int) -> set[Job]:
        hazards, kind = self._hazards, question.kind
        if kind in (layout.ASK_ALL, layout.ASK_COMMIT):
            return hazards.all_before(before)
        if kind in (layout.ASK_LIST, layout.ASK_NAMES):
            return hazards.in_folder(self._paths.folder(question.path), before)
        if kind == layout.ASK_TREE:
            return hazards.below(self._paths.folder(question.path), before, written=True)
        if kind == layout.ASK_LIBRARIES:
            return self._libraries.blockers(question.path, question.other, before)
        path = self._paths.canonical("/", question.path)
        if kind == layout.ASK_STAT and os.path.isdir(path):
            return hazards.in_folder(self._paths.folder(path), before)
        if kind in (layout.ASK_READ, layout.ASK_STAT):
            return self._writers(path, before)
        if kind == layout.ASK_FOLDER:
            return self._named(path, before) | self._searches.jobs_looking_at(path, before)
        if asker is not None and path not in asker.operands.writes and kind != layout.ASK_MOVE:
            return self._sharers(path, before)
        maker = asker if asker is not None and path in asker.operands.writes else None
        waits = self._users(path, before, _CHANGES[kind], maker)
        if kind == layout.ASK_REMOVE and os.path.isdir(path) and not os.path.islink(path):
            return waits | self._searches.jobs_searching((path,), before)
        if kind in (layout.ASK_WRITE, layout.ASK_REMOVE):
            return waits | self._searches.jobs_searching_link(question.other, path, before)
        other = self._paths.canonical("/", question.other)
        waits |= self._users(other, before, Change.GONE)
        if kind == layout.ASK_MOVE and os.path.isdir(path):
            self._paths.forget()
            waits |= self._searches.jobs_searching((path, other), before)
            waits |= self._searches.jobs_reading_moved(path, other, before)
        return waits

    def _writers(self, path: str, before: int) -> set[Job]:
        """Who will write the path, or the file that it leads to, or below it (see `_remaking`)."""
        hazards = self._hazards
        waits = hazards.writers(path, before)
        if not waits:
            real = os.path.realpath(path)
            if real != path:
                waits = hazards.writers(real, before)
        if not waits:
            waits = self._replacing(path, before) or hazards.in_other_case(path, before)
        return waits or self._remaking(path, before)

    def _remaking(self, path: str, before: int) -> set[Job]:
        """Who will write in a folder that is not there because it is being made anew."""
        if not self._pending.replaces_folders or os.path.lexists(path):
            return set()
        return self._hazards.below(path, before, written=True)

    def _users(self, path: str, before: int, change: Change, by: Job | None = None) -> set[Job]:
        """Who stands in the way of a change; for who may read what is there, that is kept.

        by  the command that makes it, if it is an output of that.
        """
        hazards = self._hazards
        waits = self._named(path, before)
        # What is written to is what it leads to.
        written = change is Change.WRITTEN
        real = os.path.realpath(path) if written and os.path.islink(path) else path
        if real != path:
            waits |= self._users(real, before, change, by)
        changed_ns = changed_ns_of(path)
        if changed_ns is None:
            return waits
        if self._writers(path, before):  # what those behind them are to read has still to come
            return waits | hazards.may_read(before)
        return waits | self._versions.keep_version(path, before, change, by)

    def _sharers(self, path: str, before: int) -> set[Job]:
        """Who stands in the way of what a job does without having said so.

        Commands may keep common books, with locks of their own.  Nobody is shown older ones, or
        what has come in meanwhile would be lost.
        """
        waits = self._named(path, before)
        changed_ns = changed_ns_of(path)
        if not changed_ns:
            return waits
        return waits | self._hazards.may_read(before, changed_ns)

    def _named(self, path: str, before: int) -> set[Job]:
        """Who has said that it reads or writes a path, under whatever name, or something below."""
        hazards = self._hazards
        try:
            info = os.lstat(path)
        except OSError:
            named = hazards.users(path, before) | hazards.in_other_case(path, before)
            return named | self._remaking(path, before)
        if stat.S_ISDIR(info.st_mode):
            return hazards.below(path, before)
        waits = hazards.users(path, before)
        if stat.S_ISLNK(info.st_mode):
            waits |= hazards.users(os.path.realpath(path), before)
        if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
            waits |= self._pending.users_of_file((info.st_dev, info.st_ino), before)
        return waits | self._replacing(path, before) | hazards.in_other_case(path, before)

    def _replacing(self, path: str, before: int) -> set[Job]:
        """Who will replace the older file that a hard link leads to."""
        file = file_of(path) if self._pending.replaces_any() else None
        jobs = self._pending.writers_replacing(file) if file is not None else ()
        return {job for job in jobs if job.number < before}

    # ------------------------------------------------------------------ what a make is shown

    def _shown(self, question: Question, job: Job | None) -> bytes | None:
        """What a make that only looks is told of what is pending; None: it has to wait."""
        if question.kind == layout.ASK_NAMES:
            return self._names(question, job)
        if question.kind != layout.ASK_STAT:
            return None
        path = self._paths.canonical("/", question.path)
        if os.path.isdir(path):
            return self._folder(self._paths.folder(path))
        if question.command >= 0:
            return None
        promise = self._pending.promise_at(path) or self._pending.promise_at(os.path.realpath(path))
        if promise is None:
            return None
        if promise.absent:
            return NOT_THERE
        if promise.mtime_ns is None:
            return None
        return wire.encode_guard_answer(layout.GUARD_FILE, promise.mode, promise.mtime_ns)

    def _folder(self, folder: str) -> bytes:
        """A folder's time, once what is pending has made its entries, or has removed them."""
        changed = os.stat(folder).st_mtime_ns
        for name, job in self._hazards.pending_names(folder).items():
            path = f"{folder}/{name}"
            promise = self._pending.promise_of(job, path)
            if promise.absent or promise.anew or not os.path.lexists(path):
                changed = max(changed, job.issued_ns)
        return wire.encode_guard_answer(layout.GUARD_FOLDER, 0, changed)

    def _names(self, question: Question, job: Job | None) -> bytes | None:
        before = job.number if job is not None else EVERYBODY
        folder = self._paths.folder(question.path)
        if not os.path.isdir(folder):
            return GO_ON  # it is told that by the call itself
        come: set[str] = set()
        go: set[str] = set()
        present = self._hazards.in_folder(folder, before)
        if any(each.operands.temporary == folder for each in present):
            return None  # what these have there for a moment nobody can tell
        for name, maker in self._hazards.pending_names(folder, before).items():
            promise = self._pending.promise_of(maker, f"{folder}/{name}")
            if promise.perhaps:
                return None
            (go if promise.absent else come).add(name)
        try:
            if job is not None and job.mode is Mode.DEFERRED:
                # One look, of which both is told; and a listing of its own also where it is no
                # other one now: later commands are at work.
                entries = list(os.scandir(folder))
                go |= self._views.made_since(entries, question, job)
                come |= self._versions.deleted_entries(folder, job) - go
                listing = self._listings.listing_of_entries(entries, come, go)
            elif come or go:
                listing = self._listings.listing_of(folder, come, go)
            else:
                listing = folder
            if self._views.has_more(listing, folder, present):
                return None
        except OSError:  # no room for it
            return None
        if listing == folder:
            return GO_ON
        return wire.encode_guard_answer(layout.GUARD_ELSEWHERE, path=os.fsencode(listing))


def _over(question: Question) -> bytes:
    """The answer when the waiting is over: what has come may need more libraries."""
    return _AGAIN if question.kind == layout.ASK_LIBRARIES else GO_ON


def _program(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"
