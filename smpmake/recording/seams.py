"""Where a recorder or a player stands inside an engine: its scheduler, printer, board, timers.

All this is the same in a recording and in a replay, but that in the first there is a real one
behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from smpmake.decide.known_failures import KnownFailures
from smpmake.decide.known_silence import KnownSilence
from smpmake.disk import elf, elf_dynamic
from smpmake.engine import programs, silence
from smpmake.engine.command import command_of
from smpmake.engine.computer import Chaos
from smpmake.engine.environment import Environment
from smpmake.guard import libraries, traces, versions
from smpmake.recording import plain
from smpmake.recording.board import BoardRows
from smpmake.recording.substitutes import same
from smpmake.recording.system import System
from smpmake.recording.world import World
from smpmake.records import FIELDS, UNKNOWN, CommandRecord
from smpmake.redact import Redactor
from smpmake.schedule.job import Job
from smpmake.undo import reuse

if TYPE_CHECKING:
    import asyncio
    from random import Random

    from smpmake.engine.build import Build
    from smpmake.engine.engine import Engine
    from smpmake.schedule.scheduler import Scheduler

#: What of a command's record is a time, or was measured: it is no decision.
MEASURED: Final = frozenset(
    (
        *("issued", "ready", "started", "ended", "user_us", "system_us", "max_rss", "sent"),
        *("minor_faults", "major_faults", "voluntary", "involuntary", "delay_us"),
    )
)


class Seams:
    """One per recording or replay.

    left    what came behind an entry can call, by its name: a timer, a withdrawal.
    jobs    that were issued, by their numbers.
    """

    def __init__(self, world: World, system: System) -> None:
        self.world = world
        self.system = system
        self.left: dict[str, Callable[..., None]] = {}
        self.jobs: dict[int, Job] = {}
        self.board: BoardRows | None = None
        self.secrets: tuple[str, ...] = ()
        self._changed: list[tuple[Any, str, Any]] = []

    # ------------------------------------------------------------------ modules

    def install(self) -> None:
        """Stands between modules of the engine and what they ask at once, as one question."""
        world, system = self.world, self.system
        self.system.install()

        def asked(real: Any, question: list[str], folder: str, environment: bytes) -> bytes:
            words = " ".join(question)
            where = f"{folder} {plain.environment_digest(environment, world.salt)}"
            return system.text(f"says {words}", where, lambda: real(question, folder, environment))

        def content(word: str, pack: Any = same, unpack: Any = same) -> Any:
            """Of a file's content no more is kept than what was asked."""

            def ours(real: Any, path: str, mark: bytes = b"", *state: int) -> Any:
                words = f"{word} {plain.text_of(mark)}".rstrip()
                more = (mark, *state) if state else ()
                return world.ask(words, path, lambda: real(path, *more), pack, unpack)

            return ours

        def known_by(real: Any, cwd: bytes, argv: bytes, env: bytes) -> str:
            where = f"{plain.digest(cwd + argv)} {plain.environment_digest(env, world.salt)}"
            return str(world.ask("known by", where, lambda: real(cwd, argv, env), same, same))

        def copied(real: Any, path: str, to: str, *more: Any) -> bool:
            what = f"copy {path}"
            return bool(world.do(what, to, lambda: real(path, to, *more), same, same))

        def removed(real: Any, path: str) -> None:
            world.do("remove copy", path, lambda: real(path), same, same)

        def rank(real: Any, of: Chaos, job: Job) -> float:
            """By its job: in which order several become ready nothing says."""
            if not of.active:
                return float(real(of, job))
            number = str(job.number)
            return float(world.ask("rank", number, lambda: real(of, job), same, same, anew=True))

        def redactor(real: Any, of: KnownFailures) -> Redactor:
            """It is for what is written down; secrets of the environment are none of ours."""
            return world.outside(lambda: real(of), Redactor())

        self._between(KnownFailures, "_redactor", redactor)
        self._between(Chaos, "rank", rank)
        self._between(versions, "copy_whole", copied)
        self._between(versions, "remove_whole", removed)
        self._between(programs, "_asked", asked)
        self._between(silence, "digest_in_environment", known_by)
        self._between(elf, "_is_static", content("is static, with"))
        self._between(elf, "_holds", content("holds"))
        self._between(libraries, "dynamic_of", content("loads", list, _to_dynamic))
        self._between(reuse, "_hash", content("digest"))
        self._between(Environment, "get", self._variable)
        self._between(traces.Traces, "end_trace", self._notes)
        self._between(traces.Traces, "has_opened", self._notes)

    def remove(self) -> None:
        """Stands there no more."""
        for owner, name, value in reversed(self._changed):
            setattr(owner, name, value)
        self._changed.clear()
        self.system.remove()

    def _between(self, owner: Any, name: str, ours: Any) -> None:
        real, world = getattr(owner, name), self.world

        def either(*args: Any) -> Any:
            return real(*args) if world.current is None else ours(real, *args)

        self._changed.append((owner, name, real))
        setattr(owner, name, either)

    def _variable(self, real: Any, environment: Environment, name: str) -> str | None:
        found: str | None = real(environment, name)
        if found is not None:
            self.world.variable(name, found)
        return found

    def _notes(self, real: Any, of: traces.Traces, slot: int, *more: Any) -> Any:
        """What guards have noted by now, in one piece."""
        known = of._maps.get(slot)
        if known is None:
            return real(of, slot, *more)

        def text() -> bytes:
            return bytes(known[: traces._extent(known)[0]])

        noted: Any = self.system.text("notes", f"slot {slot}", text)
        of._maps[slot] = noted
        try:
            return real(of, slot, *more)
        finally:
            of._maps[slot] = known

    # ------------------------------------------------------------------ an engine

    def attach(self, engine: Engine, board: Any) -> None:
        """What goes into an engine, and comes out of it, passes by us from now on."""
        world = self.world
        self.board = BoardRows(board)
        self.board.changed()  # what there is at the beginning
        for name in ("publish_claims", "retract_claims"):
            self._marks(board, name)
        chaos = engine._computer.chaos
        if chaos._random is not None:
            dice: Any = _Dice(world, chaos._random)
            chaos._random = dice
        self._scheduler(engine.scheduler)
        self._printer(engine.printer)
        job_left = engine.priority.job_left

        def left(job: Job) -> None:
            job_left(job)
            record = command_of(job).record
            world.act("left", record.number, record.state, record.status)

        engine.priority.job_left = left  # type: ignore[method-assign]

    def _marks(self, board: Any, name: str) -> None:
        change, world = getattr(board, name), self.world

        def changed(owner: int, claims: Any) -> None:
            change(owner, claims)
            world.mark()

        setattr(board, name, changed)

    def _scheduler(self, scheduler: Scheduler) -> None:
        issue, wait = scheduler.issue, scheduler.wait
        world = self.world

        def issued(job: Job, now: int) -> Any:
            self.jobs[job.number] = job
            actions = issue(job, now)
            record = command_of(job).record
            world.act("issued", told(record, early=True), {"waits for": numbers(job.blockers)})
            return actions

        def waits(carrier: Job, blockers: set[Job], now: int) -> Any:
            world.act("stands behind", numbers(blockers))
            return wait(carrier, blockers, now)

        scheduler.issue = issued  # type: ignore[method-assign]
        scheduler.wait = waits  # type: ignore[assignment, method-assign]

    def _printer(self, printer: Any) -> None:
        world, system = self.world, self.system
        write, discard = printer.write, printer.discard

        def prints(fd: int, data: bytes) -> None:
            world.act("print", system.name(fd), plain.text_of(bytes(data)))
            world.outside(lambda: write(fd, data), None)

        printer.write = prints
        printer.discard = lambda fd: world.outside(lambda: discard(fd), None)

    # ------------------------------------------------------------------ a build

    def remembers(self, build: Build, *, failures: bool, silence: bool) -> None:
        """What earlier builds have taught is read anew, as part of the beginning of this one."""
        if not failures:
            return  # nothing was read, or it shares with an outer one
        cwd = os.getcwd()
        known_failures = KnownFailures(cwd, secrets=self.secrets)
        self._saved("known failures", known_failures, lambda known: known._commands)
        known_silence = KnownSilence(cwd) if silence else None
        if known_silence is not None:
            self._saved("known silence", known_silence, lambda known: known._silent)
        build.promises.remember(known_failures, known_silence)

    def squashing(self, squash: Callable[[], None]) -> Callable[[], None]:
        """What is called when a promise was wrong."""

        def squashed() -> None:
            self.world.act("squash")
            self.world.outside(squash, None)

        return squashed

    def _saved(self, name: str, known: Any, rows: Callable[[Any], Iterable[str]]) -> None:
        save, world = known.save, self.world

        def saved() -> None:
            world.act("save", name, sorted(rows(known)))
            world.outside(save, None)

        known.save = saved

    def transcribes(self, transcript: Any) -> None:
        """What the driver prints comes from outside."""
        world, drain, add = self.world, transcript._drain, transcript.add_output

        def drained() -> Any:
            if world.current is None:
                return drain()
            return world.ask("driver's output", "", drain, _of_output, _to_output, anew=True)

        def added(data: bytes) -> None:
            world.enter("driver prints", plain.text_of(data), lambda entry: add(data))

        transcript._drain, transcript.add_output = drained, added

    def ends(self, builds: Iterable[Build]) -> None:
        """What is known of all commands, before everything is closed."""
        for build in builds:
            for record in build.commands.records:
                self.world.act("record", told(record))

    def shows(self, to: str) -> None:
        """What guards find on the board, where that has changed since an answer was given last."""
        self.world.mark()
        changed = self.board.changed() if self.board is not None else None
        if changed is not None:
            self.world.act("board", to, changed)

    # ------------------------------------------------------------------ timers and readers

    def loop(self, real: asyncio.AbstractEventLoop | None) -> dict[str, Callable[..., Any]]:
        """Methods of an event loop, for what the engine leaves with it."""
        world = self.world
        readers: dict[int, str] = {}

        def leave(what: str, callback: Callable[..., None], args: tuple[Any, ...]) -> str:
            entry = world.current
            assert entry is not None
            name = f"{what} {entry.name()}"
            self.left[name] = lambda: callback(*args)
            return name

        later: Any = real.call_later if real is not None else _none
        watch: Any = real.add_reader if real is not None else _none
        unwatch: Any = real.remove_reader if real is not None else _none

        def call_later(delay: float, callback: Any, *args: Any, context: Any = None) -> Any:
            if world.current is None:
                return later(delay, callback, *args, context=context)
            name = leave("timer", callback, args)

            def fire() -> None:
                run = self.left.pop(name)
                world.enter("timer", name, lambda entry: run())

            handle = world.outside(lambda: later(delay, fire), None)
            return _Handle(handle, lambda: self.left.pop(name, None))

        def add_reader(fd: int, callback: Any, *args: Any) -> Any:
            if world.current is None:
                return watch(fd, callback, *args)
            name = readers[fd] = leave("reader", callback, args)

            def fire() -> None:
                world.enter("reader", name, lambda entry: self.left[name]())

            return world.outside(lambda: watch(fd, fire), None)

        def remove_reader(fd: int) -> Any:
            if world.current is None:
                return unwatch(fd)
            self.left.pop(readers.pop(fd, ""), None)
            return world.outside(lambda: unwatch(fd), True)

        return {"call_later": call_later, "add_reader": add_reader, "remove_reader": remove_reader}


class _Dice:
    """What --chaos draws."""

    def __init__(self, world: World, real: Random) -> None:
        self._world = world
        self._real = real

    def random(self) -> float:
        """See random.Random."""
        if self._world.current is None:
            return self._real.random()
        drawn = self._world.ask("random", "", self._real.random, same, same, anew=True)
        return float(drawn)


class _Handle:
    """A timer that may be cancelled."""

    def __init__(self, real: Any, forget: Callable[[], object]) -> None:
        self._real = real
        self._forget = forget

    def cancel(self) -> None:
        self._forget()
        if self._real is not None:
            self._real.cancel()


def numbers(jobs: Iterable[Job]) -> list[int]:
    """Of those commands, in order."""
    return sorted(job.number for job in jobs)


def told(record: CommandRecord, *, early: bool = False) -> dict[str, Any]:
    """What was decided of a command, and became of it; `early`: what is known when it is issued."""
    left = MEASURED | {"argv"}
    if early:
        left |= {"slot", "state", "status", "waited_for"}
    found = {
        name: getattr(record, name)
        for name in FIELDS
        if name not in left and getattr(record, name) not in ("", (), UNKNOWN.get(name))
    }
    return {**found, "argv": plain.text_of(record.argv)}


def _to_dynamic(found: list[list[str]]) -> elf_dynamic.Dynamic:
    return elf_dynamic.Dynamic(*map(tuple, found))


def _of_output(data: bytes | None) -> str | None:
    return plain.text_of(data) if data is not None else None


def _to_output(found: str | None) -> bytes | None:
    return plain.bytes_of(found) if found is not None else None


def _none(*_: Any) -> Any:
    return None
