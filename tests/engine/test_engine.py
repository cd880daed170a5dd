"""Whole builds on a bench: no process is started, the test says how each job ends."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.decide.known_failures import digest_of
from smpmake.disk.disk import Disk
from smpmake.guard.traces import Trace, Traces
from smpmake.protocol import layout
from tests.support.bench import RULES, Bench

FAILED = 1 << 8  # as wait(2) gives exit status 1


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.write("a.c", "b.c", "c.c")
    yield made
    assert made.close() == []


def test_a_compile_is_promised_and_the_link_waits_for_it(bench: Bench) -> None:
    shims = [bench.run("gcc -c a.c"), bench.run("gcc -c b.c"), bench.run("gcc -o p a.o b.o")]
    assert [shim.status for shim in shims] == [0, 0, 0]
    assert bench.workers.running == {0: 0, 1: 1}
    bench.workers.end(1)
    assert bench.workers.running == {0: 0}
    bench.workers.end(0)
    assert bench.workers.running == {0: 2}
    assert not bench.build.commands.empty.is_set()
    bench.workers.end(2, out=b"linked\n")
    assert bench.build.commands.empty.is_set()
    assert bench.states() == ["done"] * 3
    assert bench.log.read_text() == "linked\n"


def test_p2_a_failure_in_the_middle_stops_what_comes_after_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slots=1)
    bench.write("a.c", "b.c", "c.c")
    for line in ("gcc -c a.c", "gcc -c b.c", "gcc -c c.c", "gcc -o p a.o b.o c.o"):
        assert bench.run(line).status == 0
    bench.workers.end(0)
    bench.workers.end(1, FAILED, err=b"b.c: wrong\n")
    assert bench.states() == ["done", "failed", "cancelled", "cancelled"]
    assert bench.workers.running == {}
    (failure,) = bench.build.promises.failures
    assert (failure.record.command, failure.output) == ("gcc -c b.c", b"b.c: wrong\n")
    first, second = bench.run("gcc -c a.c"), bench.run("gcc -c c.c")
    assert (first.status, second.status) == (1, 1)
    assert b"gcc -c b.c" in first.message
    assert second.message == b""
    assert bench.close() == []


def test_p2_what_came_before_a_failure_runs_to_its_end(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    bench.workers.end(1, FAILED)
    assert bench.workers.running == {0: 0}
    bench.workers.end(0)
    assert bench.states() == ["done", "failed"]


def test_keep_going_cancels_only_what_needs_what_failed(bench: Bench) -> None:
    bench.build = bench.begin("b", RULES._replace(keep_going=True))
    for line in ("gcc -c a.c", "gcc -c b.c", "gcc -o p a.o", "gcc -o q b.o"):
        assert bench.run(line).status == 0
    bench.workers.end(0, FAILED)
    bench.workers.end(1)
    assert bench.states() == ["failed", "done", "cancelled", ""]
    needs = bench.run("gcc -o r a.o")
    assert not needs.is_answered
    assert bench.run("gcc -c c.c").status == 0
    bench.workers.end(3)
    bench.workers.end(4, FAILED, err=b"no a.o\n")
    assert (needs.status, needs.message) == (1, b"no a.o\n")
    bench.workers.end(5)
    assert bench.build.commands.empty.is_set()


def test_what_uses_what_failed_runs_where_the_driver_was_told(bench: Bench) -> None:
    """It fails with words of its own, or does not mind, as it does serially."""
    known = bench.build.promises.known_failures
    assert known is not None
    each = bench.invocation("gcc -c a.c")
    known.add(digest_of(each.cwd, each.argv), each.argv)
    told = bench.run("gcc -c a.c")
    assert bench.run("gcc -o p a.o b.o").status == 0  # of a part of the script that does not wait
    bench.workers.end(0, FAILED, err=b"no\n")
    assert (told.status, told.message) == (1, b"no\n")
    bench.workers.end(1)
    needs = bench.run("gcc -o r a.o")
    assert not needs.is_answered
    bench.workers.end(2, FAILED, err=b"no a.o\n")
    assert (needs.status, needs.message) == (1, b"no a.o\n")
    assert bench.states() == ["failed", "done", "failed"]
    assert not bench.build.promises.failures


@pytest.mark.parametrize(
    ("flags", "goes_on"),
    [
        ("k", True),
        ("i", True),
        ("rk -j2 --jobserver-auth=3,4", True),
        (" -j2 -k", True),
        ("-k", True),
        ("-i", True),
        ("-rik", True),
        (" --keep-going", True),
        ("", False),
        ("w", False),
        ("w -- CFLAGS=-k", False),
        ("CFLAGS=-k", False),
        ("-Ikit", False),
        ("-j2", False),
    ],
)
def test_a_make_that_was_told_to_keep_going_is_believed(
    bench: Bench, flags: str, goes_on: bool
) -> None:
    """Whatever stands before the variable in the environment, and behind it."""
    for environment in (f"MAKEFLAGS={flags}", f"A=1|MAKEFLAGS={flags}|B=k"):
        for name in ("a", "b", "c"):
            bench.run(f"gcc -c {name}.c", environment=environment.split("|"))
        first, second, third = bench.build.commands.records[-3:]
        bench.workers.end(first.number, FAILED)
        assert third.state == ("" if goes_on else "cancelled")
        bench.workers.end(second.number)
        if goes_on:
            bench.workers.end(third.number)
        bench.build.start_over(whole=True)


def test_a_stop_cancels_what_waits_and_ends_what_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slots=1)
    bench.write("a.c", "b.c")
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    bench.engine.stop_build(bench.build, signal.SIGINT)
    assert bench.states() == ["", "cancelled"]
    assert bench.workers.signals == [(0, signal.SIGTERM)]
    bench.engine.stop_build(bench.build, signal.SIGINT)
    assert bench.workers.signals[1:] == [(0, signal.SIGKILL)]
    bench.workers.end(0, signal.SIGTERM)
    assert bench.build.promises.failures == []
    refused = bench.run("gcc -c a.c")
    assert refused.status is None  # its driver, that is being told, would go on by it
    bench.clock.ring()
    assert refused.status == -signal.SIGINT
    assert bench.run("gcc -c a.c").status == -signal.SIGINT
    assert bench.build.commands.empty.is_set()
    assert bench.close() == []


def test_a_stop_is_one_builds(bench: Bench) -> None:
    other = bench.begin("other")
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c", "other")
    bench.engine.stop_build(bench.build, signal.SIGTERM)
    assert bench.workers.signals == [(0, signal.SIGTERM)]
    bench.workers.end(1)
    bench.workers.end(0, signal.SIGTERM)
    assert [record.state for record in other.commands.records] == ["done"]


def test_p3_a_job_whose_worker_died_runs_again_once(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    (bench.folder / "a.o").write_text("half")
    bench.workers.lose(0)
    assert not (bench.folder / "a.o").exists()
    assert bench.workers.ended_strays == 1
    assert bench.workers.running == {0: 0}
    bench.workers.end(0)
    assert bench.states() == ["done"]


def test_p3_a_job_whose_worker_dies_twice_has_failed(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc -o p a.o")
    bench.workers.lose(0)
    bench.workers.lose(0)
    assert bench.states() == ["failed", "cancelled"]
    (failure,) = bench.build.promises.failures
    assert os.strerror(errno.ECHILD) in failure.why


def test_a_known_failure_is_told_to_the_driver(bench: Bench) -> None:
    """Recovery: the second run's driver waits for the truth, and decides."""
    bench.run("gcc -c a.c")
    bench.workers.end(0, FAILED, err=b"no\n")
    bench.build.promises.learn_failures()
    bench.build.start_over(whole=True)
    assert bench.build.promises.failures == []

    shim = bench.run("gcc -c a.c")
    assert not shim.is_answered
    assert bench.build.commands.records[-1].reason == "status-matters"
    assert bench.run("gcc -c b.c").status == 0
    bench.workers.end(1, FAILED, err=b"no\n")
    assert (shim.status, shim.message) == (1, b"no\n")
    bench.workers.end(2)
    assert bench.build.promises.broken is None
    assert bench.build.promises.failures == []
    assert [failure.record.number for failure in bench.build.promises.reported] == [0, 1]


def test_what_the_driver_waits_for_goes_first_with_all_that_it_needs(tmp_path: Path) -> None:
    """Its driver issues nothing meanwhile: behind a long queue it would stand for as long."""
    bench = Bench(tmp_path, slots=1)
    bench.write("a.c", "b.c", "c.c", "d.c")
    known = bench.build.promises.known_failures
    assert known is not None
    awaited = [bench.invocation(line) for line in ("gcc -o p d.o", "gcc -c a.c -o e.o")]
    for each in awaited:
        known.add(digest_of(each.cwd, each.argv), each.argv)
    for name in ("a", "b", "c", "d"):
        assert bench.run(f"gcc -c {name}.c").status == 0
    needs, alone = bench.run("gcc -o p d.o"), bench.run("gcc -c a.c -o e.o")
    order = []
    while bench.workers.running:
        order.append(bench.workers.running[0])
        bench.workers.end(order[-1])
    assert order == [0, 3, 4, 5, 1, 2]
    assert (needs.status, alone.status) == (0, 0)
    assert bench.close() == []


@pytest.mark.parametrize("status", [0, FAILED])
def test_whose_truth_is_waited_for_is_told_it_when_nothing_of_it_is_pending(
    bench: Bench, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A make that looks at the older target before would take it for a new one."""
    known = bench.build.promises.known_failures
    assert known is not None
    invocation = bench.invocation("gcc -c a.c")
    known.add(digest_of(invocation.cwd, invocation.argv), invocation.argv)
    shim = bench.run("gcc -c a.c")
    board = bench.folder.parent / "session" / "board"
    assert board.read_bytes()[0] == 1
    leave, pending = shim.leave, []

    def told(status: int, message: bytes = b"", out: bytes = b"") -> None:
        pending.append(board.read_bytes()[0])
        leave(status, message, out)

    monkeypatch.setattr(shim, "leave", told)
    bench.workers.end(0, status)
    assert pending == [0]


def test_a_known_failure_that_succeeds_is_forgotten(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.workers.end(0, FAILED)
    known = bench.build.promises.known_failures
    assert known is not None
    bench.build.promises.learn_failures()
    bench.build.start_over(whole=True)
    shim = bench.run("gcc -c a.c")
    bench.workers.end(1, out=b"well\n")
    assert (shim.status, shim.out) == (0, b"well\n")
    assert len(known) == 0


def test_a_move_whose_status_is_waited_for_is_answered(bench: Bench) -> None:
    """It is mv itself that says how it went, so it runs."""
    known = bench.build.promises.known_failures
    assert known is not None
    move = bench.invocation("mv a.o b.o")
    known.add(digest_of(move.cwd, move.argv), move.argv)
    assert bench.run("gcc -c a.c").status == 0
    shim = bench.run("mv a.o b.o")
    bench.workers.end(0)
    assert not shim.is_answered
    assert list(bench.workers.running.values()) == [1]
    bench.workers.end(1, out=b"renamed\n")
    assert (shim.status, shim.out) == (0, b"renamed\n")
    assert bench.states() == ["done", "done"]


@pytest.mark.chaos
@pytest.mark.slow
def test_ten_thousand_renames_in_a_row(bench: Bench) -> None:
    """Each follows from the one before: no recursion may be so deep."""
    bench.run("gcc -c -o 0.o a.c")
    for number in range(10_000):
        assert bench.run(f"mv -f {number}.o {number + 1}.o").status == 0
    (bench.folder / "0.o").write_text("object")
    bench.workers.end(0)
    assert (bench.folder / "10000.o").read_text() == "object"
    assert set(bench.states()) == {"done"}
    assert bench.build.commands.empty.is_set()


@pytest.mark.chaos
@pytest.mark.slow
def test_ten_thousand_that_need_what_failed(bench: Bench) -> None:
    bench.build = bench.begin("b", RULES._replace(keep_going=True))
    bench.run("gcc -c -o 0.o a.c")
    for number in range(10_000):
        bench.run(f"objcopy {number}.o {number + 1}.o")
    bench.workers.end(0, FAILED)
    assert bench.states() == ["failed"] + ["cancelled"] * 10_000
    assert bench.build.commands.empty.is_set()


class NoRenames(Disk):
    """A disk on which nothing can be renamed."""

    def rename(self, source: str, destination: str, issued_ns: int) -> None:
        raise OSError(errno.EXDEV, "another file system")


def test_a_rename_that_fails_is_left_to_mv(tmp_path: Path) -> None:
    bench = Bench(tmp_path, disk=NoRenames)
    bench.write("a.c")
    bench.run("gcc -c -o a.tmp a.c")
    assert bench.run("mv -f a.tmp a.o").status == 0
    bench.workers.end(0)
    assert bench.workers.running == {0: 1}
    bench.workers.end(1)
    assert bench.states() == ["done", "done"]
    assert bench.close() == []


def test_a_barrier_waits_for_everything_and_its_shim_runs(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    shim = bench.run("gcc -c --mystery b.c")
    assert not shim.is_answered
    bench.workers.end(0)
    assert shim.became is not None
    assert bench.engine.counts == (1, 0, 0)
    bench.engine.lease_ended(shim.became)
    assert bench.states() == ["done", "done"]


@pytest.mark.parametrize("asks", ["ccache -s", "sccache --show-stats", "distcc --show-hosts"])
def test_a_launcher_that_is_asked_what_it_has_done_waits(bench: Bench, asks: str) -> None:
    """For all: a compiler's name may be the launcher's as well."""
    bench.run("ccache gcc -c a.c")
    bench.run("gcc -c b.c")
    shim = bench.run(asks)
    bench.workers.end(0)
    assert not shim.is_answered
    bench.workers.end(1)
    assert shim.became is not None
    bench.engine.lease_ended(shim.became)
    assert bench.build.commands.records[-1].reason == "launcher-query"


def test_a_shim_that_goes_away_takes_its_command_with_it(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    shim = bench.run("gcc -c --mystery b.c")
    assert shim.withdraw is not None
    shim.withdraw()
    bench.workers.end(0)
    assert bench.states() == ["done", "cancelled"]
    assert bench.build.commands.empty.is_set()


def test_several_sources_are_several_jobs(bench: Bench) -> None:
    assert bench.run("gcc -c a.c b.c c.c").status == 0
    assert len(bench.build.commands.records) == 3
    for number in range(3):
        bench.workers.end(number)
    assert bench.states() == ["done"] * 3


def test_a_shim_that_waits_for_its_link_is_told_the_truth(tmp_path: Path) -> None:
    bench = Bench(tmp_path, guard=False)  # then links wait
    bench.write("a.c", "b.c")
    shim = bench.run("gcc -o p a.c b.c")
    assert not shim.is_answered
    bench.workers.end(0, FAILED, err=b"a.c: wrong\n")
    bench.workers.end(1)
    assert (shim.status, shim.message) == (1, b"a.c: wrong\n")
    assert bench.build.promises.broken is None
    assert bench.build.promises.failures == []
    assert list((tmp_path / "session" / "parts").iterdir()) == []
    assert bench.close() == []


def test_a_guard_waits_for_exactly_what_it_touches(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    waiting, other = bench.ask(layout.ASK_READ, "a.o"), bench.ask(layout.ASK_READ, "x.o")
    assert other.answers == [layout.GUARD_GO_ON]
    bench.workers.end(1)
    assert waiting.answers == []
    bench.workers.end(0)
    assert waiting.answers == [layout.GUARD_GO_ON]
    (stall,) = bench.build.stalls
    assert stall.cause == "reads"
    assert stall.ended > stall.began


def test_a_folder_that_a_link_does_not_search_may_go(bench: Bench) -> None:
    for name in ("x", "lib", "run", "named"):
        (bench.folder / name).mkdir()
    bench.run("gcc -c a.c")
    bench.run("gcc -o p a.o named/b.o -Llib -Wl,-rpath-link,run -lm")
    assert bench.ask(layout.ASK_REMOVE, "x").answers == [layout.GUARD_GO_ON]
    for name in ("lib", "run", "named"):
        assert bench.ask(layout.ASK_REMOVE, name).answers == [], name
    bench.workers.end(0)
    bench.workers.end(1)


def test_a_make_is_shown_what_is_pending(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    assert bench.ask(layout.ASK_STAT, "a.o").answers == [layout.GUARD_FILE]
    bench.workers.end(0)


def test_a_make_is_shown_names_that_are_pending(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    assert bench.ask(layout.ASK_NAMES, ".").answers == [layout.GUARD_ELSEWHERE]
    assert bench.ask(layout.ASK_NAMES, "nowhere").answers == [layout.GUARD_GO_ON]
    bench.workers.end(0)
    assert bench.ask(layout.ASK_NAMES, ".").answers == [layout.GUARD_GO_ON]


def test_a_make_that_cannot_be_shown_them_waits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.mkdir", full)
    bench.run("gcc -c a.c")
    looking = bench.ask(layout.ASK_NAMES, ".")
    assert looking.answers == []
    bench.workers.end(0)
    assert looking.answers == [layout.GUARD_GO_ON]


def test_a_guard_that_goes_away_is_not_waited_for(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    waiting = bench.ask(layout.ASK_READ, "a.o")
    assert waiting.withdraw is not None
    waiting.withdraw()
    bench.workers.end(0)
    assert waiting.answers == []
    assert bench.build.stalls[0].ended


def test_a_job_that_waits_in_its_guard_gives_its_slot_away(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slots=2)
    bench.write("a.c", "b.c", "c.c")
    for name in ("a", "b", "c"):
        bench.run(f"gcc -c {name}.c")
    assert sorted(bench.workers.running.values()) == [0, 1]
    waiting = bench.ask(layout.ASK_READ, "a.o", command=1)
    assert sorted(bench.workers.running.values()) == [0, 1, 2]
    bench.workers.end(0)
    assert waiting.answers == [layout.GUARD_GO_ON]
    bench.workers.end(1)
    bench.workers.end(2)
    assert bench.close() == []


def hard_links(bench: Bench) -> None:
    os.link(bench.folder / "a.c", bench.folder / "other.c")


def test_a_file_is_known_by_its_other_name(bench: Bench) -> None:
    hard_links(bench)
    bench.run("gcc -c a.c")
    waiting = bench.ask(layout.ASK_WRITE, "other.c")
    assert waiting.answers == []
    bench.workers.end(0)
    assert waiting.answers == [layout.GUARD_GO_ON]
    assert bench.ask(layout.ASK_WRITE, "other.c").answers == [layout.GUARD_GO_ON]


def test_what_a_job_has_made_is_known_by_its_other_name(bench: Bench) -> None:
    """An object that was not there when its archive was issued, and has two names since."""
    bench.run("gcc -c a.c")
    bench.run("ar rc lib.a a.o")
    (bench.folder / "a.o").write_text("object")
    bench.workers.end(0)
    os.link(bench.folder / "a.o", bench.folder / "again.o")
    waiting = bench.ask(layout.ASK_WRITE, "again.o")
    assert waiting.answers == []
    bench.workers.end(1)
    assert waiting.answers == [layout.GUARD_GO_ON]


def test_what_a_job_is_making_is_known_by_its_other_name(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    (bench.folder / "a.o").write_text("half")
    os.link(bench.folder / "a.o", bench.folder / "again.o")
    waiting = bench.ask(layout.ASK_WRITE, "again.o")
    assert waiting.answers == []
    bench.workers.end(0)
    assert waiting.answers == [layout.GUARD_GO_ON]


def test_what_the_foreground_has_made_is_known_by_its_other_name(bench: Bench) -> None:
    """By a driver with -j: its archive was issued before the object was there."""
    (bench.folder / "conftest.c").write_text("int a;\n")
    shim = bench.run("gcc -c -o gen.o conftest.c")
    assert shim.became is not None
    bench.run("ar rc lib.a gen.o")
    (bench.folder / "gen.o").write_text("object")
    bench.engine.lease_ended(shim.became)
    os.link(bench.folder / "gen.o", bench.folder / "again.o")
    waiting = bench.ask(layout.ASK_WRITE, "again.o")
    assert waiting.answers == []
    bench.workers.end(1)
    assert waiting.answers == [layout.GUARD_GO_ON]


def test_who_uses_a_name_anew_looks_at_its_file_anew(bench: Bench) -> None:
    bench.run("gcc -c -include late.h a.c")
    (bench.folder / "late.h").write_text("int late;\n")  # by somebody who has no guard
    bench.run("gcc -c -include late.h b.c")
    os.link(bench.folder / "late.h", bench.folder / "again.h")
    waiting = bench.ask(layout.ASK_WRITE, "again.h")
    assert waiting.answers == []
    bench.workers.end(0)
    bench.workers.end(1)
    assert waiting.answers == [layout.GUARD_GO_ON]


def test_a_name_that_cannot_be_is_the_tools_to_complain_about(bench: Bench) -> None:
    (bench.folder / "r").write_bytes(b"a.o\0b.o\n")
    assert bench.run("ar rc lib.a @r").status == 0
    bench.workers.end(0, FAILED)
    assert len(bench.build.promises.failures) == 1


def test_memory_is_looked_at_again_when_nothing_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [1 << 30]
    monkeypatch.setattr("smpmake.capacity.memory.Memory._free_now", lambda self, *_: free[0])
    monkeypatch.setattr(
        "smpmake.engine.expectations.Expectations.memory_needed", lambda self, job: 1 << 29
    )
    bench = Bench(tmp_path, reserve=0)
    bench.write("a.c", "b.c")
    bench.run("gcc -c a.c")
    free[0] = 0
    bench.run("gcc -c b.c")
    assert bench.engine.counts == (1, 1, 1)
    (timer,) = bench.clock.timers
    bench.clock.ring()
    assert bench.engine.counts == (1, 1, 1)
    assert bench.clock.timers[0] is not timer
    free[0] = 1 << 30
    bench.workers.end(0)
    assert bench.engine.counts == (1, 0, 0)
    bench.workers.end(1)
    assert bench.close() == []


def test_output_is_in_the_order_of_issue_where_that_is_wanted(tmp_path: Path) -> None:
    from smpmake.engine.sinks import Transcript

    bench = Bench(tmp_path)
    bench.write("a.c", "b.c")
    said = os.open(tmp_path / "said", os.O_WRONLY | os.O_CREAT)
    transcript = Transcript(bench.engine.printer, said, lambda: b"make\n")
    bench.build.output.transcribe(transcript, bench.output)
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    bench.workers.end(1, out=b"second\n")
    bench.workers.end(0, out=b"first\n")
    assert bench.close() == []
    assert (tmp_path / "said").read_text() == "make\nfirst\nmake\nsecond\n"
    os.close(said)


REPEATED = {
    "the same": ([b"one\n", b"two\n", b"three\n"], b""),
    "in other pieces": ([b"one\ntw", b"o\nth", b"ree\n"], b""),
    "in one piece, and more": ([b"one\ntwo\nthree\nfour\n"], b"four\n"),
    "and more": ([b"one\n", b"two\nthree\n", b"four\n"], b"four\n"),
    "shorter": ([b"one\n"], b""),
    "other": ([b"one\n", b"twelve\n", b"three\n"], b"%belve\nthree\n"),
    "other from a piece on": ([b"one\n", b"new\n"], b"%bnew\n"),
}


@pytest.mark.parametrize("name", REPEATED)
def test_what_was_printed_is_not_printed_again(tmp_path: Path, name: str) -> None:
    from smpmake.engine.sinks import Printer, Transcript

    pieces, more = REPEATED[name]
    said = os.open(tmp_path / "said", os.O_WRONLY | os.O_CREAT)
    printer = Printer()
    transcript = Transcript(printer, said, lambda: None)
    for piece in (b"one\n", b"two\nthr", b"ee\n"):
        transcript.add_output(piece)
    transcript.start_over()
    for piece in pieces:
        transcript.add_output(piece)
    printer.close()
    os.close(said)
    told = b"smpmake: what was printed so far was undone in part\n"
    expected = b"one\ntwo\nthree\n" + more.replace(b"%b", told)
    assert (tmp_path / "said").read_bytes() == expected


def test_a_build_that_is_over_is_forgotten(bench: Bench) -> None:
    other = bench.begin("other")
    bench.run("gcc -c a.c", "other")
    assert other.tools.environments
    bench.workers.end(0)
    bench.engine.forget_build(other)
    assert "other" not in bench.engine.builds
    assert bench.engine.scheduler.hazards.present() == set()
    shim = bench.run("gcc -c b.c", "other")
    assert shim.became is not None
    assert shim.became.light


def test_p9_what_is_left_over_is_an_error_that_names_the_job(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slots=1)
    bench.write("x.c", "y.c")
    bench.run("gcc -c x.c")
    bench.run("gcc -c y.c")
    assert bench.close() == [
        "still claimed by 'gcc -c x.c' (running)",
        "still claimed by 'gcc -c y.c' (ready)",
        "1 slots are not free",
    ]


def test_who_asks_for_room_where_nothing_can_be_undone_is_answered(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    assert bench.ask(layout.ASK_ROOM, "a.o").answers == [layout.GUARD_GO_ON]
    bench.workers.end(0)


def test_a_question_looks_once_at_what_each_job_was_seen_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing of many new names stood the server still for seconds."""
    slots = 8
    bench = Bench(tmp_path, slots=slots)
    for number in range(slots):
        bench.write(f"{number}.c")
        bench.run(f"gcc -c {number}.c")
    bench.write(*(f"new{number}.h" for number in range(50)))
    looks: list[int] = []
    end = Traces.end_trace

    def counted(self: Traces, slot: int) -> Trace:
        looks.append(slot)
        return end(self, slot)

    monkeypatch.setattr(Traces, "end_trace", counted)
    answers = bench.ask(layout.ASK_NAMES, ".", command=slots - 1).answers
    assert answers == [layout.GUARD_ELSEWHERE]
    assert slots <= len(looks) <= 2 * slots  # for what was made since, and behind the listing
    for number in range(slots):
        bench.workers.end(number)
    assert bench.close() == []
