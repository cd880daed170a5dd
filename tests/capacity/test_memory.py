"""Whether another job may start: what is free, what it will need, what earlier builds say."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from smpmake.capacity.memory import Memory, available
from smpmake.commands.model import Analysis, Kind
from smpmake.config import Settings
from smpmake.decide.policy import Decision
from smpmake.engine.build import Build
from smpmake.engine.command import Command
from smpmake.engine.expectations import Expectations
from smpmake.engine.verdict import Verdict
from smpmake.forecast import Forecast
from smpmake.history import History
from smpmake.history.past import of_commands, with_sequel
from smpmake.options import parse_size
from smpmake.protocol.wire import FileId, Invoke
from smpmake.records import BuildRecord, Past
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.scheduler import Action, Room, Scheduler, Start
from tests.support.made import build, command, keep, ran
from tests.support.space import FIXTURES, SMPMAKE, Space

MIB = 1 << 20
GIB = 1 << 30


def files(**contents: str) -> Callable[[str], str | None]:
    known = {name.replace("__", "/"): text for name, text in contents.items()}
    return lambda path: known.get(path.strip("/").replace(".", "_"))


def test_what_is_free_is_the_kernels_word() -> None:
    read = files(proc__meminfo="MemTotal: 9000 kB\nMemAvailable: 4096 kB\n")
    assert available(read) == 4 * MIB


def test_a_cgroup_may_allow_less() -> None:
    read = files(
        proc__meminfo="MemAvailable: 99999999 kB\n",
        proc__self__cgroup="0::/user/build\n",
        sys__fs__cgroup__user__memory_max=f"{GIB}\n",
        sys__fs__cgroup__user__memory_current=f"{GIB - 10 * MIB}\n",
        sys__fs__cgroup__user__memory_stat=f"anon 5\ninactive_file {4 * MIB}\n",
        sys__fs__cgroup__user__build__memory_max="max\n",
        sys__fs__cgroup__user__build__memory_current="5\n",
    )
    assert available(read) == 14 * MIB


def test_a_cgroup_of_version_1() -> None:
    read = files(
        proc__self__cgroup="7:memory:/box\n",
        sys__fs__cgroup__memory__box__memory_limit_in_bytes=f"{GIB}\n",
        sys__fs__cgroup__memory__box__memory_usage_in_bytes=f"{GIB // 2}\n",
    )
    assert available(read) == GIB // 2


def memory(reserve: int, free: Callable[[], int], clock: Callable[[], float]) -> Memory:
    """Jobs need 600 MiB each."""
    return Memory(2, reserve, lambda job: 600 * MIB, free, clock)


def test_two_that_do_not_fit() -> None:
    found = memory(0, lambda: GIB, lambda: 0.0)
    assert found.fits(job(0), alone=False)
    assert not found.fits(job(1), alone=False)


def test_what_is_free_is_measured_while_nothing_runs() -> None:
    """The kernel's word comes late: what a job has taken may not be missing yet."""
    free, now = GIB, 0.0
    found = memory(0, lambda: free, lambda: now)
    first, second = job(0), job(1)
    assert found.fits(first, alone=True)
    now, free = 1.0, 2 * GIB  # somebody else ended; but who knows what is still to come
    assert not found.fits(second, alone=False)
    found.ended(first)
    now = 2.0
    assert found.fits(first, alone=True)
    assert found.fits(second, alone=False)
    found.ended(second)
    now, free = 3.0, 500 * MIB  # somebody else began
    assert not found.fits(second, alone=False)


def test_the_reserve_stays_free() -> None:
    assert not memory(500 * MIB, lambda: GIB, lambda: 0.0).fits(job(0), alone=False)
    assert memory(-1, lambda: 0, lambda: 0.0).fits(job(0), alone=False)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512M", 512 * MIB), ("2G", 2 * GIB), ("1.5g", 3 * GIB // 2), ("4KiB", 4096), ("off", -1)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert parse_size(f"{text}x") is None


# -------------------------------------------------------------------- the scheduler


def job(number: int, *, mode: Mode = Mode.DEFERRED) -> Job:
    return Job(number, "b", mode, Operands())


def room(fits: Callable[[Job], bool]) -> Callable[[Job, int, Collection[Job]], Room]:
    """As far as memory goes: the only one always fits."""
    return lambda job, busy, waiting: Room.FREE if not busy or fits(job) else Room.SMALLER


def started(actions: list[Action]) -> list[int]:
    return [action.job.number for action in actions if isinstance(action, Start)]


def test_one_always_runs() -> None:
    scheduler = Scheduler(4, room=room(lambda job: False))
    actions = [action for n in range(3) for action in scheduler.issue(job(n), 0)]
    assert started(actions) == [0]
    assert scheduler.held == 2
    assert started(scheduler.finished(actions[0].job, ok=True, now=1)) == [1]


def test_smaller_ones_go_first() -> None:
    scheduler = Scheduler(2, room=room(lambda job: job.number != 1))
    actions = [action for n in range(3) for action in scheduler.issue(job(n), 0)]
    assert started(actions) == [0, 2]


def test_nobody_overtakes_what_somebody_waits_for() -> None:
    scheduler = Scheduler(2, room=room(lambda job: job.number != 1))
    first = job(0)
    assert started(scheduler.issue(first, 0)) == [0]
    large = job(1)
    scheduler.issue(large, 0)
    scheduler.wait(Job(-1, "", Mode.FOREGROUND, Operands(), light=True), {large}, 0)
    assert started(scheduler.issue(job(2), 0)) == []
    assert started(scheduler.finished(first, ok=True, now=1))[0] == 1


def test_what_was_held_starts_when_memory_is_free_again() -> None:
    free = False
    scheduler = Scheduler(2, room=room(lambda job: free))
    scheduler.issue(job(0), 0)
    assert started(scheduler.issue(job(1), 0)) == []
    free = True
    assert started(scheduler.dispatch()) == [1]
    assert scheduler.held == 0


def test_the_queue_is_ordered_by_rank() -> None:
    scheduler = Scheduler(1, rank=lambda job: -job.number)
    first = job(0)
    actions = [*scheduler.issue(first, 0), *scheduler.issue(job(1), 0), *scheduler.issue(job(2), 0)]
    assert started(actions) == [0]
    assert started(scheduler.finished(first, ok=True, now=1)) == [2]


# -------------------------------------------------------------------- what the past tells


def test_expectations_come_from_the_fullest_build(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    full = build(ran(0, 0, 0, 2, max_rss=100), ran(1, 0, 0, 9, max_rss=200))
    keep(path, full)
    keep(path, build(ran(0, 0, 0, 1, max_rss=300)))  # one was rebuilt
    history = History(path)
    known = with_sequel(of_commands("/src", history), "/src", history)
    assert (known.memory("/src/0.o"), known.memory("/src/1.o")) == (300, 200)
    assert known.memory("/src/new.o") is None
    assert [(output, round(took)) for output, took in known.sequel] == [
        ("/src/0.o", 2),
        ("/src/1.o", 9),
    ]


def deferred(count: int) -> list[Job]:
    """Commands that make /src/0.o, /src/1.o and so on."""
    file = FileId(0, 0)
    invoke = Invoke(0, 0, file, file, "gcc", b"/bin/gcc", b"/", "b", b"gcc\0", b"", b"")
    build = Build("b", Settings(guard=False))
    meaning, verdict = Analysis(Kind.COMPILE), Verdict(Decision(None))
    return [
        Job(n, "b", Mode.DEFERRED, Operands(), payload=each)
        for n in range(count)
        for each in [Command(build, invoke, b"", command(n), meaning, verdict)]
    ]


def test_what_runs_already_needs_what_the_past_says() -> None:
    """The first starts before earlier builds have been looked at."""
    expectations = Expectations()
    found = Memory(2, 0, expectations.memory_needed, free=lambda: GIB)
    jobs = deferred(2)
    found.awaits_forecast = True
    assert found.fits(jobs[0], alone=True)
    assert not found.fits(jobs[1], alone=False)
    known = {f"/src/{n}.o": Past(1.0, 1.0, 600 * 1024) for n in range(2)}
    expectations.forecast = Forecast(known)
    found.awaits_forecast = False
    assert not found.fits(jobs[1], alone=False)
    found.ended(jobs[0])
    assert found.fits(jobs[1], alone=True)


def test_a_broken_history_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    path.write_bytes(b"no database at all, but long enough to be read as one" * 50)
    history = History(path)
    assert of_commands("/src", history) == Forecast()
    assert with_sequel(Forecast(), "/src", history) == Forecast()


# -------------------------------------------------------------------- with real memory


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lock that all workers of this run share."""
    return tmp_path_factory.getbasetemp().parent / "memory.lock"


@pytest.fixture
def hog(space: Space, alone: Path) -> Iterator[Space]:
    """A project of four jobs that take 1 GiB each; no other test takes as much meanwhile."""
    with alone.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield memory_hog(space)


def memory_hog(space: Space) -> Space:
    if available() < 4 * GIB:
        pytest.skip(f"needs 4 GiB of free memory, has {available() // MIB} MiB")
    (space.root / "tools").mkdir()
    source = FIXTURES / "memory" / "compiler.c"
    space.ok("cc", "-O1", "-o", str(space.root / "tools" / "gcc"), str(source))
    space.environment["PATH"] = f"{space.root / 'tools'}:{space.environment['PATH']}"
    (space.folder / "meet").mkdir()
    rule = "%.o: %.c\n\tgcc $(MEET) -c $< -o $@\n"
    space.write({**{f"f{n}.c": "1024\n" for n in range(4)}})
    space.write({"Makefile": f"all: f0.o f1.o f2.o f3.o\n{rule}"})
    return space


def record_of(space: Space) -> BuildRecord:
    record = History(space.root / "state" / "smpmake" / "history.db").last()
    assert record is not None
    return record


def at_once(record: BuildRecord) -> int:
    spans = [(c.started, c.ended) for c in record.commands]
    return max(sum(a <= start < b for a, b in spans) for start, _ in spans)


@pytest.mark.chaos
def test_jobs_that_do_not_fit_together_do_not_run_together(hog: Space) -> None:
    """Room for one and a half: the history knows what they take, so one runs at a time."""
    free = available()  # now: what has just ended is missing there for a moment
    meeting = f"MEET=-DMEET={hog.folder / 'meet'}"
    assert hog.smpmake("-j2", "--memory", "off", "make", meeting).status == 0
    assert at_once(record_of(hog)) == 2
    assert min(c.max_rss for c in record_of(hog).commands) >= 1 << 20
    # What others on the machine free meanwhile can make room for two: not three times running.
    tries = (at_once_with_room_for_one(hog, max(free, available())) for _ in range(3))
    assert any(found == 1 for found in tries)


def at_once_with_room_for_one(hog: Space, free: int) -> int:
    for path in hog.folder.glob("*.o"):
        path.unlink()
    reserve = free - 3 * GIB // 2
    ended = hog.smpmake("-j2", "--memory", str(reserve), "make")
    assert ended.status == 0, ended.err
    record = record_of(hog)
    assert len(record.commands) == 4
    return at_once(record)


@pytest.mark.chaos
def test_without_a_history_the_first_ones_tell(hog: Space) -> None:
    """Nothing is known of the first; after it the tool is."""
    reserve = available() - 3 * GIB // 2
    ended = hog.smpmake("-j2", "--memory", str(reserve), "make")
    assert ended.status == 0, ended.err
    spans = sorted((c.started, c.ended) for c in record_of(hog).commands)
    assert spans[2][0] >= min(spans[0][1], spans[1][1])
    assert spans[3][0] >= spans[2][1] or spans[3][0] >= max(spans[0][1], spans[1][1])


@pytest.mark.slow
def test_a_cgroups_limit_counts(hog: Space) -> None:
    top = Path("/sys/fs/cgroup")
    if not (top / "cgroup.subtree_control").exists():
        pytest.skip("no cgroups of version 2 here")
    group = top / f"smpmake-test-{hog.root.name}"
    try:
        group.mkdir()
        (group / "memory.max").write_text(str(3 * GIB // 2))
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        assert hog.smpmake("-j2", "--memory", "off", "make").status == 0
        for path in hog.folder.glob("*.o"):
            path.unlink()
        inside = f"echo $$ > {group}/cgroup.procs && exec {SMPMAKE} -j2 --memory 0 make"
        ended = hog.run("sh", "-c", inside)
        assert ended.status == 0, ended.err
        assert at_once(record_of(hog)) == 1
    finally:
        group.rmdir()
