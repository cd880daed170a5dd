"""What stands around a job's message, and what is not printed once more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpmake.engine import framing
from smpmake.engine.framing import Shown
from smpmake.engine.sinks import Transcript
from tests.support.bench import Bench
from tests.support.made import command

LONG = (
    f"gcc {' '.join(f'-DNUMBER_{n}' for n in range(9))} -Iinc -MT w.o -MF w.Tpo -c -o w.o src/w.c"
)
RECORD = command(0, cwd="/src", inputs=("/src/src/w.c",), outputs=("/src/w.o",))


@pytest.mark.parametrize(
    ("words", "columns", "head"),
    [
        ("gcc -Wall -c src/w.c", 80, "smpmake: gcc -Wall -c src/w.c"),
        (LONG, 200, f"smpmake: {LONG}"),
        (LONG, 80, "smpmake: gcc ... -c -o w.o src/w.c"),
        (f"/opt/bin/{LONG}", 80, "smpmake: gcc ... -c -o w.o src/w.c"),
        (LONG, 30, "smpmake: gcc ... -c -o w.o s…"),
    ],
)
def test_a_head_names_the_compile(words: str, columns: int, head: str) -> None:
    assert framing.head(words.split(), RECORD, columns) == f"{head}\n".encode()


LIBTOOL = b"libtool: compile:  gcc -c a.c -o .libs/a.o\nlibtool: compile:  gcc -c a.c -o a.o\n"


@pytest.mark.parametrize(
    ("text", "behind", "parts"),
    [
        (b"a.c: warning\n", b"", (b"", b"a.c: warning\n", b"")),
        (LIBTOOL, b"", (LIBTOOL, b"", b"")),
        (LIBTOOL + b"a.c: x\n", b"", (LIBTOOL, b"a.c: x\n", b"")),
        (b"libtool: link: warning: x\n", b"", (b"", b"libtool: link: warning: x\n", b"")),
        (b"libtool:   error: x\n", b"", (b"", b"libtool:   error: x\n", b"")),
        (b"made\n", b"made\n", (b"", b"", b"made\n")),
        (LIBTOOL + b"x\nmade\n", b"made\n", (LIBTOOL, b"x\n", b"made\n")),
        (b"x\n", b"made\n", (b"", b"x\n", b"")),
        (LIBTOOL, LIBTOOL[-20:], (LIBTOOL, b"", b"")),
    ],
)
def test_what_is_no_message_is_told_apart(
    text: bytes, behind: bytes, parts: tuple[bytes, bytes, bytes]
) -> None:
    assert framing.told(text, behind) == parts


@pytest.mark.parametrize(
    ("level", "name"), [(None, "make"), ("1", "make"), ("2", "make[1]"), ("x", "make")]
)
def test_the_make_is_named_as_it_names_itself(level: str | None, name: str) -> None:
    text = framing.placed(b"no end", b"/src", level).decode().splitlines()
    assert text == [
        f"{name}: Entering directory '/src'",
        "no end",
        f"{name}: Leaving directory '/src'",
    ]


@pytest.mark.parametrize(("text", "is_open"), [(b"", False), (b"a\n", False), (b"a\nb", True)])
def test_a_plain_file_tells_whether_its_line_has_ended(
    tmp_path: Path, text: bytes, is_open: bool
) -> None:
    (tmp_path / "log").write_bytes(text)
    fd = os.open(tmp_path / "log", os.O_WRONLY)
    assert framing.has_open_line(fd) == is_open
    assert framing.fresh_line(fd, "xterm") == b""
    os.close(fd)
    end, other = os.pipe()
    assert not framing.has_open_line(other)  # nobody can tell
    os.close(end)
    os.close(other)


def test_what_was_shown_is_shown_as_often_as_one_run_has_it(bench: Bench) -> None:
    shown = Shown()
    one, other = bench.invocation("gcc -c a.c"), bench.invocation("gcc -c b.c")
    assert shown.is_new(one, b"x") and shown.is_new(one, b"x")
    shown.start_over(killed=False)
    assert not shown.is_new(one, b"x") and not shown.is_new(one, b"x")
    assert shown.is_new(one, b"x") and shown.is_new(one, b"y") and shown.is_new(other, b"x")
    shown.start_over(killed=False)
    assert not any(shown.is_new(one, text) for text in (b"x", b"x", b"x", b"y"))


@pytest.mark.parametrize(("killed", "heard"), [(True, True), (True, False), (False, False)])
def test_what_a_shim_may_not_have_printed_is_printed(
    bench: Bench, killed: bool, heard: bool
) -> None:
    shown = Shown()
    one = bench.invocation("gcc -c a.c")
    assert shown.is_new(one, b"x", by_shim=True)
    if heard:
        shown.note_driver_went_on()
    shown.start_over(killed=killed)
    assert shown.is_new(one, b"x", by_shim=True) == (killed and not heard)


def test_the_place_of_what_its_shim_prints_holds_nothing_up(tmp_path: Path) -> None:
    """It succeeded, though its driver waited for that: what comes behind is printed at once."""
    bench = Bench(tmp_path)
    bench.write("a.c", "b.c")
    said = os.open(tmp_path / "said", os.O_WRONLY | os.O_CREAT)
    transcript = Transcript(bench.engine.printer, said, lambda: None)
    bench.build.output.transcribe(transcript, bench.output)
    for _ in range(2):  # from the third run on it waits for all
        bench.engine.start_over(bench.build, whole=True)
    bench.run("gcc -c a.c")
    bench.workers.end(0)
    transcript.add_output(b"behind\n")
    bench.engine.printer.close()
    assert (tmp_path / "said").read_text() == "behind\n"
    os.close(said)
    assert bench.close() == []


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write("a.c", "b.c")
    return made
