"""One build inside a server: its rules, its outcome so far, its records."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from smpmake.decide.known_failures import KnownFailures
from smpmake.decide.rules import Rules
from smpmake.engine.output import Transcript
from smpmake.protocol.wire import FileId
from smpmake.records import CommandRecord, Failure, Stall
from smpmake.schedule.job import Job


@dataclass(slots=True)
class Build:
    """State of one build.

    driver_output  which files the driver has as stdout and stderr, where that is known.
    broken         the number of the first command whose promised success was wrong.
    stopping       128+n once signal n ended the build.
    lost           outputs that were promised and will not come (matters under keep_going).
    present        commands of this build that have not left the engine.
    done           jobs that have ended.
    made           what its deferred commands were to write, so far.
    known_failures  the commands whose status is known to matter.
    shared         files that one command makes for many, with what those have in common.
    headers        how many of its commands wrote what could be a header.
    wmakes         there is a wmake in it: what that looks at by itself matters.
    wrong          those whose promised success was wrong: digest and argv.
    """

    id: str
    rules: Rules
    keep_going: bool = False
    driver_output: tuple[FileId, FileId] | None = None
    began: float = 0.0
    transcript: Transcript | None = None
    broken: Job | None = None
    stopping: int = 0
    told: bool = False
    lost: set[str] = field(default_factory=set)
    present: int = 0
    done: int = 0
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    records: list[CommandRecord] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    reported: list[Failure] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    known_failures: KnownFailures | None = None
    wrong: dict[str, bytes] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    headers: int = 0
    wmakes: bool = False

    def __post_init__(self) -> None:
        self.empty.set()

    def entered(self) -> None:
        """A command of this build entered the engine."""
        self.present += 1
        self.empty.clear()

    def left(self) -> None:
        """A command of this build left the engine."""
        self.present -= 1
        if self.present == 0:
            self.empty.set()

    def start_over(self) -> None:
        """The driver is run again, and will come to what failed."""
        self.broken, self.told = None, False
        self.lost.clear()
        self.reported += self.failures
        self.failures.clear()
        self.wrong.clear()

    def forgive(self) -> None:
        """A new start after an outcome was given."""
        self.start_over()
        self.reported.clear()
        self.records.clear()
