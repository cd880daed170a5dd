"""What a session needs of the server that runs its build's jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from smpmake.records import BuildRecord
from smpmake.session.driver import Driver

STARTUP_DELAY: Final = (
    0.1  # s for the first commands, before anything is loaded that they do not need
)


class TakenBack(NamedTuple):
    """What became of an undoing.

    done        whether anything could be undone at all.
    whole       everything was, to the build's beginning.
    wrong       the tree is not what it was: nothing may go on by it.
    complaints  what could not be.
    """

    done: bool
    whole: bool = False
    wrong: bool = False
    complaints: tuple[str, ...] = ()


class Backend:
    """A server for one build, wherever it is.

    Its methods do here what is right for a server that several builds share.  That one undoes
    nothing, sees to its commands itself, and goes on when a build has ended.

    output     the descriptor that the driver must write to, or None for our own stdout and stderr.
    errors     the same for its messages, where these go elsewhere.
    leaves_undoing  what is to be undone is left to the driver's keeper, and so is the folder.
    """

    folder: Path
    environment: dict[str, str]
    alive = -1
    output: int | None = None
    errors: int | None = None
    leaves_undoing = False

    async def open(self, record: BuildRecord, on_squash: Callable[[], None]) -> None:
        """Gets ready for a driver: what it will ask can wait a moment, in a socket's queue.

        record     grows while the build runs, where that can be.
        on_squash  is called when a promise was wrong: it kills the driver.
        Raises SmpmakeError."""
        raise NotImplementedError

    async def serve_driver(self, driver: Driver) -> None:
        """The driver has been started: now serves it.

        Raises SmpmakeError where that cannot be; then it runs plainly (`serve_nobody`)."""

    def serve_nobody(self) -> None:
        """Nobody is served: shims become the real tools, guards go on."""

    def driver_lost(self) -> None:
        """The driver's keeper was killed: nothing may go on."""
        from smpmake.engine.strays import end_build  # hardly ever

        end_build(self.environment)

    def stop_waiting(self) -> None:
        """A fault of ours may have left commands of which nobody will hear: none is waited for."""

    def stop_build(self, number: int) -> None:
        """Ends the build because of a signal; called again when it should be quicker."""
        raise NotImplementedError

    def counts(self) -> tuple[int, int, int, int]:
        """Commands done, running, queued, and those of them that wait for memory."""
        raise NotImplementedError

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """The jobs that an earlier build had: output and seconds; none as long as none is known."""
        return ()

    @property
    def reaches_back(self) -> bool:
        """Whether what the build did can be undone to its very beginning."""
        return False

    async def commands_ended(self) -> None:
        """Returns when nobody is left who was heard, or waits to be: a driver's children may go on
        behind it."""

    async def jobs_ended(self, record: BuildRecord) -> None:
        """Returns when all that was deferred has ended, and fills the record."""
        raise NotImplementedError

    def learn_failures(self) -> list[str]:
        """Remembers, for this and later builds, that the driver is to be told the truth about the
        commands that failed after their success was promised in this run; returns those."""
        return []

    def take_back(self, *, everything: bool) -> TakenBack:
        """Undoes what the build did: everything, or what followed the first promise that was not
        kept.  Nothing of it may run."""
        return TakenBack(done=False)

    def start_over(self, *, whole: bool, quietly: bool) -> None:
        """The driver is about to be run again; `whole` as if it had never been.

        quietly  what it has printed is not to come once more.
        """

    async def close(self) -> list[str]:
        """Ends it all, however far it came; returns what was left over that should not be
        (promise P9)."""
        raise NotImplementedError
