"""Pausing and resuming: who waits in a guard gives the slot back (scheduler), pure."""

from __future__ import annotations

from smpmake.schedule.job import Job, Mode, Operands, State
from smpmake.schedule.scheduler import Action, Grant, Resume, Scheduler, Start


def job(number: int, reads: str = "", writes: str = "") -> Job:
    operands = Operands(tuple(reads.split()), tuple(writes.split()))
    return Job(number, "b", Mode.DEFERRED, operands)


def waiter() -> Job:
    return Job(-1, "", Mode.FOREGROUND, Operands(), light=True)


def kinds(actions: list[Action]) -> list[tuple[type, int]]:
    return [(type(action), action.job.number) for action in actions]


def test_a_paused_job_gives_its_slot_back_and_gets_one_again() -> None:
    scheduler = Scheduler(1)
    first, second, third = job(0, writes="/a"), job(1, writes="/b"), job(2, writes="/c")
    assert kinds(scheduler.issue(first, 0)) == [(Start, 0)]
    scheduler.issue(second, 0)
    scheduler.issue(third, 0)
    assert kinds(scheduler.pause(first)) == [(Start, 1)]
    assert first.state is State.PAUSED
    assert second.slot != first.slot  # its place in the pool is taken
    assert scheduler.resume(first) == []
    assert kinds(scheduler.finished(second, ok=True, now=1)) == [(Resume, 0)]
    assert first.state.value == "running"
    assert kinds(scheduler.finished(first, ok=True, now=2)) == [(Start, 2)]
    scheduler.finished(third, ok=True, now=3)
    assert scheduler.busy == 0


def test_a_job_that_ends_while_it_is_paused_leaves_no_slot_too_many() -> None:
    scheduler = Scheduler(1)
    first, second, third = job(0, writes="/a"), job(1, writes="/b"), job(2, writes="/c")
    scheduler.issue(first, 0)
    scheduler.issue(second, 0)
    scheduler.issue(third, 0)
    scheduler.pause(first)
    assert scheduler.finished(first, ok=False, now=1) == []  # its slot is second's
    assert kinds(scheduler.finished(second, ok=True, now=2)) == [(Start, 2)]
    scheduler.finished(third, ok=True, now=3)
    assert scheduler.busy == 0


def test_what_a_waiter_waits_for_comes_first() -> None:
    scheduler = Scheduler(1)
    jobs = [job(n, writes=f"/{n}") for n in range(4)]
    for each in jobs:
        scheduler.issue(each, 0)
    carrier = waiter()
    assert scheduler.wait(carrier, {jobs[3]}, 0) == []
    assert kinds(scheduler.finished(jobs[0], ok=True, now=1)) == [(Start, 3)]
    actions = scheduler.finished(jobs[3], ok=True, now=2)
    assert (Grant, -1) in kinds(actions)


def test_a_waiter_is_granted_although_its_job_failed() -> None:
    scheduler = Scheduler(1)
    first = job(0, writes="/a")
    scheduler.issue(first, 0)
    scheduler.wait(waiter(), {first}, 0)
    assert (Grant, -1) in kinds(scheduler.finished(first, ok=False, now=1))


def test_a_waiter_that_goes_away_is_forgotten() -> None:
    scheduler = Scheduler(1)
    first, carrier = job(0, writes="/a"), waiter()
    scheduler.issue(first, 0)
    scheduler.wait(carrier, {first}, 0)
    scheduler.withdraw(carrier, 1)
    assert kinds(scheduler.finished(first, ok=True, now=2)) == []


def test_slots_are_kept_through_many_pauses() -> None:
    scheduler = Scheduler(2)
    jobs = [job(n, writes=f"/{n}") for n in range(20)]
    for each in jobs:
        scheduler.issue(each, 0)
    for each in jobs[:18]:
        if each.state is State.RUNNING:
            scheduler.pause(each)
    paused = [each for each in jobs if each.state is State.PAUSED]
    assert len({each.slot for each in paused}) == len(paused)
    for each in paused:
        scheduler.resume(each)
    for each in jobs:
        while each.state is not State.DONE:
            running = [one for one in jobs if one.state is State.RUNNING]
            assert len(running) <= 2
            scheduler.finished(running[0], ok=True, now=1)
    assert scheduler.busy == 0
