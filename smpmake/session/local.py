"""Where a build's jobs run: a server of its own, in this very process.

`remote.py` is the other kind: a server that was there before.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from smpmake.commands.model import Kind
from smpmake.commands.watcom import wmake
from smpmake.config import Settings
from smpmake.console import say
from smpmake.cpus import own_cpu_us
from smpmake.engine.build import Build
from smpmake.engine.sinks import Printer
from smpmake.guard.scoreboard import Scoreboard
from smpmake.records import BuildRecord
from smpmake.session.backend import STARTUP_DELAY, Backend, TakenBack
from smpmake.session.driver import Driver
from smpmake.session.driver_environment import output_ids
from smpmake.session.limits import SHORT
from smpmake.session.setup import BUILD, SessionSetup, setup_options
from smpmake.threads import Thread

if TYPE_CHECKING:
    from smpmake.capacity.neighbours import SharedSlots
    from smpmake.engine.engine import Engine
    from smpmake.forecast import Forecast
    from smpmake.server.connections import Server
    from smpmake.session.driver_output import DriverOutput
    from smpmake.session.repeated import Repeated
    from smpmake.undo.journal import UndoJournal

#: Said where others' builds took slots.
SHARED: Final = (
    "other builds of yours had some of the CPUs meanwhile: together they run no more tools than "
    "there are CPUs (--own-pool: each as many)"
)
#: What a server takes longest to load, in pieces of a few milliseconds.
_SERVER: Final = tuple(
    f"smpmake.{name}"
    for name in (
        *("decide.known_failures", "engine.command", "engine.observer", "engine.outcome"),
        *("guard.questions", "engine.execute", "server.factory", "server.callers"),
        *("server.client_requests", "capacity.neighbours", "server.connections"),
    )
)


class LocalBackend(Backend):
    """A server for one build (see Backend).  `program` is the driver's."""

    def __init__(
        self, settings: Settings, slots: int, program: str, stage: SessionSetup | None = None
    ) -> None:
        self._settings = settings
        self._program = program
        self._slots = slots
        self._spent_before = 0
        self._record: BuildRecord | None = None
        self._engine: Engine | None = None
        self._neighbours: SharedSlots | None = None
        self._server: Server | None = None
        self._stage = stage
        self._listener: socket.socket | None = None
        self._board: Scoreboard | None = None
        self._driver_output: DriverOutput | None = None
        self._printer: Printer | None = None  # without an engine, which has its own
        self._own_output = output_ids()
        is_wmake = wmake.is_wmake(os.path.basename(program))
        self._build = Build(BUILD, settings, self._own_output, has_wmake=is_wmake)
        self._repeated: Repeated | None = None
        self.environment: dict[str, str] = {}
        self._stopped = 0  # the signal by which

    async def open(self, record: BuildRecord, on_squash: Callable[[], None]) -> None:
        """See Backend."""
        build = self._build
        self._spent_before = own_cpu_us()  # before the build began
        build.begin(record)
        self._record = record
        if self._stage is None:
            self._stage = SessionSetup(self._program, setup_options(self._settings))
        stage = self._stage
        self._listener = socket.socket(fileno=stage.take_listener())
        self._board = stage.take_board()
        self.folder, self.environment = stage.path, stage.environment
        self.alive, self.output = stage.alive, stage.output
        if stage.journal is not None and stage.journal.undoes:
            build.undoing.begin(stage.journal, on_squash)
        for text in filter(None, (stage.doubt, stage.alone)):
            build.notice(text)

    async def serve_driver(self, driver: Driver) -> None:
        """See Backend."""
        if self._engine is not None:
            if self._repeated is not None:
                self._repeated.driver_started()
            self._engine.workers.keepers.add(driver.keeper.pid)
        elif await self._is_needed(driver):
            self._serve(driver)

    async def _is_needed(self, driver: Driver) -> bool:
        """Whether anything will be asked: a build that has nothing to do is over before."""
        assert self._listener is not None
        if self.output is not None:  # somebody has to read what the driver prints
            return True
        loop = asyncio.get_running_loop()
        asked: asyncio.Future[None] = loop.create_future()

        def ask() -> None:
            if not asked.done():
                asked.set_result(None)

        loop.add_reader(self._listener, ask)
        try:
            for module in _SERVER:  # meanwhile
                await asyncio.sleep(0)
                if asked.done() or driver.ended.done():
                    break
                importlib.import_module(module)
        finally:
            loop.remove_reader(self._listener)
        is_over = driver.ended.done() and driver.ended.result() is not None
        return not is_over or asked.done()

    def _serve(self, driver: Driver) -> None:
        """The large imports come here, while the driver reads its makefile."""
        assert self._board is not None
        assert self._listener is not None
        assert self._stage is not None
        assert self._stage.journal is not None
        from smpmake.capacity.neighbours import neighbours
        from smpmake.decide.known_failures import KnownFailures
        from smpmake.server.client_requests import Requests
        from smpmake.server.connections import Server
        from smpmake.server.factory import create_engine

        if self._stage.jobserver is None:
            self._neighbours = neighbours(self._settings)
        engine = self._engine = create_engine(
            self._settings,
            self.folder,
            self._stage.journal,
            self._board,
            self._slots,
            alive=self._stage.alive_write,
            keeper=driver.keeper.pid,
            tokens=self._stage.jobserver or self._neighbours,
        )
        cwd = os.getcwd()
        self._build.promises.remember(KnownFailures(cwd, secrets=self._settings.redact))
        engine.add_build(self._build)
        if self._stopped:
            engine.stop_build(self._build, self._stopped)
        if self.output is not None:
            self._transcribe(engine.printer, self._stage)
        requests = Requests(engine, self.folder, self._stage.shims)
        self._server = Server(self._listener, engine, requests, engine.build_of)
        engine.capacity.memory.awaits_forecast = True
        loop = asyncio.get_running_loop()
        loop.call_later(STARTUP_DELAY, self._begin_to_look_back, loop, cwd)

    def serve_nobody(self) -> None:
        """See Backend."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        (self.folder / "socket").unlink(missing_ok=True)
        if self._stage is not None and self.output is not None:
            self._printer = Printer()
            self._transcribe(self._printer, self._stage)

    def _begin_to_look_back(self, loop: asyncio.AbstractEventLoop, cwd: str) -> None:
        with contextlib.suppress(RuntimeError):  # no thread is left: then without
            Thread(lambda: self._load_history(loop, cwd))

    def _load_history(self, loop: asyncio.AbstractEventLoop, cwd: str) -> None:
        """What earlier builds tell, in a thread: the build does not wait for it, nor need it."""
        with contextlib.suppress(*SHORT):  # or the build was over sooner
            from smpmake.history import History, past

            history = History()
            known = past.of_commands(cwd, history)
            loop.call_soon_threadsafe(self._expect, known)
            if known.past:
                known = past.with_sequel(known, cwd, history)
                loop.call_soon_threadsafe(self._expect, known)

    def _expect(self, known: Forecast) -> None:
        if self._engine is not None:
            self._engine.take_forecast(known)

    def driver_lost(self) -> None:
        """See Backend."""
        if self._engine is not None:
            self._engine.workers.end_strays(keep_keepers=False)
        super().driver_lost()

    def stop_waiting(self) -> None:
        """See Backend."""
        for each in self._builds():
            each.commands.give_up_waiting()

    def _builds(self) -> list[Build]:
        """This one, and those within."""
        inner = self._engine.builds.values() if self._engine is not None else ()
        return [self._build, *inner]

    def stop_build(self, number: int) -> None:
        """See Backend."""
        self._stopped = number
        if self._engine is not None:
            self._engine.stop_build(self._build, number)

    def counts(self) -> tuple[int, int, int, int]:
        """See Backend."""
        return (self._build.commands.done, *(self._engine.counts if self._engine else (0, 0, 0)))

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """See Backend."""
        return self._engine.expectations.forecast.sequel if self._engine else ()

    @property
    def reaches_back(self) -> bool:
        """See Backend."""
        return self._build.undoing.reaches_back

    async def commands_ended(self) -> None:
        """See Backend."""
        while True:
            for each in self._builds():
                await each.commands.empty.wait()
            if self._server is None or not self._server.door.has_pending():
                return
            await asyncio.sleep(0)  # the driver may be over before its last callers are heard

    async def jobs_ended(self, record: BuildRecord) -> None:
        """See Backend."""
        build = self._build
        await self.commands_ended()
        if self._repeated is not None:
            self._repeated.close()
            self._repeated = None
        if not build.undoing.squashed:
            build.promises.give_up_owed()
        if build.output.transcript is not None and not build.promises.failures:
            build.output.transcript.finish()
        record.parallel = record.parallel or next(
            (each.parallel.found for each in self._builds() if each.parallel.found), ""
        )
        if self._engine is not None:
            for notice in self._engine.waits():
                build.notice(notice)
            report = self._engine.elsewhere.report()
            record.unused = report.unused
            if record.unused:  # it says what they say
                build.drop_notices(report.complaints)
            if build.promises.failures or self._stopped:  # there may be no process to undo it
                self._engine.workers.end_idle()
        if self._settings.memo != "off" and self._stage is not None:
            from smpmake.session import memo

            told = memo.told_in(self._stage.path)
            found = list(memo.notices(told))
            for notice in memo.savings(told) if record.driver_status == 0 else ():
                build.notice(notice)
            for notice in found:
                build.notice(notice)
            for notice in (
                found if not build.commands.records else ()
            ):  # such a build has no summary
                say(notice)
        others = self._neighbours
        if others is not None and others.shared and SHARED not in build.notices:
            build.notice(SHARED)
        record.server_cpu_us = own_cpu_us() - self._spent_before

    def learn_failures(self) -> list[str]:
        """See Backend."""
        return self._build.promises.learn_failures()

    def take_back(self, *, everything: bool) -> TakenBack:
        """See Backend."""
        undoing, journal = self._build.undoing, self._build.undoing.journal
        if journal is None or journal.is_incomplete:
            return TakenBack(done=False)
        whole = everything and journal.is_whole
        if not everything:
            journal.stays(self._staying(journal))
        try:
            undone = undoing.take_back(everything=everything)
        except OSError as error:
            self.leaves_undoing = True
            complaint = f"no process for it: {error.strerror}"
            return TakenBack(done=False, wrong=True, complaints=(complaint,))
        complaints = tuple(undone.complaints)
        return TakenBack(
            done=True,
            whole=whole and undone.complete,
            wrong=not undone.complete,
            complaints=complaints,
        )

    def _staying(self, undo: UndoJournal) -> list[int]:
        """Commands whose results need not be made again; what failed has failed serially, too."""
        from smpmake.undo.retained import retained_changes

        read = {
            record.number: record.reads + record.inputs
            for record in self._build.commands.records
            if record.state == "done"
            and record.verdict == "deferred"
            and (record.reads or record.kind == Kind.FILE)  # a rename of ours opens nothing
        }
        failed = sorted(failure.record.number for failure in self._build.promises.failures)
        return retained_changes(undo.changes(), read) + failed[:1]

    def start_over(self, *, whole: bool, quietly: bool) -> None:
        """See Backend."""
        assert self._engine is not None
        if self._build.output.transcript is None:
            self.output = self.errors = None
            self._build.output.redirect(self._own_output, {})
            if whole and quietly:
                self._hold_back(self._engine.printer)
        self._engine.start_over(self._build, whole=whole)
        if self._build.output.transcript is not None:
            self._build.output.transcript.start_over()

    def _hold_back(self, printer: Printer) -> None:
        """Where no other terminal or pipe can be had it prints what it prints."""
        from smpmake.session.repeated import Repeated

        build = self._build
        if output_ids() != self._own_output:  # it was closed, and the number is another's
            return
        with contextlib.suppress(OSError):
            repeated = self._repeated = Repeated(printer)
            self.output, self.errors = repeated.out, repeated.err
            build.output.redirect(repeated.files, repeated.behind)
            build.promises.on_news(repeated.show_what_follows)

    async def close(self) -> list[str]:
        """See Backend."""
        server, self._server = self._server, None
        engine, self._engine = self._engine, None
        if server is not None:
            server.close()
        elif self._listener is not None:
            self._listener.close()
        self._build.promises.save_learned()
        leftovers: list[str] = []
        if self._build.output.transcript is not None:
            self._build.output.transcript.finish()  # with what came behind a lasting failure
        stage, self._stage = self._stage, None
        if self._repeated is not None:
            self._repeated.close()
        if self._driver_output is not None:
            self._driver_output.close()
        if self._printer is not None:
            self._printer.close()
        if engine is not None:
            leftovers = engine.close()
        elif self._board is not None:
            self._board.close()
        transcript = self._build.output.transcript
        if transcript is not None and transcript.printer.fault:
            leftovers.append(f"output that could not be written: {transcript.printer.fault}")
        if self._neighbours is not None:
            self._neighbours.close()
        if stage is not None:
            stage.close(to_keeper=self.leaves_undoing)
        return leftovers

    def _transcribe(self, printer: Printer, stage: SessionSetup) -> None:
        """--output-sync=serial: the driver, and the one that follows it, writes into a pipe."""
        from smpmake.session.driver_output import DriverOutput

        output = self._driver_output = DriverOutput(printer, stage.take_pipe())
        self._build.output.transcribe(output.transcript, output.file)
