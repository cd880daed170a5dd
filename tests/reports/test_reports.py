"""The printers: each shows the same figures for a build, and no name in it does harm."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from smpmake import units
from smpmake.bench import Bench, Run, Variant
from smpmake.cli.closing import conclude
from smpmake.history import History
from smpmake.records import BuildRecord, Compiler, Failure, Stall, Surroundings
from smpmake.reports import bench as bench_tables
from smpmake.reports import (
    comparison,
    diagnostics,
    github,
    grid,
    phrases,
    server_state,
    summary,
    terminal,
    trace,
    why,
)
from smpmake.reports.document import document
from smpmake.reports.grid import Kind, Look
from smpmake.reports.html import html
from smpmake.timing import Ends, analyse, explore
from smpmake.timing.compare import compare
from smpmake.timing.trend import Trend, trend
from tests.reports.test_html import Read
from tests.support.computer import Computer, Task
from tests.support.made import S, build, command, ran
from tests.support.pages import hostile, ordinary
from tests.support.space import FIXTURES, SMPMAKE, Space, objects

BLOCK = "\N{FULL BLOCK}"


def record() -> BuildRecord:
    """Six jobs on two CPUs, one of them failed, and a stall."""
    made = build(
        *(ran(n, 0.1 * n, 2 * (n // 2), 2 * (n // 2) + 2, slot=n % 2) for n in range(4)),
        ran(4, 0.5, 4, 6, kind="link", outputs=("/src/prog",), inputs=("/src/3.o",), waited_for=3),
        ran(5, 0.6, 6, 7, state="failed", status=1, outputs=("/src/sub/x.o",), max_rss=4096),
        wall=8,
    )
    made.stalls = [Stall("sh", "runs", "/src/prog", 4, 1, -1, 101 * S, 106 * S)]
    made.failures = [Failure(made.commands[5], b"x.c:1: error: no\n", "exit status 1")]
    made.server_cpu_us = 400_000
    made.id = 7
    return made


@pytest.mark.parametrize("measured", [None, 12.5])
def test_every_printer_shows_the_same_figures(measured: float | None) -> None:
    one = record()
    one.serial, one.calibration = measured, 1.0
    page = document(one)
    figures = page["figures"]
    assert figures["serial_estimated"]["high"] == pytest.approx(analyse(one).estimated.seconds.high)
    serial = measured or figures["serial_estimated"]["high"]
    assert figures["speedup"]["middle"] == pytest.approx(serial / 8, rel=0.001)
    plain = f"measured {measured}" if measured else f"estimated {serial:.0f}"
    times, share = figures["speedup"]["middle"], figures["efficiency"]["middle"]
    text = "\n".join(terminal.page(page, Look(200)))
    short = "\n".join(summary.lines(one, analyse(one)))
    line = f"built in 8.0 s, about {times:.1f} times as fast as the plain build ({plain} s)"
    used = f"used {share * 100:.0f} % of the second CPU"
    assert short.startswith(f"smpmake: {line}\n  {used}\n")
    assert f"  result      {line}\n" in text
    formula = f"{share:.0%} used = ({times:.2f} - 1) / (2 - 1)"
    assert formula in text and formula not in short
    for shown in (text, short):
        assert f"{figures['utilisation']:.0%} of 2 CPUs" in shown
        assert f"{figures['deferred']} in parallel, {figures['foreground']} in place" in shown
    said = Read(html(page, [])).said()
    about = "" if measured else "about "
    ratio = f"{times:{'.2f' if measured else '.1f'}} \N{MULTIPLICATION SIGN} as fast"
    plain = f"{about}{units.seconds(serial)}"
    assert f"{ratio}: smpmake built this in 8.0 s instead of {plain}" in said
    assert f"smpmake gained {share:.0%} of the second CPU" in said
    assert f"{figures['deferred']} in parallel, {figures['foreground']} in place" in said
    written = github.summary(page)
    assert f"### smpmake: {line}" in written.replace("\\", "")
    assert used in written
    assert trace.trace(page)["otherData"]["figures"] == figures
    assert json.loads(json.dumps(page)) == page


def test_what_nothing_calibrates_is_a_range() -> None:
    """Work takes more CPU time beside other work; how much, only a build with one slot tells."""
    one = Computer(2).build([Task(0.05, 0.0, 2.0)] * 20, 2)
    page = document(one)
    serial, times = (page["figures"][name] for name in ("serial_estimated", "speedup"))
    shares = page["figures"]["efficiency"]
    assert 0.9 * serial["high"] <= serial["low"] < serial["high"]
    for each in (serial, times, shares):
        assert each["middle"] == pytest.approx((each["low"] + each["high"]) / 2, abs=0.001)
    ratio = f"{times['low']:.2f} to {times['high']:.2f}"
    text = "\n".join(terminal.page(page, Look(200)))
    takes = phrases.between(units.seconds(serial["low"]), units.seconds(serial["high"]))
    assert f"{ratio} x: the plain build takes {takes} (estimated)" in text
    assert f"{shares['low']:.0%} to {shares['high']:.0%} used = (speed-up - 1) / (2 - 1)" in text
    first, second = summary.lines(one, analyse(one))[:2]
    assert f"about {times['middle']:.1f} times as fast as the plain build (estimated " in first
    assert f"{serial['low']:.0f} to {serial['high']:.0f} s)" in first
    assert second == f"  used {shares['middle'] * 100:.0f} % of the second CPU"
    assert f"{ratio} \N{MULTIPLICATION SIGN}" in Read(html(page, [])).said()
    assert ratio in github.summary(page)
    one.calibration = 0.97
    known = document(one)["figures"]["serial_estimated"]
    assert known["low"] == known["high"]


#: Words that say how fast something was.
SPEED = re.compile(r"times as fast|slower than|[\d.]+ (x|\N{MULTIPLICATION SIGN}) |used [\d.]+ ?%")


def test_on_a_busy_machine_nothing_is_said_of_speed() -> None:
    """Nor of a bound that was reached: the wall time is others' too."""
    one = Computer(2, lambda now: 8).build([Task(0.05, 0.0, 0.5)] * 20, 4)
    one.id = 7
    page = document(one)
    figures = page["figures"]
    assert (figures["speedup"], figures["efficiency"], figures["why_not"]) == (None, None, "busy")
    assert figures["serial_estimated"] is None
    assert 0.6 < figures["others"] <= figures["others_wanted"] <= 1
    why = (
        "the machine was busy (others: 100 %), so how much smpmake helped cannot be told; "
        "`smpmake bench` measures it"
    )
    line = f"built in {units.seconds(figures['wall'])}; {why}"
    text = "\n".join(terminal.page(page, Look(200)))
    short = summary.lines(one, analyse(one))
    assert short[0] == f"smpmake: {line}"
    assert f"  {line}\n" in text
    said = Read(html(page, [])).said()
    assert f"{why[0].upper()}{why[1:].replace('`', '')}." in said
    written = github.summary(page)
    assert line in written.replace("\\", "")
    conclude(one, None)
    listed = comparison.history([one])
    for shown in (text, "\n".join(short), said, written, "\n".join(listed)):
        assert not SPEED.search(shown), shown
        assert "came to" not in shown and "reached" not in shown and "was idle" not in shown
    (told,) = comparison.history_document([one])["builds"]
    assert (told["speedup"], told["why_not"], told["serial_estimated"]) == (None, "busy", None)
    assert "0.5 s of CPU" in "\n".join(short)


@pytest.mark.parametrize(
    ("serial", "said"),
    [
        (6.0, "about 33 % slower than the plain build (measured 6.0 s)"),
        (7.6, "about 5 % slower than the plain build (measured 7.6 s)"),
        (7.9, "about as fast as the plain build (measured 7.9 s)"),
        (8.2, "about as fast as the plain build (measured 8.2 s)"),
        (100.0, "about 12 times as fast as the plain build (measured 1:40 min)"),
    ],
)
def test_slower_is_said_so(serial: float, said: str) -> None:
    one = record()
    one.serial = serial
    shown = summary.lines(one, analyse(one))
    assert shown[0] == f"smpmake: built in 8.0 s, {said}"
    assert shown[1].startswith("  commands")  # with nothing of a CPU that was used
    assert said.partition(" (")[0] in github.summary(document(one))


def test_a_small_difference_inside_the_range_is_none() -> None:
    """Estimated from 5 % less to 5 % more: nobody knows which."""
    ends = Ends(0.98, 1.08)
    assert phrases.pace(ends) == "about as fast as the plain build"
    assert phrases.pace(Ends(1.01, 1.09)) == "about 1.1 times as fast as the plain build"
    assert phrases.pace(Ends(0.88, 0.98)) == "about 8 % slower than the plain build"
    assert phrases.pace(Ends(0.9, 1.6)) == "about 1.2 times as fast as the plain build"


def test_of_more_slots_than_cpus_nothing_is_said_of_the_cpus() -> None:
    """Compilers that sleep: CPUs that did not work were not used."""
    jobs = [ran(n, 0, 0, 8, slot=n, user_us=1000) for n in range(6)]
    one = build(*jobs, wall=8)
    one.slots = 18
    assert summary.headline(one, analyse(one)).endswith(
        " times as fast as the plain build (estimated 56 s)"
    )
    assert document(one)["figures"]["efficiency"] is None


def test_the_report_of_a_running_build_begins_with_what_runs_now() -> None:
    one = build(
        ran(0, 0, 0, 2),
        command(1, issued=100 * S, ready=100 * S, started=101 * S, slot=0, outputs=("/src/1.o",)),
        command(2, issued=102 * S, ready=102 * S, started=int(103.5 * S), slot=1),
        command(3, issued=103 * S, ready=103 * S),
        command(4, issued=103 * S, kind="link", outputs=("/src/prog",), inputs=("/src/1.o",)),
        wall=6,
    )
    one.complete, one.running = False, True
    one.stalls = [
        Stall("cat", "reads", "/src/1.o", 1, 1, -1, 104 * S, 0),
        Stall("gcc", "opens", "/src/gen.h", 1, 1, 2, 105 * S, 0),
        Stall("cat", "reads", "/src/0.o", 0, 1, -1, 101 * S, 102 * S),
    ]
    lines = terminal.page(document(one), Look(100))
    assert lines[1].endswith("; it is still running")
    assert lines[2:10] == [
        "",
        "Running now",
        "    for",
        "  5.0 s  gcc 1.o",
        "  2.5 s  gcc 2.o     waits for gen.h (gcc 1.o)",
        "  2.0 s  make (cat)  waits for 1.o (gcc 1.o)",
        "  gcc prog  waits for gcc 1.o",
        "  1 command waits for a slot",
    ]
    for title in ("What held it back", "With more CPUs", "Critical path"):
        assert title not in lines
    one.running = False
    assert "Running now" not in terminal.page(document(one), Look(100))


def test_the_terminals_page_has_all_its_parts() -> None:
    lines = terminal.page(document(record()), Look(100))
    text = "\n".join(lines)
    for title in (
        "What held it back",
        "Where the time went",
        "With more CPUs",
        "Stalls",
        "Folders",
    ):
        assert f"\n{title}\n" in text
    assert "sh waited 5.0 s for prog, and a CPU was idle for 2.0 s of it: build it" in text
    assert "x.c:1: error: no" in text
    assert max(map(len, lines)) <= 130


def test_warnings_and_where_it_ran() -> None:
    page = document(ordinary())
    lines = terminal.page(page, Look(100))
    assert "  told      1 error and 2 warnings" in lines
    assert "         2       1  gcc bad.o" in lines
    assert "  host      host: a CPU (4 CPUs)" in lines
    assert "  compiler  gcc: gcc 12 (/gcc)" in lines
    assert diagnostics.log(page) == ["gcc bad.o", "  gcc -c 'a b.c'", "  bad.c:1: error: no"]
    assert diagnostics.log(document(build())) == ["No command told of a warning or an error."]
    quiet = terminal.page(document(record()))
    assert "Warnings and errors" not in quiet and "Environment" not in quiet


def test_no_build_however_hostile_reaches_the_terminal() -> None:
    one = hostile()
    for look in (Look(80), Look(80, frames=True)):
        lines = terminal.page(document(one), look) + diagnostics.log(document(one), look)
        lines += why.lines(one, look) + why.about(one, one.commands[7].outputs[0], look)
        for line in lines:
            assert line.isprintable() or not line.replace("\t", " "), line


def test_an_empty_build_has_a_page() -> None:
    assert terminal.page(document(build()))
    assert explore(build(), analyse(build())).path[-1].number == -1


def test_a_killed_build_has_a_page() -> None:
    one = record()
    one.complete = False
    one.commands.append(command(6, issued=105 * S, ready=105 * S, started=106 * S, slot=0))
    text = "\n".join(terminal.page(document(one)))
    assert "it was killed" in text
    one.running = True
    assert "still running" in "\n".join(terminal.page(document(one)))


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_any_width(width: int) -> None:
    """Tables fit into it; what is to be copied (messages, folders) stays in one line."""
    one = record()
    one.commands[2].outputs = (f"/src/{'deep/' * 40}name.o",)
    lines = terminal.page(document(one), Look(width))
    first = lines.index("Languages")
    assert max(map(len, lines[first : lines.index("Failures")])) <= width
    assert width < 60 or any(line.endswith("deep/name.o") for line in lines)


def test_wide_letters_take_two_places() -> None:
    name = "\N{CJK UNIFIED IDEOGRAPH-6587}" * 60
    one = build(ran(0, 0, 0, 2, outputs=(f"/src/{name}.o",)))
    lines = terminal.page(document(one), Look(60))
    shown = [line for line in lines if line.endswith(".o")]
    assert shown and all(20 < cell_len(line) <= 60 for line in shown)


def test_frames_and_colours_are_for_terminals_alone() -> None:
    one = document(record())  # another may be of the next second
    plain = terminal.page(one, Look(100))
    drawn = terminal.page(one, Look(100, frames=True))
    coloured = terminal.page(one, Look(100, frames=True, color=True))
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" not in "".join(plain)
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" in "".join(drawn)
    assert "\x1b" not in "".join(plain) and "\x1b[1m" in "".join(coloured)
    without = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured]
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in drawn] == without


def test_nothing_that_a_build_names_is_markup() -> None:
    name = "[bold red]x[/bold red] :smile: [link=http://a]y[/link] [/]"
    one = build(ran(0, 0, 0, 2, outputs=(f"/src/{name}.o",), argv=f"gcc\0{name}\0".encode()))
    one.commands[0].reason = one.commands[0].detail = name
    one.notices = [name]
    page = document(one)
    for lines in (
        terminal.page(page, Look(200, frames=True, color=True)),
        comparison.lines(compare([one], [one]), [one], [one], 10, Look(200, frames=True)),
        why.lines(one, Look(200)),
        why.about(one, "/src", Look(200)),
        server_state.lines(
            {"running": 0, "queued": 0, "hosts": []}, on_a_server(name), 1.0, Look(200)
        ),
    ):
        assert name in re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))


def on_a_server(name: str) -> dict[str, Any]:
    one = {"command": ["make"], "folder": name, "began": 0.0, "done": 1, "pending": 2}
    return {"slots": 2, "builds": [one]}


def test_hostile_names_do_nothing_to_a_terminal() -> None:
    one = build(ran(0, 0, 0, 2, outputs=("/src/\x1b]0;owned\x07.o",), tool="g\x1b[31mcc"))
    one.commands[0].argv = b"gcc\0\x1b[2J\0\xff\xfe\0"
    one.failures = [Failure(one.commands[0], b"\x1b[2Jboo\xff\n", "exit status 1")]
    for lines in (
        terminal.page(document(one)),
        comparison.lines(compare([one], [one]), [one], [one], 10),
        why.about(one, "/src/\x1b]0;owned\x07.o"),
        why.lines(one),
        server_state.lines(
            {"running": 0, "queued": 0, "hosts": []}, on_a_server("/src/\x1b[2J\x07"), 1.0
        ),
    ):
        assert lines
        assert "\x1b" not in "".join(lines)
        assert "\x07" not in "".join(lines)


def test_what_got_slower() -> None:
    before, after = record(), record()
    after.commands[1].ended += 3 * S
    after.commands.append(ran(6, 1, 6, 7, outputs=("/src/new.o",)))
    after.stalls[0].ended += S
    found = compare([before], [after])
    assert [(c.name, c.difference) for c in found.commands[:2]] == [
        ("/src/1.o", 3),
        ("/src/new.o", 1),
    ]
    assert [(c.name, c.difference) for c in found.causes] == [("runs", 1)]
    text = "\n".join(comparison.lines(found, [before], [after], 10))
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "1.o 2.0 s 5.0 s +3.0 s (+150%)" in rows
    assert "0 commands ran only before, 1 only after" in text


def several(*walls: float, first: int = 1) -> list[BuildRecord]:
    """Builds of the same, whose one command took that long."""
    found = []
    for number, wall in enumerate(walls, first):
        one = build(ran(0, 0, 0, wall - 1, outputs=("/src/a.o",)), wall=wall)
        one.id, one.estimate = number, 10.0
        one.surroundings = Surroundings("host", "CPU", 2, "Linux 6", "Debian")
        found.append(one)
    return found


def test_medians_tell_what_one_build_cannot() -> None:
    before, after = several(10, 12, 11), several(14, 13, 15, first=4)
    found = compare(before, after)
    (one,) = found.commands
    assert (one.before, one.after, one.is_clear) == (10, 13, True)
    lines = comparison.lines(found, before, after, 10)
    assert lines[0] == "the median of builds 1, 2, 3 and the median of builds 4, 5, 6: make"
    rows = [" ".join(line.split()) for line in lines]
    assert "wall 11.0 s 14.0 s +3.0 s (+27%)" in rows
    data = comparison.document(found, before, after)
    assert (data["before"], data["after"]) == ([1, 2, 3], [4, 5, 6])
    assert data["commands"] == [
        {
            "name": "/src/a.o",
            "before": 10,
            "after": 13,
            "before_range": [9, 11],
            "after_range": [12, 14],
            "clear": True,
        }
    ]
    unclear = several(11.5, first=4)
    rows = [
        " ".join(line.split())
        for line in comparison.lines(compare(before, unclear), before, unclear, 10)
    ]
    assert "wall 11.0 s 11.5 s +0.5 s (+5%) ?" in rows
    assert any(row.startswith("Medians; `?`:") for row in rows)
    single = compare(before[:1], unclear)
    assert {change.is_clear for change in single.figures} == {None}


def test_what_else_is_different_is_said() -> None:
    before, after = several(10, 10)
    before.surroundings = before.surroundings._replace(compilers=(Compiler("gcc", "/g", "gcc 12"),))
    after.surroundings = before.surroundings._replace(
        options=("jobs=4",), compilers=(Compiler("gcc", "/g", "gcc 13"),)
    )
    after.commands[0].warnings = 3
    lines = comparison.lines(compare([before], [after]), [before], [after], 10)
    rows = [" ".join(line.split()) for line in lines]
    at = rows.index("Not the same")
    assert rows[at + 2 : at + 5] == [
        "compilers gcc 12 gcc 13",
        "options as they come jobs=4",
        "warnings 0 3",
    ]
    before.surroundings = Surroundings()  # of an older smpmake
    lines = comparison.lines(compare([before], [after]), [before], [after], 10)
    assert "Not the same" not in lines


def test_the_trend_is_against_builds_that_did_as_much() -> None:
    heads = several(10, 12, 11, 22)
    other, small, failed, other_folder = several(1, 2, 3, 4, first=5)
    other.command, small.estimate, failed.status, other_folder.cwd = ["ninja"], 1.0, 2, "/other"
    every = [*heads, other, small, failed, other_folder]
    (last,) = several(11, first=9)
    every.append(last)
    found = trend(last, every)
    assert found == Trend(11.5, 4)
    assert trend(heads[0], every) is None
    assert trend(failed, every) is None
    shown = comparison.history([last, heads[3]], every, Look(100))
    assert " -4%  \N{FULL BLOCK}" in shown[1]
    assert f"+100%  {BLOCK * 10} " in shown[2]
    assert BLOCK not in "".join(comparison.history([last], every, Look(80)))
    data = comparison.history_document([last, heads[0]], every)
    assert [each["trend"] for each in data["builds"]] == [{"median": 11.5, "builds": 4}, None]


def test_why_one_output_is_as_it_is() -> None:
    text = "\n".join(why.about(record(), "/src/prog"))
    assert "in parallel; done" in text
    assert "last for: gcc -c 'a b.c'" in text
    assert "sh waited 5.0 s for it (runs /src/prog)" in text
    assert why.about(record(), "/src/none") == []


def test_why_tells_what_only_a_check_can_tell() -> None:
    one = record()
    hint = "if another rule makes it, `smpmake check make` tells whether the makefile says so"
    assert hint in "\n".join(why.lines(one))
    one.stalls[0].who = "make"
    assert "smpmake check" not in "\n".join(why.lines(one))


def test_why_for_programs() -> None:
    one = record()
    page = why.document(one, "/src/prog")
    assert (page["format"], page["version"], page["build"]) == ("smpmake-why", 1, one.id)
    ((made,), (stall,)) = ([c for c in page["commands"] if c["role"] == "made"], page["stalls"])
    assert made["outputs"] == ["/src/prog"] and made["verdict"] == "deferred"
    assert (stall["who"], stall["seconds"], stall["waited_for"]) == ("sh", 5.0, made["number"])
    assert {c["role"] for c in why.document(one, "/src")["commands"]} == {"inside"}
    assert why.document(one, "/src/none")["commands"] == []
    assert all(c["reason"] and c["text"] for c in why.document(one, None)["commands"])
    assert json.loads(json.dumps(page)) == page


def test_why_of_a_folder_is_what_was_made_in_it() -> None:
    one = record()
    lines = why.about(one, "/src")
    assert lines[0].startswith(
        "/src: 6 commands made files in it (6 in parallel); 11.0 s all in all"
    )
    assert lines[-2] == "  … and 1 more (--all shows them)"
    assert lines[-1] == "  waited for them: sh; 5.0 s all in all"
    assert len(why.about(one, "/src", everything=True)) == 1 + 6 + 1
    assert why.about(one, "/")[0].startswith("/: 6 commands")
    assert why.about(one, "/src/sub")[0].startswith("/src/sub: one command made files in it")
    assert why.about(one, "/sr") == []


def test_sizes_and_cuts() -> None:
    assert [units.size(v) for v in (5, 2048, 5 << 20, 3 << 30)] == [
        "5 B",
        "2 KiB",
        "5 MiB",
        "3.0 GiB",
    ]
    assert units.cut("abcdef", 4) == "abc…"
    assert units.cut_left("abcdef", 4) == "…def"


# -------------------------------------------------------------------- from real builds


def history_of(space: Space) -> History:
    return History(space.root / "state" / "smpmake" / "history.db")


@pytest.mark.slow
def _had_as_much_to_do(space: Space) -> None:
    """Says so of all builds: small ones differ as much as the computer is busy."""
    (history,) = (space.root / "state").rglob("history.db")
    with closing(sqlite3.connect(history)) as connection:
        connection.execute("update build set estimate_s = 1")
        connection.commit()


def test_report_history_compare_and_why_on_a_real_build(space: Space) -> None:
    space.environment["SMPMAKE_MEMO"] = "off"  # the second build is to run what the first ran
    space.copy("sample")
    assert space.smpmake("make").status == 0
    space.ok("make", "clean")
    assert space.smpmake("make").status == 0
    shown = space.smpmake("report")
    assert "What held it back" in shown.out, shown.err
    data = json.loads(space.smpmake("report", "--json").out)
    assert data["build"]["id"] == 2
    assert len(data["commands"]) == 16
    made = json.loads(space.smpmake("report", "--trace", "-", "1").out)
    assert made["otherData"]["build"]["id"] == 1
    listed = space.smpmake("history")
    assert [line.split()[0] for line in listed.out.splitlines()[1:3]] == ["2", "1"]
    assert "libsample.a" in space.smpmake("compare", "--rows", "99").out
    assert "\n  build 1, " in space.smpmake("report", "--build", "1").out
    assert "\n  build 1, " in space.smpmake("report", "1").out
    assert space.smpmake("why", "1").out == space.smpmake("why", "--build", "1").out
    assert space.smpmake("why", "1", "lib").out.startswith(f"{space.folder}/lib: ")
    for words in ("1", "--build 1", "1 last", "--build=1 --build=2"):
        assert "build 1 (" in space.smpmake("compare", *words.split()).out
    for words in ("1,2", "1 1,2"):
        assert "the median of builds 1, 2" in space.smpmake("compare", *words.split()).out
    _had_as_much_to_do(space)
    assert "build 1 (" in space.smpmake("compare", "--median", "3").out
    assert "name one, or none" in space.smpmake("compare", "--median", "3", "1", "2").err
    assert "no build before 1 has run" in space.smpmake("compare", "--median", "3", "1").err
    for words in ("1 -", "--build 1 -"):
        exported = space.smpmake("export", "ninja", *words.split())
        assert exported.out.startswith("# Build 1 of "), exported
    listed = json.loads(space.smpmake("history", "--json").out)
    assert (listed["format"], listed["version"]) == ("smpmake-history", 3)
    assert [build["id"] for build in listed["builds"]] == [2, 1]
    assert listed["builds"][0]["command"] == ["make"]
    assert listed["builds"][0]["status"] == 0
    assert listed["builds"][0]["wall"] > 0
    about = space.smpmake("why", "lib/libsample.a")
    assert "in parallel; done" in about.out
    assert "ar rcs libsample.a" in about.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("report", "99"), "build 99 is not in the history"),
        (("report", "last-5"), "this folder has only one build in which a tool was run"),
        (("report", "soon"), "'soon' must be a build"),
        (("report", "1", "--build", "2"), "Two builds are named, 1 and 2: which one?"),
        (("report", "--build", "soon"), "'soon' must be a build"),
        (("why", "a", "b"), "One path at a time: 'b' is a second one"),
        (("compare", "1", "1", "1"), "Two builds are compared, and 3 are named"),
        (("export", "ninja", "99"), "build 99 is not in the history"),
        (("compare", "1", "99"), "build 99 is not in the history"),
        (("why", "nothing.o"), "no command of that build made or read nothing.o"),
        (("report", "--trace", "/nowhere/t.json"), "/nowhere/t.json: cannot be written"),
        (("bench", "--clean", "false", "true"), "--clean 'false' ended with status 1"),
        (("bench", "--clean", "true", "false"), "ended with status 1"),
        (
            ("bench", "--clean", "true", "--cpus", "0", "true"),
            "'0' must be a whole number, at least 1, or N",
        ),
    ],
)
def test_bad_input_is_told(space: Space, arguments: tuple[str, ...], says: str) -> None:
    space.write(objects(1))
    assert space.smpmake("sh", "-c", "gcc -c f0.c").status == 0
    ended = space.smpmake(*arguments)
    assert ended.status != 0
    assert says in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.slow
def test_a_killed_build_has_a_report(space: Space) -> None:
    """What was written down while it ran is there after a kill -9."""
    os_fifo = space.folder / "held"
    space.ok("mkfifo", str(os_fifo))
    space.write(objects(3))
    script = "gcc -c f0.c; gcc -c f1.c; while [ ! -e f0.o ] || [ ! -e f1.o ]; do :; done; cat held"
    process = space.start(SMPMAKE, "sh", "-c", script)
    history = history_of(space)
    while True:
        last = history.last() if history.path.exists() else None
        if last is not None and sum(c.state == "done" for c in last.commands) == 2:
            break
        assert process.poll() is None
    process.kill()
    process.wait()
    shown = space.smpmake("report")
    assert "it was killed" in shown.out, shown.err
    assert "2 in parallel" in shown.out


@pytest.mark.chaos
def test_bench_prints_the_ancestors_table(space: Space) -> None:
    space.copy("sample")
    ended = space.smpmake("bench", "--clean", "make clean", "--runs", "1", "--jobs", "1,2", "make")
    assert ended.status == 0, ended.err
    assert "original" in ended.out
    assert "smpmake -j2" in ended.out
    assert not Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo").exists()
    record = history_of(space).last(str(space.folder))
    assert record is not None
    heads = history_of(space).heads()
    assert sum(head.serial is not None for head in heads) == 1
    data = json.loads(
        space.smpmake(
            *("bench", "--json", "--clean", "make clean", "--runs", "1", "--cpus", "1", "make")
        ).out
    )
    assert data["format"] == "smpmake-bench"
    assert data["ancestors_share"] is None and data["efficiency"] is None
    assert {run["how"] for run in data["runs"]} == {"original on 1 CPU", "smpmake -j1 on 1 CPU"}


def test_the_ancestors_figure() -> None:
    """104 s on two CPUs in the original way, 70 s with the hack: 65 % by its own formula, which
    programs get; people get one figure."""
    measured = benched([103], [97], [104], [70])
    assert bench_tables.document(measured)["ancestors_share"] == pytest.approx(0.65, abs=0.005)
    text = "\n".join(bench_tables.lines(measured))
    assert "ancestor" not in text and "65%" not in text
    assert "speed-up  1.49 x (1.49 to 1.49): 49% of the extra CPU = (1.49 - 1) / (2 - 1)" in text


def benched(*times: list[float]) -> Bench:
    """Original and smpmake on one CPU, then on two."""
    table = Bench(["wmake"], (1, 2), ())
    ways = (Variant(0, 1), Variant(1, 1), Variant(0, 2), Variant(2, 2))
    for variant, each in zip(ways, times, strict=True):
        table.runs[variant] = [Run(seconds, seconds, 0.0) for seconds in each]
    return table


def test_bench_says_what_its_rounds_can_tell() -> None:
    slower, unclear = [10.0, 11.0, 9.0], [10.5, 9.5, 10.0]
    one = benched(slower, unclear, [10.0, 30.0, 11.0], [6.0, 7.0, 8.0])
    lines = bench_tables.lines(one)
    assert lines[2].endswith(
        "(9.50 to 10.50)  no difference that these rounds can tell (--runs 6 could)"
    )
    assert lines[3].endswith("11.00 s (10.00 to 30.00)    7.00 s (6.00 to 8.00)  smpmake is faster")
    data = bench_tables.document(one)
    assert data["told"] == "smpmake is faster"
    assert data["speedup"] == pytest.approx({"median": 10 / 6, "low": 11 / 8, "high": 30 / 7})
    longer = bench_tables.lines(benched(slower * 2, unclear * 2, slower * 2, unclear * 2))
    assert longer[2].endswith("(9.50 to 10.50)  no difference that these rounds can tell")
    worse = bench_tables.lines(benched(slower, slower, slower, [20.0, 21.0, 22.0]))
    assert worse[3].endswith("smpmake is slower")
    assert "%" not in "".join(worse)
    assert "ancestor" not in "".join(worse)


@pytest.mark.slow
def outside(record: BuildRecord) -> float:
    """Seconds before the first command and behind the last: what else runs here decides of them."""
    first = min(command.issued for command in record.commands)
    last = max(command.ended for command in record.commands)
    return (first - record.started + record.ended - last) / 1e9


@pytest.mark.chaos
def test_the_simulation_against_real_runs(space: Space, tmp_path: Path) -> None:
    """Jobs that only wait, so that a busy machine does not matter: recorded on one number of slots
    and played on the other, the build takes as long as it really does there."""
    (space.root / "tools").mkdir()
    tool = str(space.root / "tools" / "gcc")
    space.ok("cc", "-O1", "-o", tool, str(FIXTURES / "bench" / "tool.c"))
    space.environment["PATH"] = f"{space.root / 'tools'}:{space.environment['PATH']}"
    space.environment["BENCH_WAIT_MS"] = "200"
    space.environment["SMPMAKE_MEMO"] = "off"
    count = 8
    space.write(objects(count))
    names = " ".join(f"f{n}.o" for n in range(count))
    space.write({"Makefile": f"all: {names}\n%.o: %.c\n\tgcc -c $< -o $@\n"})
    records = {}
    for slots in (1, 2):
        assert space.smpmake(f"-j{slots}", "make").status == 0
        space.ok("sh", "-c", "rm *.o")
        last = history_of(space).last()
        assert last is not None
        records[slots] = last
    for slots, other in ((1, 2), (2, 1)):
        one = records[slots]
        one.slots = other
        # Nor what this machine does meanwhile: what held the one up held the other up, too.
        one.samples = []
        for each in one.commands:
            each.delay_us = -1
        predicted = explore(one, analyse(one)).simulated - outside(one)
        real = analyse(records[other]).wall - outside(records[other])
        assert predicted == pytest.approx(real, rel=0.25), (slots, other)
        one.slots = slots


def test_a_long_text_gives_way_to_figures() -> None:
    """All columns lost alike where none could be wrapped, and figures vanished first."""
    columns = (("build", Kind.FIGURE), ("wall", Kind.FIGURE), ("command", Kind.TEXT))
    rows = [("12", "3.4 s", "sh -c " + "word " * 60)]
    for width in (40, 80):
        head, row = grid.lines([grid.table(columns, rows)], Look(width))
        assert head.split() == ["build", "wall", "command"]
        assert row.split()[:4] == ["12", "3.4", "s", "sh"]
        assert row.endswith("…")
        assert len(row) <= width
