"""Compiles that go to other machines: which of them, and what is done with what comes back.

Such a job has a slot as long as it is preprocessed, and is without one while it waits: others have
that meanwhile.  It gets a place on a host for as long as it runs.  Whatever goes wrong there is no
fault of the compile: it is run again here, and says itself what is wrong with it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from smpmake.commands.families import is_launcher
from smpmake.commands.launchers import prefix_variable
from smpmake.commands.model import Analysis, Kind
from smpmake.commands.sendable import sendable
from smpmake.engine.command import Command, command_of
from smpmake.engine.environment import Environment
from smpmake.forecast import Forecast
from smpmake.protocol.working import Result
from smpmake.schedule.job import Job

if TYPE_CHECKING:  # few builds have a cluster, and all would wait for it
    from smpmake.cluster.cluster import Cluster, Errand
    from smpmake.cluster.places import HostState, Place

#: Variables by which a compiler finds other parts of itself than a host's has.
_OTHER_PROGRAMS: Final = ("COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS")
_FLOOR: Final = 0.15  # s of work: for less it takes as long to send it
_WEIGHT: Final = 0.1  # of the last compile in what they take on average


@dataclass(slots=True)
class _Away:
    """A job that is done elsewhere."""

    place: Place


@dataclass(slots=True)
class _Tally:
    """What became of the compiles: how many there were, could be sent, were worth it, were sent,
    were done elsewhere; and a compiler that could not be sent, because it is a script."""

    compiles: int = 0
    sendable: int = 0
    worth: int = 0
    sent: int = 0
    done: int = 0
    script: str = ""


class Distribution:
    """One per engine.

    cluster  None where all is done here.
    slots    how many jobs may run on this machine.
    now      the clock, ns.
    """

    def __init__(self, cluster: Cluster | None, slots: int, now: Callable[[], int]) -> None:
        self._cluster = cluster
        self._slots = slots
        self._now = now
        self._away: dict[Job, _Away] = {}
        self._here: set[Job] = set()  # those that could have gone, and run here
        self._blind: set[bytes] = set()  # compilers of which nobody knows what they read
        self._usual: tuple[float, float] | None = None  # ns: preprocessed here, compiled there
        self._forecast = Forecast()
        self._tally = _Tally()
        self._pause: Callable[[Job], None] = lambda job: None
        self._resume: Callable[[Job], None] = lambda job: None

    def connect(
        self,
        pause: Callable[[Job], None],
        resume: Callable[[Job], None],
        wake: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        """Whom to tell that a job needs no slot any more, or one again, that there may be room, and
        the user."""
        self._pause, self._resume = pause, resume
        if self._cluster is not None:
            self._cluster.connect(wake, say)

    def expect(self, forecast: Forecast) -> None:
        """Earlier builds of the project have been looked at."""
        self._forecast = forecast

    @property
    def count(self) -> int:
        """Jobs that other machines have, and that need no slot."""
        return sum(command_of(job).record.sent > 0 for job in self._away)

    @property
    def is_full(self) -> bool:
        """Whether jobs may have to wait for a place."""
        return self._cluster is not None and not self._cluster.has_room

    def wants_its_commands(self, analysis: Analysis) -> bool:
        """Whether a recipe's line is to be run in place, so that its compile comes by itself."""
        return self._cluster is not None and analysis.kind is Kind.COMPILE

    def hosts(self) -> list[HostState]:
        """Other machines, as they are now."""
        return self._cluster.state() if self._cluster is not None else []

    def look_at(self, command: Command, analysis: Analysis) -> None:
        """A command is about to be issued: notes whether, and as what, it could go."""
        if self._cluster is None:
            return
        self._tally.compiles += analysis.kind is Kind.COMPILE
        if not command.guarded or command.invoke.real in self._blind:
            return
        argv = tuple(command.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))
        told = Environment(command.invoke.env)
        if any(told.get(name) for name in _OTHER_PROGRAMS):
            return
        launcher = _launcher(command.invoke.real)
        prefix = prefix_variable(launcher) if launcher else ""
        if not launcher:
            command.sendable = sendable(argv, analysis) or ()
        elif prefix and told.get(prefix) is None:
            compiler = argv[1:] if is_launcher(os.path.basename(argv[0])) else argv
            command.sendable = sendable(compiler, analysis, as_it_is=True) or ()
        if command.sendable and not self._cluster.may_take(_compiler(command)[1]):
            self._tally.script = _compiler(command)[1]
            command.sendable = ()
        self._tally.sendable += bool(command.sendable)

    def admits(self, job: Job) -> bool:
        """Whether a job that is to start now is not rather to wait for a place elsewhere."""
        cluster = self._cluster
        if cluster is None or not self._goes(command_of(job)) or self._usual is None:
            return True
        if cluster.has_room or not cluster.waits(*_compiler(command_of(job))):
            return True
        here, there = self._usual
        feeding = math.ceil(cluster.total * here / max(there, 1.0))
        return len(self._here) < self._slots - feeding

    def begin(self, job: Job) -> Errand | None:
        """How a job is run that starts now, if elsewhere."""
        command, cluster = command_of(job), self._cluster
        if cluster is None or not self._goes(command):
            return None
        self.ended(job)
        self._tally.worth += 1
        compiler = _compiler(command)
        place = cluster.take(*compiler) if not command.came_back else None
        if place is None:
            self._here.add(job)
            return None
        try:
            cluster.watch(place, lambda host: self._moved(job, host))
        except OSError:
            cluster.give(place)
            return None
        self._away[job] = _Away(place)
        self._tally.sent += 1
        command.record.host, command.record.sent = place.host.name, 0
        launcher = _launcher(command.invoke.real)
        if launcher:  # its cache may have it
            command.record.host = ""
            argv = tuple(command.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))
            real = os.fsdecode(command.invoke.real)
            return cluster.errand(place, argv, real, "", prefix_variable(launcher))
        return cluster.errand(place, command.sendable, *compiler[1:])

    def _goes(self, command: Command) -> bool:
        """Whether a command can go, and is not known to be too short for that."""
        outputs = command.record.outputs
        work = self._forecast.work(outputs[0]) if command.sendable and outputs else None
        return bool(command.sendable) and (work is None or work >= _FLOOR)

    def _moved(self, job: Job, host: str) -> None:
        """That machine has the job now; "": this one has it, or has it again."""
        if job not in self._away:
            return
        record = command_of(job).record
        if host and not record.sent:
            record.host, record.sent = host, self._now()
            self._pause(job)
        elif not host:
            is_back = record.sent > 0
            record.host, record.sent = "", 0
            if is_back:
                self._resume(job)

    def came_to_nothing(self, job: Job, result: Result) -> bool:
        """Whether what has come back is of no use, so that the job is to be run again, here.

        What a compiler there prints is without the source's lines, and some warnings depend on
        them: only silence is true.  And it knows what the preprocessor hands on, which is less than
        some sources say.
        """
        away = self._away.get(job)
        command = command_of(job)
        if away is None or command.signalled:
            return False
        assert self._cluster is not None
        if not command.record.host:  # a cache's: too fast to be seen, or not sent at all
            command.record.host = self._cluster.host_of(away.place)
        if result.ok and not command.record.host:
            return False
        if not command.traced:
            self._blind.add(command.invoke.real)
        elif result.ok and not result.out and not result.err and not self._loses(job):
            self._tally.done += 1
            self._learn(command, result)
            return False
        if os.WIFEXITED(result.wait_status) and self._cluster.blames_host(
            os.WEXITSTATUS(result.wait_status)
        ):
            self._cluster.failed(away.place)
        self.ended(job)
        command.came_back = True
        command.record.host, command.record.sent = "", 0
        return True

    def _loses(self, job: Job) -> bool:
        """Whether what it has read says more than a preprocessor hands on; or an object has come
        with nothing in it."""
        assert self._cluster is not None
        record = command_of(job).record
        with contextlib.suppress(OSError):
            if not all(map(os.path.getsize, record.outputs)):
                return True
        return self._cluster.loses((*job.operands.reads, *record.reads))

    def _learn(self, command: Command, result: Result) -> None:
        sent = command.record.sent
        if not sent:
            return
        here, there = max(0, sent - result.start_ns), max(0, result.end_ns - sent)
        if self._usual is None:
            self._usual = (here, there)
            return
        before, after = self._usual
        self._usual = (
            before + _WEIGHT * (here - before),
            after + _WEIGHT * (there - after),
        )

    def ended(self, job: Job) -> None:
        """A job has ended, or is to be run again."""
        self._here.discard(job)
        away = self._away.pop(job, None)
        if away is not None:
            assert self._cluster is not None
            self._cluster.give(away.place)

    @property
    def unused(self) -> str:
        """That no other machine has compiled anything, why, and what to do; "" where one has, or
        there was nothing to compile."""
        cluster, tally = self._cluster, self._tally
        if cluster is None or tally.done or not tally.compiles:
            return ""
        doctor = "`smpmake doctor` tries each host"
        if tally.script and not tally.sendable:
            why = f"{tally.script} is a script, and hosts have the compiler without it"
            what = "name the compiler itself (CC=/usr/bin/gcc)"
        elif not tally.sendable:
            why = f"none of {tally.compiles} compiles can be sent"
            what = f"docs/cluster.md says which can; or leave out --engine={cluster.name}"
        elif not tally.worth:
            why = "earlier builds show that each compile is too short to be sent"
            what = f"leave out --engine={cluster.name}"
        elif cluster.fault:
            why, what = f"no host can be used ({cluster.fault})", doctor
        elif not tally.sent:
            why, what = "no host had answered before the last compile began", doctor
        else:
            why, what = "each compile that was sent had to be repeated here", doctor
        return f"{cluster.name} compiled nothing, this machine did it all: {why}; {what}"

    @property
    def complaints(self) -> list[str]:
        """What the user has been told of hosts."""
        return self._cluster.complaints if self._cluster is not None else []

    def close(self) -> None:
        """Nothing is sent any more."""
        if self._cluster is not None:
            self._cluster.close()


@functools.lru_cache(64)
def _launcher(real: bytes) -> str:
    """A launcher's name, if a tool is one; it may stand on PATH as a compiler."""
    name = os.path.basename(os.path.realpath(os.fsdecode(real)))
    return name if is_launcher(name) else ""


def _compiler(command: Command) -> tuple[str, str, str]:
    """What it is called, its file, and the PATH on which it was found."""
    path = Environment(command.invoke.env).get("PATH") or os.defpath
    word = command.sendable[0]
    name, real = os.path.basename(word), os.fsdecode(command.invoke.real)
    if _launcher(command.invoke.real):
        real = word if "/" in word else _behind_launchers(word, path)
    return name, real, path


@functools.lru_cache(64)
def _behind_launchers(word: str, path: str) -> str:
    """The compiler that a launcher finds on PATH: it may stand there itself, by that name."""
    for folder in path.split(os.pathsep):
        found = shutil.which(word, path=folder)
        if found is not None and not _launcher(os.fsencode(found)):
            return found
    return word
