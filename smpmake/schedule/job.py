"""A command on its way through the machine: its states, and nothing that acts.

    WAITING ──> READY ──> RUNNING ──────────> DONE
       │          │        ↑   ↓    └──────> FAILED
       │          │  RESUMING ←PAUSED
       └──────────┴────────────────────────> CANCELLED

WAITING: a hazard is not clear.  READY: it wants a slot.  PAUSED: it runs, but its guard has it
wait, and others have its slot.  RESUMING: it wants one again.  The scheduler alone changes states.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class State(enum.Enum):
    """Where a job is; see the picture above."""

    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    RESUMING = "resuming"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Mode(enum.Enum):
    """How a command is run: later in the pool, or in the place of its shim."""

    DEFERRED = "deferred"
    FOREGROUND = "foreground"


Search = tuple[str, tuple[str, ...]]
"""A working folder, and the folders in which a compile started there looks, as it spells them."""


@dataclass(frozen=True, slots=True)
class Operands:
    """What hazards are made of: canonical absolute paths.

    reads        paths the command reads.
    writes       paths it makes, changes or removes.
    changed_ns   for a written path that existed at issue and that others may read without having
                 said so: when its inode last changed (file-system time, ns); 0 for a new file
                 that would hide another.
    undeclared   the command may read files that it does not name.
    everything   a barrier: it may touch anything.
    products     no compiler reads what it writes, whatever its name: programs, archives.
    search       where it looks for files that it does not name.
    alone        names of what no two commands use at once; they are no files.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    changed_ns: tuple[tuple[str, int], ...] = ()
    undeclared: bool = False
    everything: bool = False
    products: bool = False
    alone: tuple[str, ...] = ()
    search: Search | None = None


#: The blockers of a job that has none: one set for all, never changed.
NOBODY: Final[set[Job]] = set()


class Job:
    """One command, deferred or not.

    number     order of issue, unique in a server's life.
    build      whose it is: failures are kept apart by it.
    issued_ns  file-system time of issue, ns; what its outputs' mtime becomes.
    light      needs no slot: work for the disk alone, in the driver's own time or the server's.
    exclusive  runs while nothing else does.
    ready_at   when its last hazard cleared, and `waited_for` the job that cleared it.
    """

    __slots__ = (
        "blockers",
        "build",
        "exclusive",
        "followers",
        "issued_ns",
        "light",
        "mode",
        "number",
        "operands",
        "payload",
        "ready_at",
        "slot",
        "state",
        "urgent",
        "waited_for",
    )

    def __init__(
        self,
        number: int,
        build: str,
        mode: Mode,
        operands: Operands,
        *,
        issued_ns: int = 0,
        light: bool = False,
        exclusive: bool = False,
        payload: object = None,
    ) -> None:
        self.number = number
        self.build = build
        self.mode = mode
        self.operands = operands
        self.issued_ns = issued_ns
        self.light = light
        self.exclusive = exclusive
        self.payload = payload
        self.state = State.WAITING
        self.urgent = False
        self.slot: int | None = None
        self.ready_at = 0
        self.waited_for: Job | None = None
        self.blockers = NOBODY
        self.followers: list[Job] = []

    def __repr__(self) -> str:
        return f"Job({self.number}, {self.mode.value}, {self.state.value})"
