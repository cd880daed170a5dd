"""Compiles that go to other machines: they need a slot while they are preprocessed, and a place."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from smpmake.cluster.cluster import Cluster
from smpmake.cluster.distribution import Distribution
from smpmake.cluster.farm import Host
from smpmake.cluster.places import Place
from smpmake.engine.elsewhere import Elsewhere, Here, HostState
from smpmake.engine.worker_requests import Order
from smpmake.forecast import Forecast
from smpmake.guard import traces
from smpmake.records import Past
from tests.support.bench import Bench

OWN_STATUS = 107 << 8


class FakeCluster:
    """A host `far` with some places; the test says when a compile is sent."""

    name, litter, fault = "far", "/tmp/far-", ""
    complaints: tuple[str, ...] = ()

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken: set[Place] = set()
        self.failures = 0
        self.told: list[str] = []
        self._moved: dict[int, Callable[[str], None]] = {}
        self._host = Host("far", "far/9", total)
        self.wake: Callable[[], None]
        self.say: Callable[[str], None]

    @property
    def client(self) -> FakeCluster:
        return self

    places = client

    @property
    def has_room(self) -> bool:
        return len(self.taken) < self.total

    def state(self) -> list[HostState]:
        return []

    def take(self, *compiler: str) -> Place | None:
        for number in range(self.total):
            place = Place(self._host, number)
            if place not in self.taken:
                self.taken.add(place)
                return place
        return None

    def waits(self, *compiler: str) -> bool:
        return self.total > 0

    def watch(self, place: Place, moved: Callable[[str], None]) -> None:
        self._moved[place.number] = moved

    def order(self, order: Order, place: Place, argv: tuple[str, ...], *_: str) -> Order:
        return order.by("/usr/bin/far", ("far", *argv), {"FAR_PLACE": str(place.number)})

    def send(self, number: int) -> None:
        """The compile in that place is sent now."""
        self._moved[number]("far")

    def bring_back(self, number: int) -> None:
        """The compile in that place is at work here, whatever was said before."""
        self._moved[number]("")

    def host_of(self, place: Place) -> str:
        return "far"

    def give(self, place: Place) -> None:
        self.taken.remove(place)

    def blames_host(self, status: int) -> bool:
        return status == OWN_STATUS >> 8

    def failed(self, place: Place) -> None:
        self.failures += 1

    def close(self) -> None:
        assert not self.taken


def elsewhere(cluster: FakeCluster) -> Callable[[Here], Elsewhere]:
    def distribute(here: Here) -> Elsewhere:
        cluster.wake, cluster.say = here.wake, here.say
        return Distribution(cast("Cluster", cluster), here)

    return distribute


def unused(bench: Bench) -> str:
    """What is told of machines that have compiled nothing."""
    return bench.engine.elsewhere.report().unused


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(2)


@pytest.fixture
def bench(tmp_path: Path, cluster: FakeCluster) -> Iterator[Bench]:
    bench = Bench(tmp_path, 1, elsewhere=elsewhere(cluster))
    bench.write(*(f"{name}.c" for name in "abcde"))
    yield bench
    assert bench.close() == []


def runs(bench: Bench) -> list[int]:
    """The numbers of what runs, here and elsewhere."""
    return sorted(bench.workers.running.values())


def is_away(bench: Bench, number: int) -> bool:
    return b"/usr/bin/far\0" in bench.workers.orders[number]


def compile_all(bench: Bench, names: str) -> None:
    for name in names:
        assert bench.run(f"gcc -c {name}.c").status == 0


def end_all(bench: Bench) -> None:
    while bench.workers.running:
        bench.workers.end(runs(bench)[0])


def test_what_is_sent_needs_no_slot(bench: Bench, cluster: FakeCluster) -> None:
    compile_all(bench, "abc")
    assert runs(bench) == [0]
    assert is_away(bench, 0)
    assert b"far\0gcc\0-c\0a.c\0" in bench.workers.orders[0]
    assert b"FAR_PLACE=0\0" in bench.workers.orders[0]
    cluster.send(0)
    cluster.send(0)
    assert runs(bench) == [0, 1]
    cluster.send(1)
    assert runs(bench) == [0, 1, 2]
    assert not is_away(bench, 2)
    end_all(bench)
    assert bench.states() == ["done"] * 3
    assert [record.host for record in bench.build.commands.records] == ["far", "far", ""]
    assert [bool(record.sent) for record in bench.build.commands.records] == [True, True, False]


def test_that_nothing_was_compiled_elsewhere_is_told_with_the_reason(
    bench: Bench, cluster: FakeCluster
) -> None:
    assert unused(bench) == ""  # there was nothing to compile
    cluster.total = 0
    compile_all(bench, "a")
    assert "far compiled nothing, this machine did it all: no host had answered" in (unused(bench))
    cluster.fault = "host1: refused"
    assert "no host can be used (host1: refused); `smpmake doctor`" in unused(bench)
    cluster.total, cluster.fault = 2, ""
    end_all(bench)
    compile_all(bench, "b")
    cluster.send(0)
    bench.workers.end(1, 0, b"x", b"")  # what it printed is of no use
    assert "had to be repeated here" in unused(bench)
    end_all(bench)
    compile_all(bench, "c")
    cluster.send(0)
    end_all(bench)
    assert unused(bench) == ""


def test_compiles_that_are_too_short_to_be_sent_are_told_of(bench: Bench) -> None:
    bench.engine.take_forecast(Forecast({str(bench.folder / "a.o"): Past(0.05, 0.05, 1000)}))
    compile_all(bench, "a")
    end_all(bench)
    assert "too short to be sent; leave out --engine=far" in unused(bench)


def test_a_place_is_free_again(bench: Bench, cluster: FakeCluster) -> None:
    compile_all(bench, "abc")
    for number in (0, 1):
        cluster.send(number)
    assert not is_away(bench, 2)
    bench.workers.end(0)
    compile_all(bench, "d")
    bench.workers.end(2)
    assert is_away(bench, 3)
    end_all(bench)
    assert bench.states() == ["done"] * 4


def test_what_feeds_the_hosts_comes_before_compiles_here(tmp_path: Path) -> None:
    cluster = FakeCluster(1)
    bench = Bench(tmp_path, 2, elsewhere=elsewhere(cluster))
    bench.write(*(f"{name}.c" for name in "abcde"))
    compile_all(bench, "a")
    cluster.send(0)
    bench.workers.end(0)  # by these times one place keeps more than two CPUs busy
    compile_all(bench, "bcd")
    cluster.send(0)
    assert runs(bench) == [1, 2]  # nothing else is at work here
    bench.workers.end(1)
    assert runs(bench) == [2, 3]
    assert [is_away(bench, number) for number in (2, 3)] == [False, True]
    end_all(bench)
    assert bench.close() == []


@pytest.mark.parametrize(
    ("status", "out", "err", "failures"),
    [
        *((1 << 8, b"", b"", 0), (0, b"", b"a.c: warning\n", 0), (0, b"x", b"", 0)),
        *((9, b"", b"", 0), (OWN_STATUS, b"", b"", 1)),
    ],
)
def test_what_is_of_no_use_is_done_here(
    bench: Bench, cluster: FakeCluster, status: int, out: bytes, err: bytes, failures: int
) -> None:
    compile_all(bench, "ab")
    cluster.send(0)
    (bench.folder / "a.o").write_text("half")
    bench.workers.end(0, status, out, err)
    assert not (bench.folder / "a.o").exists()
    assert cluster.failures == failures
    cluster.send(0)
    bench.workers.end(1)
    assert runs(bench) == [0]
    assert not is_away(bench, 0)
    bench.workers.end(0, 1 << 8, err=b"the truth\n")
    record = bench.build.commands.records[0]
    assert (record.state, record.status, record.host, record.sent) == ("failed", 1, "", 0)
    assert bench.build.promises.failures[0].output == b"the truth\n"


def test_what_we_end_is_not_done_again(bench: Bench, cluster: FakeCluster) -> None:
    compile_all(bench, "a")
    cluster.send(0)
    bench.engine.stop_build(bench.build, 130)
    assert bench.workers.signals
    bench.workers.end(0, 15)
    assert runs(bench) == []
    assert bench.states() == ["failed"]


def test_a_lost_worker_gives_its_place_back(bench: Bench, cluster: FakeCluster) -> None:
    compile_all(bench, "a")
    cluster.send(0)
    cluster.total = 0
    bench.workers.lose(0)
    assert runs(bench) == [0]
    assert not cluster.taken
    assert (bench.build.commands.records[0].host, bench.build.commands.records[0].sent) == ("", 0)
    assert bench.engine.counts == (1, 0, 0)
    end_all(bench)
    assert bench.states() == ["done"]


def test_what_is_compiled_here_after_all_needs_a_slot(bench: Bench, cluster: FakeCluster) -> None:
    compile_all(bench, "abc")
    cluster.send(0)
    assert runs(bench) == [0, 1]
    cluster.bring_back(0)
    bench.workers.end(1)
    assert runs(bench) == [0]  # its slot is the one that became free
    assert (bench.build.commands.records[0].host, bench.build.commands.records[0].sent) == ("", 0)
    bench.workers.end(0)
    assert runs(bench) == [2]
    cluster.bring_back(1)
    assert runs(bench) == [2]
    end_all(bench)
    assert bench.states() == ["done"] * 3


def test_links_stay_here(bench: Bench, cluster: FakeCluster) -> None:
    (bench.folder / "x.o").touch()
    bench.run("gcc x.o -o x")
    assert not cluster.taken
    assert not is_away(bench, 0)
    end_all(bench)


def test_what_the_user_should_know_is_a_notice(bench: Bench, cluster: FakeCluster) -> None:
    cluster.say("far is no more")
    assert bench.build.notices == ["far is no more"]


@pytest.mark.parametrize(
    ("cpu", "elsewhere", "goes"),
    [(0.05, 0.0, False), (0.5, 0.0, True), (0.02, 0.4, True), (0.5, 0.1, False)],
)
def test_what_is_known_to_be_little_stays_here(
    bench: Bench, cluster: FakeCluster, cpu: float, elsewhere: float, goes: bool
) -> None:
    """Work, that is: a compile that has gone before took little CPU time here in any case."""
    output = str(bench.folder / "a.o")
    bench.engine.take_forecast(Forecast({output: Past(1.0, cpu, 1024, elsewhere)}))
    compile_all(bench, "ab")
    assert is_away(bench, 0) == goes
    end_all(bench)
    assert is_away(bench, 1)  # of which nothing is known


def test_there_may_be_room_at_any_time(bench: Bench, cluster: FakeCluster) -> None:
    compile_all(bench, "a")
    cluster.wake()
    assert runs(bench) == [0]
    end_all(bench)


def test_jobs_are_told_what_the_client_has_elsewhere(bench: Bench, cluster: FakeCluster) -> None:
    """Locks, which many share: their guards let each other be."""
    bench.run("gcc -c a.c")
    cluster.send(0)
    trace = (bench.folder.parent / "session" / "trace-0").read_bytes()
    assert f"{cluster.litter}\0".encode() in trace[: traces._HEAD]
    end_all(bench)


def read(bench: Bench, slot: int, *notes: bytes) -> None:
    """What a job's guards have noted."""
    with open(bench.folder.parent / "session" / f"trace-{slot}", "r+b") as trace:
        data = b"".join(note + b"\0" for note in notes)
        trace.seek(traces._HEAD)  # the guard has its layout
        trace.write(data)
        trace.seek(0)
        trace.write(struct.pack("<I", len(data)))


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("#define A 1", True),
        ("#define A __DATE__", False),
        ("#  pragma\tGCC optimize 3", False),
        ("#pragma GCC diagnostic push", True),
        ("#pragma unheard_of", False),
        ('_Pragma ( "pop_macro(\\"A\\")")', False),
        ("DO(GCC target(avx))", False),
        ("int dating__DATE__;", True),
        ('asm(".incbin \\"x\\"");', False),
    ],
)
def test_a_header_that_says_more_than_is_handed_on(bench: Bench, text: str, stays: bool) -> None:
    header = bench.folder / "a.h"
    header.write_text(text)
    for number, expected in enumerate([stays, True]):
        compile_all(bench, "ab"[number])
        assert is_away(bench, number)
        read(bench, 0, b"r" + bytes(header))
        bench.workers.end(number)
        assert (runs(bench) == []) is expected
        if not expected:
            assert not is_away(bench, number)
        end_all(bench)
        header.write_text("int longer_than_before_and_harmless_now;\n")


def test_a_precompiled_header_stays_here(bench: Bench) -> None:
    (bench.folder / "a.h").touch()
    (bench.folder / "a.h.gch").touch()
    compile_all(bench, "a")
    read(bench, 0, b"r" + bytes(bench.folder / "a.h"))
    bench.workers.end(0)
    assert runs(bench) == [0]
    end_all(bench)


def test_a_compiler_of_which_nobody_knows_what_it_reads(bench: Bench) -> None:
    compile_all(bench, "a")
    assert is_away(bench, 0)
    read(bench, 0, b"u/usr/bin/gcc")
    bench.workers.end(0)
    assert runs(bench) == [0]
    assert not is_away(bench, 0)
    end_all(bench)
    compile_all(bench, "b")
    assert not is_away(bench, 1)
    end_all(bench)


@pytest.mark.parametrize("name", ["COMPILER_PATH", "GCC_EXEC_PREFIX"])
def test_a_compiler_with_other_parts(bench: Bench, name: str) -> None:
    bench.run("gcc -c a.c", environment=[f"{name}=/somewhere"])
    assert not is_away(bench, 0)
    end_all(bench)
