"""What a program is asked that has compiles done elsewhere, whichever it is."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, Protocol

from smpmake.errors import SmpmakeError


class ClusterError(SmpmakeError):
    """An engine cannot be used: its program or its hosts are not there."""


class Host(NamedTuple):
    """A machine that compiles for others.

    name     for people.
    address  as its client is to be told of it.
    slots    how many compiles it takes at once.
    """

    name: str
    address: str
    slots: int


TEMPORARY: Final = "tmp"  # in a compile's folder: what a client that is killed leaves there goes


class Client(Protocol):
    """distcc, and what is like it.

    name        of the engine.
    path        the program's file.
    changes     its hosts may take more or fewer later on.
    comes_back  a compile may be done here though it was sent.
    litter      how the paths begin of files that it writes outside of the folders it is given, ""
                for none.

    A compile has a folder of its own, in which the client says how far it is; several are never
    there at once.
    """

    name: str
    path: str
    litter: str

    @property
    def comes_back(self) -> bool:
        """See above."""

    @property
    def changes(self) -> bool:
        """See above."""

    def slots(self, host: Host) -> int | None:
        """How many compiles a host takes now, None where nobody knows.  May take some seconds."""

    def words(self, argv: tuple[str, ...], real: str) -> tuple[str, ...]:
        """What is run instead of a compiler's command line; `real` is the compiler's file."""

    def prefix(self, folder: Path) -> str:
        """A program that does so with the words that it is given.  Raises OSError."""

    def environment(self, host: Host, folder: Path) -> dict[str, str]:
        """What it is to find in its environment, to go to that host and nowhere else."""

    def prepare(self, folder: Path) -> Path:
        """Makes a compile's folder ready; returns where to watch for changes.  Raises OSError."""

    def is_sent(self, folder: Path) -> bool | None:
        """Whether nothing is left to be done here but to wait; None where it does not say."""

    def host_of(self, folder: Path) -> str:
        """Which machine has the compile, "" where that is the host that it was told."""

    def was_called(self, folder: Path) -> bool:
        """Whether a compile has come to it: a cache may have had the result."""

    def fault(self, said: str) -> str:
        """What is wrong, in one line, by what it has printed."""

    def blames_host(self, status: int) -> bool:
        """Whether an exit status is not the compiler's."""
