"""Whose build a command is that came through shims on PATH: no smpmake runs its driver."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from smpmake.commands.reading.makes import MAKES
from smpmake.decide.procfs import Caller, Processes

#: The name by which shims whose shell evaluated `smpmake env` call their build.
SHELL_BUILD: Final = "shell"
_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "busybox"}
)
_LONGEST_CHAIN: Final = 64
_TICK: Final = 0.5  # s; of what /proc says of a start, and more


class Origin(NamedTuple):
    """Where a command comes from.

    driver   the process in whose family it is, or None: somebody types commands into a shell.
    session  the terminal's session, 0 where it cannot be told.
    cwd      where the command works, which tells builds without a driver apart.
    """

    driver: Caller | None
    session: int
    cwd: str

    def is_same(self, other: Origin) -> bool:
        """Whether two commands are of one build."""
        if self.driver is None or other.driver is None:
            mine = (self.session, self.cwd, self.driver)
            return mine == (other.session, other.cwd, other.driver)
        near = abs(self.driver.started - other.driver.started) < _TICK
        return self.driver.pid == other.driver.pid and near

    @property
    def is_make(self) -> bool:
        """Whether the driver may be silent for long, and is still the same build."""
        return self.driver is not None and self.driver.name in MAKES

    def folder(self, processes: Processes) -> str:
        """Where the driver was started, as far as that can be told now."""
        if self.driver is None:
            return self.cwd
        parent, own = self.driver.parent, self.driver.pid
        return processes.folder(parent) or processes.folder(own) or self.cwd

    def words(self, processes: Processes) -> list[str]:
        """The driver's command line, empty without one."""
        if self.driver is None:
            return []
        return [os.fsdecode(word) for word in processes.command_line(self.driver.pid)]


def origin_of(processes: Processes, parent: int, cwd: str, since: float) -> Origin:
    """Of a command that `parent` has started: asked for each command.

    The driver is the topmost process above it that is younger than the server (its start `since`,
    wall clock, s) and no interactive shell, which leads its session.
    """
    driver, session = None, 0
    for caller in processes.above(parent, _LONGEST_CHAIN):
        session = session or caller.session
        is_shell = caller.pid == caller.session and caller.name in _SHELLS
        if caller.started < since or is_shell or caller.pid == 1:
            break
        driver = caller
    return Origin(driver, session, cwd)


def is_above(processes: Processes, pid: int, below: int) -> bool:
    """Whether a process is another one, or an ancestor of it."""
    callers = processes.above(below, _LONGEST_CHAIN - 1)
    return below == pid or any(caller.parent == pid for caller in callers)
