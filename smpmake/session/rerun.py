"""After a promise of success was wrong: which drivers can be run once more.

What was undone whole can be repeated, whatever it is, if it has not read what only comes once.
make and its kin, which go on where they stopped, can also be repeated from a later point.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import stat
from itertools import pairwise
from typing import Final

# Not compiled before they are needed: a driver waits for this module.
_RESTARTABLE: Final = (
    r"(?:make|gmake|bmake|pmake|fmake|b?wmake|remake|colormake|ninja|samu|scons|"
    r"pip(?:3(?:\.\d+)?)?|pyproject-build)\Z"
)
_PYTHON: Final = r"python(?:3(?:\.\d+)?)?\Z"


def can_run_again(command: list[str]) -> bool:
    """Whether a driver does the same work, or what is left of it, when it is run once more."""
    name = _name(command[0])
    if re.match(_RESTARTABLE, name):
        return True
    if re.match(_PYTHON, name) and "-m" in command[1:-1]:
        return command[command.index("-m") + 1] in ("pip", "build")
    return name == "cmake" and "--build" in command


class Input:
    """The standard input that a driver gets, as it is now."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._offset = -1
        try:
            self._mode = os.fstat(fd).st_mode
            if stat.S_ISREG(self._mode):
                self._offset = os.lseek(fd, 0, os.SEEK_CUR)
            self._is_over = _is_at_its_end(fd)
        except OSError:  # there is none
            self._mode = stat.S_IFCHR
            self._is_over = True

    def comes_again(self) -> bool:
        """Whether a driver that is run once more reads the same: a pipe's data are gone."""
        if not stat.S_ISFIFO(self._mode) and not stat.S_ISSOCK(self._mode):
            return True
        return self._is_over

    def rewind(self) -> None:
        """As it was; a file is read from the same place again."""
        if self._offset >= 0:
            with contextlib.suppress(OSError):
                os.lseek(self._fd, self._offset, os.SEEK_SET)


def _is_at_its_end(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(event & select.POLLHUP and not event & select.POLLIN for _, event in poll.poll(0))


def can_be_repeated(command: list[str], given: Input, *, keep_going: bool) -> bool:
    """Whether a driver, run once more with the same input, would do what it has done."""
    if can_run_again(command):
        return given.comes_again() or not reads_its_input(command)
    return not keep_going and given.comes_again()


def reads_its_input(command: list[str]) -> bool:
    """Whether a make takes its makefile from standard input."""
    joined = any(word in ("-f-", "--file=-", "--makefile=-") for word in command)
    named = any(a in ("-f", "--file", "--makefile") and b == "-" for a, b in pairwise(command))
    return joined or named or "/dev/stdin" in command


def _name(path: str) -> str:
    return path.rpartition("/")[2]
