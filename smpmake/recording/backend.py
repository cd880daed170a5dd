"""A build's own server whose engine is recorded."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from smpmake import variables
from smpmake.config import Settings
from smpmake.recording import plain
from smpmake.recording.builds import of_build, of_journal, of_settings, watch_journal
from smpmake.recording.ends import Counted, Shell, Shim, settling, withdrawing
from smpmake.recording.recorder import Recorder
from smpmake.recording.seams import Seams
from smpmake.recording.system import System
from smpmake.recording.tape import TapeError, TapeWriter
from smpmake.recording.world import at_once
from smpmake.records import BuildRecord
from smpmake.session.backend import TakenBack
from smpmake.session.driver import Driver
from smpmake.session.local import LocalBackend
from smpmake.session.setup import SessionSetup

if TYPE_CHECKING:
    from smpmake.capacity.tokens import Tokens
    from smpmake.engine.build import Build
    from smpmake.engine.engine import Engine
    from smpmake.engine.pool import OnLost, OnResult
    from smpmake.engine.replies import Reply
    from smpmake.engine.sinks import Printer
    from smpmake.guard.scoreboard import Scoreboard
    from smpmake.protocol.wire import Given, Invoke, Question
    from smpmake.undo.journal import UndoJournal

T = TypeVar("T")


def prepare(settings: Settings) -> Settings:
    """Before anything runs.  Raises TapeError for what cannot be recorded, and where."""
    if settings.engine != "local":
        raise TapeError(
            f"--record records no build on a cluster: leave out --engine={settings.engine}"
        )
    if variables.SOCKET in os.environ:
        raise TapeError(
            "--record records no build of another smpmake's or of `smpmake serve`: run it in a "
            "shell without `smpmake env`"
        )
    file = os.path.abspath(settings.record)
    TapeWriter(Path(file)).close()
    return settings._replace(record=file)


class RecordedBackend(LocalBackend):
    """See LocalBackend.  Raises TapeError where nothing can be recorded."""

    def __init__(
        self, settings: Settings, slots: int, program: str, stage: SessionSetup | None
    ) -> None:
        super().__init__(settings, slots, program, stage)
        self._recorder = Recorder(Path(settings.record))
        self._system = System(self._recorder, self._recorder.keep, _unplayed)
        self._seams = Seams(self._recorder, self._system)
        self._seams.secrets = settings.redact
        self._recorder.shows = self._seams.shows
        self._is_inside = False

    # ------------------------------------------------------------------ its beginning

    async def open(
        self, record: BuildRecord, on_squash: Callable[[], None], *, is_repeatable: bool
    ) -> None:
        """See Backend."""
        squashed = self._seams.squashing(on_squash)
        await super().open(record, squashed, is_repeatable=is_repeatable)

    def _serve(self, driver: Driver) -> None:
        from smpmake.server import factory

        seams, recorder = self._seams, self._recorder
        assert self._record is not None
        recorder.begin(
            {
                "tools": [dataclasses.asdict(tool) for tool in self._settings.tools],
                "settings": of_settings(self._settings),
                "slots": self._slots,
                "folder": os.fspath(self.folder),
                "command": self._record.command,
                "cwd": os.getcwd(),
                "program": self._program,
                "output": self._own_output,
                "repeatable": self._is_repeatable,
            }
        )
        seams.install()
        loop = asyncio.get_running_loop()
        for name, method in seams.loop(loop).items():
            setattr(loop, name, method)
        rooms: Any = factory
        create, pool = rooms.create_engine, rooms.Pool

        def created(
            settings: Settings,
            folder: Path,
            journal: UndoJournal,
            board: Scoreboard,
            slots: int,
            *,
            tokens: Tokens | None,
            **named: Any,
        ) -> Engine:
            counted = Counted(seams, tokens) if tokens is not None else None
            data = {
                "tokens": tokens is not None,
                "keeper": driver.keeper.pid,
                "journal": of_journal(journal),
            }
            watch_journal(seams, journal)
            args = (settings, folder, journal, board, slots)
            engine: Engine = recorder.enter(
                "serve", data, lambda entry: create(*args, tokens=counted, **named)
            )
            self._attach(engine, board)
            return engine

        def hired(on_result: OnResult, on_lost: OnLost, *args: Any, **named: Any) -> Shell:
            return Shell(seams, on_result, on_lost, lambda *those: pool(*those, *args, **named))

        rooms.create_engine, rooms.Pool = created, hired
        try:
            super()._serve(driver)
        finally:
            rooms.create_engine, rooms.Pool = create, pool

    def _transcribe(self, printer: Printer, stage: SessionSetup) -> None:
        super()._transcribe(printer, stage)
        output = self._build.output
        if self._engine is not None:
            self._recorder.enter(
                "transcribe",
                output.files,
                lambda entry: self._seams.transcribes(output.transcript),
            )

    def _attach(self, engine: Engine, board: Any) -> None:
        """Every call into the engine is an entry from now on."""
        seams, recorder = self._seams, self._recorder
        seams.attach(engine, board)
        calls: Any = engine
        add_build, invoke, ask = engine.add_build, engine.invoke, engine.ask

        def added(build: Build) -> None:
            data = of_build(build)

            def run(entry: Any) -> None:
                seams.remembers(build, failures=data["known"], silence=data["silence"])
                add_build(build)

            recorder.enter("build", data, run)

        def invoked(
            build: Build | None, invocation: Invoke, reply: Reply, out: int, err: int, shim: int = 0
        ) -> None:
            data = {
                "build": build.id if build is not None else None,
                "invoke": plain.of_invoke(invocation, recorder.environment),
                "shim": shim,
            }

            def run(entry: Any) -> None:
                self._system.call(out, f"out of {entry.number}")
                self._system.call(err, f"err of {entry.number}")
                shown = Shim(seams, entry.number, reply)
                invoke(build, invocation, shown, out, err, shim)

            recorder.enter("invoke", data, run)

        def asked(question: Question, settle: Callable[[bytes], None]) -> Any:
            def run(entry: Any) -> Any:
                name = f"guard {entry.number}"
                withdraw = ask(question, settling(seams, entry.number, settle))
                if withdraw is None:
                    return None
                seams.left[name] = withdraw
                return withdrawing(seams, name)

            return recorder.enter("ask", list(question), run)

        calls.add_build, calls.invoke, calls.ask = added, invoked, asked
        note_given = engine.note_given

        def given_back(build: Build | None, given: Given) -> None:
            data = {
                "build": build.id if build is not None else None,
                "invoke": plain.of_invoke(given.invoke, recorder.environment),
                "more": list(given[1:]),
            }
            recorder.enter("given", data, lambda entry: note_given(build, given))

        calls.note_given = given_back
        self._entry(calls, "lease_ended", lambda job: job.number)
        self._entry(calls, "stop_build", lambda build, number: [build.id, int(number)])
        self._entry(calls, "forget_build", lambda build: build.id)
        self._entry(calls, "take_forecast", _of_forecast)

    def _entry(self, owner: Any, name: str, data: Callable[..., Any]) -> None:
        call, recorder = getattr(owner, name), self._recorder

        def entered(*args: Any) -> Any:
            return recorder.enter(name, data(*args), lambda entry: call(*args))

        setattr(owner, name, entered)

    # ------------------------------------------------------------------ the session's calls

    async def serve_driver(self, driver: Driver) -> None:
        """See Backend."""
        serving = super().serve_driver(driver)
        if self._engine is None:
            await serving
        else:  # nothing is waited for
            pid = driver.keeper.pid
            self._recorder.enter("serve_driver", pid, lambda entry: at_once(serving))

    def learn_failures(self) -> list[str]:
        """See Backend."""
        return self._call("learn_failures", None, super().learn_failures)

    def take_back(self, *, everything: bool) -> TakenBack:
        """See Backend."""
        take_back = super().take_back
        return self._call("take_back", everything, lambda: take_back(everything=everything))

    def start_over(self, *, whole: bool, quietly: bool) -> None:
        """See Backend."""
        start_over = super().start_over
        self._call("start_over", [whole, quietly], lambda: start_over(whole=whole, quietly=quietly))

    async def commands_ended(self) -> None:
        """See Backend."""
        if not self._is_inside:
            await super().commands_ended()

    async def jobs_ended(self, record: BuildRecord) -> None:
        """See Backend."""
        await self.commands_ended()
        ending = super().jobs_ended(record)
        self._is_inside = True  # what it waits for it has waited for
        try:
            self._call("jobs_ended", None, lambda: at_once(ending))
        finally:
            self._is_inside = False

    def _call(self, name: str, data: Any, run: Callable[[], T]) -> T:
        if self._engine is None:
            return run()
        return self._recorder.enter(name, data, lambda entry: run())

    async def close(self) -> list[str]:
        """See Backend."""
        server, stage, others = self._server, self._stage, self._neighbours
        self._server = self._stage = self._neighbours = None
        if server is not None:
            server.close()
            self._listener = None
        status = [self._record.driver_status, bool(self._stopped)] if self._record else []
        closing = super().close()
        if self._engine is None:
            leftovers = await closing
        else:
            self._recorder.enter("end", None, lambda entry: self._seams.ends([self._build]))
            leftovers = self._recorder.enter("close", status, lambda entry: at_once(closing))
        self._seams.remove()
        self._recorder.close()
        if self._recorder.fault:
            leftovers.append(
                f"{self._settings.record} is not the whole recording: {self._recorder.fault}"
            )
        if others is not None:
            others.close()
        if stage is not None:
            stage.close()
        return leftovers


def _of_forecast(forecast: Any) -> dict[str, Any]:
    return {
        "past": {name: list(past) for name, past in forecast.past.items()},
        "tails": dict(forecast.tails),
        "sequel": [list(each) for each in forecast.sequel],
    }


def _unplayed(value: Any) -> bytes:
    raise NotImplementedError(value)
