"""What the page begins with: a ratio only where it can be told, and everything else as it is."""

from __future__ import annotations

from typing import Any

import pytest

from smpmake.records import BuildRecord
from smpmake.reports import sections
from smpmake.reports.document import Document, document
from smpmake.reports.heading import NONBREAKING, TIMES, Heading, heading, state, without
from tests.support.made import build, ran


def plain(made: Heading) -> tuple[str, str]:
    """The sentence and its lead, with plain blanks and without our double ones."""
    sentence = " ".join(filter(None, made[:3])).replace(NONBREAKING, " ")
    return sentence, " ".join(made.lead.replace(NONBREAKING, " ").split())


def told(seconds: float, least: float | None = None, **more: Any) -> Document:
    """A build of 8 s on two CPUs, estimated at so many seconds."""
    page = document(build(ran(0, 0, 0, 8), ran(1, 0, 0, 7, slot=1), wall=8))

    def ends(low: float, high: float) -> Document:
        return {"low": low, "middle": (low + high) / 2, "high": high}

    low = least or seconds
    page["figures"] |= {
        "serial_estimated": ends(low, seconds),
        "speedup": ends(low / 8, seconds / 8),
        "efficiency": ends(low / 8 - 1, seconds / 8 - 1),
        "why_not": None,
        **more,
    }
    return page


def test_a_range_is_told_by_its_middle_and_in_full_below() -> None:
    sentence, lead = plain(heading(told(14.0, 13.0)))
    assert sentence == f"1.7 {TIMES} as fast: smpmake built this in 8.0 s instead of about 13.5 s"
    assert "an estimate: 13.0 to 14.0 s." in lead
    assert lead.endswith("For an exact figure build everything with `smpmake -j1 make` once.")
    assert "gained 62% to 75% of the second CPU" in lead


def test_an_estimate_without_a_range_asks_for_nothing() -> None:
    _, lead = plain(heading(told(14.0)))
    assert "an estimate: 14.0 s." in lead and "-j1" not in lead


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [
        (8.2, "make took 8.0 s with smpmake, and about 8.2 s without it"),
        (7.9, "make took 8.0 s with smpmake, and about 7.9 s without it"),
        (6.0, "make took 8.0 s with smpmake, longer than about 6.0 s without it"),
    ],
)
def test_what_gained_nothing_has_no_ratio(seconds: float, sentence: str) -> None:
    assert plain(heading(told(seconds)))[0] == sentence


def test_on_a_busy_machine_nothing_is_compared() -> None:
    page = told(14.0, 13.0, others=0.6, others_wanted=0.81, speedup=None, why_not="busy")
    sentence, lead = plain(heading(page))
    assert sentence == "make took 8.0 s on a busy machine"
    assert lead.startswith("The machine was busy (others: 81 %)")
    assert lead.endswith("`smpmake bench` measures it.")
    assert "13" not in lead and without(page) is None


def test_where_others_took_little_that_is_said_and_no_more() -> None:
    sentence, lead = plain(heading(told(14.0, 13.0, others=0.14)))
    assert sentence.startswith(f"1.7 {TIMES}") and lead.startswith("Others took 14 % of the CPUs,")


def test_a_driver_that_runs_its_commands_in_parallel_helped_itself() -> None:
    page = told(14.0, parallel_driver="make -j2", speedup=None, why_not="parallel-driver")
    assert "make -j2 is parallel already" in plain(heading(page))[1]


def test_a_signal_of_which_nobody_has_heard_is_a_status() -> None:
    record = build(ran(0, 0, 0, 8))
    record.status = 255
    assert state(document(record)) == ("failed with status 255", "bad")


def ended(**fields: object) -> BuildRecord:
    record = build(ran(0, 0, 0, 8))
    for name, value in fields.items():
        setattr(record, name, value)
    return record


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (ended(), ("succeeded", "good")),
        (ended(status=130), ("was interrupted", "bad")),
        (ended(status=143), ("was ended by SIGTERM", "bad")),
        (ended(complete=False), ("was killed", "bad")),
        (ended(complete=False, running=True), ("is still running", "")),
    ],
)
def test_how_it_ended_is_read_after_its_command(
    record: BuildRecord, words: tuple[str, str]
) -> None:
    assert state(document(record)) == words


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (
            {1: 16.0, 2: 8.0, 4: 4.4, 8: 4.0, 16: 4.0},
            (
                "With 4 CPUs the build would take about 55% of its time with 2.  "
                "More than 8 CPUs would gain next to nothing."
            ),
        ),
        ({1: 16.0, 2: 8.0, 4: 7.9, 8: 7.9}, "More CPUs would gain next to nothing."),
    ],
)
def test_what_more_cpus_would_give_stands_with_their_picture(
    curve: dict[int, float], words: str
) -> None:
    page = told(14.0)
    page["what_if"] = [{"cpus": count, "seconds": value} for count, value in curve.items()]
    page["findings"] = [
        {"seconds": 1.0, "text": "a cause", "kind": "gap"},
        {"seconds": 4.0, "text": "4 CPUs would take about 55% of the time", "kind": "cpus"},
    ]
    assert sections.what_if(page)[0] == words
    assert [each["text"] for each in sections.findings(page)["findings"]] == ["a cause"]


def test_the_shares_of_the_cpus_have_names_of_their_own() -> None:
    page = told(14.0, others=0.4, stolen=0.05)
    rows = {name: value for name, value, _ in sections.figures(page)}
    assert rows["Other programs' CPU share"] == "40%" and rows["The host's CPU share"] == "5%"
    assert rows["This build's CPU share"].endswith("%") and "CPU" not in rows


def test_waiting_jobs_are_counted_and_not_added_up() -> None:
    jobs = [ran(n, 0, n, n + 1) for n in range(8)]
    rows = {name: row for name, *row in sections.figures(document(build(*jobs, wall=8)))}
    assert rows["Jobs waiting"] == [
        "3.5",
        "on average, until a slot was free; 7.0 s at the longest",
    ]
    assert rows["make waited"] == ["0 ms", "for no file at all"]
    alone = sections.figures(document(build(ran(0, 0, 0, 8), wall=8)))
    assert "Jobs waiting" not in {name for name, *_ in alone}
