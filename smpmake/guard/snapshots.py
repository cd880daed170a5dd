"""What a running job finds at a path that others have changed, or made, since it was issued."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Final

from smpmake.disk.paths import Paths
from smpmake.guard.pending import Pending
from smpmake.guard.traces import Trace, Traces
from smpmake.guard.versions import ABSENT, Versions
from smpmake.protocol import layout, wire
from smpmake.protocol.wire import Question
from smpmake.schedule.job import Job
from smpmake.undo.journal import UndoJournal

#: What a job's guard says of a file that has come into being after the job was issued.
MADE_SINCE: Final = "made since"
NOT_THERE: Final = wire.encode_guard_answer(layout.GUARD_ABSENT)


class _Seen:
    """What jobs that run were seen to do, each looked at once: for one question."""

    def __init__(self, pending: Pending, traces: Traces) -> None:
        self._pending = pending
        self._traces = traces
        self._known: dict[Job, Trace] = {}
        self._unsaid: set[str] | None = None

    def of(self, job: Job) -> Trace:
        """A job's notes."""
        known = self._known.get(job)
        if known is None:
            nothing = Trace((), (), whole=False)
            known = self._traces.end_trace(job.slot) if job.slot is not None else nothing
            self._known[job] = known
        return known

    def unsaid(self) -> set[str]:
        """What commands that are at work were seen to write, without having said so."""
        if self._unsaid is None:
            self._unsaid = set()
            for job in self._pending.running_jobs():
                written = set(map(os.path.realpath, self.of(job).writes))
                self._unsaid |= written.difference(job.operands.writes)
        return self._unsaid


class Snapshots:
    """One per engine."""

    def __init__(
        self,
        paths: Paths,
        pending: Pending,
        versions: Versions,
        traces: Traces,
        journal: UndoJournal,
    ) -> None:
        self._paths = paths
        self._pending = pending
        self._versions = versions
        self._traces = traces
        self._journal = journal
        self._read_to = (0, 0)
        self._maker: dict[str, int] = {}  # of what bears a name now: its command, as journaled

    def snapshot_for(self, question: Question, job: Job) -> bytes | None:
        """The answer to a job that is about to read something; None: what is there."""
        return self._view(question, job, _Seen(self._pending, self._traces))

    def _view(self, question: Question, job: Job, seen: _Seen) -> bytes | None:
        path = self._paths.canonical("/", question.path)
        kept = self._versions.version_for(job, path)
        if kept is None:  # by a link to a folder that was not there
            kept = self._versions.version_for(job, os.path.normpath(question.path))
        if (
            kept is None
            and question.other == MADE_SINCE
            and not self._is_its_own(question, job, path, seen)
        ):
            kept = ABSENT
        if kept is None:
            return None
        if kept == ABSENT:
            return NOT_THERE
        return wire.encode_guard_answer(layout.GUARD_ELSEWHERE, path=os.fsencode(kept))

    def has_more(self, listing: str, folder: str, jobs: Iterable[Job]) -> bool:
        """Whether a folder's listing has what jobs have made there and not said, be it for a
        moment.  To be asked behind the look: such names are noted before they are there."""
        seen = _Seen(self._pending, self._traces)
        return any(
            os.path.dirname(path) == folder
            and path not in job.operands.writes
            and os.path.lexists(f"{listing}/{os.path.basename(path)}")
            for job in jobs
            for path in seen.of(job).writes
        )

    def made_since(
        self, entries: Iterable[os.DirEntry[str]], question: Question, job: Job
    ) -> set[str]:
        """The names in a folder that a job is not to find: their files were made behind it.

        A link that was there counts, wherever it led to.
        """
        found = set()
        seen = _Seen(self._pending, self._traces)
        for entry in entries:
            with contextlib.suppress(OSError):  # it is gone
                young = entry.stat(follow_symlinks=False).st_ctime_ns >= job.issued_ns
                if young and not self._versions.has_older(job, entry.path):
                    each = question._replace(path=entry.path, other=MADE_SINCE)
                    if self._view(each, job, seen) == NOT_THERE:
                        found.add(entry.name)
        return found

    def _is_its_own(self, question: Question, job: Job, path: str, seen: _Seen) -> bool:
        """Whether a file that is younger than a job is there for it all the same.

        By it, or by an earlier command, which may be at work on it; or in common use, or who made
        it cannot be told.
        """
        return (
            path in job.operands.writes
            or self._pending.is_to_come(path, job.number)
            or self._versions.was_made_before(job, path)
            or path in seen.unsaid()
            or not seen.of(job).whole
            or not self._is_by_later_ones(question, job, path)
        )

    def _is_by_later_ones(self, question: Question, job: Job, path: str) -> bool:
        """Whether a process with a guard was seen to make it, none of the job's nor before it.

        What nobody was seen to make (a daemon's answer) is there for all.
        """
        if not self._journal.undoes:
            return False
        since, self._read_to = self._read_to, self._journal.end
        for change in self._journal.changes(since if since <= self._read_to else (0, 0)):
            for name in change.made:
                self._maker[self._paths.canonical("/", name)] = change.command
        maker = self._maker.get(path)
        return maker is not None and (maker < 0 or maker > job.number)
