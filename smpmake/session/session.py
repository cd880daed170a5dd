"""One build from beginning to end: the driver, the signals, and the record of it all."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpmake import __version__, cpus, variables
from smpmake.commands.model import Reason
from smpmake.commands.watcom import wmake
from smpmake.config import Settings
from smpmake.console import say
from smpmake.errors import SmpmakeError
from smpmake.protocol import layout
from smpmake.protocol.keeping import DriverEvent
from smpmake.records import BuildRecord, Failure
from smpmake.session.backend import STARTUP_DELAY, Backend, TakenBack
from smpmake.session.driver import Driver
from smpmake.session.early_start import EarlyStart
from smpmake.session.interrupts import PATIENCE, Interrupts
from smpmake.session.keeper import Keeper
from smpmake.session.limits import SHORT, raise_descriptor_limit, restore_descriptor_limit
from smpmake.session.rerun import Input, can_be_repeated, can_run_again
from smpmake.session.sampler import Sampler
from smpmake.threads import run_in_thread
from smpmake.units import seconds

if TYPE_CHECKING:
    from smpmake.history import Recorder
    from smpmake.session.monitor import Watch

log = logging.getLogger("smpmake")

#: Statuses of our own, as env, timeout and nohup have them.
FAULT: Final = 125
CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
_MOST_COMPLAINTS: Final = 20


class Outcome(NamedTuple):
    """What to tell the user: the record, and complaints about ourselves.

    refused  the errno by which the driver could not be run, 0 where it was.
    signal   which ended the driver, or the build; 0 for none.
    """

    record: BuildRecord
    faults: list[str]
    refused: int = 0
    signal: int = 0


def spare_the_collector() -> None:
    """A server makes few cycles and many objects that stay: searching them again is time lost."""
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    gc.enable()


def _doubts(failure: Failure) -> str:
    """What may be wrong where nothing could be undone."""
    names = " ".join(failure.record.outputs) or failure.record.command
    return f"nothing could be undone: targets whose recipes went on behind {names} may be wrong"


class Session:
    """Runs one command, its jobs on a backend.

    recorder  what writes the record down meanwhile; `get_ready` (see `run`) may set it.
    is_begun  the driver has been started: the build is not to be begun once more.
    began     when the build began, monotonic clock, ns; 0: now.
    ahead     the driver, if it runs already.
    """

    recorder: Recorder | None = None

    def __init__(
        self,
        settings: Settings,
        command: list[str],
        slots: int,
        backend: Backend,
        *,
        began: int = 0,
        ahead: EarlyStart | None = None,
    ) -> None:
        self.is_begun = ahead is not None
        self._began = began
        self._ahead = ahead
        self._settings = settings
        self._backend = backend
        self._faults: list[str] = []
        self._input = ahead.input if ahead is not None else Input()
        self._interrupts = Interrupts(backend)
        self._killed = False
        self._refused = 0
        self._driver_signal = 0
        self._again = 0  # when the driver was run again first, and why it was last
        self._why = ""
        self._driver: Driver | None = None
        self.record = BuildRecord(
            command, os.getcwd(), slots, cpus.usable().count, __version__, wall_clock=time.time()
        )
        if began:
            self.record.wall_clock -= (time.monotonic_ns() - began) / 1e9
        self._watching: Watch | None = None
        self._sampler: Sampler

    @property
    def is_over(self) -> bool:
        """Whether the driver has ended."""
        return self._driver is not None and self._driver.ended.done()

    async def run(self, get_ready: Callable[[], None] = lambda: None) -> Outcome:
        """The whole build.  Raises SmpmakeError when it cannot even begin.

        `get_ready` is called once, in a thread, when the driver has been started and can be served.
        """
        record, backend = self.record, self._backend
        soft = self._ahead.soft if self._ahead is not None else raise_descriptor_limit()
        spare_the_collector()
        record.started = self._began or time.monotonic_ns()
        self._sampler = Sampler(record.samples, backend.counts, record.started)
        self._interrupts.hear_signals()
        if self._ahead is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._ahead.mask)  # those since have waited
        faults: list[str] = []
        try:
            await backend.open(record, self._squash)
            faults += await self._drive(soft, get_ready)
        except BaseException:
            restore_descriptor_limit(soft)  # the plain build may follow in this very process
            backend.leaves_undoing = self.is_begun
            raise
        finally:
            try:
                faults += await backend.close()
            finally:
                if self._driver is not None:
                    if self._interrupts.by is not None or sys.exc_info()[0] is not None:
                        self._driver.keeper.signal(
                            signal.SIGKILL
                        )  # what outlived it has had its time
                    self._driver.close(is_undone=not backend.leaves_undoing)
        record.ended = time.monotonic_ns()
        if self._watching is not None:
            record.notices += self._watching.notices((record.ended - record.started) / 1e9)
        record.status = self._status(faults)
        if record.runs > 1 and self._interrupts.by is None:
            record.notices.insert(0, self._repetition())
        return Outcome(record, faults, self._refused, self._signal(record.status))

    async def _drive(self, soft: int, get_ready: Callable[[], None]) -> list[str]:
        """Runs the driver, again if need be, until it and all that it issued has ended."""
        driver = self._start(soft)
        try:
            await self._backend.serve_driver(driver)
        except (SmpmakeError, *SHORT) as error:
            say(f"{error}; the build goes on plainly")
            self._backend.serve_nobody()
            return self._note_driver(await driver.ended)
        ready = asyncio.create_task(self._in_time(driver, get_ready))
        faults = await self._see_through(driver)
        while not faults and await self._is_to_be_repeated(driver):
            driver.close()
            self._input.rewind()
            self._interrupts.hear_signals()
            driver = self._start(soft)
            self.record.again_at = driver.keeper.started
            await self._backend.serve_driver(driver)
            faults = await self._see_through(driver)
        await ready
        if faults:
            driver.keeper.signal(signal.SIGKILL)
            await driver.alone
            await self._take_back()
        else:
            await self._backend.commands_ended()
        return faults

    async def _in_time(self, driver: Driver, get_ready: Callable[[], None]) -> None:
        """What the build can do without: where there is too little for it, it is not recorded."""
        try:
            await asyncio.wait((driver.ended,), timeout=STARTUP_DELAY)
            await run_in_thread(get_ready)
        except Exception as error:
            self.record.notices.append(f"this build is not in the history: {error}")

    def _start(self, soft: int) -> Driver:
        """Raises DriverError."""
        backend = self._backend
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            keeper = ahead.keeper
        else:
            keeper = Keeper(
                self._command(),
                backend.environment,
                backend.folder,
                alive=backend.alive,
                soft=soft,
                output=backend.output,
                errors=backend.errors,
            )
        driver = self._driver = Driver(keeper)
        self._interrupts.concern_driver(driver)
        self.is_begun = True
        self._driver_signal = 0
        self.record.driver_started = self.record.driver_started or keeper.started
        return driver

    def _squash(self) -> None:
        """A promise was wrong: the driver must not go on by it."""
        assert self._driver is not None
        self._killed = True
        self._driver.keeper.signal(signal.SIGKILL)

    def _command(self) -> list[str]:
        """What is run: a wmake gets options of ours (commands/watcom/wmake.py)."""
        command = self.record.command
        if not wmake.is_wmake(os.path.basename(command[0])):
            return command
        # In a first run the question could be about a target whose command was not even run.
        answered = self.record.runs > 1 and os.isatty(0)
        ours = list(wmake.prepared(command, answered=answered))
        if ours != command:
            more = " ".join(word for word in ours if word not in command)
            log.info("%s: %s gets %s", Reason.NO_TARGET_CHECK, command[0], more)
        return ours

    async def _is_to_be_repeated(self, driver: Driver) -> bool:
        """Undoes what followed a promise that was not kept, or an interrupt.

        Returns whether the driver is to be run once more, and told the truth this time.
        """
        record = self.record
        if not record.failures and self._interrupts.by is None:
            return False
        backend = self._backend
        driver.keeper.signal(signal.SIGKILL)  # what it left behind goes by what is not true
        await driver.alone
        wrong = backend.learn_failures()
        if self._interrupts.by is not None:
            await self._take_back()
            return False
        is_make = can_run_again(record.command)
        again = self._can_be_repeated() and bool(wrong) and (is_make or backend.reaches_back)
        taken_back = await self._take_back(everything=again)
        if taken_back.wrong:
            record.notices.append(
                f"{self._name} was not run again: its files are not what they were"
            )
        if taken_back.wrong or not again or not (taken_back.done or is_make):
            if self._killed or (taken_back.wrong and not record.driver_status):
                record.driver_status = 1
            if not taken_back.done:
                record.notices += map(_doubts, record.failures)
            return False
        if self._interrupts.late is not None:  # everything is undone: it ends here
            self._interrupts.by = self._interrupts.late
            return False
        backend.start_over(whole=taken_back.whole, quietly=is_make)
        if taken_back.whole:  # all that it did will be done again
            record.again_us = record.driver_user_us + record.driver_system_us
            record.driver_started = 0
        record.runs += 1
        record.driver_ended = 0
        self._killed = False
        self._again = self._again or time.monotonic_ns()
        self._why = f"{wrong[0]}{f' (and {len(wrong) - 1} more)' if len(wrong) > 1 else ''}"
        undone = "what followed is undone, and " if taken_back.done else ""
        log.info("%s; %s%s is run again, to let it decide", self._why, undone, self._name)
        return True

    def _can_be_repeated(self) -> bool:
        keep_going = self._settings.keep_going
        return can_be_repeated(self.record.command, self._input, keep_going=keep_going)

    @property
    def _name(self) -> str:
        return os.path.basename(self.record.command[0])

    def _repetition(self) -> str:
        """What is said, afterwards, of a driver that was run again."""
        record = self.record
        took = max(0, (record.driver_ended or record.ended) - self._again) / 1e9
        count = {2: "a second", 3: "a third"}.get(record.runs, f"a {record.runs}th")
        why = f": {self._why}"
        if record.status:
            why = f" to stop at the failure as plain {self._name} does"
        return f"{self._name} ran {count} time ({seconds(took)}){why}"

    async def _take_back(self, *, everything: bool = False) -> TakenBack:
        """In a thread: who interrupts meanwhile is heard."""
        taken_back = await run_in_thread(lambda: self._backend.take_back(everything=everything))
        for complaint in taken_back.complaints[:_MOST_COMPLAINTS]:
            self._tell(f"could not be undone: {complaint}")
        return taken_back

    def _tell(self, what: str) -> None:
        """At the end, and at once where the user wants to hear no more than of damage."""
        if self._settings.verbosity < 0:
            say(what)
        self.record.notices.append(what)

    async def _see_through(self, driver: Driver) -> list[str]:
        """From the driver's start until everything has ended."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self._broken(driver, context))
        end = asyncio.create_task(self._end_of(driver))
        watch = None
        try:
            await asyncio.wait((end,), timeout=STARTUP_DELAY)
            watch = self._watch() if not end.done() else None
            return await end
        finally:
            if watch is not None:
                await watch.stop_watching()
            self._interrupts.defer_signals()

    async def _end_of(self, driver: Driver) -> list[str]:
        faults = self._note_driver(await driver.ended)
        self.record.driver_ended = time.monotonic_ns()
        await self._backend.jobs_ended(self.record)
        return faults + self._faults

    def _watch(self) -> Watch | None:
        """Begins to watch the build, if there is what that takes.  One that is over already has not
        loaded it."""
        try:
            from smpmake.session.monitor import Watch

            self._watching = self._watching or Watch(
                self.record,
                *(self._backend, self._settings, self._sampler, self._turn),
                _shims_of(self._backend.environment),
            )
            assert self._driver is not None
            self._watching.watch_driver(self._driver.keeper.pid)
        except SHORT as error:
            self.record.notices.append(f"CPU and memory were not watched: {error}")
            return None
        return self._watching

    def _turn(self) -> None:
        if self.recorder is not None:
            self.recorder.turn()

    def _note_driver(self, event: DriverEvent | None) -> list[str]:
        record = self.record
        if event is None:
            self._backend.stop_build(signal.SIGKILL)
            self._backend.driver_lost()
            return ["the process that keeps the driver was killed"]
        record.driver_user_us += event.user_us
        record.driver_system_us += event.system_us
        record.driver_max_rss = event.max_rss_kib
        if event.event == layout.DRIVER_FAILED:
            record.driver_status = NOT_FOUND if event.status == errno.ENOENT else CANNOT_RUN
            self._refused = event.status
        elif os.WIFSIGNALED(event.status):
            self._driver_signal = os.WTERMSIG(event.status)
            record.driver_status = 128 + self._driver_signal
        else:
            record.driver_status = os.WEXITSTATUS(event.status)
        return []

    def _broken(self, driver: Driver, context: dict[str, Any]) -> None:
        """A fault of ours in the event loop: what it left undone nobody would do, so all ends."""
        error = context.get("exception")
        log.error("internal error: %s", context.get("message"), exc_info=error)
        self._faults.append(f"internal error: {error!r}")
        self._backend.stop_build(signal.SIGTERM)
        driver.keeper.signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(PATIENCE, self._give_up, driver)

    def _give_up(self, driver: Driver) -> None:
        if not driver.ended.done():
            driver.keeper.signal(signal.SIGKILL)
        self._backend.stop_waiting()

    def _status(self, faults: list[str]) -> int:
        """Signals first, then our own faults, then the driver's word, then the jobs'."""
        if self._interrupts.by is not None:
            return 128 + self._interrupts.by
        if faults:
            return FAULT
        if self.record.driver_status:
            return self.record.driver_status
        return 1 if self.record.failures else 0

    def _signal(self, status: int) -> int:
        """Which signal the status is of; 0 where the driver has left by itself."""
        number = status - 128
        return number if number in (self._interrupts.by, self._driver_signal) and number > 0 else 0


def _shims_of(environment: Mapping[str, str]) -> str:
    """The folder of the shims that a driver calls; see driver_environment."""
    path = environment.get("PATH", "")
    return environment.get(variables.SHIMS) or path.partition(":")[0]
