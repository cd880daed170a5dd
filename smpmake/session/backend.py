"""What a session needs of the server that runs its build's jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from smpmake.records import BuildRecord
from smpmake.session.driver import Driver


class Backend(Protocol):
    """A server for one build, wherever it is.

    output  the descriptor that the driver must write to, or None for our own stdout and stderr.
    """

    folder: Path
    environment: dict[str, str]
    alive: int
    output: int | None

    async def open(self, record: BuildRecord) -> None:
        """Gets ready for a driver: what it will ask can wait a moment, in a socket's queue.

        Where that can be, `record` grows while the build runs.  Raises SmpmakeError."""

    def adopt(self, driver: Driver) -> None:
        """The driver has been started: now serves it.

        Raises SmpmakeError where that cannot be; then it runs plainly (`abandon`)."""

    def abandon(self) -> None:
        """Nobody is served: shims become the real tools, guards go on."""

    def driver_lost(self) -> None:
        """The driver's keeper was killed: nothing may go on."""

    def stop(self, number: int) -> None:
        """Ends the build because of a signal; called again when it should be quicker."""

    def counts(self) -> tuple[int, int, int, int]:
        """Commands done, running, queued, and those of them that wait for memory."""

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """The jobs that an earlier build had: output and seconds; none as long as none is known."""

    async def drained(self, record: BuildRecord) -> None:
        """Returns when all that was deferred has ended, and fills the record."""

    def learn(self) -> list[str]:
        """Remembers, for this and later builds, that the driver is to be told the truth about the
        commands that failed after their success was promised; returns those that are new."""

    def start_over(self) -> None:
        """The driver is about to be run again."""

    async def close(self) -> list[str]:
        """Ends it all, however far it came; returns what was left over that should not be
        (promise P9)."""
