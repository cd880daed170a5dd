"""Other machines that compile, as the engine knows them: whatever takes a job from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from smpmake.commands.model import Analysis
    from smpmake.engine.command import Command
    from smpmake.engine.worker_requests import Order
    from smpmake.protocol.working import Result
    from smpmake.schedule.job import Job


class Here(NamedTuple):
    """What this machine offers to who sends jobs elsewhere.

    slots   how many jobs may run on it.
    now     its clock, ns.
    work    seconds of work that a job took in an earlier build, None if it is new.
    pause   what is left of a running job needs no slot: others may have that.
    resume  it needs one again.
    wake    there may be room for another job.
    say     the user is to be told something.
    """

    slots: int
    now: Callable[[], int]
    work: Callable[[Job], float | None]
    pause: Callable[[Job], None]
    resume: Callable[[Job], None]
    wake: Callable[[], None]
    say: Callable[[str], None]


class HostState(NamedTuple):
    """How a host is: its name, how many compiles it takes, and has; of the compilers that were
    looked at, those that are ours, and the others."""

    name: str
    slots: int
    taken: int
    compilers: tuple[str, ...]
    others: tuple[str, ...]


class Report(NamedTuple):
    """How other machines are, and were.

    hosts       each of them, as it is now.
    unused      that none has compiled anything, why, and what to do; "" where one has, or there was
                nothing to compile.
    complaints  what the user has been told of them.
    """

    hosts: tuple[HostState, ...] = ()
    unused: str = ""
    complaints: tuple[str, ...] = ()


class Elsewhere(Protocol):
    """One per engine: an engine of other machines is a module that has these methods.  They do
    here what is right without any.

    A job that goes elsewhere starts here all the same.  Its order is changed so that a program in
    its slot sees to it (distcc, a client of remote execution).  That program ends as the compiler
    would, and its status and output are the job's.  As soon as no CPU is needed here any more the
    module calls `Here.pause`.  Whatever goes wrong elsewhere is no fault of the job: `holds` says
    so, and the job runs again, here.

    compiles  whether it takes compiles at all.
    litter    how the paths begin that are nothing but its programs' own affair; "" for none.
    """

    compiles: bool
    litter: str

    def takes(self, command: Command, analysis: Analysis) -> object:
        """A command is about to be issued: what there is to remember of it, in
        `Command.elsewhere`, if it could go; else None."""
        return None

    def waits(self, job: Job) -> bool:
        """Whether a job that is to start beside others is rather to wait for a place."""
        return False

    def start(self, job: Job, order: Order) -> Order:
        """A job starts: its order, changed if it goes."""
        return order

    def holds(self, job: Job, result: Result | None) -> bool:
        """A job has ended: whether that is its end, or it is to be run again, here.

        result  None where its worker died, and it will start once more."""
        return True

    def report(self) -> Report:
        """How it is, and how it went so far."""
        return Report()

    def close(self) -> None:
        """Nothing is sent any more."""
        return


class Nowhere(Elsewhere):
    """All is done here."""

    compiles = False
    litter = ""

    def __init__(self, here: Here) -> None:
        """See Elsewhere."""
