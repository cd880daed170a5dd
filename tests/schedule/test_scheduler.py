"""The scheduler: events in, actions out, under a hand-held clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

import pytest

from smpmake.schedule.classes import Class, classes_of
from smpmake.schedule.job import NEXT, Job, Mode, Operands, State
from smpmake.schedule.scheduler import Action, Cancelled, Grant, Room, Scheduler, Start


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


def test_no_room_is_asked_for_again_with_those_who_wait() -> None:
    untracked = [1]

    def room(job: Job, busy: int, waiting: Collection[Job]) -> Room:
        used = busy + (0 if waiting else untracked[0])
        return Room.NONE if used >= 2 else Room.FREE

    bench = Bench(2)
    bench.scheduler = Scheduler(2, room=room)
    (first, started), (second, then) = (bench.issue(writes=f"/{n}.o") for n in range(2))
    assert (started, then, bench.scheduler.short) == ([Start(first)], [], True)
    untracked[0] = 0
    assert bench.scheduler.dispatch() == [Start(second)]
    third, _ = bench.issue(writes="/3.o")
    fourth, _ = bench.issue(writes="/4.o")
    untracked[0] = 1
    assert bench.end(first) == []
    waiter = Job(-1, "b", Mode.WAITER, Operands(), light=True)
    bench.scheduler.wait(waiter, {third}, 0)
    assert bench.scheduler.dispatch() == [Start(third)]
    assert bench.end(third) == [Grant(waiter)]
    assert bench.scheduler.dispatch() == []
    untracked[0] = 0
    assert bench.scheduler.dispatch() == [Start(fourth)]


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
                rng.choice((Mode.DEFERRED, Mode.FOREGROUND)),
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


@pytest.mark.parametrize("seed", range(60))
def test_random_classes_hold_and_all_of_it_ends(seed: int) -> None:
    """Jobs of none, one or several classes, urgent or not, that pause, fail and are cancelled."""
    rng = random.Random(seed)
    classes = [Class(name, rng.randint(1, 2)) for name in "abc"[: rng.randint(1, 3)]]
    scheduler = Scheduler(rng.randint(1, 5), classes=classes)
    running, paused, jobs = list[Job](), list[Job](), list[Job]()
    paths = [f"/{n}.o" for n in range(30)]

    def perform(actions: list[Action]) -> None:
        for action in actions:
            if not isinstance(action, Cancelled):
                running.append(action.job)
        for each in classes:
            count = sum(each in job.classes for job in running)
            assert count == each.used <= each.most, seed
        if scheduler.busy < scheduler.slots:  # nobody who could run waits
            ready = [job for job in jobs if job.state in (State.READY, State.RESUMING)]
            assert all(any(each.is_full for each in job.classes) for job in ready), seed

    def end_one() -> None:
        job = running.pop(rng.randrange(len(running)))
        perform(scheduler.finished(job, ok=rng.random() < 0.8, now=0))

    for number in range(120):
        choice = rng.random()
        if choice < 0.55:
            mode = rng.choice((Mode.DEFERRED, Mode.DEFERRED, Mode.FOREGROUND))
            files = Operands(tuple(rng.sample(paths, 2)), tuple(rng.sample(paths, 1)))
            of = tuple(each for each in classes if rng.random() < 0.6)
            jobs.append(Job(number, "b", mode, files, classes=of))
            perform(scheduler.issue(jobs[-1], 0))
        elif choice < 0.65 and running:
            job = running.pop(rng.randrange(len(running)))
            paused.append(job)
            perform(scheduler.pause(job))
        elif choice < 0.75 and paused:
            perform(scheduler.resume(paused.pop()))
        elif choice < 0.8 and running:
            job = running.pop(rng.randrange(len(running)))
            perform(scheduler.again(job))
        elif choice < 0.83 and jobs:
            perform(scheduler.cancel(later_than(rng.choice(jobs).number), 0))
        elif running:
            end_one()
    while paused:
        perform(scheduler.resume(paused.pop()))
    while running:
        end_one()
    assert {job.state for job in jobs} <= {State.DONE, State.FAILED, State.CANCELLED}, seed
    assert not scheduler.busy
    assert not scheduler.crowded


def test_a_full_class_lets_others_pass_and_comes_in_its_order() -> None:
    link = Class("link", 1)
    scheduler = Scheduler(2, classes=[link])

    def issue(number: int, *of: Class) -> list[Action]:
        return scheduler.issue(Job(number, "b", Mode.DEFERRED, Operands(), classes=of), 0)

    (first,) = issue(0, link)
    assert issue(1, link) == issue(2, link) == []
    (other,) = issue(3)
    assert issue(4) == []
    (then,) = scheduler.finished(other.job, ok=True, now=0)
    assert then.job.number == 4
    (then,) = scheduler.finished(first.job, ok=True, now=0)
    assert (then.job.number, then.job.full) == (1, link)


def test_of_two_numbers_for_a_class_the_last_counts() -> None:
    found = classes_of(("link=2", "cc1plus a=b=3", "link=1"))
    assert [(each.name, each.most) for each in found] == [("link", 1), ("cc1plus a=b", 3)]


LONG = 10_000


def chain(bench: Bench) -> list[Job]:
    """Each reads what the one before it writes; the first runs."""
    return [bench.issue(reads=f"/{n}.o", writes=f"/{n + 1}.o")[0] for n in range(LONG)]


def test_a_long_chain_is_cancelled_when_its_head_fails() -> None:
    bench = Bench(2)
    jobs = chain(bench)
    actions = bench.end(jobs[0], ok=False)
    assert actions == [Cancelled(job, jobs[0]) for job in jobs[1:]]
    assert len(bench.scheduler.hazards) == 0
    assert bench.scheduler.busy == 0


def test_a_long_chain_is_cancelled_from_outside() -> None:
    bench = Bench(2)
    jobs = chain(bench)
    actions = bench.scheduler.cancel(lambda job: True, bench.now)
    assert [action.job for action in actions] == jobs[1:]
    assert bench.end(jobs[0]) == []
    assert len(bench.scheduler.hazards) == 0


def test_an_archive_that_many_update_is_cancelled() -> None:
    bench = Bench(2)
    jobs = [bench.issue(reads="/lib.a", writes="/lib.a")[0] for _ in range(600)]
    actions = bench.end(jobs[0], ok=False)
    assert [action.job for action in actions] == jobs[1:]
    assert len(bench.scheduler.hazards) == 0


def test_many_that_wait_for_one_are_cancelled() -> None:
    bench = Bench(1)
    head, _ = bench.issue(writes="/config.h")
    jobs = [bench.issue(reads="/config.h", writes=f"/{n}.o")[0] for n in range(LONG)]
    assert len(bench.scheduler.cancel(lambda job: job is not head, bench.now)) == LONG
    assert bench.end(head) == []
    assert {job.state for job in jobs} == {State.CANCELLED}


def test_a_job_that_two_hold_up_is_cancelled_by_the_one_that_fails() -> None:
    bench = Bench(2)
    first, _ = bench.issue(writes="/a.o")
    second, _ = bench.issue(writes="/b.o")
    link, _ = bench.issue(reads="/a.o /b.o", writes="/p")
    assert bench.end(first, ok=False) == [Cancelled(link, first)]
    assert bench.end(second) == []
    assert link.state is State.CANCELLED


def test_states_change_by_the_table_alone() -> None:
    bench = Bench(1)
    job, _ = bench.issue(writes="/a.o")
    bench.end(job)
    with pytest.raises(AssertionError, match="cannot become"):
        bench.end(job)
    assert job.state is State.DONE
    assert not any(NEXT[end] for end in (State.DONE, State.FAILED, State.CANCELLED))


def test_states_are_counted() -> None:
    bench = Bench(1)
    first, _ = bench.issue(writes="/a.o")
    second, _ = bench.issue(writes="/b.o")
    third, _ = bench.issue(reads="/b.o", writes="/c.o")

    def counts() -> dict[State, int]:
        return {state: count for state, count in bench.scheduler.counts.items() if count}

    assert counts() == {State.RUNNING: 1, State.READY: 1, State.WAITING: 1}
    waiter = Job(-1, "", Mode.WAITER, Operands(), light=True)
    bench.scheduler.wait(waiter, {first}, bench.now)
    assert counts()[State.WAITING] == 2
    assert Grant(waiter) in bench.end(first)
    assert counts() == {State.DONE: 2, State.RUNNING: 1, State.WAITING: 1}
    bench.end(second, ok=False)
    assert counts() == {State.DONE: 2, State.FAILED: 1, State.CANCELLED: 1}
    assert third.state is State.CANCELLED


def later_than(number: int) -> Callable[[Job], bool]:
    return lambda job: job.number >= number


@pytest.mark.parametrize("seed", range(40))
def test_random_failures_and_cancellations_leave_nothing(seed: int) -> None:
    """What reads what a failed one was to write is cancelled; everything else ends."""
    rng = random.Random(seed)
    bench = Bench(rng.randint(1, 4))
    running: list[Job] = []
    jobs: list[Job] = []
    paths = [f"/{n}.o" for n in range(8)]

    def perform(actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Cancelled):
                assert action.job not in running
                if action.cause is not None:
                    assert action.cause.state in (State.FAILED, State.CANCELLED)
            else:
                running.append(action.job)

    for _ in range(80):
        choice = rng.random()
        if choice < 0.6:
            job, actions = bench.issue(
                " ".join(rng.sample(paths, rng.randint(0, 2))),
                " ".join(rng.sample(paths, rng.randint(0, 2))),
            )
            jobs.append(job)
            perform(actions)
        elif choice < 0.95 and running:
            perform(bench.end(running.pop(rng.randrange(len(running))), ok=rng.random() < 0.7))
        elif jobs:
            least = rng.choice(jobs).number
            perform(bench.scheduler.cancel(later_than(least), bench.now))
    while running:
        perform(bench.end(running.pop(rng.randrange(len(running)))))
    ends = {State.DONE, State.FAILED, State.CANCELLED}
    assert {job.state for job in jobs} <= ends
    assert sum(bench.scheduler.counts[end] for end in ends) == len(jobs)
    assert len(bench.scheduler.hazards) == 0
    assert bench.scheduler.busy == 0
