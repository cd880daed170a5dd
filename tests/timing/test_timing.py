"""The model of a finished build, on builds made by hand."""

from __future__ import annotations

import pytest

from smpmake import units
from smpmake.records import FIELDS, GIVEN_BACK, Failure, Sample, from_row, to_row
from smpmake.reports import summary
from smpmake.timing import analyse, ancestors_share, explore
from tests.support.made import S, build, command, ran


def test_the_ancestors_table() -> None:
    """104 s on one CPU, 70 s on two: 65 % of the extra CPU."""
    used = ancestors_share(104, 70, 2)
    assert used is not None
    assert round(used * 100) == 65


def test_there_is_no_extra_cpu_where_there_is_one() -> None:
    assert ancestors_share(10, 10, 1) is None


def test_a_saturated_machine_counts_cpu_time_alone() -> None:
    """Two CPUs busy all the time: what jobs took beyond their CPU time was waiting for a CPU."""
    jobs = [ran(n, 0, 0, 10, user_us=5 * 10**6) for n in range(4)]
    model = analyse(build(*jobs))
    assert model.utilisation == pytest.approx(1.0)
    assert model.estimated.seconds.high == pytest.approx(20, abs=0.2)
    assert model.estimated.speedup.high == pytest.approx(2, abs=0.05)
    assert model.estimated.efficiency == pytest.approx((0.8, 1), abs=0.02)


def test_an_idle_machine_counts_the_waiting_too() -> None:
    jobs = [command(n, started=100 * S, ended=110 * S, issued=100 * S, slot=0) for n in range(4)]
    model = analyse(build(*jobs, cpus=4))
    assert model.estimated.seconds.high == pytest.approx(10 + 40)  # the driver's wall and the jobs'


def test_stalls_are_time_that_the_driver_stood() -> None:
    job = command(0, issued=100 * S, started=100 * S, ended=108 * S, slot=0)
    link = command(
        1, "foreground", issued=101 * S, ready=108 * S, started=109 * S, ended=110 * S, waited_for=0
    )
    model = analyse(build(job, link))
    assert model.stalled == pytest.approx(8)
    (wait,) = model.waits
    assert (wait.seconds, wait.for_slot, wait.waiter, wait.cause) == (8, 1, link, job)


def test_overlapping_stalls_count_once() -> None:
    links = [
        command(n, "foreground", issued=(101 + n) * S, started=(105 + n) * S, ended=107 * S)
        for n in range(2)
    ]
    assert analyse(build(*links)).stalled == pytest.approx(5)


def test_the_summary_says_what_the_model_says() -> None:
    job = command(
        0, issued=100 * S, started=100 * S, ended=108 * S, user_us=8 * 10**6, max_rss=2048, slot=0
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
    assert "1 in parallel, 1 in place (1 link-waits)" in text
    assert "waited" not in text  # that is the report's
    assert "2 MiB at most in one job" in text
    assert "250 MiB more in use" in text
    assert "estimated" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.012, "12 ms"), (0.5, "0.5 s"), (99.9, "99.9 s"), (125, "2:05 min"), (3725, "1 h 02 min")],
)
def test_durations(value: float, text: str) -> None:
    assert units.seconds(value) == text


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
    row = to_row(record)
    for sent in (row, [*row, "of a later version"], row[:-1]):
        found = from_row(sent)
        assert all(getattr(found, name) == getattr(record, name) for name in FIELDS)


def test_long_chains_of_foreground_commands() -> None:
    """As many as `ar r` by member makes; what comes last needs all of them."""
    chain = [
        ran(n, n, n, n + 1, verdict="foreground", inputs=("/src/l.a",), outputs=("/src/l.a",))
        for n in range(3000)
    ]
    last = ran(3000, 3000, 3000, 3001, inputs=("/src/l.a",))
    assert analyse(build(*chain, last, wall=3002)).wall == 3002


def test_what_if_has_this_machines_own_size() -> None:
    jobs = [ran(n, 0, 0, 2, slot=n) for n in range(6)]
    made = build(*jobs, wall=2, cpus=6)
    sizes = [size for size, _ in explore(made, analyse(made)).what_if]
    assert 6 in sizes and sizes == sorted(sizes)


def test_nobody_is_told_a_speed_up_that_earlier_builds_have_made() -> None:
    """What results took that are given back is not known: the plain build would do it all."""
    jobs = [ran(n, 0, 0, 4, slot=n % 2) for n in range(20)]
    assert analyse(build(*jobs, wall=4)).why_not == ""
    for job in jobs[:2]:
        job.detail = GIVEN_BACK
    assert analyse(build(*jobs, wall=4)).why_not == ""
    jobs[2].detail = GIVEN_BACK
    assert analyse(build(*jobs, wall=4)).why_not == "remembered"
