"""What is said of a running build: the format, how far it is, plain lines, GitHub's ways."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpmake.records import CommandRecord, Failure, Sample
from smpmake.reports import github
from smpmake.reports.document import document
from smpmake.status.line import has_bar
from smpmake.status.log_lines import INTERVAL, LogLines, interval_of
from smpmake.status.progress import Progress
from smpmake.status.template import Facts, StatusFormatError, Template, Wording, minutes
from tests.support.made import build, command, ran
from tests.support.space import Space

MOMENT = Facts(
    finished=3,
    started=5,
    running=2,
    queued=7,
    slots=4,
    cpu=0.876,
    elapsed=12.34,
    rate=0.25,
    lately=1.5,
    total=20,
    fraction=0.428,
    left=83.4,
)
NOTHING = Facts(0, 0, 0, 0, 4, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[%f/%t %p] %r %q %u", "[3/20 42%] 2 7 15"),
        ("%s %o %c %j %C %%", "5 0.2 1.5 4 88% %"),
        ("%e %E %l", "12.3 0:12 1:23"),
        ("\x1b[31m%f\n%t", " [31m3 20"),
    ],
)
def test_placeholders(text: str, shown: str) -> None:
    assert Template(text).render(MOMENT) == shown


def test_what_is_not_known() -> None:
    assert Template("%t %p %l %u").render(NOTHING) == "? ? ? ?"
    assert Wording(None).render(NOTHING, 80) == "[0/0]  0:00"
    assert Wording(None).render(NOTHING) == "smpmake: [0/0]  0:00"  # in a log


JOBS = (("g++ sort.o", 83.0), ("g++ wrap.o", 4.9), ("gcc a.o", 0.0))


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (80, "[3/20] g++ sort.o 1:23, g++ wrap.o, gcc a.o  0:12, ~1:23 left"),
        (61, "[3/20] g++ sort.o 1:23, g++ wrap.o, gcc a.o  0:12, ~1:23 left"),
        (60, "[3/20] g++ sort.o 1:23, g++ wrap.o, +1  0:12, ~1:23 left"),
        (50, "[3/20] g++ sort.o 1:23, +2  0:12, ~1:23 left"),
        (44, "[3/20] g++ sort.o 1:23, +2  0:12, ~1:23 left"),
        (43, "[3/20] g++ sort.o 1:…, +2  0:12, ~1:23 left"),
        (40, "[3/20] 3 running  0:12, ~1:23 left"),
        (30, "[3/20]  0:12, ~1:23 left"),
        (12, "[3/20]  0:12"),
    ],
)
def test_our_own_line_names_what_there_is_room_for(columns: int, shown: str) -> None:
    moment = MOMENT._replace(at_work=JOBS, running=3)
    assert Wording(None).render(moment, columns) == shown


def test_what_failed_and_what_is_over() -> None:
    long = MOMENT._replace(at_work=JOBS[:1])
    assert Template("%L|%F").render(long) == "g++ sort.o 1:23|0"
    assert Template("%L").render(NOTHING) == ""
    ended = long._replace(over=True, failed=2, left=None)
    wanted = "[3/20] finishing: 9 jobs, 2 failed, g++ sort.o 1:23  0:12"
    assert Wording(None).render(ended, 80) == wanted
    last = ended._replace(running=1, queued=0, failed=0)
    assert " finishing: 1 job, g++ " in Wording(None).render(last, 80)
    odd = long._replace(at_work=(("c++ \x1b[31m.o", 0.0),))
    assert "\x1b" not in Wording(None).render(odd, 80)


def test_without_an_earlier_build_the_jobs_are_those_that_have_come() -> None:
    assert Wording(None).render(MOMENT._replace(total=None, left=None), 80).startswith("[3/12] ")
    assert Wording(None).render(MOMENT._replace(total=5), 80).startswith("[3/12] ")


def test_what_has_run_longest_is_the_first() -> None:
    progress = Progress(2)
    commands = [command(0), command(1), command(2)]
    for each, started in zip(commands, (3, 2, 0), strict=True):
        each.started, each.state = started * 10**9, ""
    facts = progress.facts(sample(9, 0), commands, began=10**9, failed=1, over=True)
    assert [(name.split()[-1], took) for name, took in facts.at_work] == [("1.o", 8), ("0.o", 7)]
    assert (facts.failed, facts.over) == (1, True)
    for each in commands:
        each.state = "done"
    assert progress.facts(sample(9, 3), commands).at_work == ()


@pytest.mark.parametrize(
    ("environ", "known"),
    [({}, False), ({"TERM_PROGRAM": "WezTerm"}, True), ({"WT_SESSION": "1"}, True)],
)
def test_which_terminals_show_how_far_a_program_is(environ: dict[str, str], known: bool) -> None:
    assert has_bar(environ) == known


@pytest.mark.parametrize("text", ["%z", "100%", "%"])
def test_an_unknown_placeholder_is_told(text: str) -> None:
    with pytest.raises(StatusFormatError, match=r"is no placeholder \(known: %f"):
        Wording(text)


def test_an_empty_format_means_no_line() -> None:
    assert not Wording("").wanted
    assert Wording(None).wanted


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "?"), (0.4, "0:00"), (59.6, "1:00"), (3725, "1:02:05"), (-5, "0:00")],
)
def test_minutes(seconds: float | None, text: str) -> None:
    assert minutes(seconds) == text


# -------------------------------------------------------------------- how far it is


def sample(at: float, done: int, running: int = 0) -> Sample:
    return Sample(at, 0.5, 0, done, running, 0)


def follow(outputs: list[str], sequel: list[tuple[str, float]], at: float = 10.0) -> Facts:
    """A build whose jobs made `outputs`, in this order."""
    progress = Progress(2)
    progress.expect(sequel)
    commands = [command(n, outputs=(name,), state="done") for n, name in enumerate(outputs)]
    return progress.facts(sample(at, len(commands)), commands)


FULL = [(f"/src/{n}.o", 1.0 + n) for n in range(10)]  # 55 s


def test_time_left_follows_the_seconds_and_not_the_count() -> None:
    facts = follow([f"/src/{n}.o" for n in range(4)], FULL)  # 10 of 55 s in 10 s
    assert facts.total == 10
    assert facts.fraction == pytest.approx(10 / 55)
    assert facts.left == pytest.approx(45)


def test_new_jobs_make_the_total_larger() -> None:
    assert follow(["/src/0.o", "/src/new.o", "/src/1.o"], FULL).total == 11


def test_a_rebuild_of_a_few_files_claims_nothing() -> None:
    facts = follow(["/src/7.o", "/src/9.o"], FULL)
    assert (facts.total, facts.fraction, facts.left) == (None, None, None)


def test_a_whole_build_has_nothing_left() -> None:
    facts = follow([name for name, _ in FULL], FULL)
    assert (facts.fraction, facts.left) == (1.0, 0.0)


def test_nothing_is_known_without_an_earlier_build() -> None:
    facts = follow(["/src/0.o"], [])
    assert (facts.total, facts.fraction, facts.left) == (None, None, None)


def test_jobs_count_when_they_end() -> None:
    progress = Progress(2)
    progress.expect(FULL)
    commands: list[CommandRecord] = [command(n, outputs=(f"/src/{n}.o",)) for n in range(3)]
    assert progress.facts(sample(5, 0), commands).fraction == 0
    commands[2].state = "done"
    assert progress.facts(sample(6, 1), commands).fraction == pytest.approx(3 / 55)
    assert progress.facts(sample(7, 1), commands).fraction == pytest.approx(3 / 55)


def test_the_time_left_becomes_less_until_a_job_ends() -> None:
    """And none is told by few jobs, nor by one that takes longer than it did."""
    progress = Progress(2)
    progress.expect(FULL)
    commands: list[CommandRecord] = [command(n, outputs=(f"/src/{n}.o",)) for n in range(5)]

    def left(at: float, done: int) -> float | None:
        for each in commands[:done]:
            each.state = "done"
        return progress.facts(sample(at, done), commands).left

    assert left(2, 2) is None
    assert left(6, 3) == pytest.approx(49)
    assert left(16, 3) == pytest.approx(39)
    assert left(54, 3) == pytest.approx(1)
    assert left(56, 3) is None
    assert left(60, 4) == pytest.approx(60 * 45 / 10)


def test_rates() -> None:
    progress = Progress(2)
    progress.facts(sample(0, 0), [])
    progress.facts(sample(10, 10), [])
    facts = progress.facts(sample(12, 16), [])
    assert facts.rate == pytest.approx(16 / 12)
    assert facts.lately == pytest.approx(3)


# -------------------------------------------------------------------- logs


def lines_at(moments: list[float], interval: float) -> list[str]:
    read, write = os.pipe()
    plain = LogLines(Wording("at %E"), interval, write)
    for moment in moments:
        plain.show(Facts(0, 0, 0, 0, 1, 0.0, moment, 0.0, 0.0))
    os.close(write)
    with open(read) as file:
        return file.read().splitlines()


def test_a_line_now_and_then() -> None:
    assert lines_at([0, 10, 31, 40, 62, 95], 30) == ["at 0:31", "at 1:02", "at 1:35"]
    assert lines_at([100, 200], 0) == []


@pytest.mark.parametrize(
    ("environ", "terminal", "interval"),
    [
        ({}, False, 0),
        ({"CI": "true"}, False, INTERVAL),
        ({"GITHUB_ACTIONS": "true"}, False, INTERVAL),
        ({"CI": "true"}, True, 0),
        ({"SMPMAKE_STATUS_INTERVAL": "5"}, False, 5),
        ({"SMPMAKE_STATUS_INTERVAL": "0", "CI": "1"}, False, 0),
        ({"SMPMAKE_STATUS_INTERVAL": "often", "CI": "1"}, False, INTERVAL),
    ],
)
def test_when_lines_come(environ: dict[str, str], terminal: bool, interval: float) -> None:
    assert interval_of(environ, terminal=terminal) == interval


# -------------------------------------------------------------------- GitHub

OUTPUT = b"""x.c: In function 'f':
x.c:3:5: error: expected ';', got '%'
x.c:4:1: warning: unused
/src/inc/y.h:7: fatal error: z.h: No such file
"""


def failed(output: bytes, **fields: object) -> dict[str, object]:
    one = build(ran(0, 0, 0, 1, state="failed", status=1, cwd="/src/sub", **fields))
    one.failures = [Failure(one.commands[0], output, "exit status 1")]
    return document(one)


def test_annotations_name_the_place() -> None:
    assert github.workflow_commands(failed(OUTPUT), "/src") == [
        "::error file=sub/x.c,line=3,col=5,title=smpmake%3A gcc 0.o::expected ';', got '%25'",
        "::error file=inc/y.h,line=7,title=smpmake%3A gcc 0.o::z.h: No such file",
        "::warning file=sub/x.c,line=4,col=1,title=smpmake::unused",
    ]


def test_warnings_of_what_succeeded_are_annotations_too() -> None:
    """What three compiles say of one header is said once; ten at most are shown."""
    said = "inc/y.h:7:2: warning: a, b\n" + "".join(f"x.c:{n}: warning: w\n" for n in range(20))
    page = document(build(*(ran(n, 0, 0, 1, cwd="/src", said=said) for n in range(3))))
    lines = github.workflow_commands(page, "/src")
    assert lines[0] == "::warning file=inc/y.h,line=7,col=2,title=smpmake::a, b"
    assert len(lines) == len(set(lines)) == 10


def test_a_failure_without_a_place() -> None:
    (line,) = github.workflow_commands(failed(b"collect2: ld returned 1\n"), "")
    assert line.startswith("::error title=smpmake%3A gcc 0.o::exit status 1: gcc -c 'a b.c'%0A")


def test_output_gives_no_workflow_commands() -> None:
    hostile = b"x.c:1:1: error: a\r\n::set-output name=x::y\n\x1b[31m::error::z\n"
    for line in github.workflow_commands(failed(hostile), "/src"):
        assert line.startswith(("::error ", "::warning "))
        assert "\n" not in line
        assert "\r" not in line
    many = b"".join(b"x.c:%d:1: error: a\n" % n for n in range(50))
    assert len(github.workflow_commands(failed(many), "")) == 10


def test_the_steps_summary() -> None:
    text = github.summary(failed(b"a ``` b\n```` c\n<script>\n", outputs=("/src/a|b*.o",)))
    assert text.startswith("### smpmake: built in 10.0 s, ")
    assert "`````text\n" in text
    assert "a\\|b\\*.o" in text
    assert "| lower bound |" in text


@pytest.mark.slow
def test_in_github_actions(space: Space, tmp_path: Path) -> None:
    space.write({"bad.c": "int x = ;\n", "good.c": "int y;\n"})
    file = tmp_path / "summary.md"
    ended = space.smpmake(
        *("sh", "-c", "gcc -c bad.c"),
        GITHUB_ACTIONS="true",
        GITHUB_WORKSPACE=str(space.folder),
        GITHUB_STEP_SUMMARY=str(file),
    )
    assert ended.status == 1
    assert "::error file=bad.c,line=1,col=9,title=smpmake%3A gcc bad.o::expected" in ended.err
    assert "### smpmake:" in file.read_text()
    ended = space.smpmake(
        *("sh", "-c", "gcc -c good.c"), GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY="/nowhere/s.md"
    )
    assert ended.status == 0
    assert "/nowhere/s.md: the summary cannot be written" in ended.err


@pytest.mark.slow
def test_a_wrong_format_is_told_before_anything_runs(space: Space) -> None:
    ended = space.smpmake("touch", "ran", SMPMAKE_STATUS="%z")
    assert ended.status == 125
    assert "'%z' is no placeholder" in ended.err
    assert not (space.folder / "ran").exists()
