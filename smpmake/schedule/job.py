"""A command on its way: its states, and nothing that acts.

    WAITING ──> READY ──> RUNNING ──────────> DONE
       │        │ ↑        ↑   ↓  │  └──────> FAILED
       │        │ └──────<─│───│──┘
       │        │    RESUMING <─PAUSED
       └────────┴───────────────────────────> CANCELLED

WAITING: a hazard is not clear.  READY: it wants a slot.  PAUSED: it runs, but its guard has it
wait, and others have its slot.  RESUMING: it wants one again.  Back to READY goes what came to
nothing through no fault of its own; what is paused or resuming may end, or go back, as well.
The scheduler alone changes states, in one function, by the table NEXT.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from smpmake.schedule.classes import Class


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

    __hash__ = object.__hash__  # Enum's own is Python, and this is asked several times a job


_ENDS: Final = frozenset({State.DONE, State.FAILED})
#: Where a job may go from each state.
NEXT: Final[dict[State, frozenset[State]]] = {
    State.WAITING: frozenset({State.READY, State.CANCELLED}),
    State.READY: frozenset({State.RUNNING, State.CANCELLED}),
    State.RUNNING: _ENDS | {State.PAUSED, State.READY},
    State.PAUSED: _ENDS | {State.RESUMING, State.READY},
    State.RESUMING: _ENDS | {State.RUNNING, State.READY},
    State.DONE: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}


class Mode(enum.Enum):
    """How a command is run: later in the pool, or in its shim's own process.

    WAITER: no command at all, but somebody who asked and has to wait; the grant is its end.
    """

    DEFERRED = "deferred"
    FOREGROUND = "foreground"
    WAITER = "waiter"

    __hash__ = object.__hash__


Search = tuple[str, tuple[str, ...]]
"""A working folder, and the folders in which a compile started there looks, as it spells them."""


class Operands(NamedTuple):
    """What hazards are made of: canonical absolute paths.

    reads        paths the command reads.
    writes       paths it makes, changes or removes.
    changed_ns   for each written path: when the inode that was there at issue last changed
                 (file-system time, ns); 0 for a new file.
    undeclared   the command may read files that it does not name.
    everything   a barrier: it may touch anything.
    compiles     it compiles C, C++ or Fortran.
    objects      it makes objects, and nothing else that a compile could read.
    search       where it looks for files that it does not name.
    alone        names of what no two commands use at once; they are no files.
    through      symbolic links to folders by which it gets to its operands, and the programs that
                 it runs: they are to stay what they are.
    cwd          where it works, "" if that does not matter.
    temporary    where its temporary files go, "" if that does not matter.
    headers      among what it reads without having named it are headers.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    changed_ns: tuple[tuple[str, int], ...] = ()
    undeclared: bool = False
    everything: bool = False
    compiles: bool = False
    objects: bool = False
    alone: tuple[str, ...] = ()
    search: Search | None = None
    through: tuple[str, ...] = ()
    cwd: str = ""
    temporary: str = ""
    headers: bool = True


#: The blockers of a job that has none: one set for all, never changed.
NOBODY: Final[set[Job]] = set()


class Job:
    """One command, deferred or not; or a waiter.

    number      order of issue, unique in a server's life; -1 for a waiter.
    build       whose it is: failures are kept apart by it.
    mode        who runs it.
    operands    what it reads and writes; hazards are made of them.
    guarded     its guard asks for what it changes and reads, and can show it older files.
    issued_ns   file-system time of issue, ns.
    dated_ns    what its outputs' mtime becomes: between that and the next tick of that clock.
    light       needs no slot: work for the disk alone, in the driver's own time or the server's.
    exclusive   runs while nothing else does.
    classes     of which only so many run at once; `full`: the last one that it had to wait for.
    payload     what the caller of the scheduler keeps with it.
    state       where it is; set by the scheduler alone.
    urgent      somebody in the foreground waits for it, or for what needs it; set at its issue
                where its own shim does.
    slot        the slot that it holds, None without one.
    ready_at    when its last hazard cleared (the caller's clock), and `waited_for` the job that
                cleared it, None where nothing had to be waited for.
    blockers    whom it waits for.
    followers   who waits for it, in the order of issue.
    """

    __slots__ = (
        "blockers",
        "build",
        "classes",
        "dated_ns",
        "exclusive",
        "followers",
        "full",
        "guarded",
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
        guarded: bool = False,
        classes: tuple[Class, ...] = (),
        payload: object = None,
    ) -> None:
        self.number = number
        self.build = build
        self.mode = mode
        self.operands = operands
        self.issued_ns = self.dated_ns = issued_ns
        self.light = light
        self.exclusive = exclusive
        self.guarded = guarded
        self.classes = classes
        self.full: Class | None = None
        self.payload = payload
        self.state = State.WAITING
        self.urgent = False
        self.slot: int | None = None
        self.ready_at = 0
        self.waited_for: Job | None = None
        self.blockers = NOBODY
        self.followers: dict[Job, None] = {}

    def __repr__(self) -> str:
        return f"Job({self.number}, {self.mode.value}, {self.state.value})"
