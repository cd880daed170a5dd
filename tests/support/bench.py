"""A whole engine on a bench: real decisions, real names on a real folder, but no process.

The pool is played by the test, which says how each job ended; the clock is in its hands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smpmake.capacity.tokens import Tokens
from smpmake.commands.families import runs_lines
from smpmake.commands.model import Files
from smpmake.config import Settings
from smpmake.decide.known_failures import KnownFailures
from smpmake.decide.procfs import Caller, Processes
from smpmake.disk.disk import Disk
from smpmake.disk.paths import Paths
from smpmake.engine.build import Build
from smpmake.engine.computer import Chaos, Computer
from smpmake.engine.elsewhere import Elsewhere, Here, Nowhere
from smpmake.engine.engine import Engine
from smpmake.engine.foresight import Foresight
from smpmake.engine.pool import OnLost, OnResult
from smpmake.guard.proofs import Proofs
from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import frames, layout
from smpmake.protocol.wire import FileId, Invoke, Question
from smpmake.protocol.working import Inherited, Result
from smpmake.schedule.job import Job
from smpmake.undo.journal import UndoJournal

#: The driver of all builds here, as its commands see it.
MAKE = 4_000_000
#: What the users of all builds here have decided.
RULES = Settings(recipes="off")


class FakeWorkers:
    """Jobs run as long as the test likes."""

    def __init__(self) -> None:
        self.keepers: set[int] = set()
        self.inherited = Inherited()
        self.running: dict[int, int] = {}  # by slot
        self.orders: dict[int, bytes] = {}  # by number, the last of each
        self.signals: list[tuple[int, int]] = []
        self.ended_strays = 0
        self._on_result: OnResult
        self._on_lost: OnLost

    def hire(self, on_result: OnResult, on_lost: OnLost) -> FakeWorkers:
        """An engine begins."""
        self._on_result, self._on_lost = on_result, on_lost
        return self

    def send(self, slot: int, frame: bytes) -> None:
        ((kind, payload),) = frames.Splitter().feed(frame)
        assert kind == layout.WIRE_JOB
        assert slot not in self.running
        self.running[slot] = number = int.from_bytes(payload[:8], "little")
        self.orders[number] = payload

    def signal(self, slot: int, number: int) -> None:
        self.signals.append((slot, number))

    def end_idle(self) -> None: ...

    def end_strays(self, *, keep_keepers: bool = True) -> None:
        self.ended_strays += 1

    def close(self) -> list[str]:
        return []

    def slot_of(self, number: int) -> int:
        (slot,) = [slot for slot, running in self.running.items() if running == number]
        return slot

    def end(self, number: int, status: int = 0, out: bytes = b"", err: bytes = b"") -> None:
        """The job of that number ends: status as wait(2) gives it."""
        slot = self.slot_of(number)
        del self.running[slot]
        self._on_result(slot, Result(number, status, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, out, err))

    def lose(self, number: int) -> None:
        """The worker under the job of that number dies."""
        slot = self.slot_of(number)
        del self.running[slot]
        self._on_lost(slot)


class HandClock:
    """Goes on by one at each look; timers go off when the test says so."""

    def __init__(self) -> None:
        self.time = 0
        self.timers: list[HandTimer] = []

    def now(self) -> int:
        self.time += 1
        return self.time

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.timers.append(HandTimer(action))

    def ring(self) -> None:
        """Everything that was to be done later is done now."""
        timers, self.timers = self.timers, []
        for timer in timers:
            timer.action()


@dataclass
class HandTimer:
    action: Callable[[], None]


class AllSeen(Proofs):
    """Every program has been seen with a guard, in an earlier build."""

    def __init__(self) -> None:
        super().__init__(os.devnull, None)

    def has_seen(self, program: str) -> bool:
        return True


class FakeProcesses(Processes):
    """Everybody is a make.  Who started whom is told."""

    def __init__(self) -> None:
        super().__init__()
        self.parents: dict[int, int] = {}

    def caller(self, pid: int) -> Caller | None:
        return Caller(pid, "make", self.parents.get(pid, int(pid > 1)), 0.0) if pid else None

    def takes_guard(self, pid: int) -> bool:
        return False


@dataclass
class Shim:
    """What a shim was told; `status` is negative for a signal."""

    status: int | None = None
    message: bytes = b""
    became: Job | None = None
    withdraw: Callable[[], None] | None = None

    @property
    def is_answered(self) -> bool:
        return self.status is not None or self.became is not None

    def wait(self, withdraw: Callable[[], None]) -> None:
        self.withdraw = withdraw

    def leave(self, status: int, message: bytes = b"", out: bytes = b"") -> None:
        assert not self.is_answered
        self.status = os.waitstatus_to_exitcode(status)
        self.message, self.out = message, out

    def decline(self) -> None:
        self.declined = True

    def become(self, job: Job, argv: bytes = b"", message: bytes = b"") -> None:
        assert not self.is_answered
        self.became, self.message = job, message


@dataclass
class Guard:
    """What a guard was told."""

    answers: list[int] = field(default_factory=list)
    withdraw: Callable[[], None] | None = None

    def settle(self, data: bytes) -> None:
        ((kind, payload),) = frames.Splitter().feed(data)
        assert kind == layout.WIRE_GUARD_ANSWER
        self.answers.append(int.from_bytes(payload[:4], "little"))


class Bench:
    """An engine with one build, in a folder of the test's."""

    def __init__(
        self,
        folder: Path,
        slots: int = 2,
        *,
        disk: Callable[[Path], Disk] = Disk,
        reserve: int = -1,
        guard: bool = True,
        tokens: Tokens | None = None,
        elsewhere: Callable[[Here], Elsewhere] = Nowhere,
    ) -> None:
        session = folder / "session"
        session.mkdir()
        self.folder = folder / "src"
        self.folder.mkdir()
        self.log = folder / "log"
        self.workers = FakeWorkers()
        self.processes = FakeProcesses()
        self.clock = HandClock()
        self.journal = UndoJournal(session)
        self.engine = Engine(
            Computer(disk(session), self.journal, self.clock, self.processes, Chaos()),
            Scoreboard(session / "board"),
            self.workers.hire,
            slots,
            reserve=reserve,
            tokens=tokens,
            elsewhere=elsewhere,
            proofs=AllSeen(),
        )
        self.log.touch()
        info = self.log.stat()
        self.output = FileId(info.st_dev, info.st_ino)
        self.build_of = self.engine.build_of
        self.build = self.begin("b", RULES._replace(guard=guard))
        self.build.promises.remember(KnownFailures(str(folder), folder / "state"))

    def begin(self, name: str, rules: Settings = RULES, outer: Build | None = None) -> Build:
        """One more build."""
        # It began long after its sources were written: none is a probe's.
        build = Build(name, rules, (self.output,) * 2, began=1e12, outer=outer)
        self.engine.add_build(build)
        return build

    def write(self, *names: str) -> None:
        for name in names:
            (self.folder / name).write_text(f"/* {name} */\n")

    def invocation(
        self,
        line: str | Sequence[str],
        build: str = "b",
        environment: Sequence[str] = (),
        parent: int = MAKE,
    ) -> Invoke:
        """What a shim would send."""
        words = line.split(" ") if isinstance(line, str) else line
        return Invoke(
            parent,
            0o022,
            self.output,
            self.output,
            words[0],
            f"/usr/bin/{words[0]}".encode(),
            os.fsencode(self.folder),
            build,
            frames.join_strings(word.encode() for word in words),
            frames.join_strings(word.encode() for word in (*environment, "PATH=/usr/bin")),
            b"",
            is_line=runs_lines(words[0]),
        )

    def run(
        self,
        line: str | Sequence[str],
        build: str = "b",
        environment: Sequence[str] = (),
        parent: int = MAKE,
    ) -> Shim:
        """A shim brings a command line."""
        shim = Shim()
        out, err = (os.open(self.log, os.O_WRONLY | os.O_APPEND) for _ in range(2))
        invocation = self.invocation(line, build, environment, parent)
        self.engine.invoke(self.build_of(invocation), invocation, shim, out, err)
        return shim

    def ask(self, kind: int, name: str, other: str = "", *, command: int = -1) -> Guard:
        """A guard asks."""
        guard = Guard()
        paths = (str(self.folder / name), str(self.folder / other) if other else "")
        question = Question(kind, os.getpid(), command, "b", *paths)
        guard.withdraw = self.engine.ask(question, guard.settle)
        return guard

    def foreseen(self) -> Files:
        """The disk as the analysis of a command that is issued now sees it."""
        hazards, pending = self.engine.scheduler.hazards, self.engine._pending
        return Foresight(hazards, pending, Paths()).files_foreseen(str(self.folder))

    def states(self) -> list[str]:
        """What became of each command so far."""
        return [record.state for record in self.build.commands.records]

    def close(self) -> list[str]:
        leftovers = self.engine.close()
        self.journal.close()
        return leftovers
