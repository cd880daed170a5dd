"""What a make prints that is run again: what it has printed before is not shown once more."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from smpmake.engine.sinks import Printer
from smpmake.session.repeated import Repeated

FOLDERS = (
    b"make: Entering directory '/src'\nmake[1]: Entering directory '/src/a'\ncc a.c\n"
    b"make[1]: Leaving directory '/src/a'\nmake[1]: Entering directory '/src/b'\ncc b.c\n"
)


def repeat(folder: Path, act: Callable[[Repeated, int, int], None], *, both: bool = False) -> str:
    """What stands in the files behind a make's output, whose descriptors `act` writes to."""
    (folder / "out").touch()
    out = os.open(folder / "out", os.O_WRONLY | os.O_APPEND)
    err = os.dup(out) if both else os.open(folder / "err", os.O_WRONLY | os.O_CREAT)

    async def run() -> None:
        printer = Printer()
        repeated = Repeated(printer, (out, err))
        own = os.dup(repeated.out), os.dup(repeated.err)
        repeated.driver_started()
        act(repeated, *own)
        await asyncio.sleep(0)
        for fd in own:
            os.close(fd)
        repeated.close()
        printer.close()

    asyncio.run(run())
    os.close(out)
    os.close(err)
    return (folder / "out").read_text()


def test_what_comes_before_what_is_new_is_dropped(tmp_path: Path) -> None:
    def act(repeated: Repeated, out: int, err: int) -> None:
        os.write(out, b"cc a.c\n")
        os.write(err, b"a.c: warning\n")
        repeated.show_what_follows()
        os.write(out, b"cc b.c\n")
        os.write(err, b"b.c: error\n")
        repeated.show_what_follows()  # of a second failure
        os.write(out, b"end\n")

    assert repeat(tmp_path, act) == "cc b.c\nend\n"
    assert (tmp_path / "err").read_text() == "b.c: error\n"


def test_but_for_the_folders_that_make_is_in(tmp_path: Path) -> None:
    def act(repeated: Repeated, out: int, err: int) -> None:
        os.write(out, FOLDERS)
        repeated.show_what_follows()
        os.write(err, b"b.c: error\n")

    assert repeat(tmp_path, act, both=True).splitlines() == [
        "make: Entering directory '/src'",
        "make[1]: Entering directory '/src/b'",
        "b.c: error",
    ]


def test_what_does_not_come_to_anything_new_is_shown(tmp_path: Path) -> None:
    def act(repeated: Repeated, out: int, err: int) -> None:
        os.write(out, b"one\n")
        os.write(err, b"two\n")

    assert repeat(tmp_path, act, both=True) == "one\ntwo\n"


def test_so_is_what_is_too_much_to_be_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smpmake.session.repeated._MOST", 10)

    def act(repeated: Repeated, out: int, err: int) -> None:
        os.write(out, b"far too much\n")
        repeated.show_what_follows()

    assert repeat(tmp_path, act) == "far too much\n"


def test_and_what_would_be_held_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt must be seen."""
    (tmp_path / "out").touch()
    out = os.open(tmp_path / "out", os.O_WRONLY)
    timers: list[Callable[[], None]] = []

    async def run() -> None:
        printer = Printer()
        repeated = Repeated(printer, (out, out))
        own = os.dup(repeated.out)
        loop = asyncio.get_running_loop()

        def call_later(_: float, act: Callable[[], None]) -> asyncio.Handle:
            timers.append(act)
            return loop.call_soon(int)

        monkeypatch.setattr(loop, "call_later", call_later)
        repeated.driver_started()
        os.write(own, b"Go on? [y/n] ")
        (give_up,) = timers
        give_up()
        while not os.path.getsize(tmp_path / "out"):
            await asyncio.sleep(0)
        os.close(own)
        repeated.close()
        printer.close()

    asyncio.run(run())
    os.close(out)
    assert (tmp_path / "out").read_text() == "Go on? [y/n] "


def test_a_terminal_stays_one(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 77, 0, 0))

    async def run() -> None:
        printer = Printer()
        repeated = Repeated(printer, (theirs, theirs))
        assert repeated.out == repeated.err
        assert os.get_terminal_size(repeated.out) == (77, 31)
        own = os.dup(repeated.out)
        repeated.driver_started()
        repeated.show_what_follows()
        os.write(own, b"one\n")
        repeated.close()
        os.close(own)
        printer.close()

    asyncio.run(run())
    assert os.read(ours, 100) == b"one\r\n"  # it is the real one that ends lines
    os.close(ours)
    os.close(theirs)
