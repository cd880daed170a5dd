"""Builds of one user at once share the CPUs (P6), fairly, and nothing is left of who was killed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from smpmake import cpus
from smpmake.capacity import neighbours as room
from smpmake.capacity import table
from smpmake.capacity.neighbours import SharedSlots, neighbours
from smpmake.capacity.table import CrowdedError, Member, Standing, Wait, members
from smpmake.config import ConfigError, Settings, load
from tests.support.counting import COUNTING, MEETING, counted, most_at_once
from tests.support.space import SMPMAKE, Space, objects

PROCESS = """
import sys
from pathlib import Path
from smpmake.capacity.neighbours import SharedSlots
other = SharedSlots(Path(sys.argv[1]), 4)
other.most_slots(2)
other.settle_tokens(2, None)
print(len(other.held), flush=True)
sys.stdin.read()
"""


class House:
    """A file, and builds that share it."""

    def __init__(self, path: Path, slots: int) -> None:
        self.path = path
        self._slots = slots
        self.builds: list[Build] = []

    def build(self) -> Build:
        found = Build(SharedSlots(self.path, self._slots))
        self.builds.append(found)
        return found

    @property
    def busy(self) -> list[int]:
        return [each.busy for each in self.builds]


class Build:
    """As the engine uses its tokens: `wants` is how many tools it would run at once."""

    def __init__(self, tokens: SharedSlots) -> None:
        self.tokens = tokens
        self.busy = self.wants = 0
        self.on_change: Callable[[], None] = lambda: None

    def want(self, count: int) -> None:
        self.wants = count
        self.go_on()

    def end_one(self) -> None:
        """A tool ends, and there is another one to run."""
        self.busy -= 1
        self.go_on()

    def go_on(self) -> None:
        self.busy = min(self.busy, self.wants)
        is_short = False
        while self.busy < self.wants and not is_short:
            if self.busy and self.tokens.most_slots(self.busy + 1) <= self.busy:
                is_short = True
            else:
                self.busy += 1
        self.tokens.settle_tokens(self.busy, self.go_on if is_short else None)
        self.on_change()


@contextmanager
def house(tmp_path: Path, slots: int) -> Iterator[House]:
    found = House(tmp_path / "slots", slots)
    with ExitStack() as ended:
        yield found
        for each in found.builds:
            ended.callback(each.tokens.close)


def played(play: Callable[[], object]) -> None:
    async def within() -> None:
        result = play()
        if asyncio.iscoroutine(result):
            await result

    asyncio.run(within())


async def heard() -> None:
    """What was given back is noticed, and what that leads to."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_p6_alone_it_has_all_and_the_file_goes_with_it(tmp_path: Path) -> None:
    with house(tmp_path, 3) as there:
        one = there.build()
        one.want(3)
        assert one.busy == len(one.tokens.held) == 3
        assert not one.tokens.shared
        assert one.tokens.most_slots(4) == 4  # if it was told to run so many
        assert (tmp_path / "slots").stat().st_mode & 0o777 == 0o600
    assert not os.listdir(tmp_path)


def test_p6_who_comes_later_gets_his_share(tmp_path: Path) -> None:
    async def play() -> None:
        with house(tmp_path, 5) as there:
            first, second = there.build(), there.build()
            first.want(5)
            second.want(5)
            assert there.busy == [5, 1]  # the first tool does not wait
            for expected in ([4, 1], [3, 2]):
                first.end_one()
                await heard()
                assert there.busy == expected
            for _ in range(4):  # that is fair: five for two
                first.end_one()
                second.end_one()
                await heard()
                assert there.busy == [3, 2]
            assert first.tokens.shared and second.tokens.shared
            third = there.build()
            third.want(5)
            for _ in range(9):
                for each in there.builds:
                    each.end_one()
                    await heard()
            assert sorted(there.busy) == [1, 2, 2]
            first.want(0)
            await heard()
            third.want(0)
            await heard()
            assert second.busy == 5

    played(play)


def test_p6_a_first_tool_without_a_slot_gets_the_next(tmp_path: Path) -> None:
    async def play() -> None:
        with house(tmp_path, 2) as there:
            first, second = there.build(), there.build()
            first.want(2)
            second.want(1)  # and no more
            assert there.busy == [2, 1]
            first.end_one()
            await heard()
            assert there.busy == [1, 1]
            assert len(second.tokens.held) == 1
            second.want(0)
            await heard()
            assert first.busy == 2

    played(play)


def test_who_wants_nothing_holds_nobody_up(tmp_path: Path) -> None:
    def play() -> None:
        with house(tmp_path, 4) as there:
            idle, busy = there.build(), there.build()
            idle.want(1)
            busy.want(3)
            assert there.busy == [1, 3]
            for _ in range(3):
                busy.end_one()
                assert there.busy == [1, 3]
            assert not busy.tokens.shared

    played(play)


def another(path: Path) -> subprocess.Popen[bytes]:
    """A build in a process of its own, which has two slots."""
    other = subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"2\n"
    return other


def test_p9_a_killed_build_holds_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        with house(tmp_path, 4) as there:
            other = another(there.path)
            one = there.build()
            one.want(4)
            await heard()
            assert one.busy == 2
            woken = asyncio.Event()
            one.on_change = lambda: woken.set() if one.busy == 4 else None
            other.send_signal(signal.SIGKILL)
            other.communicate()
            await asyncio.wait_for(woken.wait(), 60)
            assert not one.tokens.contended

    played(play)


def test_what_a_stopped_build_holds_is_lent(tmp_path: Path) -> None:
    def play() -> None:
        with house(tmp_path, 4) as there:
            other = another(there.path)
            one = there.build()
            one.want(4)
            assert one.busy == 2
            other.send_signal(signal.SIGSTOP)
            os.waitpid(other.pid, os.WUNTRACED)
            one.end_one()
            assert one.busy == 4
            other.send_signal(signal.SIGCONT)
            os.waitpid(other.pid, os.WCONTINUED)
            for expected in (3, 2):
                one.end_one()
                assert one.busy == expected
            other.communicate()

    played(play)


def test_a_file_that_goes_while_it_is_opened_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "slots"
    real, times = fcntl.flock, list[int]()

    def leaves(fd: int, how: int) -> None:
        real(fd, how)
        times.append(how)
        if len(times) == 1:
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", leaves)
    one = SharedSlots(path, 2)
    two = SharedSlots(path, 2)
    one.settle_tokens(2, None)
    assert two.most_slots(2) < 2
    one.close()
    assert path.exists()
    two.close()
    assert not path.exists()


def test_no_more_builds_than_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BUILDS", 2)
    with house(tmp_path, 2) as there:
        there.build()
        there.build()
        with pytest.raises(CrowdedError):
            there.build()


def test_more_jobs_than_cpus_run_while_nobody_else_builds(tmp_path: Path) -> None:
    async def play() -> None:
        with house(tmp_path, 2) as there:
            first = there.build()
            first.want(4)
            assert first.busy == 4
            assert len(first.tokens.held) == 2
            assert not first.tokens.shared
            second = there.build()
            second.want(4)
            assert there.busy == [4, 1]  # the first tool does not wait
            for _ in range(4):
                first.end_one()
                await heard()
            assert there.busy == [1, 1]
            second.want(0)
            await heard()
            first.end_one()
            assert there.busy == [4, 0]

    played(play)


def test_what_is_told_of_builds(tmp_path: Path) -> None:
    def play() -> None:
        with house(tmp_path, 4) as there:
            first = there.build()
            first.want(2)
            first.tokens.tell(2, 7, Wait.MEMORY)
            there.build()
            standing = Standing(4, 4, 2, 7, Wait.MEMORY)
            ours = os.getpid()
            told = [Member(ours, 2, standing), Member(ours, 0, Standing(4, 4))]
            assert members(there.path) == told
            other = another(there.path)
            assert [each.held for each in members(there.path)] == [2, 0, 2]
            other.kill()
            other.communicate()
            assert members(there.path) == told

    played(play)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The places for a user's table."""
    found = [tmp_path / "a", tmp_path / "b"]
    monkeypatch.setattr(room, "places", lambda: found)
    return found


def test_where_the_table_is(folders: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    for settings in (Settings(), Settings(jobs=99)):  # -j with more than there are
        found = neighbours(settings)
        assert found is not None
        (file,) = folders[0].iterdir()
        found.close()
        assert not file.exists()
    assert neighbours(Settings(own_pool=True)) is None
    file.symlink_to(folders[0] / "elsewhere")
    found = neighbours(Settings())
    assert found is not None
    assert os.listdir(folders[1]) == [file.name]
    found.close()
    folders[1].rmdir()
    folders[1].write_text("no folder")
    assert neighbours(Settings()) is None  # no place for it
    assert not (folders[0] / "elsewhere").exists()
    folders[0].chmod(0o777)
    assert neighbours(Settings()) is None
    assert "does not share the CPUs with your other builds" in capsys.readouterr().err


def test_the_place_is_the_same_whatever_home_and_variables_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = list(room.places())
    assert found
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    assert list(room.places()) == found
    assert all(str(os.geteuid()) in path.name for path in found)


def pooled(pool: Path) -> SharedSlots | None:
    return neighbours(Settings(machine_pool=str(pool)))


def test_a_pool_for_all_of_the_machine(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool"
    pool.mkdir()
    pool.chmod(0o2770)
    found = pooled(pool)
    assert found is not None
    (file,) = pool.iterdir()
    assert file.stat().st_mode & 0o777 == 0o660
    found.close()
    assert not any(pool.iterdir())
    assert not folders[0].exists()
    assert capsys.readouterr().err == ""


def test_what_others_put_there_is_not_written_to(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, precious = tmp_path / "pool", tmp_path / "precious"
    pool.mkdir()
    found = pooled(pool)
    assert found is not None
    (file,) = pool.iterdir()
    found.close()
    precious.write_text("mine")
    puts: tuple[Callable[[], None], ...] = (
        lambda: file.symlink_to(precious),
        lambda: file.hardlink_to(precious),
        lambda: os.mkfifo(file),
        lambda: file.mkdir(),
    )
    for put in puts:
        put()
        instead = pooled(pool)
        assert instead is not None
        assert folders[0].exists()  # the user's own
        instead.close()
        assert precious.read_text() == "mine"
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    with open(file, "w") as theirs:  # who may open it may lock it, for as long as he likes
        fcntl.flock(theirs, fcntl.LOCK_EX)
        instead = pooled(pool)
        assert instead is not None
        instead.close()
        assert folders[0].exists()
    file.unlink()
    file.write_bytes(os.urandom(3 * 20_000))  # nobody has a lock: all of it is nobody's
    found = pooled(pool)
    assert found is not None
    assert found.most_slots(cpus.usable().count) == cpus.usable().count
    assert not found.contended
    found.close()
    shutil.rmtree(pool)
    instead = pooled(pool)
    assert instead is not None
    instead.close()
    assert f"{pool} cannot be the pool" in capsys.readouterr().err


def test_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null")
    (tmp_path / ".smpmake.toml").write_text("own-pool = true\n")
    assert load(tmp_path).own_pool
    (tmp_path / ".smpmake.toml").write_text("own-pool = 1\n")
    with pytest.raises(ConfigError):
        load(tmp_path)


RULES = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -c -o $@ $<\n"
two_cpus = pytest.mark.skipif(cpus.usable().count < 2, reason="needs two CPUs")


@pytest.mark.chaos
@two_cpus
def test_p6_two_builds_at_once(space: Space) -> None:
    counted(space, COUNTING)
    for name in "ab":
        space.write({f"{name}/{path}": text for path, text in objects(12).items()})
        space.write({f"{name}/Makefile": RULES})
    for each in [space.start(SMPMAKE, "make", "-C", name) for name in "ab"]:
        ended = space.finish(each)
        assert ended.status == 0, ended.err
    assert len(list(space.folder.glob("?/*.o"))) == 24
    assert most_at_once(space) <= cpus.usable().count + 1  # a first tool does not wait
    assert not os.listdir(space.temporary)


@pytest.fixture
def full(space: Space) -> Iterator[None]:
    """Another build has all CPUs."""
    found = pooled(space.root / "pool")
    assert found is not None
    found.settle_tokens(cpus.usable().affinity, None)
    yield
    found.close()


@two_cpus
def test_p6_where_another_has_all_one_at_a_time_is_run(space: Space, full: None) -> None:
    counted(space, COUNTING)
    space.write({**objects(4), "Makefile": RULES})
    ended = space.smpmake("make")
    assert ended.status == 0, ended.err
    assert most_at_once(space) == 1
    assert "other builds of yours had some of the CPUs" in ended.out + ended.err


@two_cpus
def test_a_pool_of_its_own(space: Space, full: None) -> None:
    counted(space, MEETING)
    go = space.root / "go"
    os.mkfifo(go)
    space.write({**objects(4), "Makefile": RULES})
    process = space.start(SMPMAKE, "--own-pool", "make")
    while process.poll() is None:  # two must meet to get here
        with open(os.open(go, os.O_RDWR), "w") as gate:
            gate.write("go\n")
    assert space.finish(process).status == 0


@two_cpus
def test_more_jobs_than_cpus_are_shared_as_well(space: Space, full: None) -> None:
    counted(space, COUNTING)
    space.write({**objects(4), "Makefile": RULES})
    ended = space.smpmake(f"-j{cpus.usable().count + 1}", "make")
    assert ended.status == 0, ended.err
    assert most_at_once(space) == 1


KILLS = 20


@pytest.mark.chaos
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_kills_at_any_moment_lose_no_slot(space: Space, number: signal.Signals) -> None:
    """One build goes on meanwhile, two at a time begin and are killed after some lines."""
    chance = random.Random(number)
    space.write({**objects(12), "Makefile": RULES})
    for turn in range(KILLS):
        builds = [space.start(SMPMAKE, "-q", "--memo=off", "make", "-B") for _ in range(2)]
        for build in builds:
            assert build.stdout is not None
            for _ in range(chance.randrange(10)):
                build.stdout.readline()
        for build in builds:
            build.send_signal(number)
            build.communicate()
        if turn % 10 == 0:
            assert space.smpmake("-q", "make", "-B").status == 0
    alone = pooled(space.root / "pool")
    assert alone is not None
    try:
        while len(members(alone.path)) > 1:  # what a signal ends winds up first
            os.sched_yield()
        count = cpus.usable().affinity
        assert alone.most_slots(count) == len(alone.held) == count
    finally:
        alone.close()
