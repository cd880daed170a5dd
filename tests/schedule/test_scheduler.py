"""The scheduler: events in, actions out, under a hand-held clock."""

from __future__ import annotations

import random

import pytest

from smpmake.schedule.job import Job, Mode, Operands, State
from smpmake.schedule.scheduler import Action, Cancelled, Grant, Scheduler, Start


class Bench:
    """Issues jobs and keeps what the scheduler ordered."""

    def __init__(self, slots: int) -> None:
        self.scheduler = Scheduler(slots)
        self.now = 0
        self.count = 0

    def issue(
        self,
        reads: str = "",
        writes: str = "",
        *,
        foreground: bool = False,
        light: bool = False,
        exclusive: bool = False,
        build: str = "b",
    ) -> tuple[Job, list[Action]]:
        job = Job(
            self.count,
            build,
            Mode.FOREGROUND if foreground else Mode.DEFERRED,
            Operands(tuple(reads.split()), tuple(writes.split())),
            light=light,
            exclusive=exclusive,
        )
        self.count += 1
        self.now += 1
        return job, self.scheduler.issue(job, self.now)

    def end(self, job: Job, *, ok: bool = True) -> list[Action]:
        self.now += 1
        return self.scheduler.finished(job, ok=ok, now=self.now)


def test_p6_never_more_than_the_slots() -> None:
    bench = Bench(2)
    jobs = [bench.issue(writes=f"/{n}.o") for n in range(5)]
    assert [actions for _, actions in jobs] == [
        [Start(jobs[0][0])],
        [Start(jobs[1][0])],
        [],
        [],
        [],
    ]
    assert bench.end(jobs[0][0]) == [Start(jobs[2][0])]


def test_p6_the_foreground_holds_a_slot_too() -> None:
    bench = Bench(1)
    first, _ = bench.issue(writes="/a.o")
    link, actions = bench.issue(writes="/prog", foreground=True)
    assert actions == []
    assert bench.end(first) == [Grant(link)]
    _, actions = bench.issue(writes="/b.o")
    assert actions == []


def test_light_commands_need_no_slot() -> None:
    bench = Bench(1)
    bench.issue(writes="/a.o")
    mkdir, actions = bench.issue(foreground=True, light=True)
    assert actions == [Grant(mkdir)]


def test_what_somebody_waits_for_comes_first_with_all_it_needs() -> None:
    bench = Bench(1)
    running, _ = bench.issue(writes="/0.o")
    for n in range(3):
        bench.issue(writes=f"/bulk{n}.o")
    generator, _ = bench.issue(writes="/gen.c")
    compile_, _ = bench.issue(reads="/gen.c", writes="/gen.o")
    link, _ = bench.issue(reads="/gen.o", writes="/prog", foreground=True)
    assert bench.end(running) == [Start(generator)]
    assert bench.end(generator) == [Start(compile_)]
    assert bench.end(compile_) == [Grant(link)]
    assert link.waited_for is compile_


def test_fifo_by_issue() -> None:
    bench = Bench(1)
    running, _ = bench.issue(writes="/0.o")
    first, second = bench.issue(writes="/1.o")[0], bench.issue(writes="/2.o")[0]
    assert bench.end(running) == [Start(first)]
    assert bench.end(first) == [Start(second)]


def test_a_failure_cancels_what_needs_it_and_nothing_else() -> None:
    bench = Bench(1)
    bad, _ = bench.issue(writes="/a.o")
    needs, _ = bench.issue(reads="/a.o", writes="/a.Po")
    deeper, _ = bench.issue(reads="/a.Po", writes="/z")
    other, _ = bench.issue(writes="/b.o")
    again, _ = bench.issue(writes="/a.o")  # writes what failed: does not need it
    actions = bench.end(bad, ok=False)
    assert actions == [Cancelled(needs, bad), Cancelled(deeper, bad), Start(other)]
    assert bench.end(other) == [Start(again)]
    assert {needs.state, deeper.state} == {State.CANCELLED}


def test_cancel_takes_out_what_has_not_started() -> None:
    bench = Bench(1)
    running, _ = bench.issue(writes="/a.o")
    queued, _ = bench.issue(writes="/b.o")
    waiting, _ = bench.issue(reads="/b.o", writes="/c.o")
    theirs, _ = bench.issue(writes="/d.o", build="other")
    actions = bench.scheduler.cancel(lambda j: j.build == "b", 9)
    assert {a.job for a in actions} == {queued, waiting}
    assert bench.end(running) == [Start(theirs)]
    bench.end(theirs)
    assert len(bench.scheduler.hazards) == 0
    assert bench.scheduler.busy == 0


def test_an_exclusive_job_runs_alone() -> None:
    bench = Bench(3)
    first, _ = bench.issue(writes="/a.o")
    alone, actions = bench.issue(writes="/b.o", exclusive=True)
    assert actions == []
    after, actions = bench.issue(writes="/c.o")
    assert actions == []
    assert bench.end(first) == [Start(alone)]
    assert bench.end(alone) == [Start(after)]


def test_a_job_whose_worker_died_goes_back_to_the_front() -> None:
    bench = Bench(1)
    victim, _ = bench.issue(writes="/a.o")
    bench.issue(writes="/b.o")
    assert bench.scheduler.again(victim) == [Start(victim)]


def test_ready_time_is_when_the_last_hazard_cleared() -> None:
    bench = Bench(2)
    writer, _ = bench.issue(writes="/a.o")
    reader, _ = bench.issue(reads="/a.o")
    bench.now = 100
    bench.end(writer)
    assert reader.ready_at == 101


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_all_end_and_keep_the_order(seed: int) -> None:
    """Whatever is issued, in whatever order jobs end: hazards hold, slots hold, all of it ends."""
    rng = random.Random(seed)
    slots = rng.randint(1, 4)
    bench = Bench(slots)
    running: list[Job] = []
    started: list[Job] = []
    ended: set[Job] = set()
    everything: list[Job] = []
    paths = [f"/{n}.o" for n in range(6)]

    def perform(actions: list[Action]) -> None:
        for action in actions:
            job = action.job
            assert not isinstance(action, Cancelled)
            for earlier in everything[: job.number]:
                mine, theirs = job.operands, earlier.operands
                clash = (
                    set(mine.reads) & set(theirs.writes)
                    or set(mine.writes) & set(theirs.reads)
                    or set(mine.writes) & set(theirs.writes)
                )
                assert not clash or earlier in ended, (job, earlier, seed)
            running.append(job)
            started.append(job)
            assert sum(not j.light for j in running) <= slots

    for _ in range(60):
        if rng.random() < 0.6:
            job = Job(
                bench.count,
                "b",
                rng.choice(list(Mode)),
                Operands(
                    tuple(rng.sample(paths, rng.randint(0, 2))),
                    tuple(rng.sample(paths, rng.randint(0, 2))),
                ),
                exclusive=rng.random() < 0.1,
            )
            bench.count += 1
            everything.append(job)
            perform(bench.scheduler.issue(job, 0))
        elif running:
            job = running.pop(rng.randrange(len(running)))
            ended.add(job)
            perform(bench.end(job))
    while running:
        job = running.pop(rng.randrange(len(running)))
        ended.add(job)
        perform(bench.end(job))
    assert len(started) == len(everything), seed
    assert len(bench.scheduler.hazards) == 0
