"""How smpmake takes back what one build did, and which of its results it can give back then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smpmake.protocol.wire import Invoke
    from smpmake.undo.journal import UndoJournal, Undone
    from smpmake.undo.reuse import Finished, Reusable

log = logging.getLogger("smpmake")


class Undoing:
    """Of one build, and of those inside it: what becomes of the outer becomes of them.

    journal   the journal by which all can be taken back; None where nothing can.
    squashed  a promise was wrong, and what followed is about to be taken back: nobody is answered
              any more but jobs that run.
    repeats   how often the driver has been run again.
    """

    def __init__(self) -> None:
        self.journal: UndoJournal | None = None
        self.squashed = False
        self.repeats = 0
        self._on_squash: Callable[[], None] | None = None
        self._finished: list[Finished] = []  # as long as what they made may be needed again
        self._reusable: Reusable | None = None  # results of a run that was undone

    def begin(self, journal: UndoJournal, on_squash: Callable[[], None]) -> None:
        """From now on the journal has all changes; `on_squash` kills the driver."""
        self.journal, self._on_squash = journal, on_squash

    @property
    def reaches_back(self) -> bool:
        """Whether all that the build did can be taken back, to its very beginning."""
        return self.journal is not None and self.journal.is_whole

    def squash(self) -> None:
        """A promise was wrong: nobody goes on by it."""
        if not self.squashed and self._on_squash is not None:
            self.squashed = True
            self._on_squash()

    def make_final(self) -> None:
        """All that was done so far stays, since every promise before has been kept."""
        assert self.journal is not None
        self.journal.commit()
        self._finished.clear()

    def keep_results(self, finished: Finished) -> None:
        """A command has succeeded; its results may be given back to it."""
        self._finished.append(finished)

    def results_of(
        self, invoke: Invoke, argv: bytes, number: int, dated_ns: int
    ) -> Finished | None:
        """Gives a command the results that it had before the driver was run again, if it had."""
        if self._reusable is None or self.journal is None or not self.journal.is_whole:
            return None  # nobody knows any more what has appeared since
        return self._reusable.take(invoke, argv, number, dated_ns, self.journal)

    def take_back(self, *, everything: bool) -> Undone:
        """Undoes what the build did.  Raises OSError.

        everything  to the beginning, else what followed the first promise that was wrong.
        """
        assert self.journal is not None
        self._reusable = reusable = self._collected() if everything else None
        undone = self.journal.take_back(everything=everything)
        if reusable is not None:
            reusable.undone()
        return undone

    def _collected(self) -> Reusable | None:
        """What need not be made again.  The undoing goes on without it where it cannot be had."""
        assert self.journal is not None
        if not self.journal.is_whole:
            return None
        try:
            from smpmake.undo.reuse import Reusable

            reusable = self._reusable or Reusable(self.journal.shelf)
            reusable.collect(self._finished, self.journal.changes())
        except (MemoryError, ImportError, OSError) as error:
            log.info("results are made again: %r", error)
            return None
        return reusable

    def start_over(self) -> None:
        """The driver is run again."""
        self.squashed = False
        self._finished.clear()
        self.repeats += 1
