"""One serial build under the guard, which notes what every recipe does; nothing is deferred."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from smpmake import variables
from smpmake.commands.reading.makes import GNU, READERS, split_jobs, without_jobs
from smpmake.errors import SmpmakeError
from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import layout
from smpmake.server.rundir import SessionFolder
from smpmake.session.driver_environment import driver_environment

_HEAD: Final = layout.TRACE_AT["text"]
_FULL: Final = 2  # nobody need wait for more
_STEP: Final = 1 << 23  # bytes of room that are there before they are needed
_OFTEN: Final = 20  # ms
_OF_TERMINALS: Final = (signal.SIGINT, signal.SIGQUIT)
_HANDED_ON: Final = (*_OF_TERMINALS, signal.SIGTERM, signal.SIGHUP)


class NotStartedError(SmpmakeError):
    """The build's command cannot be run; `status` is what a shell has for that."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class EndedError(SmpmakeError):
    """A signal has ended more than the build that ran: no other is to follow."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


class Watched(NamedTuple):
    """What a build left behind.

    status  negative for a signal.
    notes   the guards' notes in their order, without the NUL that ends each.
    lost    how many notes found no room.
    words   what each make said, by its number.
    """

    status: int
    notes: list[bytes]
    lost: int
    words: dict[int, bytes]


def run(
    command: Sequence[str],
    folder: str | None = None,
    given: Mapping[str, str] | None = None,
    *,
    quiet: bool = False,
) -> Watched:
    """Runs a command to its end.  Raises NotStartedError, EndedError where it is quiet, or
    SmpmakeError where it cannot be watched.

    given  its environment, in the place of ours.
    quiet  what it prints goes nowhere.
    """
    session = SessionFolder()
    try:
        board = Scoreboard(session.path / "board")
        try:
            trace = _Trace(session.path / "trace")
            environment = _environment(session.path, command[0], given)
            status = _run(serial(command), folder, environment, trace, quiet=quiet)
            notes, lost = trace.notes()
            return Watched(status, notes, lost, dict(_words(session.path)))
        finally:
            board.close()
    finally:
        session.remove()


def _environment(path: Path, program: str, given: Mapping[str, str] | None) -> dict[str, str]:
    environment = driver_environment(
        path / "shims", path / "socket", path / "board", "check", guarded=program
    )
    if given is not None:
        ours = {k: v for k, v in environment.items() if k.startswith(variables.OURS)}
        environment = {**given, **ours, "LD_PRELOAD": environment["LD_PRELOAD"]}
    environment[variables.COMMAND] = "1"
    environment[variables.TRACE] = os.fspath(path / "trace")
    environment[variables.RECIPE] = "0000000000"
    # A make speaks the language of its caller, but where a catalogue is named besides.
    environment["LANGUAGE"] = "en"
    flags = without_jobs(environment.get("MAKEFLAGS", ""))
    if os.path.basename(program) in GNU:  # the guard asks all others
        flags = _asked(flags)
    if flags:
        environment["MAKEFLAGS"] = flags
    return environment


def _asked(flags: str) -> str:
    """MAKEFLAGS with what a make is to say, as native/guard/program/plan.c has it."""
    if layout.CHECK_FLAGS in flags:
        return flags
    letters, blank, rest = flags.partition(" ")
    if letters.startswith("-") or "=" in letters:
        return f"{layout.CHECK_FLAGS} {flags}"
    return f"{letters}{layout.CHECK_FLAGS}{blank}{rest}"


def serial(command: Sequence[str]) -> list[str]:
    """A make's words without those that would have it run several jobs at a time."""
    if os.path.basename(command[0]) not in READERS:
        return list(command)
    kept: list[str] = []
    is_number = False
    for word in command:
        if is_number and word.isdigit():
            is_number = False
            continue
        letters, number = split_jobs(word)
        is_number = number == ""
        if letters or number is None:
            kept.append(letters)
    return kept


def _run(
    command: list[str],
    folder: str | None,
    environment: dict[str, str],
    trace: _Trace,
    *,
    quiet: bool,
) -> int:
    to = subprocess.DEVNULL if quiet else None
    with _Signals() as signals:
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=to, stdout=to, stderr=to
            )
        except OSError as error:
            status = 127 if isinstance(error, FileNotFoundError) else 126
            raise NotStartedError(f"{command[0]}: {error.strerror}", status) from None
        signals.go_to(process.pid)
        ends = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(ends, select.POLLIN)
            while not poll.poll(_OFTEN):
                trace.make_room()
            status = process.wait()
            if quiet and signals.number:
                raise EndedError(signals.number)
            return status
        finally:
            os.close(ends)


class _Signals:
    """While it is open signals are the build's, and all its processes': a make that waits for its
    recipe does not end.  Those of a terminal they have by themselves.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._early: list[int] = []
        self.number = 0  # of the last one

    def __enter__(self) -> _Signals:
        # What our caller ignores (nohup) the build ignores, too.
        heard = [each for each in _HANDED_ON if signal.getsignal(each) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._hand_on) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def go_to(self, pid: int) -> None:
        """The build has begun; what came before is handed on, too."""
        self._pid = pid
        for number in self._early:
            self._hand_on(number, None)

    def _hand_on(self, number: int, _: object) -> None:
        self.number = number
        if not self._pid:
            self._early.append(number)
            return
        if number in _OF_TERMINALS and os.isatty(0):
            return
        import psutil  # who ends a build can wait for it

        with contextlib.suppress(psutil.NoSuchProcess):
            build = psutil.Process(self._pid)
            for process in (build, *build.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)


def _words(path: Path) -> Iterator[tuple[int, bytes]]:
    for file in path.glob("make-*"):
        yield int(file.name.partition("-")[2]), file.read_bytes()


class _Trace:
    """The file in which guards note what they see, of which a part has pages: more and more."""

    def __init__(self, path: Path) -> None:
        """Raises SmpmakeError."""
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.ftruncate(self._fd, layout.TRACE_LONGEST)
            os.posix_fallocate(self._fd, 0, _HEAD + _STEP)
            self._head = mmap.mmap(self._fd, mmap.PAGESIZE)
        except OSError as error:
            raise SmpmakeError(
                f"{path}: smpmake has no room for its notes: {error.strerror} "
                "(make room there, or set TMPDIR)"
            ) from None
        self._room = 0
        self._put("recipes", 1)
        self.make_room()

    def _put(self, field: str, value: int) -> None:
        struct.pack_into("<I", self._head, layout.TRACE_AT[field], value)

    def _get(self, field: str) -> int:
        value: int = struct.unpack_from("<I", self._head, layout.TRACE_AT[field])[0]
        return value

    def make_room(self) -> None:
        """More of it, before what there is has been used; a full disk ends that."""
        most = layout.TRACE_LONGEST - _HEAD
        wanted = min(self._get("used") + _STEP, most)
        if self._room == most:
            self._put("recipes", _FULL)
        if wanted - self._room < _STEP // 4:
            return
        try:
            os.posix_fallocate(self._fd, 0, _HEAD + wanted)
        except OSError:
            self._put("recipes", _FULL)
            return
        self._room = wanted
        self._put("room", wanted)

    def notes(self) -> tuple[list[bytes], int]:
        """All of them, and how many were lost; to be called once."""
        used = min(self._get("used"), self._room)
        text = os.pread(self._fd, used, _HEAD)
        lost = self._get("lost")
        self._head.close()
        os.close(self._fd)
        return [note for note in text.split(b"\0") if note], lost
