"""Plays a recording on an engine without a build, and compares what the engine does."""

from __future__ import annotations

import asyncio
import functools
import json
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from smpmake.config import Settings
from smpmake.engine.build import Build
from smpmake.engine.engine import Engine
from smpmake.engine.pool import OnLost, OnResult
from smpmake.engine.sinks import Transcript
from smpmake.forecast import Forecast
from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol.wire import FileId, Given
from smpmake.recording import plain
from smpmake.recording.builds import to_files, to_journal, to_settings
from smpmake.recording.ends import Counted, Shell, Shim, settling
from smpmake.recording.recorder import BESIDE
from smpmake.recording.recording import Recording
from smpmake.recording.seams import Seams
from smpmake.recording.system import System
from smpmake.recording.world import (
    ERROR,
    MOMENTS,
    SERIES,
    Entry,
    UnansweredError,
    World,
    at_once,
    raised,
)
from smpmake.records import BuildRecord, Past
from smpmake.server import factory
from smpmake.session.local import LocalBackend
from smpmake.session.setup import BUILD
from smpmake.undo.journal import UndoJournal

T = TypeVar("T")

#: Kinds of entries that an earlier one has left behind, and whether they may come again.
_LEFT: Final = {"withdraw": False, "timer": False, "reader": True, "tokens": True}
_LINK: Final = 0o120000
_KIND: Final = 0o170000


@dataclass
class Difference:
    """Where a replay is not as its recording.

    missing, more  actions that only the recording has, and only the replay.
    why            what the engine asked, or raised, that the recording knows nothing of; or "".
    """

    entry: dict[str, Any]
    missing: list[Any] = field(default_factory=list)
    more: list[Any] = field(default_factory=list)
    why: str = ""


@dataclass
class Figures:
    """What a replay took.

    cpu        s of CPU, of the engine with us in between.
    questions  that the engine asked the system.
    calls      of Python functions, where they were counted.
    """

    entries: int = 0
    commands: int = 0
    cpu: float = 0.0
    questions: int = 0
    calls: int = 0


class PlayedWorld(World):
    """The world of an engine that is played: all answers are a recording's."""

    played = True

    def __init__(self, recording: Recording) -> None:
        super().__init__(bytes.fromhex(recording.head.get("salt", "")))
        self._recording = recording
        self._answers: dict[str, Any] = {}
        self._given: dict[str, int] = {}
        self.questions = 0

    def begin(self, row: dict[str, Any]) -> Entry:
        """The next entry of the recording."""
        self._answers = row["answers"]
        self._given = {}
        return Entry(row["n"], row["kind"], row["data"])

    def enter(self, kind: str, data: Any, run: Callable[[Entry], T]) -> T:
        """See World: all entries are the player's own."""
        current = self.current
        assert current is not None, kind
        return run(current)

    def ask(
        self,
        question: str,
        target: str,
        real: Callable[[], T],
        pack: Callable[[T], Any],
        unpack: Callable[[Any], T],
        *,
        is_change: bool = False,
        anew: bool = False,
    ) -> T:
        """See World."""
        entry = self.current
        assert entry is not None
        self.questions += 1
        key = entry.key(question, target, is_change=is_change)
        found = self._answers.get(key, self)
        if found is self:
            found = self._derived(entry, question, target, key)
        if isinstance(found, dict):
            if SERIES in found:
                found = self._next(key, found[SERIES])
            elif MOMENTS in found:
                since = [value for moment, value in found[MOMENTS] if moment <= entry.moment]
                found = since[-1]
            if isinstance(found, dict) and ERROR in found:
                raise raised(found[ERROR], target)
        return unpack(found)

    def _derived(self, entry: Entry, question: str, target: str, key: str) -> Any:
        """An answer that follows from another one."""
        if question == "stat":  # of what is no link both are the same
            other = self._answers.get(entry.key("lstat", target))
            if isinstance(other, list) and other[0] & _KIND != _LINK:
                return other
        raise UnansweredError(entry, key)

    def _next(self, key: str, series: list[list[Any]]) -> Any:
        """Of answers that changed meanwhile; the last one holds from then on."""
        count = self._given.get(key, 0)
        self._given[key] = count + 1
        for times, found in series:
            if count < times:
                return found
            count -= times
        return series[-1][1]

    def outside(self, run: Callable[[], T], instead: T) -> T:
        """See World."""
        return instead

    def variable(self, name: str, value: str) -> None:
        """See World."""
        entry = self.current
        if entry is not None and plain.is_hidden(value):
            raise UnansweredError(entry, f"variable {name}")


class _Loop:
    """What an engine finds as its event loop."""

    def __init__(self, methods: dict[str, Callable[..., Any]]) -> None:
        vars(self).update(methods)


class Player:
    """Plays a recording once.

    compares  whether it is to find differences; without, it is quicker, for who measures.
    """

    def __init__(self, recording: Recording, *, compares: bool = True) -> None:
        self._recording = recording
        self._compares = compares
        self.figures = Figures()
        self.world = PlayedWorld(recording)
        self.system = System(self.world, lambda data: None, recording.kept)
        self.seams = Seams(self.world, self.system)
        self._head = recording.head
        self._pool: Shell
        self._engine: Engine
        self._journal: UndoJournal
        self._backend: _Backend
        self._board: Scoreboard

    def play(self, until: int | None = None) -> Difference | None:
        """Plays to the end, or through the state `until`; returns the first difference."""
        with tempfile.TemporaryDirectory(prefix="smpmake-replay-") as folder:
            self._board = Scoreboard(Path(folder) / "board")
            loop: Any = _Loop(self.seams.loop(None))
            self.seams.install()
            asyncio._set_running_loop(loop)
            rooms: Any = factory
            pool = rooms.Pool
            rooms.Pool = self._hired
            try:
                return self._play(until)
            finally:
                rooms.Pool = pool
                asyncio._set_running_loop(None)
                self.seams.remove()

    def _hired(self, on_result: OnResult, on_lost: OnLost, *args: Any, **named: Any) -> Shell:
        self._pool = Shell(self.seams, on_result, on_lost, None)
        return self._pool

    def _play(self, until: int | None) -> Difference | None:
        figures = self.figures
        for row in self._recording.entries:
            if until is not None and row["n"] > until:
                break
            entry = self.world.begin(row)
            enter = functools.partial(self._enter, entry)
            why = trouble = ""
            before = time.process_time()
            try:
                self.world.within(entry, enter)
            except UnansweredError as error:
                why = str(error)
            except Exception as error:  # of ours, or of the engine's, which may be recorded, too
                entry.actions.append(["raised", repr(error)])
                trouble = traceback.format_exc()
            figures.cpu += time.process_time() - before
            figures.entries += 1
            figures.commands += sum(action[0] == "issued" for action in entry.actions)
            figures.questions = self.world.questions
            if not self._compares and not why and not trouble:
                continue
            found = compared(row, entry.actions)
            if why or found.missing or found.more:
                found.why = why or trouble
                return found
        return None

    def _enter(self, entry: Entry) -> None:
        if entry.kind in _LEFT:
            self._left(entry.kind, entry.data)()
        else:
            play = getattr(self, f"_{entry.kind.replace(' ', '_')}")
            play(entry, entry.data)
        if entry.kind not in BESIDE:
            self.seams.shows("")

    # ------------------------------------------------------------------ kinds of entries

    def _serve(self, entry: Entry, data: Any) -> None:
        head = self._head
        settings = to_settings(head["settings"])
        self.seams.secrets = settings.redact
        slots = head["slots"]
        self._journal = to_journal(data["journal"], self.seams)
        self._engine = factory.create_engine(
            *(settings, Path(head["folder"]), self._journal, self._board, slots),
            alive=-1,
            keeper=data["keeper"],
            tokens=Counted(self.seams, None) if data["tokens"] else None,
        )
        if self._journal.undoes:
            self._board.keep_journal()
        self.seams.attach(self._engine, self._board)
        if not self._compares:
            self.seams.board = None
        self._backend = self.world.within(None, lambda: _Backend(settings, head, self._engine))
        if settings.history:
            self._engine.capacity.memory.awaits_forecast = True

    def _build(self, entry: Entry, data: Any) -> None:
        build = Build(
            data["id"],
            to_settings(data["rules"]),
            to_files(data["output"]) if data["output"] is not None else None,
            began=data["began"],
            has_wmake=data["has_wmake"],
            outer=self._engine.builds[data["outer"]] if data["outer"] is not None else None,
        )
        if data["undo"]:
            build.undoing.begin(self._journal, self.seams.squashing(_nothing))
        if build.id == BUILD:
            head = self._head
            record = BuildRecord(
                *(head["command"], head["cwd"], head["slots"], 1, ""), wall_clock=build.began
            )
            self._backend.begin(build, record)
        self.seams.remembers(build, failures=data["known"], silence=data["silence"])
        self._engine.add_build(build)

    def _transcribe(self, entry: Entry, files: Any) -> None:
        transcript = Transcript(self._engine.printer, 1, lambda: None)
        self._backend.build.output.transcribe(transcript, FileId(*files[0]))
        self.seams.transcribes(transcript)

    def _invoke(self, entry: Entry, data: Any) -> None:
        invoke = plain.to_invoke(data["invoke"], self._recording.environment)
        out = self.system.new(f"out of {entry.number}")
        err = self.system.new(f"err of {entry.number}")
        build = self._engine.builds[data["build"]] if data["build"] is not None else None
        reply = Shim(self.seams, entry.number, None)
        self._engine.invoke(build, invoke, reply, out, err, data["shim"])

    def _given(self, entry: Entry, data: Any) -> None:
        invoke = plain.to_invoke(data["invoke"], self._recording.environment)
        build = self._engine.builds[data["build"]] if data["build"] is not None else None
        reads, *numbers = data["more"]
        self._engine.note_given(build, Given(invoke, tuple(reads), *numbers))

    def _ask(self, entry: Entry, data: Any) -> None:
        settle = settling(self.seams, entry.number, None)
        withdraw = self._engine.ask(plain.to_question(data), settle)
        if withdraw is not None:
            self.seams.left[f"guard {entry.number}"] = withdraw

    def _left(self, kind: str, name: str) -> Callable[..., None]:
        """What the engine has left behind to be called; a descriptor's reader stays."""
        if name not in self.seams.left:
            raise LookupError(f"the replayed engine has left nothing that is called {name!r}")
        return self.seams.left[name] if _LEFT[kind] else self.seams.left.pop(name)

    def _result(self, entry: Entry, data: Any) -> None:
        self._pool.on_result(data[0], plain.to_result(data[1]))

    def _lost(self, entry: Entry, slot: int) -> None:
        self._pool.on_lost(slot)

    def _lease_ended(self, entry: Entry, number: int) -> None:
        if number >= 0:
            self._engine.lease_ended(self.seams.jobs[number])

    def _stop_build(self, entry: Entry, data: Any) -> None:
        self._backend.note_stop(data[1])
        self._engine.stop_build(self._engine.builds[data[0]], data[1])

    def _forget_build(self, entry: Entry, name: str) -> None:
        self._engine.forget_build(self._engine.builds[name])

    def _take_forecast(self, entry: Entry, data: Any) -> None:
        past = {name: Past(*row) for name, row in data["past"].items()}
        sequel = tuple((name, seconds) for name, seconds in data["sequel"])
        self._engine.take_forecast(Forecast(past, data["tails"], sequel))

    def _driver_prints(self, entry: Entry, text: str) -> None:
        transcript = self._backend.build.output.transcript
        assert transcript is not None
        transcript.add_output(plain.bytes_of(text))

    # ------------------------------------------------------------------ the session's calls

    def _serve_driver(self, entry: Entry, pid: int) -> None:
        driver: Any = _Driver(pid)
        at_once(self._backend.serve_driver(driver))

    def _learn_failures(self, entry: Entry, data: Any) -> None:
        self._backend.learn_failures()

    def _take_back(self, entry: Entry, everything: bool) -> None:
        self._backend.take_back(everything=everything)

    def _start_over(self, entry: Entry, data: Any) -> None:
        self._backend.start_over(whole=data[0], quietly=data[1])

    def _jobs_ended(self, entry: Entry, data: Any) -> None:
        at_once(self._backend.jobs_ended(self._backend.record))

    def _end(self, entry: Entry, data: Any) -> None:
        self.seams.ends([self._backend.build])

    def _close(self, entry: Entry, data: Any) -> None:
        self._backend.record.driver_status = data[0]
        self._backend.note_stop(int(data[1]))
        at_once(self._backend.close())


class _Backend(LocalBackend):
    """The backend of a build that is played: it has an engine, and no server."""

    def __init__(self, settings: Settings, head: dict[str, Any], engine: Engine) -> None:
        super().__init__(settings, head["slots"], head["program"])
        self._engine = engine
        self._own_output = to_files(head["output"])

    def begin(self, build: Build, record: BuildRecord) -> None:
        """The driver is about to start."""
        build.begin(record)
        self._build, self._record = build, record

    @property
    def build(self) -> Build:
        """The one that is played."""
        return self._build

    @property
    def record(self) -> BuildRecord:
        """Its record."""
        assert self._record is not None
        return self._record

    def note_stop(self, number: int) -> None:
        """A signal has ended the build, 0 for none."""
        self._stopped = number


class _Driver:
    """A driver, of which the engine knows the process that keeps it."""

    def __init__(self, pid: int) -> None:
        self.keeper = self
        self.pid = pid


def _nothing() -> None:
    """Nobody is to be told."""


def compared(row: dict[str, Any], actions: list[Any]) -> Difference:
    """Which actions only one of the two has, in whatever order."""
    recorded = Counter(json.dumps(action) for action in row["actions"])
    played = Counter(json.dumps(action) for action in actions)
    return Difference(
        row,
        [json.loads(text) for text in (recorded - played).elements()],
        [json.loads(text) for text in (played - recorded).elements()],
    )
