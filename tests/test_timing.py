"""The model of a finished build, on builds made by hand."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from smpmake.history import VERSION, History, HistoryError
from smpmake.records import BuildRecord, CommandRecord, Failure, Sample, from_row, to_row
from smpmake.reports import summary, why
from smpmake.timing import analyse, extra_utilisation

S = 10**9


def command(number: int, verdict: str = "deferred", **fields: object) -> CommandRecord:
    record = CommandRecord(
        number,
        "gcc",
        "compile",
        verdict,
        "",
        "",
        "/src",
        b"gcc\0-c\0a b.c\0",
        (f"/src/{number}.o",),
    )
    for name, value in fields.items():
        setattr(record, name, value)
    return record


def build(*commands: CommandRecord, wall: float = 10, cpus: int = 2) -> BuildRecord:
    return BuildRecord(
        ["make"],
        "/src",
        cpus,
        cpus,
        "0",
        started=100 * S,
        driver_ended=int((100 + wall) * S),
        ended=int((100 + wall) * S),
        status=0,
        commands=list(commands),
    )


def test_the_ancestors_table() -> None:
    """104 s on one CPU, 70 s on two: 65 % of the extra CPU."""
    used = extra_utilisation(104, 70, 2)
    assert used is not None
    assert round(used * 100) == 65


def test_there_is_no_extra_cpu_where_there_is_one() -> None:
    assert extra_utilisation(10, 10, 1) is None


def test_a_saturated_machine_counts_cpu_time_alone() -> None:
    """Two CPUs busy all the time: what jobs took beyond their CPU time was waiting for a CPU."""
    jobs = [
        command(n, started=100 * S, ended=110 * S, user_us=5 * 10**6, issued=100 * S)
        for n in range(4)
    ]
    model = analyse(build(*jobs))
    assert model.utilisation == pytest.approx(1.0)
    assert model.serial == pytest.approx(20, abs=0.2)
    assert model.speedup == pytest.approx(2, abs=0.05)
    assert model.extra == pytest.approx(1, abs=0.02)


def test_an_idle_machine_counts_the_waiting_too() -> None:
    jobs = [command(n, started=100 * S, ended=110 * S, issued=100 * S) for n in range(4)]
    model = analyse(build(*jobs, cpus=4))
    assert model.serial == pytest.approx(10 + 40)  # the driver's wall and the jobs'


def test_stalls_are_time_that_the_driver_stood() -> None:
    job = command(0, issued=100 * S, started=100 * S, ended=108 * S)
    link = command(
        1, "foreground", issued=101 * S, ready=108 * S, started=109 * S, ended=110 * S, waited_for=0
    )
    model = analyse(build(job, link))
    assert model.stalled == pytest.approx(8)
    (stall,) = model.stalls
    assert (stall.seconds, stall.for_slot, stall.waiter, stall.cause) == (8, 1, link, job)


def test_overlapping_stalls_count_once() -> None:
    links = [
        command(n, "foreground", issued=(101 + n) * S, started=(105 + n) * S, ended=107 * S)
        for n in range(2)
    ]
    assert analyse(build(*links)).stalled == pytest.approx(5)


def test_the_summary_says_what_the_model_says() -> None:
    job = command(
        0, issued=100 * S, started=100 * S, ended=108 * S, user_us=8 * 10**6, max_rss=2048
    )
    link = command(
        1,
        "foreground",
        issued=101 * S,
        ready=108 * S,
        started=108 * S,
        reason="link-waits",
        waited_for=0,
    )
    record = build(job, link)
    record.samples = [Sample(0, 0.5, 100 << 20, 0, 1, 0), Sample(1, 0.5, 350 << 20, 0, 1, 0)]
    text = "\n".join(summary.lines(record, analyse(record)))
    assert "1 deferred, 1 in the foreground (1 link-waits)" in text
    assert "7.0 s gcc 1.o (for gcc 0.o)" in text
    assert "2 MiB at most in one job" in text
    assert "250 MiB more in use" in text
    assert "estimated" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.012, "12 ms"), (0.5, "0.5 s"), (99.9, "99.9 s"), (125, "2:05 min"), (3725, "1:02:05 h")],
)
def test_durations(value: float, text: str) -> None:
    assert summary.seconds(value) == text


def test_failures_are_shown_in_the_order_of_issue() -> None:
    record = build()
    record.failures = [
        Failure(command(5), b"second\n", "exit status 1"),
        Failure(command(2), b"first", "killed by signal SIGKILL"),
    ]
    text = summary.failures(record).decode()
    assert text.index("first\n  killed by signal SIGKILL") < text.index("second\n  exit status 1")
    assert "smpmake: failed: gcc -c 'a b.c'\n  in /src\n" in text


def test_a_record_survives_the_wire() -> None:
    record = command(3, argv=b"gcc\0\xff\xfe\0", status=2, state="failed")
    assert from_row(to_row(record)) == record


def test_history_keeps_and_prunes(tmp_path: Path) -> None:
    history = History(tmp_path / "h.db")
    assert history.last() is None
    first = build(
        command(0, issued=101 * S, started=102 * S, ended=103 * S, status=0, state="done")
    )
    history.add(first)
    for _ in range(101):
        history.add(build(command(0, "foreground", reason="query"), command(1)))
    last = history.last("/src")
    assert last is not None
    assert [c.reason for c in last.commands] == ["query", ""]
    assert history.last("/elsewhere") is None
    with sqlite3.connect(tmp_path / "h.db") as connection:
        assert connection.execute("select count(*), min(id) from build").fetchone() == (100, 3)
        assert connection.execute("select min(build) from command").fetchone() == (3,)
    connection.close()
    assert why.lines(last)[0].startswith("    1 query: asks the tool")


def test_history_times_start_with_the_build(tmp_path: Path) -> None:
    history = History(tmp_path / "h.db")
    history.add(build(command(0, issued=101 * S, started=102 * S, ended=103 * S)))
    last = history.last()
    assert last is not None
    assert (last.commands[0].issued, last.commands[0].ended, last.ended) == (S, 3 * S, 10 * S)


def test_a_newer_history_is_refused_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    connection = sqlite3.connect(path)
    connection.execute(f"pragma user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(HistoryError, match="newer smpmake"):
        History(path).add(build())
