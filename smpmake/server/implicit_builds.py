"""Builds that nobody began: of drivers that run by themselves, with our shims on PATH.

Such a build begins with its first command.  It ends when its driver has ended, or, where that may
be silent for long for other reasons (a shell, an editor), when nothing of it has been issued or run
for a while; or when somebody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from smpmake import __version__, cpus
from smpmake.config import Settings
from smpmake.cpus import own_cpu_us
from smpmake.decide.known_failures import KnownFailures
from smpmake.decide.procfs import Processes
from smpmake.engine.build import Build
from smpmake.engine.engine import Engine
from smpmake.forecast import Forecast
from smpmake.protocol.wire import Invoke
from smpmake.records import BuildRecord, Failure, Sample
from smpmake.server.callers import SHELL_BUILD, Origin, is_above, origin_of
from smpmake.threads import run_in_thread

log = logging.getLogger("smpmake")
TURN: Final = 0.5  # s


class BuildLog(Protocol):
    """Writes a build down while it runs, and tells at its end what came of it."""

    def past(self) -> Forecast | None:
        """What earlier builds tell.  Called in a thread."""

    def turn(self) -> None:
        """Some time has gone by."""

    def end(self) -> list[str]:
        """The build is over; returns its summary's lines.  Called in a thread."""


class State(NamedTuple):
    """The machine since the look before: see records.Sample; `watched`: see BuildRecord."""

    cpu: float
    memory: int
    stolen: float
    pressure: float
    watched: int


@dataclass(eq=False, slots=True)
class ImplicitBuild:
    """One such build.

    quiet  since when nothing of it has run, monotonic ns; 0 while something does.
    gone   when its driver ended, 0 while it lives or where there is none.
    told   so many of its failures have been told.
    is_full  it has had so many commands that what follows is another build.
    spent_us  CPU that the server had used when it began, microseconds.
    """

    build: Build
    record: BuildRecord
    origin: Origin
    notebook: BuildLog
    pidfd: int = -1
    quiet: int = 0
    gone: int = 0
    told: int = 0
    is_full: bool = False
    spent_us: int = field(default_factory=own_cpu_us)


@dataclass(slots=True)
class Outcomes:
    """What is to be told to who waits in a session, since somebody was told there."""

    failures: list[Failure] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)

    def add(self, failures: Iterable[Failure], summary: Iterable[str] = ()) -> None:
        """Of each failure the end of what it printed; the report has more."""
        shorter = [
            Failure(each.record, each.output[-_LONGEST_OUTPUT:], each.why) for each in failures
        ]
        self.failures = (self.failures + shorter)[-_MOST_UNTOLD:]
        self.summary = [*self.summary, *summary][-_MOST_UNTOLD:]


_MOST_UNTOLD: Final = 100
_LONGEST_OUTPUT: Final = 1 << 14  # bytes; a reply has a bound
_MOST_SESSIONS: Final = 100
_NOT_KNOWN: Final = (
    "{} was not run by smpmake: its status is not known, nor all of its own CPU time"
)
_MOST_GUESTS: Final = 32  # then the last of them takes what comes
_MOST_RECORDS: Final = 50_000  # then what follows is a build of its own


class ImplicitBuilds:
    """One per named server.

    note   makes a build's notebook.
    look   the machine's state.
    now    the monotonic clock, ns.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        note: Callable[[BuildRecord], BuildLog],
        look: Callable[[], State],
        *,
        processes: Processes | None = None,
        now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._engine = engine
        self._settings = settings._replace(guard=False)  # a shell has none
        self._note = note
        self._look = look
        self._processes = processes or Processes()
        self._now = now
        self._since = time.time()
        self._guests: list[ImplicitBuild] = []
        self._ids = 0
        self._untold: dict[int, Outcomes] = {}  # by session
        self._tasks: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------ they come

    def build_of(self, invoke: Invoke) -> Build | None:
        """Whose build a command is; of a shim's, one that may begin now."""
        if invoke.build != SHELL_BUILD:
            return self._engine.builds.get(invoke.build)
        origin = origin_of(self._processes, invoke.parent, os.fsdecode(invoke.cwd), self._since)
        for guest in self._guests:
            if guest.is_full or not guest.origin.is_same(origin):
                continue
            build = guest.build
            if len(build.commands.records) >= _MOST_RECORDS and build.promises.broken is None:
                guest.is_full = True  # it ends as soon as nothing of it runs
                continue
            guest.quiet = 0
            return build
        if len(self._guests) >= _MOST_GUESTS:  # nobody builds in so many folders at once
            return self._guests[-1].build
        return self._begin(origin, invoke).build

    def _begin(self, origin: Origin, invoke: Invoke) -> ImplicitBuild:
        settings, now, wall = self._settings, self._now(), time.time()
        age = int((wall - origin.driver.started) * 1e9) if origin.driver is not None else 0
        self._ids += 1
        words = origin.words(self._processes)
        words = words or [os.fsdecode(word) for word in invoke.argv.split(b"\0")[:-1]]
        folder = origin.folder(self._processes)
        record = BuildRecord(
            words,
            folder,
            self._engine.scheduler.slots,
            cpus.usable().count,
            __version__,
            started=now - age,
            wall_clock=wall - age / 1e9,
        )
        record.by_shims = True
        build = Build(
            f"{SHELL_BUILD}-{self._ids}",
            settings,
            self._processes.output_ids(origin.driver.pid) if origin.driver is not None else None,
            has_wmake=True,  # its driver may be one
        )
        build.promises.remember(KnownFailures(folder, secrets=settings.redact))
        build.begin(record)
        guest = ImplicitBuild(build, record, origin, self._note(record))
        self._watch(guest)
        self._guests.append(guest)
        self._engine.add_build(build)
        self._later(self._load_history(guest))
        log.info("a build begins: %s, in %s", " ".join(words[:8]), folder)
        return guest

    async def _load_history(self, guest: ImplicitBuild) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # no thread is left: then without
            known = await run_in_thread(guest.notebook.past)
            if known is not None:
                self._engine.take_forecast(known)

    def _watch(self, guest: ImplicitBuild) -> None:
        """Its driver's end is to be seen."""
        if guest.origin.driver is None:
            return
        try:
            guest.pidfd = os.pidfd_open(guest.origin.driver.pid)
        except ProcessLookupError:
            guest.gone = self._now()
        except OSError:  # no descriptor is left: then it ends as those of a shell do
            guest.origin = guest.origin._replace(driver=None)
        else:
            loop = asyncio.get_running_loop()
            loop.add_reader(guest.pidfd, self._driver_ended, guest)

    def _note_usage(self, guest: ImplicitBuild) -> None:
        """What its driver has used so far, with what it has run itself."""
        driver = guest.origin.driver
        if driver is None or guest.pidfd < 0:  # it has ended, and its number may be another's
            return
        usage = self._processes.usage(driver.pid)
        if usage is not None:
            guest.record.driver_user_us = usage.user + usage.children_user
            guest.record.driver_system_us = usage.system + usage.children_system

    def _driver_ended(self, guest: ImplicitBuild) -> None:
        guest.gone = self._now()
        self._note_usage(guest)  # if nobody has reaped it yet
        self._unwatch(guest)
        self._end_if_over(guest)

    @staticmethod
    def _unwatch(guest: ImplicitBuild) -> None:
        if guest.pidfd >= 0:
            asyncio.get_running_loop().remove_reader(guest.pidfd)
            os.close(guest.pidfd)
            guest.pidfd = -1

    # ------------------------------------------------------------------ they go

    async def run(self) -> None:
        """Takes turns until cancelled."""
        while True:
            await asyncio.sleep(TURN)
            try:
                self.turn()
            except Exception:  # a fault of ours: the other turns are needed all the same
                log.exception("internal error in a turn")

    def turn(self) -> None:
        """Some time has gone by."""
        if not self._guests:
            return
        state = self._look()
        running, queued, held = self._engine.counts
        for guest in self._guests[:]:
            at = (self._now() - guest.record.started) / 1e9
            if guest.quiet:  # it may be silent for days
                self._end_if_over(guest)
                continue
            guest.record.samples.append(
                Sample(
                    at,
                    state.cpu,
                    state.memory,
                    guest.build.commands.done,
                    running,
                    queued,
                    held,
                    state.stolen,
                    state.pressure,
                )
            )
            guest.record.watched = state.watched
            self._note_usage(guest)
            guest.notebook.turn()
            self._end_if_over(guest)

    def _end_if_over(self, guest: ImplicitBuild) -> None:
        if not guest.build.commands.empty.is_set():
            guest.quiet = 0
        elif guest.gone or guest.is_full:
            self._end(guest)
        elif not guest.quiet:
            guest.quiet = self._now()
        elif self._may_be_idle(guest) and self._now() - guest.quiet >= self._settings.idle * 10**9:
            self._end(guest)

    @staticmethod
    def _may_be_idle(guest: ImplicitBuild) -> bool:
        """Not a make; and a driver to whom success was promised wrongly is refused till its end."""
        if guest.origin.driver is None:
            return True
        return not guest.origin.is_make and guest.build.promises.broken is None

    def _end(self, guest: ImplicitBuild) -> None:
        """Nothing of it is pending.  What is left to do is done in a thread."""
        self._guests.remove(guest)
        self._unreported(guest.origin.session)  # who waits there knows of it from now on
        self._unwatch(guest)
        record = guest.record
        record.parallel = guest.build.parallel.found
        self._engine.forget_build(guest.build)
        last = max((max(c.ended, c.issued) for c in record.commands), default=0)
        record.driver_ended = guest.gone
        record.ended = max(last, guest.gone, record.started + 1)
        first, number = guest.build.promises.first_failure, guest.build.replies.stopping
        status = 128 + number if number else 0
        record.status = (first.record.status or 1) if first is not None else status
        record.server_cpu_us = own_cpu_us() - guest.spent_us  # for all that run at once
        record.notices.append(_NOT_KNOWN.format(os.path.basename(record.command[0])))
        guest.build.promises.learn_failures()
        self._later(self._conclude(guest))

    def _later(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _conclude(self, guest: ImplicitBuild) -> None:
        record = guest.record
        for failure in record.failures:  # before all that took time
            log.error("failed: %s (%s)", failure.record.command, failure.why)
        try:
            summary = await run_in_thread(guest.notebook.end)
        except Exception as error:  # a fault of ours costs the summary, never the build
            summary = [f"no summary: {error!r}"]
        for line in summary:
            log.info("%s", line.removeprefix("smpmake: "))
        self._unreported(guest.origin.session).add(record.failures[guest.told :], summary)

    def _unreported(self, session: int) -> Outcomes:
        if session not in self._untold and len(self._untold) >= _MOST_SESSIONS:
            del self._untold[next(iter(self._untold))]
        return self._untold.setdefault(session, Outcomes())

    # ------------------------------------------------------------------ who waits

    async def wait(self, pid: int) -> Outcomes:
        """For all that is deferred in the session of `pid`, or in all where it has nothing.

        A driver that still runs and is not the one that asks goes on, and its build with it.
        """
        caller = self._processes.caller(pid)
        session = caller.session if caller is not None else 0
        mine = [guest for guest in self._guests if guest.origin.session == session]
        is_known = bool(mine) or session in self._untold
        told = Outcomes()
        for guest in mine if is_known else self._guests[:]:
            await guest.build.commands.empty.wait()
            if guest not in self._guests:
                continue
            driver = guest.origin.driver
            if driver is None or guest.gone or is_above(self._processes, driver.pid, pid):
                self._end(guest)
            else:
                told.add(guest.record.failures[guest.told :])
                guest.told = len(guest.record.failures)
        await self._concluded()
        for each in [session] if is_known else list(self._untold):
            ended = self._untold.get(each, Outcomes())
            told.add(ended.failures, ended.summary)
            self._untold[each] = Outcomes()
        return told

    def untold(self, pid: int, outcomes: Outcomes) -> None:
        """Who asked has not read it: who asks next is told."""
        caller = self._processes.caller(pid)
        kept = self._unreported(caller.session if caller is not None else 0)
        kept.add(outcomes.failures, outcomes.summary)

    async def close(self) -> None:
        """The server ends."""
        for guest in self._guests[:]:
            self._end(guest)
        await self._concluded()

    async def _concluded(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    # ------------------------------------------------------------------ who is there

    def present(self) -> list[ImplicitBuild]:
        """The builds of now, in the order in which they began."""
        return self._guests[:]
