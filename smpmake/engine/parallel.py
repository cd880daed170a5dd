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
from collections.abc import Callable
from itertools import takewhile
from typing import Final

from smpmake.commands.makes import MAKES, PARALLEL, jobs_option, runs_in_parallel
from smpmake.decide.procfs import KEEPER, LONGEST_CHAIN, SHELLS, Caller, Processes, in_background
from smpmake.engine.build import Build
from smpmake.protocol.wire import Invoke

log = logging.getLogger("smpmake")

_ENOUGH: Final = 2  # times that commands were there at once; once may be a program's own affair
#: Commands whose callers are looked at, which takes time: the first ones, and of those behind a
#: pair now and then; and of a make's, which runs one after the other, fewer.
_FIRST, _PERIOD = 50, 16
_FIRST_OF_MAKE, _PERIOD_OF_MAKE = 4, 64
_MOST_KNOWN: Final = 1000  # processes
_DEBIAN: Final = frozenset({"dpkg-buildpackage", "debuild"})


class ParallelDrivers:
    """One per engine.

    lends  whether somebody has a job server of ours: what is parallel by that is ours.
    """

    def __init__(self, processes: Processes, lends: Callable[[], bool]) -> None:
        self._processes = processes
        self._lends = lends

    def look(self, build: Build, invoke: Invoke, shim: int) -> None:
        """A command has come, by a process `shim` (0: it is not known)."""
        if build.parallel or self._lends():
            return
        environment = build.environment_of(invoke)
        flags = environment.get("MAKEFLAGS")
        option = jobs_option(flags or "")
        if option:
            chain = self._chain(invoke.parent)
            makes = [each.name for each in chain if each.name in MAKES]
            if makes:  # else it is of no use to anybody
                self._found(build, f"{makes[0]} {option}", chain)
            return
        build.looks += 1
        if not shim or not _is_looked_at(build.looks, of_make=flags is not None):
            return
        chain = self._chain(invoke.parent)
        known = next((each.name for each in chain if self._is_known(each)), "")
        if known:
            self._found(build, known, chain)
            return
        together = self._beside(build, invoke, shim, chain)
        if together is not None:
            build.together += 1
            if build.together >= _ENOUGH:
                self._found(build, together.name, chain)

    def _chain(self, pid: int) -> list[Caller]:
        """A process and those above it, up to the driver."""
        above = self._processes.above(pid, LONGEST_CHAIN)
        return list(takewhile(lambda each: each.name != KEEPER and each.pid > 1, above))

    def _is_alive(self, pid: int) -> bool:
        """Whether a process still runs; who started it may never ask for its end."""
        usage = self._processes.usage(pid)
        return usage is not None and not usage.is_over

    def _is_known(self, caller: Caller) -> bool:
        """Whether it is a program that runs its commands in parallel."""
        if caller.name not in PARALLEL:
            return False
        words = [os.fsdecode(word) for word in self._processes.command_line(caller.pid)]
        return not words or runs_in_parallel(words)

    def _beside(
        self, build: Build, invoke: Invoke, shim: int, chain: list[Caller]
    ) -> Caller | None:
        """Who runs this command beside another one; None: nobody is seen to."""
        found = None
        own = shim
        for caller in chain:
            is_shell = caller.name in SHELLS
            if not is_shell or (caller is chain[-1] and in_background(invoke.ignored)):
                others = set(filter(self._is_alive, self._processes.children(caller.pid) - {own}))
                if own in build.beside or not others.isdisjoint(build.brought):
                    found = found or caller
                build.beside |= others
                build.brought.add(own)
            own = caller.pid
        if len(build.beside) + len(build.brought) > _MOST_KNOWN:
            build.beside.clear()
            build.brought.clear()
        return found

    def _found(self, build: Build, what: str, chain: list[Caller]) -> None:
        build.parallel = what
        debian = any(each.name == "dh" or each.name.startswith("dh_") for each in chain)
        log.warning("%s", advice(build.driver, what, debian=debian))


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
