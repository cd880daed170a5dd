"""The printers: each shows the same figures for a build, and no name in it does harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smpmake import units
from smpmake.bench import Bench, Run, Variant
from smpmake.history import History
from smpmake.records import BuildRecord, Failure, Stall
from smpmake.reports import bench as bench_tables
from smpmake.reports import comparison, github, summary, terminal, trace, why
from smpmake.reports.document import document
from smpmake.reports.html import html
from smpmake.timing import analyse, explore
from smpmake.timing.compare import compare
from tests.reports.test_html import Read
from tests.support.computer import Computer, Task
from tests.support.made import S, build, command, ran
from tests.support.space import FIXTURES, SMPMAKE, Space, objects


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
    one.serial = measured
    page = document(one)
    figures = page["figures"]
    serial = figures["serial_estimated" if measured is None else "serial_measured"]
    assert figures["serial_estimated"]["seconds"] == pytest.approx(analyse(one).estimated.seconds)
    word = "an estimated" if measured is None else "a measured"
    text = "\n".join(terminal.page(page))
    short = "\n".join(summary.lines(one, analyse(one)))
    line = (
        f"{units.seconds(figures['wall'])} for {word} {units.seconds(serial['seconds'])} of serial "
        f"work: {serial['speedup']:.2f} x on 2 CPUs, {serial['efficiency']:.0%} of the extra CPU"
    )
    for shown in (text, short):
        assert line in shown
        assert f"{serial['efficiency']:.0%} used = ({serial['speedup']:.2f} - 1) / (2 - 1)" in shown
        assert f"{figures['utilisation']:.0%} of 2 CPUs" in shown
        assert f"{figures['deferred']} deferred, {figures['foreground']} in the for" in shown
    said = Read(html(page, [])).said()
    assert f"{units.seconds(figures['wall'])} for {word}" in said
    assert f"{serial['speedup']:.2f} \N{MULTIPLICATION SIGN}" in said
    assert f"{serial['efficiency']:.0%} of the second CPU was gained" in said
    assert f"{figures['deferred']} deferred, {figures['foreground']} in the for" in said
    written = github.summary(page)
    assert f"{serial['speedup']:.2f} x" in written
    assert f"{serial['efficiency']:.0%}" in written
    assert trace.trace(page)["otherData"]["figures"] == figures
    assert json.loads(json.dumps(page)) == page


def test_beside_other_programs_that_is_said_first() -> None:
    """And nothing of use, or of a bound that was reached: the wall time is theirs too."""
    one = Computer(2, lambda now: 8).build([Task(0.05, 0.0, 0.5)] * 20, 4)
    page = document(one)
    taken = f"{page['figures']['others']:.0%}"
    assert page["figures"]["loaded"] and int(taken[:-1]) > 60
    lead = f"other programs took {taken} of the CPUs"
    text, short = terminal.page(page), summary.lines(one, analyse(one))
    assert f"  {lead}; " in "\n".join(text)
    assert short[0].startswith(f"smpmake: {lead}; ")
    assert "of serial work beside the same load: " in short[0]
    assert "with 4 slots on 2 CPUs" in short[0]
    said = Read(html(page, [])).said()
    assert f"{lead[0].upper()}{lead[1:]}; so" in said
    written = github.summary(page)
    for shown in ("\n".join(text), "\n".join(short), said, written):
        assert "extra CPU" not in shown.replace("Extra CPUs used: (speed-up - 1) / (N - 1)", "")
        assert "came to" not in shown and "reached" not in shown and "stood idle" not in shown
    assert "0.5 s of CPU" in "\n".join(short)


def test_slower_is_said_so() -> None:
    one = record()
    one.serial = 6.0
    shown = "\n".join(summary.lines(one, analyse(one)))
    assert "0.75 x on 2 CPUs, slower than serially" in shown
    assert "-" not in shown.partition("\n")[0].partition("on 2 CPUs")[2]
    assert "extra CPUs" not in shown
    assert "slower than serially" in github.summary(document(one))


def test_a_speed_up_beyond_the_cpus_names_the_slots() -> None:
    """Compilers that sleep; and of CPUs that did not work nothing is said."""
    jobs = [ran(n, 0, 0, 8, slot=n, user_us=1000) for n in range(6)]
    one = build(*jobs, wall=8)
    one.slots = 18
    line = summary.headline(one, analyse(one))
    assert line.endswith(" x with 18 slots on 2 CPUs")


def test_the_terminals_page_has_all_its_parts() -> None:
    lines = terminal.page(document(record()), 100)
    text = "\n".join(lines)
    for title in (
        "What held it back",
        "Where the time went",
        "With more CPUs",
        "Stalls",
        "Folders",
    ):
        assert f"\n{title}\n" in text
    assert "sh waited 5.0 s for prog to be finished" in text
    assert "x.c:1: error: no" in text
    assert max(map(len, lines)) <= 130


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
    terminal.page(document(record()), width)


def test_hostile_names_do_nothing_to_a_terminal() -> None:
    one = build(ran(0, 0, 0, 2, outputs=("/src/\x1b]0;owned\x07.o",), tool="g\x1b[31mcc"))
    one.commands[0].argv = b"gcc\0\x1b[2J\0\xff\xfe\0"
    one.failures = [Failure(one.commands[0], b"\x1b[2Jboo\xff\n", "exit status 1")]
    for lines in (
        terminal.page(document(one)),
        comparison.lines(compare(one, one), one, one, 10, 80),
        why.about(one, "/src/\x1b]0;owned\x07.o"),
        why.lines(one),
    ):
        assert lines
        assert "\x1b" not in "".join(lines)
        assert "\x07" not in "".join(lines)


def test_the_trace_is_what_such_viewers_read() -> None:
    made = trace.trace(document(record()))
    events = made["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in complete][-2:] == ["gcc prog", "gcc sub/x.o"]
    assert all({"name", "pid", "tid", "ts", "dur"} <= event.keys() for event in complete)
    lanes: dict[int, float] = {}
    for event in sorted(complete, key=lambda event: event["ts"]):
        assert event["ts"] >= lanes.get(event["tid"], 0.0)  # nothing overlaps in a lane
        lanes[event["tid"]] = event["ts"] + event["dur"]
    begins = {event["id"] for event in events if event["ph"] == "b"}
    assert begins == {event["id"] for event in events if event["ph"] == "e"} != set()


def test_what_got_slower() -> None:
    before, after = record(), record()
    after.commands[1].ended += 3 * S
    after.commands.append(ran(6, 1, 6, 7, outputs=("/src/new.o",)))
    after.stalls[0].ended += S
    found = compare(before, after)
    assert [(c.name, c.difference) for c in found.commands[:2]] == [
        ("/src/1.o", 3),
        ("/src/new.o", 1),
    ]
    assert [(c.name, c.difference) for c in found.causes] == [("runs", 1)]
    text = "\n".join(comparison.lines(found, before, after, 10, 80))
    assert "+3.0 s (+150%)" in text
    assert "0 commands ran only before, 1 only after" in text


def test_why_one_output_is_as_it_is() -> None:
    text = "\n".join(why.about(record(), "/src/prog"))
    assert "deferred; done" in text
    assert "last for: gcc -c 'a b.c'" in text
    assert "sh waited 5.0 s for it (runs /src/prog)" in text
    assert why.about(record(), "/src/none") == []


def test_why_of_a_folder_is_what_was_made_in_it() -> None:
    one = record()
    lines = why.about(one, "/src")
    assert lines[0].startswith("/src: 6 commands made files in it (6 deferred); 11.0 s all in all")
    assert lines[-2] == "             … and 1 more (--all shows them)"
    assert lines[-1] == "  waited for them: sh; 5.0 s all in all"
    assert len(why.about(one, "/src", everything=True)) == 1 + 2 * 6 + 1
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
def test_report_history_compare_and_why_on_a_real_build(space: Space) -> None:
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
    for words in ("1 -", "--build 1 -"):
        exported = space.smpmake("export", "ninja", *words.split())
        assert exported.out.startswith("# Build 1 of "), exported
    listed = json.loads(space.smpmake("history", "--json").out)
    assert (listed["format"], listed["version"]) == ("smpmake-history", 1)
    assert [build["id"] for build in listed["builds"]] == [2, 1]
    assert listed["builds"][0]["command"] == ["make"]
    assert listed["builds"][0]["status"] == 0
    assert listed["builds"][0]["wall"] > 0
    about = space.smpmake("why", "lib/libsample.a")
    assert "deferred; done" in about.out
    assert "ar rcs libsample.a" in about.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("report", "99"), "build 99 is not in the history"),
        (("report", "last-5"), "this folder has only one build in which a tool was run"),
        (("report", "soon"), "'soon' is no build"),
        (("report", "1", "--build", "2"), "Two builds are named, 1 and 2: which one?"),
        (("report", "--build", "soon"), "'soon' is no build"),
        (("why", "a", "b"), "One path at a time: 'b' is a second one."),
        (("compare", "1", "1", "1"), "Two builds are compared, and 3 are named."),
        (("export", "ninja", "99"), "build 99 is not in the history"),
        (("compare", "1", "99"), "build 99 is not in the history"),
        (("why", "nothing.o"), "no command of that build made or read nothing.o"),
        (("report", "--trace", "/nowhere/t.json"), "/nowhere/t.json: cannot be written"),
        (("bench", "--clean", "false", "true"), "--clean 'false' ended with status 1"),
        (("bench", "--clean", "true", "false"), "ended with status 1"),
        (("bench", "--clean", "true", "--cpus", "0", "true"), "'0' is neither a number nor N"),
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
    assert "2 deferred" in shown.out


@pytest.mark.slow
def test_bench_prints_the_ancestors_table(space: Space) -> None:
    space.copy("sample")
    ended = space.smpmake("bench", "--clean", "make clean", "--runs", "1", "--jobs", "1,2", "make")
    assert ended.status == 0, ended.err
    assert "original" in ended.out
    assert "smpmake -j2" in ended.out
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
    """104 s on two CPUs in the original way, 70 s with the hack: 65 % by its own formula."""
    text = "\n".join(bench_tables.lines(benched([103], [97], [104], [70])))
    assert "ancestor's figure, of the time that could be saved: " in text
    assert "(104.00 - 70.00) / (104.00 x (1 - 1/2)) = 65%" in text
    assert "speed-up 1.49 x (1.49 to 1.49): 49% of the extra CPU = (1.49 - 1) / (2 - 1)" in text


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
    assert lines[2].endswith("10.00 s (9.50 to 10.50)   no difference that these rounds can tell")
    assert lines[3].endswith(
        "11.00 s (10.00 to 30.00)     7.00 s (6.00 to 8.00)   smpmake is faster"
    )
    data = bench_tables.document(one)
    assert data["told"] == "smpmake is faster"
    assert data["speedup"] == pytest.approx({"median": 10 / 6, "low": 11 / 8, "high": 30 / 7})
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


def test_the_simulation_against_real_runs(space: Space, tmp_path: Path) -> None:
    """Jobs that only wait, so that a busy machine does not matter: recorded on one number of slots
    and played on the other, the build takes as long as it really does there."""
    (space.root / "tools").mkdir()
    tool = str(space.root / "tools" / "gcc")
    space.ok("cc", "-O1", "-o", tool, str(FIXTURES / "bench" / "tool.c"))
    space.environment["PATH"] = f"{space.root / 'tools'}:{space.environment['PATH']}"
    space.environment["BENCH_WAIT_MS"] = "200"
    count = 8
    space.write(objects(count))
    names = " ".join(f"f{n}.o" for n in range(count))
    space.write({"Makefile": f"all: {names}\n%.o: %.c\n\tgcc -c $< -o $@\n"})
    records = {}
    for slots in (1, 2):
        assert space.smpmake("--no-history", f"-j{slots}", "make").status == 0
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
