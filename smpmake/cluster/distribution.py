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
from dataclasses import dataclass
from typing import Final

from smpmake.cluster.cluster import Cluster
from smpmake.cluster.compilers import is_program
from smpmake.cluster.places import Place
from smpmake.cluster.sources import Sources
from smpmake.commands.compilers.launchers import prefix_variable
from smpmake.commands.compilers.sendable import sendable
from smpmake.commands.families import is_launcher
from smpmake.commands.model import Analysis, Kind
from smpmake.engine.command import Command, command_of
from smpmake.engine.elsewhere import Here, Report
from smpmake.engine.environment import Environment
from smpmake.engine.worker_requests import Order
from smpmake.protocol.working import Result
from smpmake.schedule.job import Job

#: Variables by which a compiler finds other parts of itself than a host's has.
_OTHER_PROGRAMS: Final = ("COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS")
_FLOOR: Final = 0.15  # s of work: for less it takes as long to send it
_WEIGHT: Final = 0.1  # of the last compile in what they take on average


@dataclass(slots=True)
class _Errand:
    """A compile that can go.

    words      its own.
    place      the one that it has, None while it has none.
    came_back  it has been elsewhere, and that was of no use.
    """

    words: tuple[str, ...]
    place: Place | None = None
    came_back: bool = False


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
    """One per engine (see Elsewhere)."""

    compiles = True

    def __init__(self, cluster: Cluster, here: Here) -> None:
        self.litter = cluster.client.litter
        self._cluster = cluster
        self._machine = here
        self._here: set[Job] = set()  # those that could have gone, and run here
        self._blind: set[bytes] = set()  # compilers of which nobody knows what they read
        self._usual: tuple[float, float] | None = None  # ns: preprocessed here, compiled there
        self._tally = _Tally()
        self._sources = Sources()

    def takes(self, command: Command, analysis: Analysis) -> object:
        """See Elsewhere."""
        self._tally.compiles += analysis.kind is Kind.COMPILE
        if not command.guarded or command.invoke.real in self._blind:
            return None
        argv = _words(command)
        told = Environment(command.invoke.env)
        if any(told.get(name) for name in _OTHER_PROGRAMS):
            return None
        launcher = _launcher(command.invoke.real)
        prefix = prefix_variable(launcher) if launcher else ""
        words = None
        if not launcher:
            words = sendable(argv, analysis)
        elif prefix and told.get(prefix) is None:
            compiler = argv[1:] if is_launcher(os.path.basename(argv[0])) else argv
            words = sendable(compiler, analysis, as_it_is=True)
        if not words:
            return None
        file = _compiler(command, words)[1]
        if not is_program(file):
            self._tally.script = file
            return None
        self._tally.sendable += 1
        return _Errand(words)

    def waits(self, job: Job) -> bool:
        """See Elsewhere."""
        errand, cluster = self._errand(job), self._cluster
        if errand is None or self._usual is None or cluster.places.has_room:
            return False
        if not cluster.waits(*_compiler(command_of(job), errand.words)):
            return False
        here, there = self._usual
        feeding = math.ceil(cluster.places.total * here / max(there, 1.0))
        return len(self._here) >= self._machine.slots - feeding

    def start(self, job: Job, order: Order) -> Order:
        """See Elsewhere."""
        command, errand = command_of(job), self._errand(job)
        if errand is None:
            return order
        self._tally.worth += 1
        compiler = _compiler(command, errand.words)
        place = self._cluster.take(*compiler) if not errand.came_back else None
        if place is None:
            self._here.add(job)
            return order
        try:
            self._cluster.watch(place, lambda host: self._moved(job, errand, host))
        except OSError:
            self._cluster.places.give(place)
            return order
        errand.place = place
        self._tally.sent += 1
        command.record.host, command.record.sent = place.host.name, 0
        launcher = _launcher(command.invoke.real)
        if launcher:  # its cache may have it
            command.record.host = ""
            real, prefix = os.fsdecode(command.invoke.real), prefix_variable(launcher)
            return self._cluster.order(order, place, _words(command), real, "", prefix)
        return self._cluster.order(order, place, errand.words, *compiler[1:])

    def _errand(self, job: Job) -> _Errand | None:
        """What a job is that can go, and is not known to be too short for that."""
        errand = command_of(job).elsewhere
        if not isinstance(errand, _Errand):
            return None
        work = self._machine.work(job)
        return errand if work is None or work >= _FLOOR else None

    def _moved(self, job: Job, errand: _Errand, host: str) -> None:
        """That machine has the job now; "": this one has it, or has it again."""
        if errand.place is None:
            return
        record = command_of(job).record
        if host and not record.sent:
            record.host, record.sent = host, self._machine.now()
            self._machine.pause(job)
        elif not host:
            is_back = record.sent > 0
            record.host, record.sent = "", 0
            if is_back:
                self._machine.resume(job)

    def holds(self, job: Job, result: Result | None) -> bool:
        """See Elsewhere.

        What a compiler there prints is without the source's lines, and some warnings depend on
        them: only silence is true.  And it knows what the preprocessor hands on, which is less than
        some sources say.
        """
        self._here.discard(job)
        command = command_of(job)
        errand = command.elsewhere
        if not isinstance(errand, _Errand) or errand.place is None:
            return True
        place, errand.place = errand.place, None
        errand.came_back = result is not None and self._is_of_no_use(job, place, result)
        self._cluster.places.give(place)
        if result is None or errand.came_back:
            command.record.host, command.record.sent = "", 0
        return not errand.came_back

    def _is_of_no_use(self, job: Job, place: Place, result: Result) -> bool:
        command = command_of(job)
        if command.signalled:
            return False
        if not command.record.host:  # a cache's: too fast to be seen, or not sent at all
            command.record.host = self._cluster.host_of(place)
        if result.ok and not command.record.host:
            return False
        if not command.traced:
            self._blind.add(command.invoke.real)
        elif result.ok and not result.out and not result.err and not self._loses(job):
            self._tally.done += 1
            self._learn(command, result)
            return False
        if os.WIFEXITED(result.wait_status) and self._cluster.client.blames_host(
            os.WEXITSTATUS(result.wait_status)
        ):
            self._cluster.failed(place)
        return True

    def _loses(self, job: Job) -> bool:
        """Whether what it has read says more than a preprocessor hands on; or an object has come
        with nothing in it."""
        record = command_of(job).record
        with contextlib.suppress(OSError):
            if not all(map(os.path.getsize, record.outputs)):
                return True
        return self._sources.lose_by_it({*job.operands.reads, *record.reads})

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

    def report(self) -> Report:
        """See Elsewhere."""
        cluster = self._cluster
        return Report(tuple(cluster.places.state()), self._unused(), tuple(cluster.complaints))

    def _unused(self) -> str:
        cluster, tally = self._cluster, self._tally
        if tally.done or not tally.compiles:
            return ""
        doctor = "`smpmake doctor` tries each host"
        if tally.script and not tally.sendable:
            why = f"{tally.script} is a script, and hosts have the compiler without it"
            what = "name the compiler itself (CC=/usr/bin/gcc)"
        elif not tally.sendable:
            why = f"none of {tally.compiles} compiles can be sent"
            what = f"docs/cluster.md says which can; or leave out --engine={cluster.client.name}"
        elif not tally.worth:
            why = "earlier builds show that each compile is too short to be sent"
            what = f"leave out --engine={cluster.client.name}"
        elif cluster.fault:
            why, what = f"no host can be used ({cluster.fault})", doctor
        elif not tally.sent:
            why, what = "no host had answered before the last compile began", doctor
        else:
            why, what = "each compile that was sent had to be repeated here", doctor
        return f"{cluster.client.name} compiled nothing, this machine did it all: {why}; {what}"

    def close(self) -> None:
        """See Elsewhere."""
        self._cluster.close()


def _words(command: Command) -> tuple[str, ...]:
    return tuple(command.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))


@functools.lru_cache(64)
def _launcher(real: bytes) -> str:
    """A launcher's name, if a tool is one; it may stand on PATH as a compiler."""
    name = os.path.basename(os.path.realpath(os.fsdecode(real)))
    return name if is_launcher(name) else ""


def _compiler(command: Command, words: tuple[str, ...]) -> tuple[str, str, str]:
    """What it is called, its file, and the PATH on which it was found."""
    path = Environment(command.invoke.env).get("PATH") or os.defpath
    word = words[0]
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
