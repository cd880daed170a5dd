"""What is said of builds beside other programs: held against a computer whose truth is known."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from smpmake.history import History
from smpmake.records import BuildRecord, Sample
from smpmake.timing import analyse
from smpmake.timing.calibration import calibrated
from smpmake.timing.load import BUSY
from tests.support.computer import Computer, Others, Task
from tests.support.made import S, build, command, ran
from tests.support.space import Space


def tasks(seed: int, count: int = 40, *, waits: float = 0.0) -> list[Task]:
    """A build as a C project is: a short driver, compiles of very different lengths."""
    chance = random.Random(seed)
    return [
        Task(chance.uniform(0.0, 0.1), waits * chance.random(), chance.uniform(0.05, 1.0))
        for _ in range(count)
    ]


def steady(count: int) -> Others:
    return lambda now: count


def coming_and_going(count: int) -> Others:
    return lambda now: count if int(now / 3) % 2 else 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("cpus", "slots"), [(1, 1), (2, 2), (4, 4), (2, 4), (8, 8)])
def test_the_estimate_on_a_quiet_machine(seed: int, cpus: int, slots: int) -> None:
    computer, work = Computer(cpus), tasks(seed, waits=0.5)
    record, serially = computer.build(work, slots), computer.serially(work)
    model = analyse(record)
    assert model.estimated.seconds.high == pytest.approx(serially, rel=0.05)
    assert model.others == pytest.approx(0, abs=0.03)
    assert not model.busy
    unmeasured(record)
    if slots <= cpus:  # else waiting for a disk cannot be told from waiting for a CPU
        assert analyse(record).estimated.seconds.high == pytest.approx(serially, rel=0.1)


def unmeasured(record: BuildRecord) -> None:
    """As where jobs have no guard."""
    for each in record.commands:
        each.delay_us = -1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loops", [1, 4, 8])
@pytest.mark.parametrize(("cpus", "slots"), [(2, 2), (2, 4), (4, 4)])
def test_beside_busy_loops_nothing_is_said_of_speed(
    seed: int, loops: int, cpus: int, slots: int
) -> None:
    record = Computer(cpus, steady(loops)).build(tasks(seed), slots)
    model = analyse(record)
    assert model.others == pytest.approx(1 - model.utilisation, abs=0.05)
    truth = min(1.0, loops / cpus)
    assert model.wanted == pytest.approx(truth, abs=0.15)
    assert (model.busy, model.why_not) == (True, "busy")


def test_a_little_load_is_no_hindrance() -> None:
    """One program that wants a CPU for a fifth of the time, on two CPUs: a tenth of them."""
    computer, work = Computer(2, lambda now: int(now * 10) % 5 == 0), tasks(1, 100)
    model = analyse(computer.build(work, 2))
    assert 0.05 < model.wanted < 0.25
    assert not model.why_not
    assert model.estimated.seconds.high == pytest.approx(computer.serially(work), rel=0.1)


def test_more_slots_than_cpus_are_no_load_of_others() -> None:
    """Jobs that wait for each other; and a program that wants next to nothing."""
    computer = Computer(2, lambda now: int(now * 100) % 20 == 0)
    model = analyse(computer.build(tasks(1, 200), 18))
    assert not model.busy


@pytest.mark.parametrize("loops", [0, 8])
def test_what_sleeps_is_not_what_waits_for_a_cpu(loops: int) -> None:
    """Jobs of nearly no CPU time take as long serially, however busy the machine is."""
    computer = Computer(2, steady(loops))
    work = [Task(0.01, 1.0, 0.01) for _ in range(20)]
    model = analyse(computer.build(work, 2))
    assert model.work == pytest.approx(20.4, rel=0.02)
    assert model.estimated.seconds.high == pytest.approx(20.4, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_load_does_not_change(seed: int) -> None:
    """Work, critical path and bound are those of the machine alone: they come from CPU time."""
    work = tasks(seed)
    quiet = analyse(Computer(2).build(work, 2))
    beside = analyse(Computer(2, steady(8)).build(work, 2))
    for name in ("work", "critical_path", "lower_bound"):
        assert getattr(beside, name) == pytest.approx(getattr(quiet, name), rel=0.1)


#: Seconds by which CPU times that a kernel counts by its ticks can be too long, in a short build.
TICKS = 0.02


def counted(record: BuildRecord) -> float:
    """CPU seconds of the build, of several threads of a job as many as its wall time holds."""
    jobs = sum(min(c.cpu, c.duration) for c in record.commands if c.verdict == "deferred")
    return jobs + (record.driver_user_us + record.driver_system_us - record.again_us) / 1e6


def anything(seed: int) -> tuple[BuildRecord, Computer]:
    chance = random.Random(seed)
    cpus = chance.choice([1, 2, 4, 16])
    loops = chance.choice([0, 0, 1, 5, 20])
    others = chance.choice([steady, coming_and_going])(loops)
    computer = Computer(cpus, others)
    work = tasks(seed, chance.randrange(1, 60), waits=chance.choice([0, 0, 1.0]))
    parallel = chance.random() < 0.3
    record = computer.build(work, chance.choice([cpus, cpus, 2 * cpus]), parallel=parallel)
    if chance.random() < 0.3:
        unmeasured(record)
    if chance.random() < 0.2:  # as older histories have it
        record.watched = 0
        record.samples = [Sample(s.at, s.cpu, 0, 0, 0, 0) for s in record.samples]
    if chance.random() < 0.1:
        record.samples = []
    return record, computer


def check_what_holds(record: BuildRecord) -> None:
    """Whatever the build, and whatever was beside it."""
    model = analyse(record)
    speedup, wall = model.estimated.speedup.high, model.wall
    cpu = counted(record) * (record.calibration or 1.0)
    assert model.estimated.seconds.high >= cpu * 0.999
    got = (model.user + model.system + model.server) / wall
    assert model.utilisation * record.cpus == pytest.approx(got)
    if not model.serial.parallel:  # and the driver beside them
        assert speedup <= record.slots + 1.001
    if model.others is not None and not record.watched > record.cpus:
        assert model.others + model.utilisation <= 1.1
    if model.estimated.efficiency is not None:
        assert record.slots <= record.cpus
        assert model.estimated.efficiency.low <= model.estimated.efficiency.high <= 1
    assert 0 <= (model.others or 0) <= model.wanted <= 1
    if model.busy:
        assert model.why_not
    assert model.work >= cpu * 0.98 - TICKS
    assert model.critical_path <= model.work * 1.001 + 0.001
    if not model.busy:
        assert model.closeness is not None
    else:
        assert model.closeness is None


@pytest.mark.parametrize("seed", range(60))
def test_what_holds_for_any_build(seed: int) -> None:
    record, _ = anything(seed)
    check_what_holds(record)
    assert analyse(record).lower_bound <= analyse(record).wall * 1.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("make",), ("-j1", "make"), ("-j6", "make"), ("--foreground", "gcc", "make", "-j3")]
)
def test_what_holds_for_a_recorded_build(space: Space, words: tuple[str, ...]) -> None:
    """Real ones, on whatever machine this is, with whatever it is busy with."""
    space.copy("sample")
    assert space.smpmake(*words).status == 0
    record = History(space.root / "state" / "smpmake" / "history.db").last()
    assert record is not None
    assert record.watched >= record.cpus > 0
    assert 0 < record.driver_started < record.driver_ended < record.ended
    check_what_holds(record)


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_faster_than_the_cpus_of_a_quiet_machine(seed: int) -> None:
    """Where work is CPU time.  What sleeps may do so many times over."""
    chance = random.Random(seed)
    cpus = chance.choice([1, 2, 4, 8])
    model = analyse(Computer(cpus).build(tasks(seed), cpus + chance.choice([0, 0, 3])))
    assert model.estimated.speedup.high <= cpus * 1.03


def test_a_host_that_keeps_cpus_back() -> None:
    """Half of what the CPUs were at was stolen: a job of 4 s had 2 s, and alone would have too."""
    record = build(*(ran(n, 0, 0, 8, slot=n, user_us=4 * 10**6) for n in range(2)), wall=8)
    record.driver_ended = record.started
    record.samples = [Sample(at / 2, 1.0, 0, 0, 0, 0, 0, 0.5, 0.0) for at in range(17)]
    model = analyse(record)
    assert model.stolen == pytest.approx(0.5)
    assert model.why_not == "busy"
    assert model.work == pytest.approx(8, rel=0.01)


def test_what_waits_for_a_disk_beside_nobody_is_no_wait_for_a_cpu() -> None:
    """Both CPUs busy half of the time, but nobody ever waited for one: so they waited for more."""
    record = build(*(ran(n, 0, 0, 8, slot=n, user_us=4 * 10**6) for n in range(2)), wall=8)
    record.driver_ended = record.started
    record.samples = [Sample(at / 2, 0.5, 0, 0, 0, 0, 0, 0.0, 0.0) for at in range(17)]
    assert analyse(record).estimated.seconds.high == pytest.approx(16, rel=0.01)


def test_after_an_interrupt_nobody_says_what_others_took() -> None:
    """What is killed takes its CPU time with it."""
    record = Computer(2, steady(4)).build(tasks(1), 2)
    record.status = 130
    assert analyse(record).others is None
    record.status = 0
    assert (analyse(record).others or 0) > BUSY


# -------------------------------------------------------------------- parallel drivers


@pytest.mark.parametrize("seed", range(3))
def test_every_command_of_a_parallel_driver_counts(seed: int) -> None:
    """ninja was told that it had taken twenty times longer than serially."""
    computer, work = Computer(4), tasks(seed)
    record = computer.build(work, 4, parallel=True)
    assert all(c.verdict == "foreground" for c in record.commands)
    for known in (True, False):
        if not known:
            for one in record.commands:
                one.user_us = 0
        model = analyse(record)
        assert model.serial.parallel
        assert model.estimated.seconds.high == pytest.approx(computer.serially(work), rel=0.1)
        assert model.critical_path < 0.5 * model.wall * 4


def test_one_after_the_other_is_no_parallel_driver() -> None:
    chain = [ran(n, n, n, n + 1, verdict="foreground") for n in range(5)]
    record = build(*chain, wall=5)
    record.driver_user_us = 5 * 10**6
    model = analyse(record)
    assert not model.serial.parallel
    assert model.estimated.seconds.high == pytest.approx(5)


# -------------------------------------------------------------------- work done twice


def test_what_is_done_twice_counts_once() -> None:
    """Run again after a wrong promise: two jobs' results are used again, one is made anew."""
    first = [ran(n, 0.1 * n, n, n + 2, slot=n % 2, state="undone") for n in range(3)]
    for one in first:
        one.argv = b"gcc\0-c\0%d.c\0" % one.number
    again = [
        ran(n + 3, 5.0, 5.0, 5.0, slot=-1, detail="reused", argv=first[n].argv) for n in (0, 1)
    ]
    last = ran(5, 5.1, 5.1, 7.1, argv=first[2].argv)
    record = build(*first, *again, last, wall=7.5)
    record.runs, record.driver_started = 2, int(104.5 * S)
    record.driver_ended = 105 * S
    record.driver_user_us, record.again_us = 900_000, 400_000
    model = analyse(record)
    assert model.estimated.seconds.high == pytest.approx(6 + 0.5, abs=0.3)
    assert model.work == pytest.approx(6.5, abs=0.3)
    assert model.user == pytest.approx(3 * 2 + 2 + 0.9)  # it was spent all the same


def test_starting_is_not_the_drivers_work() -> None:
    record = build(ran(0, 1, 1, 3), wall=4)
    record.driver_started, record.driver_ended = 101 * S, 102 * S
    record.driver_user_us = 10**6
    model = analyse(record)
    assert model.wall == 4
    assert model.estimated.seconds.high == pytest.approx(3)
    assert model.concurrency.split.nobody == pytest.approx(2)


def test_an_unfinished_command_is_no_trouble() -> None:
    one = command(0, issued=100 * S, started=100 * S, slot=0)
    assert analyse(build(one)).estimated.seconds.high > 0


def test_threads_of_a_job_are_not_others() -> None:
    """A link with four threads had all CPUs: serially it would have them too."""
    record = build(ran(0, 0, 0, 5, user_us=20 * 10**6), wall=5, cpus=4)
    record.driver_ended = record.started
    record.samples = [Sample(at / 2, 1.0, 0, 0, 0, 0) for at in range(11)]
    model = analyse(record)
    assert model.others == pytest.approx(0)
    assert model.estimated.seconds.high == pytest.approx(5)


def test_what_was_before_the_first_sample_is_not_known() -> None:
    """A script's machine is looked at from its first job on."""
    record = build(ran(0, 6, 6, 8, user_us=2 * 10**6), wall=8)
    record.driver_ended = record.started
    record.samples = [Sample(6 + at / 2, 0.5, 0, 0, 0, 0) for at in range(5)]
    model = analyse(record)
    assert model.others == pytest.approx(0)
    assert not model.busy


def test_cpus_that_slow_each_other_down() -> None:
    """Two compiles of 2 s take 3 s of CPU each at once: serially they would not."""
    record = build(*(ran(n, 0, 0, 3, slot=n) for n in range(2)), wall=3)
    record.driver_ended = record.started
    assert calibrated(record, {"/src/0.o": 2.0, "/src/1.o": 2.0}) == pytest.approx(2 / 3)
    assert calibrated(record, {"/src/0.o": 3.5, "/src/1.o": 3.5}) == 1.0
    assert calibrated(record, {"/src/other.o": 2.0}) is None
    assert analyse(record).estimated.seconds.high == pytest.approx(6)
    record.calibration = 2 / 3
    model = analyse(record)
    assert model.estimated.seconds.high == pytest.approx(4)
    assert (model.work, model.lower_bound) == pytest.approx((4, 2))


#: Wants a CPU for as long as whoever started it is there.
LOOP = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@pytest.fixture
def loops() -> Iterator[None]:
    """Programs that want all CPUs, in a session of their own: what runs in ours shares our part of
    the CPUs where the kernel groups by sessions."""
    count = 4 * (os.cpu_count() or 1)
    busy = [
        subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True) for _ in range(count)
    ]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.chaos
def test_a_real_build_beside_busy_loops_says_nothing_of_speed(space: Space, loops: None) -> None:
    space.copy("sample")
    ended = space.smpmake("make")
    assert ended.status == 0
    for _ in range(2):  # a measured time is of no use here, too
        figures = json.loads(space.smpmake("report", "--json").out)["figures"]
        assert figures["busy"] and 0.25 < figures["others_wanted"] <= 1
        assert figures["speedup"] is None and figures["why_not"] in ("busy", "short")
        assert "times as fast" not in ended.err + space.smpmake("report").out
        History(space.root / "state" / "smpmake" / "history.db").set_serial(1, 100.0)
