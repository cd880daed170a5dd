"""Whose build a command is that came through shims on PATH: no smpmake runs its driver."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from smpmake.commands.makes import MAKES
from smpmake.decide.procfs import Caller, Processes

_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "busybox"}
)
_LONGEST_CHAIN: Final = 64
_TICK: Final = 0.5  # s; of what /proc says of a start, and more


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a command comes from.

    driver   the process in whose family it is, or None: somebody types commands into a shell.
    session  the terminal's session, 0 where it cannot be told.
    folder   where the driver was started; else where the command works.
    words    the driver's command line, empty without one.
    """

    driver: Caller | None
    session: int
    folder: str
    words: tuple[str, ...]

    def is_same(self, other: Origin) -> bool:
        """Whether two commands are of one build."""
        if self.driver is None or other.driver is None:
            mine = (self.session, self.folder, self.driver)
            return mine == (other.session, other.folder, other.driver)
        near = abs(self.driver.started - other.driver.started) < _TICK
        return self.driver.pid == other.driver.pid and near

    @property
    def is_make(self) -> bool:
        """Whether the driver may be silent for long, and is still the same build."""
        return self.driver is not None and self.driver.name in MAKES


def origin_of(processes: Processes, parent: int, cwd: str, since: float) -> Origin:
    """Of a command that `parent` has started.

    The driver is the topmost process above it that is younger than the server (its start `since`,
    wall clock, s) and no interactive shell, which leads its session.
    """
    driver, above, session = None, parent, 0
    for _ in range(_LONGEST_CHAIN):
        caller = processes.caller(above)
        if caller is None:
            break
        session = session or caller.session
        is_shell = caller.pid == caller.session and caller.name in _SHELLS
        if caller.started < since or is_shell or caller.pid == 1:
            break
        driver, above = caller, caller.parent
    if driver is None:
        return Origin(None, session, cwd, ())
    words = tuple(os.fsdecode(word) for word in processes.command_line(driver.pid))
    folder = processes.folder(driver.parent) or processes.folder(driver.pid) or cwd
    return Origin(driver, session, folder, words)


def is_above(processes: Processes, pid: int, below: int) -> bool:
    """Whether a process is another one, or an ancestor of it."""
    for _ in range(_LONGEST_CHAIN):
        if below == pid:
            return True
        caller = processes.caller(below)
        if caller is None:
            return False
        below = caller.parent
    return False
