"""What a running job finds at a path that others have changed, or made, since it was issued."""

from __future__ import annotations

import os
from typing import Final

from smpmake.disk.paths import Paths
from smpmake.guard.pending import Pending
from smpmake.guard.traces import Trace, Traces
from smpmake.guard.versions import ABSENT, Versions
from smpmake.protocol import wire
from smpmake.protocol.wire import Question
from smpmake.schedule.job import Job

#: What a job's guard says of a file that has come into being after the job was issued.
MADE_SINCE: Final = "made since"
NOT_THERE: Final = wire.encode_guard_answer(wire.GUARD_ABSENT)


class Views:
    """One per engine."""

    def __init__(self, paths: Paths, pending: Pending, versions: Versions, traces: Traces) -> None:
        self._paths = paths
        self._pending = pending
        self._versions = versions
        self._traces = traces

    def of(self, question: Question, job: Job) -> bytes | None:
        """The answer to a job that is about to read something; None: what is there."""
        path = self._paths.canonical("/", question.path)
        kept = self._versions.of(job, path)
        if kept is None and question.other == MADE_SINCE and not self._is_its_own(job, path):
            kept = ABSENT
        if kept is None:
            return None
        if kept == ABSENT:
            return NOT_THERE
        return wire.encode_guard_answer(wire.GUARD_ELSEWHERE, path=os.fsencode(kept))

    def _is_its_own(self, job: Job, path: str) -> bool:
        """Whether a file that is younger than a job is there for it all the same.

        By it, or by an earlier command; or in common use, or who made it cannot be told.
        """
        return (
            path in job.operands.writes
            or self._versions.was_made_before(job, path)
            or self._is_shared(path)
            or not self._seen_of(job).whole
        )

    def _is_shared(self, path: str) -> bool:
        """Whether a command that is at work was seen to write it, without having said so."""
        return any(
            path not in other.operands.writes
            and path in map(os.path.realpath, self._seen_of(other).writes)
            for other in self._pending.running_jobs()
        )

    def _seen_of(self, job: Job) -> Trace:
        return self._traces.end(job.slot) if job.slot is not None else Trace((), (), whole=False)
