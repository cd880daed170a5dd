"""A computer on paper that runs builds beside other programs, and what it would have recorded.

Its CPUs are shared evenly among all that want one.  A build is a driver that works for a while
before it hands each job over; a job is some waiting (for a disk, say), then some CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from smpmake.records import BuildRecord, CommandRecord, Sample
from tests.support.made import S, build, ran

_STEP = 0.01
_BETWEEN = 0.5

#: How many other programs want a CPU at a moment.
Others = Callable[[float], int]


class Task(NamedTuple):
    """Seconds: of the driver before it hands the job over; of its waiting; of its CPU."""

    before: float
    waits: float
    cpu: float


@dataclass(slots=True, eq=False)
class _Process:
    waits: float
    cpu: float
    began: float
    ended: float = -1.0
    delay: float = 0.0

    def go_on(self, rate: float) -> float:
        """A step; returns what it used of a CPU."""
        if self.waits > 0:
            self.waits -= _STEP
            return 0.0
        used = min(self.cpu, _STEP * rate)
        self.cpu -= used
        self.delay += _STEP * (1 - rate)
        return used


@dataclass(slots=True)
class Computer:
    """cpus, and other programs."""

    cpus: int
    others: Others = field(default=lambda now: 0)

    def serially(self, tasks: Sequence[Task]) -> float:
        """Seconds that the plain build takes."""
        now = 0.0
        for task in tasks:
            for process in (_Process(0, task.before, now), _Process(task.waits, task.cpu, now)):
                while process.cpu > 1e-9:
                    process.go_on(min(1.0, self.cpus / (self.others(now) + 1)))
                    now += _STEP
        return now

    def build(self, tasks: Sequence[Task], slots: int, *, parallel: bool = False) -> BuildRecord:
        """The record of the same under smpmake.

        parallel  the driver itself runs them, at most `slots` at once, in the foreground.
        """
        now, upcoming, waiting = 0.0, list(tasks), list[int]()
        running: dict[int, _Process] = {}
        issued: list[float] = []
        commands: list[CommandRecord] = []
        driver = _Process(0, upcoming[0].before, 0.0)
        samples = [Sample(0.0, 0.0, 0, 0, 0, 0)]
        busy = pressed = 0.0
        while len(commands) < len(tasks):
            while driver.ended < 0 and driver.cpu <= 1e-9 and (not parallel or not waiting):
                waiting.append(len(issued))
                issued.append(now)
                if len(issued) == len(tasks):
                    driver.ended = now
                else:
                    driver.cpu = upcoming[len(issued)].before
            while waiting and len(running) < slots:
                number = waiting.pop(0)
                running[number] = _Process(tasks[number].waits, tasks[number].cpu, now)
            own = [p for p in running.values() if p.waits <= 0]
            if driver.ended < 0 and driver.cpu > 1e-9:
                own.append(driver)
            wanted = len(own) + self.others(now)
            rate = min(1.0, self.cpus / wanted) if wanted else 0.0
            used = sum(p.go_on(rate) for p in own)
            for process in running.values():
                if process not in own:
                    process.go_on(rate)
            busy += (used + self.others(now) * rate * _STEP) / self.cpus
            pressed += (wanted > self.cpus) * _STEP
            now += _STEP
            for number in [n for n, p in running.items() if p.cpu <= 1e-9 and p.waits <= 0]:
                process = running.pop(number)
                begun = process.began
                one = ran(number, begun if parallel else issued[number], begun, now, slot=0)
                one.user_us = int(tasks[number].cpu * 1e6)
                one.delay_us = int(process.delay * 1e6)
                if parallel:
                    one.verdict, one.reason, one.max_rss = "foreground", "captured", 0
                commands.append(one)
            if now - samples[-1].at >= _BETWEEN or len(commands) == len(tasks):
                passed = now - samples[-1].at
                samples.append(
                    Sample(now, busy / passed, 0, 0, 0, 0, 0, 0.0, min(1.0, pressed / passed))
                )
                busy = pressed = 0.0
        record = build(*sorted(commands, key=lambda c: c.number), wall=now, cpus=self.cpus)
        record.slots = slots
        record.watched = self.cpus
        record.samples = samples
        record.driver_user_us = int(sum(task.before for task in tasks) * 1e6)
        if parallel:
            record.driver_user_us += int(sum(task.cpu for task in tasks) * 1e6)
        else:
            record.driver_ended = int((100 + driver.ended) * S)
        return record
