"""How far a build is, by what an earlier one of the same folder did.

Pure.  The earlier build's jobs, in their order, are what is expected.  That only helps if this
build is like it: as soon as more than a tenth of the jobs that should have come by now did not
(a rebuild of a few files), nothing is claimed any more.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import Final

from smpmake.records import CommandRecord, Sample
from smpmake.status.template import Facts

#: What is expected: first output and seconds of each job, in order of issue.
Sequel = Sequence[tuple[str, float]]

_SKIPPED: Final = 0.1
_FEW: Final = 3
_SOON: Final = 1.0  # s before which no rate means anything
_LATELY: Final = 5.0  # s


class Progress:
    """Follows one build."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._places: dict[str, int] = {}
        self._seconds: list[float] = []
        self._all = 0.0
        self._looked_at = 0  # commands before it are known to be issued
        self._open: list[CommandRecord] = []
        self._met = 0
        self._strange = 0
        self._furthest = -1
        self._done = 0.0
        self._ended = 0  # of those that were expected
        self._estimate = (0.0, 0.0, 0.0)  # fraction, when that was so, what was left then
        self._marks: deque[tuple[float, int]] = deque()

    def expect(self, sequel: Sequel) -> None:
        """What an earlier build did."""
        self._places = {output: place for place, (output, _) in enumerate(sequel)}
        self._seconds = [seconds for _, seconds in sequel]
        self._all = sum(self._seconds)
        self._looked_at, self._open = 0, []
        self._met, self._strange, self._furthest, self._done = 0, 0, -1, 0.0
        self._ended, self._estimate = 0, (0.0, 0.0, 0.0)

    def facts(
        self,
        sample: Sample,
        commands: Sequence[CommandRecord],
        *,
        began: int = 0,
        failed: int = 0,
        over: bool = False,
    ) -> Facts:
        """The moment of a sample.  began: the build's start, monotonic ns; others: see Facts."""
        self._follow(commands)
        self._marks.append((sample.at, sample.done))
        while len(self._marks) > 2 and self._marks[0][0] < sample.at - _LATELY:
            self._marks.popleft()
        first, before = self._marks[0]
        passed = sample.at - first
        known = self._is_alike()
        fraction = min(1.0, self._done / self._all) if known else None
        return Facts(
            finished=sample.done,
            started=sample.done + sample.running,
            running=sample.running,
            queued=sample.queued,
            slots=self._slots,
            cpu=sample.cpu,
            elapsed=sample.at,
            rate=sample.done / sample.at if sample.at > 0 else 0.0,
            lately=(sample.done - before) / passed if passed > 0 else 0.0,
            total=len(self._places) + self._strange if known else None,
            fraction=fraction,
            left=self._left(sample.at, fraction),
            failed=failed,
            over=over,
            at_work=self._at_work(began + int(sample.at * 1e9)),
        )

    def _left(self, now: float, fraction: float | None) -> float | None:
        """Seconds; None where few jobs have ended, or they are late.

        It is known anew when a job ends; until then it becomes less as time passes.
        """
        if not fraction or now <= _SOON or self._ended < max(_FEW, self._slots):
            self._estimate = (0.0, 0.0, 0.0)
            return None
        known, at, left = self._estimate
        if fraction != known:
            at, left = now, now * (1 - fraction) / fraction
            self._estimate = (fraction, at, left)
        rest = left - (now - at)
        return max(0.0, rest) if rest > 0 or fraction == 1.0 else None

    def _at_work(self, now: int) -> tuple[tuple[str, float], ...]:
        running = [command for command in self._open if command.started]
        running.sort(key=lambda command: command.started)
        return tuple(
            (
                f"{command.tool} {os.path.basename(command.outputs[0])}",
                max(0.0, (now - command.started) / 1e9),
            )
            for command in running
        )

    def _follow(self, commands: Sequence[CommandRecord]) -> None:
        fresh = [c for c in commands[self._looked_at :] if c.verdict == "deferred" and c.outputs]
        self._looked_at = len(commands)
        for command in fresh:
            place = self._places.get(command.outputs[0])
            if place is None:
                self._strange += 1
            else:
                self._met += 1
                self._furthest = max(self._furthest, place)
        still = []
        for command in (*self._open, *fresh):
            if command.state:
                # What an output that need not come was is not known any more.
                place = self._places.get(command.outputs[0]) if command.outputs else None
                self._done += self._seconds[place] if place is not None else 0.0
                self._ended += place is not None
            else:
                still.append(command)
        self._open = still

    def _is_alike(self) -> bool:
        if not self._met or self._all <= 0:
            return False
        skipped = self._furthest + 1 - self._met
        return skipped <= max(_FEW, _SKIPPED * (self._furthest + 1))
