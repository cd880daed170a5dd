"""After a promise of success was wrong: which drivers can be run once more.

What was undone whole can be repeated, whatever it is, if it has not read what only comes once.
make and its kin, which go on where they stopped, can also be repeated from a later point.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import stat
import sys
import termios
from itertools import pairwise
from typing import Final

from smpmake.commands.reading.makes import NAME_JOBSERVER

# Not compiled before they are needed: a driver waits for this module.
_MAKE: Final = r"(?:make|gmake|bmake|pmake|fmake|b?wmake|remake|colormake)\Z"
_RESTARTABLE: Final = rf"{_MAKE}|(?:ninja|samu|scons|pip(?:3(?:\.\d+)?)?|pyproject-build)\Z"
_PYTHON: Final = r"python(?:3(?:\.\d+)?)?\Z"


def can_run_again(command: list[str]) -> bool:
    """Whether a driver does the same work, or what is left of it, when it is run once more.

    So does a makefile that is itself a program, as each of Debian's packages has one.
    """
    name = _name(command[0])
    if re.match(_RESTARTABLE, name) or re.match(_MAKE, _name(_interpreter(command[0]))):
        return True
    if re.match(_PYTHON, name) and "-m" in command[1:-1]:
        return command[command.index("-m") + 1] in ("pip", "build")
    return name == "cmake" and "--build" in command


class Input:
    """What a driver can read through descriptors that it gets from our caller, as it is now."""

    def __init__(self) -> None:
        self._standard = _Source(0)
        self._others = [source for source in map(_Source, _inherited()) if source.is_read]

    def comes_again(self) -> bool:
        """Whether a driver that is run once more reads the same: a pipe's data are gone."""
        return self._standard.comes_again() and self.is_unread(besides=True)

    def is_unread(self, *, besides: bool = False) -> bool:
        """Whether nothing is gone that only comes once.

        besides  of descriptors beside standard input.
        """
        standard = besides or self._standard.is_unread()
        return standard and all(source.is_unread() for source in self._others)

    def rewind(self) -> None:
        """As it was; files are read from the same places again."""
        for source in (self._standard, *self._others):
            source.rewind()


class _Source:
    """One descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._offset = -1
        self._was: tuple[int, bool] | None = None
        self.is_read = False
        try:
            mode = os.fstat(fd).st_mode
            writes = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
            is_file = stat.S_ISREG(mode)
            self.is_read = writes == os.O_RDONLY or (writes == os.O_RDWR and not is_file)
            if is_file and (self.is_read or fd == 0):
                self._offset = os.lseek(fd, 0, os.SEEK_CUR)
            elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                self._was = _state(fd)
        except OSError:  # there is none
            return

    def comes_again(self) -> bool:
        """Whether it is no pipe, or one that is at its end."""
        return self._was is None or self._was == (0, True)

    def is_unread(self) -> bool:
        """Whether a pipe holds no less than it held.

        One that was empty, and that its writer has left, may have had data meanwhile.
        """
        if self._was is None:
            return True
        held, was_left = self._was
        try:
            holds, is_left = _state(self._fd)
        except OSError:
            return False
        return holds >= held and (holds > 0 or is_left == was_left)

    def rewind(self) -> None:
        """Where it was."""
        if self._offset >= 0:
            with contextlib.suppress(OSError):
                os.lseek(self._fd, self._offset, os.SEEK_SET)


def _state(fd: int) -> tuple[int, bool]:
    """How many bytes can be read, and whether nobody is left who could write more."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    left = any(event & select.POLLHUP for _, event in poll.poll(0))
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder), left


def _inherited() -> list[int]:
    """The descriptors beside the standard ones that a driver inherits."""
    tokens: set[str] = set()
    for makeflags in (os.environ.get(name, "") for name in NAME_JOBSERVER):
        if "--jobserver-" in makeflags:
            from smpmake.session.jobserver import named_in  # only where there is one

            tokens.update(named_in(makeflags).split(","))
    found = []
    with contextlib.suppress(OSError):
        found = os.listdir("/proc/self/fd")
    return [int(fd) for fd in found if int(fd) > 2 and fd not in tokens and _goes_on(int(fd))]


def _goes_on(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # the one by which we looked
        return False


def can_be_repeated(command: list[str], given: Input, *, keep_going: bool) -> bool:
    """Whether a driver, run once more with the same input, would do what it has done."""
    if can_run_again(command):
        return given.comes_again() or (given.is_unread() and not reads_its_input(command))
    return not keep_going and given.comes_again()


def reads_its_input(command: list[str]) -> bool:
    """Whether a make takes its makefile from standard input."""
    joined = any(word in ("-f-", "--file=-", "--makefile=-") for word in command)
    named = any(a in ("-f", "--file", "--makefile") and b == "-" for a, b in pairwise(command))
    return joined or named or "/dev/stdin" in command


def _interpreter(path: str) -> str:
    """The program that the first line of a script names, "" where there is none."""
    try:
        if "/" not in path or not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            head = file.read(256)
    except OSError:
        return ""
    words = os.fsdecode(head.partition(b"\n")[0])[2:].split() if head[:2] == b"#!" else []
    if words and _name(words[0]) == "env":
        words = [word for word in words[1:] if word[0] != "-" and "=" not in word]
    return words[0] if words else ""


def _name(path: str) -> str:
    return path.rpartition("/")[2]
