"""The status line in a real pseudo-terminal: the driver's screen is what it would be without it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

from tests.support.held import Held
from tests.support.space import SMPMAKE, Space

pytestmark = pytest.mark.slow
ROWS, COLUMNS = 12, 60


class Screen:
    """A command in a terminal of a given size, and what the terminal shows."""

    def __init__(self, space: Space, command: list[str], rows: int = ROWS) -> None:
        self.screen = pyte.Screen(COLUMNS, rows)
        self._stream = pyte.ByteStream(self.screen)
        environment = {**space.environment, "TERM": "xterm-256color"}
        self.child = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(space.folder),
            env=environment,
            dimensions=(rows, COLUMNS),
            timeout=30,
            echo=False,
        )

    def feed(self, *, until: str) -> None:
        """Takes what comes until the screen shows a text."""
        while until not in "\n".join(self.screen.display):
            self.feed_some()

    def feed_some(self) -> None:
        """Takes what comes next."""
        data = self.child.read_nonblocking(4096, timeout=30)
        self._stream.feed(data if isinstance(data, bytes) else data.encode())

    def finish(self) -> int:
        """Takes everything; returns the status."""
        with contextlib.suppress(pexpect.EOF):
            while True:
                self.feed_some()
        self.child.close()
        status = self.child.exitstatus
        return int(status) if status is not None else 128 + int(self.child.signalstatus or 0)

    def lines(self) -> list[str]:
        """What is shown, without blanks at the ends."""
        return [line.rstrip() for line in self.screen.display]

    def resize(self, rows: int) -> None:
        """As a window does."""
        self.screen.resize(rows, COLUMNS)
        self.child.setwinsize(rows, COLUMNS)


@pytest.fixture
def hold(space: Space) -> Iterator[Path]:
    """A fifo that holds the driver until the test writes into it."""
    path = space.folder / "hold"
    os.mkfifo(path)
    yield path
    path.unlink()


def let_go(path: Path) -> None:
    path.write_text("go\n")


def shown_last(screen: Screen) -> str:
    return screen.lines()[-1]


def start(space: Space, script: str, rows: int = ROWS) -> Screen:
    return Screen(space, [SMPMAKE, "sh", "-c", f"{ASKS}; {script}"], rows)


def plainly(space: Space, script: str, rows: int = ROWS) -> Screen:
    return Screen(space, ["sh", "-c", script], rows)


STATUS = "[0/0]  0:"
#: A script gets its session, and with it a status line, when it first asks for something.
ASKS = "gcc -E -x c /dev/null > /dev/null"


def test_the_line_is_there_and_the_rest_is_the_drivers(space: Space, hold: Path) -> None:
    script = "for i in 1 2 3; do echo line $i; done; read x < hold"
    screen = start(space, script)
    screen.feed(until="line 3")  # of two writers either may be first
    screen.feed(until=STATUS)
    assert screen.lines()[:3] == ["line 1", "line 2", "line 3"]
    assert shown_last(screen).startswith(STATUS)
    let_go(hold)
    assert screen.finish() == 0


def test_jobs_are_named_from_the_first_second_on(space: Space) -> None:
    """The driver is over before its job is, and that is said."""
    held = Held(space)
    os.mkfifo(held.gate)
    os.mkfifo(space.folder / "hold")
    space.write({"f0.c": "int f0;\n"})
    screen = start(space, "gcc -Dheld -c f0.c; read x < hold")
    screen.feed(until="[0/1] gcc f0.o  0:0")
    let_go(space.folder / "hold")
    screen.feed(until="[0/1] finishing: 1 job, gcc f0.o  0:0")
    let_go(held.gate)
    assert screen.finish() == 0
    assert not any("[0/1]" in line for line in screen.lines())


def driver_lines(screen: Screen) -> list[str]:
    """What the screen shows but for our summary, which a build that was soon over has not."""
    lines = screen.lines()
    assert not any(line.startswith(STATUS) for line in lines), lines
    ours = [at for at, line in enumerate(lines) if line.startswith("smpmake: ")]
    return [line for line in lines[: ours[0] if ours else None] if line]


def compare(space: Space, hold: Path, script: str, rows: int = ROWS) -> None:
    """The script, which reads from the fifo once, in a terminal with us and without."""
    with_us = start(space, script, rows)
    with_us.feed(until=STATUS)
    let_go(hold)
    assert with_us.finish() == 0
    without = plainly(space, script, rows)
    let_go(hold)
    without.finish()
    shown = driver_lines(with_us)
    plain = [line for line in without.lines() if line]
    assert shown == plain[len(plain) - len(shown) :]
    assert len(shown) >= min(len(plain), rows - 4)  # a summary has three lines and the cursor one


def test_output_that_scrolls(space: Space, hold: Path) -> None:
    compare(space, hold, "seq 1 30; read x < hold; seq 31 60")


def test_output_without_a_newline_and_carriage_returns(space: Space, hold: Path) -> None:
    compare(
        space,
        hold,
        r"printf 'checking... '; read x < hold; echo yes; printf '10%%\r50%%\r99%%\n'",
    )


def test_lines_as_wide_as_the_terminal(space: Space, hold: Path) -> None:
    wide = "x" * COLUMNS
    compare(space, hold, f"echo {wide}; echo after; read x < hold; echo {wide}; echo end")


def test_the_cursor_on_the_last_row(space: Space, hold: Path) -> None:
    compare(space, hold, f"seq 1 {ROWS - 1}; printf 'last: '; read x < hold; echo there")


def test_colours_stay(space: Space, hold: Path) -> None:
    script = r"printf '\033[31mred '; read x < hold; printf 'still\033[0m plain\n'"
    screen = start(space, script)
    screen.feed(until=STATUS)
    let_go(hold)
    screen.finish()
    row = next(at for at, line in enumerate(screen.lines()) if line.startswith("red still"))
    cells = screen.screen.buffer[row]
    assert [cells[column].fg for column in (0, 4, 8)] == ["red", "red", "red"]
    assert cells[10].fg == "default"


def test_prompts_can_be_answered(space: Space, hold: Path) -> None:
    script = "read x < hold; printf 'Name? '; read name; echo hello $name"
    screen = start(space, script)
    screen.feed(until=STATUS)
    let_go(hold)
    screen.feed(until="Name? ")
    screen.child.sendline("World")
    screen.finish()
    assert "hello World" in "\n".join(screen.lines())


@pytest.mark.parametrize("rows", [8, 20])
def test_the_window_changes_its_size(space: Space, hold: Path, rows: int) -> None:
    # Of one fifo the second reader could find the first writer, about to go.
    os.mkfifo(space.folder / "hold2")
    screen = start(space, "echo before; read x < hold; echo after; read x < hold2")
    screen.feed(until=STATUS)
    screen.resize(rows)
    let_go(hold)
    screen.feed(until="after")
    while not screen.lines()[rows - 1].startswith(STATUS):
        screen.feed_some()
    assert sum(line.startswith(STATUS) for line in screen.lines()) == 1
    let_go(space.folder / "hold2")
    assert screen.finish() == 0
    assert not any(line.startswith(STATUS) for line in screen.lines())


def test_a_window_too_small_for_a_line(space: Space, hold: Path) -> None:
    screen = start(space, "echo here; read x < hold; cat", rows=3)
    screen.feed(until="here")
    let_go(hold)
    screen.child.sendeof()
    assert screen.finish() == 0


def test_an_interrupt_gives_the_row_back(space: Space, hold: Path) -> None:
    screen = start(space, "echo here; read x < hold")
    screen.feed(until=STATUS)
    screen.child.sendintr()
    assert screen.finish() == 130
    assert not any(line.startswith(STATUS) for line in screen.lines())
    assert screen.screen.margins is None or screen.screen.margins.bottom == ROWS - 1


def test_no_line_if_none_is_wanted(space: Space, hold: Path) -> None:
    space.environment["SMPMAKE_STATUS"] = ""
    screen = start(space, "echo here; read x < hold; echo end")
    screen.feed(until="here")
    let_go(hold)
    assert screen.finish() == 0
    assert screen.screen.margins is None
