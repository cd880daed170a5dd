"""One command as the engine keeps it: where it came from, what it writes, who waits for it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from smpmake.commands.model import Write
from smpmake.disk.stamps import Stamp
from smpmake.engine.build import Build
from smpmake.protocol.wire import FileId, Invoke
from smpmake.records import CommandRecord
from smpmake.schedule.job import Job


class Reply(Protocol):
    """The way back to one shim.  Exactly one of `leave` and `become` is called, once."""

    def wait(self, withdraw: Callable[[], None]) -> None:
        """The answer comes later; `withdraw` is called if the shim goes away before."""

    def leave(self, status: int, message: bytes = b"") -> None:
        """The shim exits with `status`."""

    def become(self, job: Job, argv: bytes = b"", message: bytes = b"") -> None:
        """The shim becomes the real tool; `Engine.lease_ended(job)` follows when that ends."""


@dataclass(slots=True)
class Group:
    """Jobs that were one command, whose shim waits: it is told the truth, so nothing is broken."""

    folder: str
    status: int = 0
    output: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Command:
    """What the engine keeps with a job.

    log_files  which of its outputs go to plain files.
    kept  private files that its argv names.
    digest  set where the driver waits for the true status of a job (known_failures).
    """

    build: Build
    invoke: Invoke
    argv: bytes
    record: CommandRecord
    reply: Reply | None = None
    outputs: bytes = b""
    made: tuple[str, ...] = ()
    asides: tuple[tuple[str, str], ...] = ()
    group: Group | None = None
    has_sinks: bool = False
    signalled: bool = False
    told: bool = False
    rename: tuple[str, str] | None = None
    stamps: tuple[Stamp, ...] = ()
    guarded: bool = False
    digest: str = ""
    log_files: tuple[FileId, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A write, under its canonical name.

    stale   where its older copy was set aside, or "".
    before  the lstat of what was there at issue, or None.
    """

    write: Write
    name: str
    stale: str = ""
    before: os.stat_result | None = None

    @property
    def made(self) -> bool:
        """Whether the command makes it, so that it must go if the command does not finish."""
        write = self.write
        if write.removed or write.replaces:
            return False
        return not (write.in_place and not write.target and self.before is not None)


def command_of(job: Job) -> Command:
    """The command that a job carries."""
    command = job.payload
    assert isinstance(command, Command)
    return command


def replaced(places: list[Place]) -> list[tuple[int, int]]:
    """Older files that will be replaced, and could be reached by a link of another name."""
    return [
        (place.before.st_dev, place.before.st_ino)
        for place in places
        if place.before is not None and not place.stale and not stat.S_ISDIR(place.before.st_mode)
    ]
