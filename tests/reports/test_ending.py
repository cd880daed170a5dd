"""How builds ended: failures first and last, and no speed-up where it would mean nothing."""

from __future__ import annotations

import json
from typing import Any

import pexpect
import pytest

from smpmake.records import BuildRecord, Failure
from smpmake.reports import comparison, ending, github, summary, terminal
from smpmake.reports.document import document
from smpmake.reports.headline import headline
from smpmake.reports.html import html
from smpmake.timing import analyse
from tests.reports.test_html import Read
from tests.support.made import S, build, ran
from tests.support.space import SMPMAKE, Space, objects


def failed(status: int = 2, *, runs: int = 1) -> BuildRecord:
    """Three jobs of which two failed."""
    made = build(
        ran(0, 0, 0, 2),
        ran(1, 0.1, 0, 1.1, state="failed", status=1, argv=b"gcc\0-c\0b.c\0"),
        ran(2, 0.2, 2, 3.5, state="failed", status=1, argv=b"gcc\0-c\0c.c\0"),
        wall=8,
    )
    made.command = ["/usr/bin/make", "all"]
    made.status, made.runs = status, runs
    made.reported = [Failure(made.commands[n], b"no\n", "exit status 1") for n in (1, 2)]
    made.id = 7
    return made


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (failed(), "make failed, status 2: gcc -c c.c (1.5 s) and 1 more"),
        (failed(runs=2), "make failed, status 2: gcc -c c.c (1.5 s)"),
        (failed(130), "make was interrupted after 8.0 s"),
        (failed(139), "make was ended by SIGSEGV after 8.0 s"),
        (failed(255), "make failed, status 255: gcc -c c.c (1.5 s) and 1 more"),
    ],
)
def test_a_failure_is_one_line_everywhere(record: BuildRecord, line: str) -> None:
    page = document(record)
    assert ending.of_record(record) == ending.of_document(page) == line
    assert summary.failed(record) == f"smpmake: {line}; `smpmake report` has more"
    assert terminal.page(page)[2] == f"  {line}"
    assert github.summary(page).startswith(f"### smpmake: {line}\n")


def said(record: BuildRecord) -> str:
    """The page's words, with plain blanks."""
    return " ".join(Read(html(document(record), [])).said().split())


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (failed(), "make failed with status 2 after 8.0 s 2 commands failed; their messages"),
        (failed(runs=2), "make failed with status 2 after 8.0 s gcc 2.o failed; its messages"),
        (failed(130), "make was interrupted after 8.0 s 2 commands failed"),
        (failed(139), "make was ended by SIGSEGV after 8.0 s"),
    ],
)
def test_a_page_of_a_failure_has_its_status_and_estimates_nothing(
    record: BuildRecord, words: str
) -> None:
    page = said(record)
    assert words in page and "smpmake estimates its gain only for builds that succeed." in page
    for estimate in (
        *("Without smpmake", "Least possible", "no machine", "With more CPUs", "The longest chain"),
        *("What held it back", "would take", "as fast", "Extra CPUs used"),
    ):
        assert estimate not in page, estimate


def test_a_failure_of_no_command_is_the_drivers() -> None:
    record = build(ran(0, 0, 0, 2), wall=8)
    record.status = 2
    assert "so the cause is in make itself" in said(record)


def test_failures_come_first_in_the_report() -> None:
    lines = terminal.page(document(failed()))
    assert lines.index("Failures") < lines.index("Where the time went")
    assert lines.count("Failures") == 1


def test_nothing_known_of_the_cause() -> None:
    record = build()
    record.status = 2
    assert summary.failed(record) == "smpmake: make failed, status 2"
    record.commands.append(ran(0, 0, 0, 1, verdict="foreground", reason="query"))
    assert summary.failed(record) == "smpmake: make failed, status 2"  # it is not `last`
    record.commands.clear()
    assert ending.of_document(document(record)) == "make failed, status 2"


def short() -> BuildRecord:
    made = build(ran(0, 0, 0, 1), ran(1, 0, 0, 1), wall=1.2)
    made.serial = 2.0
    return made


@pytest.mark.parametrize("record", [failed(), failed(130), short()])
def test_no_speed_up_where_it_means_nothing(record: BuildRecord) -> None:
    record.serial = record.estimate = 11.0
    page = document(record)
    for text in (
        "\n".join(summary.lines(record, analyse(record))),
        "\n".join(terminal.page(page)),
        github.summary(page),
        Read(html(page, [])).said(),
    ):
        for words in (
            " times as fast",
            "extra CPUs",
            "second CPU",
            "\N{MULTIPLICATION SIGN} as long",
        ):
            assert words not in text
    assert " x " not in "\n".join(comparison.history([record])[1:])
    assert json.loads(json.dumps(page))["figures"]["serial_measured"] == 11


def test_a_build_that_runs_has_not_ended() -> None:
    record = failed(-1)
    record.complete, record.running = False, True
    assert "make is still running and has taken 8.0 s so far" in said(record)
    record.running = False
    assert "make was killed after 8.0 s" in said(record)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-q",), ("-v",)])
def test_the_failure_is_the_last_line(space: Space, options: tuple[str, ...]) -> None:
    space.write({**objects(1), "bad.c": "int x = oops;\n"})
    space.write({"Makefile": "all: f0.o bad.o\n"})
    ended = space.smpmake(*options, "make", GITHUB_ACTIONS="true")
    assert ended.status == 2
    last = ended.err.splitlines()[-1]
    assert last.startswith("smpmake: make failed, status 2: cc -c -o bad.o bad.c (")
    assert last.endswith("; `smpmake report` has more")
    assert ended.err.count("make failed") == 1
    assert ("  CPU  " in ended.err) == ("-v" in options)
    assert " times as fast" not in ended.err


@pytest.mark.slow
def test_a_failure_is_red_where_there_are_colours(space: Space) -> None:
    space.write(objects(1))
    ended = space.smpmake("--color=always", "sh", "-c", "gcc -c f0.c; exit 3")
    assert ended.err.splitlines()[-1] == (
        "\x1b[1;31msmpmake: sh failed, status 3; `smpmake report` has more\x1b[0m"
    )


@pytest.mark.parametrize("deferred", [0, 2])
def test_what_the_driver_gains_by_itself_is_not_told_as_ours(deferred: int) -> None:
    """Whether smpmake ran something in parallel beside it or not."""
    jobs = [ran(n, 0, 0, 5, slot=n) for n in range(deferred)]
    record = build(*jobs, ran(2, 0, 0, 5, verdict="foreground"), wall=6)
    record.parallel = "make -j2"
    figures = document(record)["figures"]
    assert (figures["speedup"], figures["why_not"]) == (None, "parallel-driver")
    assert figures["parallel_driver"] == "make -j2"
    said = "make -j2 is parallel already, so how much smpmake helped cannot be told"
    assert summary.headline(record, analyse(record)) == f"smpmake: built in 6.0 s; {said}"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, None),
        ({"complete": False, "running": True}, "running"),
        ({"complete": False}, "killed"),
        ({"status": 130}, "interrupted"),
        ({"status": 255}, "failed"),
        ({"status": 2, "parallel": "ninja"}, "failed"),
        ({"parallel": "ninja"}, "parallel-driver"),
        ({"commands": []}, "no-jobs"),
        ({"ended": 101 * S}, "short"),
    ],
)
def test_programs_are_told_why_not(change: dict[str, Any], why: str | None) -> None:
    record = build(ran(0, 0, 0, 5), ran(1, 0, 0, 5, slot=1), wall=6)
    for name, value in change.items():
        setattr(record, name, value)
    page = document(record)
    figures = page["figures"]
    assert figures["why_not"] == why
    assert (figures["speedup"] is None) == (figures["efficiency"] is None) == (why is not None)
    if why in ("running", "killed", "interrupted", "failed"):
        for name in ("findings", "what_if", "critical_path"):
            assert page[name] == []
        for name in ("serial_estimated", "work", "critical_path", "lower_bound", "simulated"):
            assert figures[name] is None
    else:
        assert figures["work"] > 0 and page["what_if"]


def test_a_make_that_was_run_again_is_one_quiet_line() -> None:
    record = failed(runs=2)
    record.again_at, record.driver_ended = int(106.2 * S), int(107.5 * S)
    page = document(record)
    line = "make ran a second time, 1.3 s, to stop where it should"
    text = "\n".join(terminal.page(page))
    assert f"  repeated  {line}\n" in text
    assert line in github.summary(page)
    for words in ("What held it back", "With more CPUs", "Critical path", "estimated", "bound"):
        assert words not in text
        assert words not in github.summary(page)
    assert "repeated" not in "\n".join(terminal.page(document(failed())))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 100])
def test_the_summary_is_folded_on_a_terminal(space: Space, columns: int) -> None:
    names = [f"a_source_with_quite_a_long_name_{n}" for n in range(4)]
    space.write({f"{name}.c": f"int {name};\n" for name in names})
    script = "; ".join(f"gcc -c {name}.c" for name in names)
    child = pexpect.spawn(
        SMPMAKE,
        ["sh", "-c", script],
        cwd=str(space.folder),
        env={**space.environment, "SMPMAKE_STATUS": "", "TERM": "dumb"},
        dimensions=(24, columns),
        timeout=60,
    )
    seen = child.read()
    lines = (seen.decode() if isinstance(seen, bytes) else seen).splitlines()
    child.close()
    assert child.exitstatus == 0
    assert any(line.startswith("  slowest ") for line in lines)
    assert any(line.startswith(" " * 13) for line in lines)
    assert all(len(line) <= columns for line in lines), lines


def test_a_build_of_shims_whose_status_nobody_heard() -> None:
    """What failed in it is known all the same."""
    record = build(ran(0, 0, 0, 5), ran(1, 0, 0, 5, slot=1, state="failed", status=1), wall=6)
    record.by_shims = True
    record.failures = [Failure(record.commands[1], b"", "exit status 1")]
    page = document(record)
    assert headline(page) == "ran for 6.0 s; 1 command failed"
    assert (page["figures"]["why_not"], page["figures"]["speedup"]) == ("failed", None)
    record.failures = []
    assert headline(document(record)).startswith("built in 6.0 s")
