"""Whether something below the driver runs its commands in parallel by itself.

What that gains is not ours, so nobody is told how much smpmake helped.  Of a make its MAKEFLAGS
tell.  Of others it is that two of a process's children are there at once, and both bring commands:
it did not wait for one before it started the other.  A shell's do so in a pipe, too, which is no
parallel build.
"""

from __future__ import annotations

import logging
import os
import shlex
from typing import Final

from smpmake.commands.reading.makes import MAKES, PARALLEL, jobs_option, runs_in_parallel
from smpmake.decide.procfs import SHELLS, Caller, Processes, in_background
from smpmake.engine.environment import Environment
from smpmake.protocol.wire import Invoke

log = logging.getLogger("smpmake")

_ENOUGH: Final = 2  # times that commands were there at once; once may be a program's own affair
#: Commands whose callers are looked at, which takes time: the first ones, and of those behind a
#: pair now and then; and of a make's, which runs one after the other, fewer.
_FIRST, _PERIOD = 50, 16
_FIRST_OF_MAKE, _PERIOD_OF_MAKE = 4, 64
_MOST_KNOWN: Final = 1000  # processes
_DEBIAN: Final = frozenset({"dpkg-buildpackage", "debuild"})


class ParallelDriver:
    """Of one build.

    found  what runs commands in parallel by itself ("make -j2"), "" for nothing.
    """

    def __init__(self) -> None:
        self.found = ""
        self._command: list[str] = []
        self._looks = 0
        self._together = 0  # times that commands were there at once
        self._beside: set[int] = set()  # processes that were there beside one that brought one
        self._brought: set[int] = set()  # those that brought one

    def name_driver(self, command: list[str]) -> None:
        """The driver's words are known."""
        self._command = command

    def look_at_callers(
        self,
        processes: Processes,
        invoke: Invoke,
        environment: Environment,
        shim: int,
        *,
        lends: bool,
    ) -> None:
        """A command has come.

        shim   the process that brings it, 0 where it is not known.
        lends  somebody has a job server of ours: what is parallel by that is ours.
        """
        if self.found or lends:
            return
        flags = environment.get("MAKEFLAGS")
        option = jobs_option(flags or "")
        if option:
            chain = list(processes.up_to_driver(invoke.parent))
            makes = [each.name for each in chain if each.name in MAKES]
            if makes:  # else it is of no use to anybody
                self._find(f"{makes[0]} {option}", chain)
            return
        self._looks += 1
        if not shim or not _is_looked_at(self._looks, of_make=flags is not None):
            return
        chain = list(processes.up_to_driver(invoke.parent))
        known = next((each.name for each in chain if _is_known(processes, each)), "")
        if known:
            self._find(known, chain)
            return
        together = self._caller_beside(processes, invoke, shim, chain)
        if together is not None:
            self._together += 1
            if self._together >= _ENOUGH:
                self._find(together.name, chain)

    def _caller_beside(
        self, processes: Processes, invoke: Invoke, shim: int, chain: list[Caller]
    ) -> Caller | None:
        """Who runs this command beside another one; None: nobody is seen to."""
        found = None
        own = shim
        for caller in chain:
            is_shell = caller.name in SHELLS
            if not is_shell or (caller is chain[-1] and in_background(invoke.ignored)):
                children = processes.children(caller.pid) - {own}
                others = {pid for pid in children if _is_alive(processes, pid)}
                if own in self._beside or not others.isdisjoint(self._brought):
                    found = found or caller
                self._beside |= others
                self._brought.add(own)
            own = caller.pid
        if len(self._beside) + len(self._brought) > _MOST_KNOWN:
            self._beside.clear()
            self._brought.clear()
        return found

    def _find(self, what: str, chain: list[Caller]) -> None:
        self.found = what
        debian = any(each.name == "dh" or each.name.startswith("dh_") for each in chain)
        log.warning("%s", advice(self._command, what, debian=debian))


def _is_alive(processes: Processes, pid: int) -> bool:
    """Whether a process still runs; who started it may never ask for its end."""
    usage = processes.usage(pid)
    return usage is not None and not usage.is_over


def _is_known(processes: Processes, caller: Caller) -> bool:
    """Whether it is a program that runs its commands in parallel."""
    if caller.name not in PARALLEL:
        return False
    words = [os.fsdecode(word) for word in processes.command_line(caller.pid)]
    return not words or runs_in_parallel(words)


def _is_looked_at(number: int, *, of_make: bool) -> bool:
    first, period = (_FIRST_OF_MAKE, _PERIOD_OF_MAKE) if of_make else (_FIRST, _PERIOD)
    return number <= first or number % period < 2


def advice(driver: list[str], what: str, *, debian: bool = False) -> str:
    """What the user is told.

    driver  the build's command.  what  runs its commands in parallel.
    debian  debhelper runs that.
    """
    name = what.partition(" ")[0]
    if name in PARALLEL:
        return f"{name} is parallel already: smpmake gains nothing with it"
    if debian or (driver and os.path.basename(driver[0]) in _DEBIAN):
        words = shlex.join(driver)
        return (
            f"{what} is parallel already; let smpmake do it: "
            f"DEB_BUILD_OPTIONS=parallel=1 smpmake {words or 'dpkg-buildpackage'}"
        )
    if name in MAKES:
        return f"{what} is parallel already; leave -j out to let smpmake do it"
    return f"{what} is parallel already; have it run one command at a time to let smpmake do it"
