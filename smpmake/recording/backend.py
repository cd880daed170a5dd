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
from smpmake.recording.builds import Builds, of_journal, of_settings, watch_journal
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
from smpmake.session.setup import BUILD, SessionSetup

if TYPE_CHECKING:
    from smpmake.capacity.tokens import Tokens
    from smpmake.engine.command import Reply
    from smpmake.engine.engine import Engine
    from smpmake.guard.scoreboard import Scoreboard
    from smpmake.protocol.wire import Invoke, Question
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

    def _serve(self, driver: Driver) -> None:
        from smpmake.server import factory

        seams, recorder = self._seams, self._recorder
        recorder.begin(
            {
                "tools": [dataclasses.asdict(tool) for tool in self._settings.tools],
                "settings": of_settings(self._settings),
                "slots": self._slots,
                "folder": os.fspath(self.folder),
                "command": self._build.driver,
                "cwd": os.getcwd(),
                "program": self._program,
                "output": self._own_output,
                "repeatable": self.is_repeatable,
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

        stopped, self._stopped = self._stopped, 0
        rooms.create_engine = created
        rooms.Pool = lambda *args, **named: Shell(seams, pool(*args, **named))
        try:
            super()._serve(driver)
        finally:
            rooms.create_engine, rooms.Pool = create, pool
        assert self._engine is not None
        self._engine.builds = Builds(seams)
        self._engine.builds[BUILD] = self._build
        if stopped:
            self.stop(stopped)

    def _attach(self, engine: Engine, board: Any) -> None:
        """Every call into the engine is an entry from now on."""
        seams, recorder = self._seams, self._recorder
        seams.attach(engine, board)
        calls: Any = engine
        invoke, ask = engine.invoke, engine.ask

        def invoked(invocation: Invoke, reply: Reply, out: int, err: int, shim: int = 0) -> None:
            data = {"invoke": plain.of_invoke(invocation, recorder.environment), "shim": shim}

            def run(entry: Any) -> None:
                self._system.call(out, f"out of {entry.number}")
                self._system.call(err, f"err of {entry.number}")
                invoke(invocation, Shim(seams, entry.number, reply), out, err, shim)

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

        calls.invoke, calls.ask = invoked, asked
        self._entry(calls, "lease_ended", lambda job: job.number)
        self._entry(calls, "stop", lambda build, number: [build.id, int(number)])
        self._entry(calls, "forget", lambda build: build.id)
        self._entry(calls, "expect", _of_forecast)
        self._entry(calls, "end_strays", lambda: None)
        self._entry(calls, "rest", lambda: None)

    def _entry(self, owner: Any, name: str, data: Callable[..., Any]) -> None:
        call, recorder = getattr(owner, name), self._recorder

        def entered(*args: Any) -> Any:
            return recorder.enter(name, data(*args), lambda entry: call(*args))

        setattr(owner, name, entered)

    # ------------------------------------------------------------------ the session's calls

    async def adopt(self, driver: Driver) -> None:
        """See Backend."""
        if self._engine is None:
            await super().adopt(driver)
        else:  # nothing is waited for
            adopting = super().adopt(driver)
            self._recorder.enter("adopt", driver.keeper.pid, lambda entry: at_once(adopting))

    def learn(self) -> list[str]:
        """See Backend."""
        learn = super().learn
        return self._call("learn", None, learn)

    def take_back(self, *, everything: bool) -> TakenBack:
        """See Backend."""
        take_back = super().take_back
        return self._call("take_back", everything, lambda: take_back(everything=everything))

    def start_over(self, *, whole: bool, quietly: bool) -> None:
        """See Backend."""
        start_over = super().start_over
        self._call("start_over", [whole, quietly], lambda: start_over(whole=whole, quietly=quietly))

    async def settled(self) -> None:
        """See Backend."""
        if not self._is_inside:
            await super().settled()

    async def drained(self, record: BuildRecord) -> None:
        """See Backend."""
        await self.settled()
        draining = super().drained(record)
        self._is_inside = True  # what it waits for it has waited for
        try:
            self._call("drained", None, lambda: at_once(draining))
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
