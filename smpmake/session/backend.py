"""What a session needs of the server that runs its build's jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from smpmake.records import BuildRecord
from smpmake.session.driver import Driver

STARTUP_DELAY: Final = (
    0.1  # s for the first commands, before anything is loaded that they do not need
)


class TakenBack(NamedTuple):
    """What became of an undoing.

    done        whether anything could be undone at all.
    whole       everything was, to the build's beginning.
    complaints  what could not be.
    """

    done: bool
    whole: bool = False
    complaints: tuple[str, ...] = ()


class Backend(Protocol):
    """A server for one build, wherever it is.

    output     the descriptor that the driver must write to, or None for our own stdout and stderr.
    errors     the same for its messages, where these go elsewhere.
    """

    folder: Path
    environment: dict[str, str]
    alive: int
    output: int | None
    errors: int | None

    async def open(
        self, record: BuildRecord, on_squash: Callable[[], None], *, is_repeatable: bool
    ) -> None:
        """Gets ready for a driver: what it will ask can wait a moment, in a socket's queue.

        record         grows while the build runs, where that can be.
        on_squash      is called when a promise was wrong: it kills the driver.
        is_repeatable  the driver can be run again from its beginning, if all that it did is undone.
        Raises SmpmakeError."""

    async def adopt(self, driver: Driver) -> None:
        """The driver has been started: now serves it.

        Raises SmpmakeError where that cannot be; then it runs plainly (`abandon`)."""

    def abandon(self) -> None:
        """Nobody is served: shims become the real tools, guards go on."""

    def driver_lost(self) -> None:
        """The driver's keeper was killed: nothing may go on."""

    def give_up(self) -> None:
        """A fault of ours may have left commands of which nobody will hear: none is waited for."""

    def stop(self, number: int) -> None:
        """Ends the build because of a signal; called again when it should be quicker."""

    def counts(self) -> tuple[int, int, int, int]:
        """Commands done, running, queued, and those of them that wait for memory."""

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """The jobs that an earlier build had: output and seconds; none as long as none is known."""

    @property
    def reaches_back(self) -> bool:
        """Whether what the build did can be undone to its very beginning."""

    async def settled(self) -> None:
        """Returns when nobody is left who was heard, or waits to be: a driver's children may go on
        behind it."""

    async def drained(self, record: BuildRecord) -> None:
        """Returns when all that was deferred has ended, and fills the record."""

    def learn(self) -> list[str]:
        """Remembers, for this and later builds, that the driver is to be told the truth about the
        commands that failed after their success was promised in this run; returns those."""

    def take_back(self, *, everything: bool) -> TakenBack:
        """Undoes what the build did: everything, or what followed the first promise that was not
        kept.  Nothing of it may run."""

    def start_over(self, *, whole: bool, quietly: bool) -> None:
        """The driver is about to be run again; `whole` as if it had never been.

        quietly  what it has printed is not to come once more.
        """

    async def close(self) -> list[str]:
        """Ends it all, however far it came; returns what was left over that should not be
        (promise P9)."""
