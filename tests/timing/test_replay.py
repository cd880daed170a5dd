"""The graph of a recorded build, played on other machines; and what held the recorded one back."""

from __future__ import annotations

import pytest

from smpmake.records import BuildRecord, Sample, Stall
from smpmake.timing import analyse, explore
from smpmake.timing.graph import Event, Graph, Job, build_graph
from smpmake.timing.groups import folder, language
from smpmake.timing.replay import play
from smpmake.timing.serial import serial
from smpmake.timing.spans import subtract, timeline, union
from tests.support.made import S, build, command, ran

INFINITE = float("inf")
NONE: frozenset[int] = frozenset()


def graph(*jobs: Job, between: float = 0.0, last: frozenset[int] = NONE) -> Graph:
    events = [Event(between, job.number, NONE) for job in jobs]
    events.append(Event(0.0, -1, last))
    return Graph(tuple(events), {job.number: job for job in jobs}, sum(j.work for j in jobs))


def test_independent_jobs_share_the_slots() -> None:
    eight = graph(*(Job(n, 1.0, NONE) for n in range(8)))
    assert [play(eight, n, n).seconds for n in (1, 2, 4, 8, 16)] == [8, 4, 2, 1, 1]


def test_slots_beyond_the_cpus_only_share_them() -> None:
    eight = graph(*(Job(n, 1.0, NONE) for n in range(8)))
    assert play(eight, 8, 2).seconds == pytest.approx(4)


def test_a_chain_gains_nothing() -> None:
    chain = graph(*(Job(n, 1.0, frozenset({n - 1} if n else ())) for n in range(5)))
    assert play(chain, 256, 256).seconds == pytest.approx(5)
    assert [piece.number for piece in play(chain, INFINITE, INFINITE).path] == [0, 1, 2, 3, 4]


def test_the_driver_is_part_of_the_path() -> None:
    """Ten commands a second apart, each of half a second: the driver is what takes long."""
    slow = graph(*(Job(n, 0.5, NONE) for n in range(10)), between=1.0)
    played = play(slow, INFINITE, INFINITE)
    assert played.seconds == pytest.approx(10.5)
    assert [(piece.number, piece.end - piece.start) for piece in played.path] == [
        (-1, 10.0),
        (9, 0.5),
    ]


def test_the_driver_on_one_cpu_competes() -> None:
    one = graph(*(Job(n, 1.0, NONE) for n in range(3)), between=1.0)
    assert play(one, 1, 1).seconds == pytest.approx(6)
    assert play(one, 1, 2).seconds == pytest.approx(4)


def test_the_driver_waits_and_goes_on() -> None:
    jobs = {0: Job(0, 4.0, NONE), 1: Job(1, 1.0, NONE)}
    events = (
        Event(1.0, 0, NONE),
        Event(1.0, -1, frozenset({0})),  # it waits from 2 to 5
        Event(1.0, 1, NONE),
        Event(0.0, -1, NONE),
    )
    played = play(Graph(events, jobs, 8.0), INFINITE, INFINITE)
    assert played.seconds == pytest.approx(7)
    assert [(p.number, p.start, p.end) for p in played.path] == [
        (-1, 0, 1),
        (0, 1, 5),
        (-1, 5, 6),
        (1, 6, 7),
    ]


def test_what_the_driver_waits_for_goes_first() -> None:
    jobs = {n: Job(n, 1.0, NONE) for n in range(4)}
    events = (*(Event(0.0, n, NONE) for n in range(4)), Event(0.0, -1, frozenset({3})))
    after = Event(2.0, -1, NONE)
    played = play(Graph((*events, after), jobs, 6.0), 1, INFINITE)
    assert played.seconds == pytest.approx(4)  # not 3 + 1 + 2


def test_moments_without_length_do_not_loop() -> None:
    jobs = {n: Job(n, 0.0, NONE) for n in range(5)}
    events = tuple(
        event for n in range(5) for event in (Event(0.0, n, NONE), Event(0.0, -1, frozenset({n})))
    )
    assert play(Graph((*events, Event(0.0, -1, NONE)), jobs, 0.0), INFINITE, INFINITE).seconds == 0


def test_the_graph_of_a_record_knows_readers_writers_and_moves() -> None:
    record = build(
        ran(0, 0, 0, 2, outputs=("/src/t.o",), inputs=("/src/a.c",)),
        # A rename by the server, which takes no slot: the link needs the compile through it.
        ran(1, 0.1, 2, 2, slot=-1, light=True, inputs=("/src/t.o",), outputs=("/src/a.o",)),
        ran(2, 0.2, 2, 3, outputs=("/src/p",), inputs=("/src/a.o",)),
        ran(3, 0.3, 3, 4, outputs=("/src/a.c",), inputs=()),  # what 0 may still read
        ran(4, 0.4, 4, 5, outputs=("/src/x.o",), reads=("/src/p",)),
    )
    line = timeline(record)
    made = build_graph(record, line, serial(record, line))
    assert {n: set(job.needs) for n, job in made.jobs.items()} == {0: set(), 2: {0}, 3: {0}, 4: {2}}


def test_the_recorded_build_played_again_takes_as_long() -> None:
    """Two slots, four jobs of 2 s, the driver waits for all and works another second."""
    jobs = [ran(n, 0, 2 * (n // 2), 2 * (n // 2) + 2, slot=n % 2) for n in range(4)]
    record = build(*jobs, wall=5)
    record.stalls = [Stall("make", "reads", "/src/3.o", 3, 2, -1, 100 * S, 104 * S)]
    record.driver_user_us = 10**6
    model = analyse(record)
    deep = explore(record, model)
    assert deep.simulated == pytest.approx(5, abs=0.1)
    assert model.critical_path == pytest.approx(3, abs=0.1)
    assert model.lower_bound == pytest.approx(4.5, abs=0.1)
    assert dict(deep.what_if)[1] == pytest.approx(9, abs=0.1)
    assert dict(deep.what_if)[256] == pytest.approx(3, abs=0.1)


def test_our_own_start_is_part_of_every_simulation() -> None:
    record = build(ran(0, 2, 2, 6), wall=6)
    record.driver_started = record.driver_ended = 102 * S
    deep = explore(record, analyse(record))
    assert deep.simulated == pytest.approx(6)
    assert dict(deep.what_if)[256] == pytest.approx(6)


def test_spans() -> None:
    assert union([(3, 4), (0, 1), (1, 2), (3.5, 5), (7, 7)]) == [(0, 2), (3, 5)]
    assert subtract((0, 10), [(1, 2), (4, 6), (9, 12)]) == [(0, 1), (2, 4), (6, 9)]
    assert subtract((4, 5), [(3, 6)]) == []


def split_of(record: BuildRecord) -> dict[str, float]:
    split = analyse(record).concurrency.split
    return {name: seconds for name, seconds in split._asdict().items() if seconds}


def test_where_the_wall_time_went() -> None:
    record = build(
        ran(0, 1, 1, 4),  # beside the driver until 3, then alone
        ran(1, 3, 4, 6, kind="link", slot=0),
        wall=8,
    )
    record.stalls = [Stall("sh", "runs", "/src/1.o", 1, 1, -1, 103 * S, 107 * S)]
    assert split_of(record) == pytest.approx(
        {"driver": 2, "several": 2, "one": 1, "linker": 2, "nobody": 1}
    )


def test_weighted_seconds_share_what_ran_at_once() -> None:
    record = build(ran(0, 0, 0, 4), ran(1, 0, 2, 4, slot=1), wall=4)
    swept = analyse(record).concurrency
    assert swept.weighted == pytest.approx({0: 3, 1: 1})
    assert swept.seconds == pytest.approx((0, 2, 2))


def test_a_paused_job_does_not_count_as_running() -> None:
    record = build(ran(0, 0, 0, 4), wall=4)
    record.stalls = [Stall("ld", "reads", "/src/x.a", 0, 1, 0, 101 * S, 103 * S)]
    assert analyse(record).concurrency.seconds == pytest.approx((2, 2))


def texts(record: BuildRecord) -> str:
    return "\n".join(each.text for each in explore(record, analyse(record)).findings)


def test_findings_name_what_held_the_build_back() -> None:
    compiles = [ran(n, 0.1 * n, 0.1 * n, 2, slot=n) for n in range(2)]
    archive = ran(2, 0.3, 2, 8, tool="ar", kind="archive", outputs=("/src/lib/libfoo.a",))
    record = build(*compiles, archive)
    record.stalls = [Stall("cc1", "reads", "/src/lib/libfoo.a", 2, 1, -1, 102 * S, 108 * S)]
    assert "cc1 waited 6.0 s for lib/libfoo.a: build it earlier, or use it later" in texts(record)


def test_what_only_a_check_can_tell_is_said_once_of_the_longest_wait() -> None:
    """A serial make calls the reader behind the maker in any case.  Where make itself waits, its
    makefile says so."""
    libraries = [
        ran(n, 0.1 * n, 2, 8, slot=n, outputs=(f"/src/{n}.a",), tool="ar") for n in range(3)
    ]
    record = build(*libraries, cpus=4)
    record.stalls = [
        Stall(who, "reads", f"/src/{n}.a", n, 1, -1, 102 * S, (103 + n) * S)
        for n, who in enumerate(("cc1", "cc1", "make"))
    ]
    hint = " (if another rule makes it, `smpmake check make` tells whether the makefile says so)"
    assert f"cc1 waited 2.0 s for 1.a: build it earlier, or use it later{hint}" in texts(record)
    assert texts(record).count("smpmake check") == 1
    record.command = ["ninja"]
    assert "smpmake check" not in texts(record)


def test_findings_say_what_ran_in_place_and_why() -> None:
    asked = ran(0, 0, 0, 9, verdict="foreground", reason="reads-stdin", slot=-1)
    assert (
        "1 command ran in place, for 9.0 s: reads its source from standard input "
        "(reads-stdin; `smpmake why` lists them)" in texts(build(asked))
    )


def test_what_more_cpus_would_give_comes_behind_what_cost_this_build() -> None:
    record = build(*(ran(n, 0, n // 2, n // 2 + 1, slot=n % 2) for n in range(18)))
    record.stalls = [Stall("sh", "reads", "/elsewhere/x", 2, 1, -1, 101 * S, 102 * S)]
    found = explore(record, analyse(record)).findings
    assert [each.is_cause for each in found] == sorted((f.is_cause for f in found), reverse=True)
    assert "4 CPUs would take" in found[-1].text


def test_a_wait_with_all_cpus_at_work_cost_nothing() -> None:
    record = build(*(ran(n, 0, n // 2, n // 2 + 1, slot=n % 2) for n in range(8)))
    record.stalls = [Stall("bash", "reads", "/src/x.pc", 6, 1, -1, 101 * S, 104 * S)]
    assert "bash waited" not in texts(record)
    record.stalls[0].ended = 107 * S
    assert (
        "bash waited 6.0 s for x.pc, and a CPU was idle for 3.0 s of it: build it earlier"
        in texts(record)
    )


def test_findings_see_the_driver_alone() -> None:
    record = build(
        ran(0, 0, 0, 1), ran(1, 5, 5, 9, cwd="/src/sub", outputs=("/src/sub/x.o",)), wall=9
    )
    assert (
        "make took 4.0 s from gcc 0.o to gcc sub/x.o (on the way into sub), "
        "and a CPU was idle: see what it does there" in texts(record)
    )


def test_findings_see_the_last_job_alone() -> None:
    record = build(ran(0, 0, 0, 3), ran(1, 0, 0, 10, slot=1, outputs=("/src/big.o",)))
    record.driver_ended = 101 * S
    assert "gcc big.o ran alone at the end, for 7.0 s: start it earlier, or split it" in texts(
        record
    )


def test_what_ran_alone_at_the_end_is_not_the_driver_behind_it() -> None:
    jobs = [ran(0, 0, 0, 3), ran(1, 3, 3, 5, tool="ar"), ran(2, 5, 5, 6, tool="ranlib")]
    record = build(ran(3, 0, 0, 3, slot=1), *jobs, wall=10)
    said = texts(record)
    assert "ar 1.o and ranlib 2.o ran one after the other at the end, for 3.0 s: start them" in said
    assert said.count("after its last command") == 1
    assert "make took 4.0 s to end after its last command" in said


def test_the_first_command_is_the_one_that_came_first() -> None:
    """It may have come a moment before anything could be started."""
    jobs = [ran(0, 2.5, 3, 8), ran(1, 2.999, 3, 8, slot=1)]
    assert "to start its first command (gcc 0.o)" in texts(build(*jobs, wall=8))


def test_findings_see_that_memory_was_short() -> None:
    record = build(ran(0, 0, 0, 10))
    record.samples = [Sample(at, 0.5, 0, 0, 1, 1, held=1) for at in (0.0, 4.0)]
    record.samples.append(Sample(8.0, 0.5, 0, 0, 1, 0))
    assert "jobs waited 8.0 s for memory, not for a CPU" in texts(record)


@pytest.mark.parametrize(
    ("argv", "kind", "name"),
    [
        (b"gcc\0-c\0a.c\0", "compile", "C"),
        (b"g++\0-c\0a.cpp\0-o\0x.c.o\0", "compile", "C++"),
        (b"gcc\0-c\0a.S\0", "assemble", "assembly"),
        (b"gcc\0-o\0p\0a.o\0", "link", "(links)"),
        (b"cc\0--version\0", "query", "(other)"),
    ],
)
def test_languages(argv: bytes, kind: str, name: str) -> None:
    assert language(command(0, argv=argv, kind=kind)) == name


def test_folders_are_seen_from_the_build() -> None:
    assert folder(command(0, outputs=("/src/a/b.o",)), "/src") == "a"
    assert folder(command(0, outputs=("/src/b.o",)), "/src") == "."
    assert folder(command(0, outputs=("/elsewhere/b.o",)), "/src") == "/elsewhere"
