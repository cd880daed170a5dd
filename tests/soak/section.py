"""A kind of trial: what is drawn from a seed, done, and looked at."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import tempfile
import uuid
from pathlib import Path
from typing import ClassVar

from tests.packages import builds
from tests.support.space import Space

ROOT = Path(__file__).parent.parent.parent


class UnavailableError(Exception):
    """There is nothing to try here, and why."""


class SkippedError(Exception):
    """This one cannot be tried here, and why; others can."""


class Section:
    """Trials of one kind.

    name    as the command line has it.
    things  what a trial consists of, in the plural.
    """

    name: ClassVar[str]
    things: ClassVar[str]

    def attempt(self, seed: int) -> int:
        """One trial; returns of how many things it consisted.

        Raises DifferenceError, or AssertionError for a loss.
        """
        raise NotImplementedError

    def options(self, seed: int) -> list[str]:
        """What a command line needs besides the seed to repeat that trial."""
        return []

    def trials(self) -> int | None:
        """How many different trials there are; None if there is no end of them."""
        return None

    def summary(self) -> str:
        """What it has to say at the end, besides the totals."""
        return ""

    def close(self) -> None:
        """Nothing more is tried."""


class SpaceSection(Section):
    """Trials in a space that lasts until one of them finds something."""

    def __init__(self) -> None:
        self._space: Space | None = None
        self._mark = ""

    def attempt(self, seed: int) -> int:
        """See Section."""
        whole = False
        try:
            space = self._space or self._open()
            done = self.play(space, random.Random(f"{self.name} {seed}"), seed)
            left = [str(pid) for pid in builds.lingering(self._mark)]
            assert not left, f"processes left behind: {' '.join(left)}"
            whole = True
        finally:
            if not whole:
                self.close()  # the next one is to find nothing of this one
        return done

    def play(self, space: Space, dice: random.Random, seed: int) -> int:
        """See `attempt`; all chance is in the dice."""
        raise NotImplementedError

    def prepare(self, space: Space) -> None:
        """Does in a new space what its trials have in common."""

    def close(self) -> None:
        """See Section."""
        space, self._space = self._space, None
        if space is None:
            return
        space.close()
        for pid in builds.marked(self._mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(space.root, ignore_errors=True)

    def _open(self) -> Space:
        self._space = space = Space(Path(tempfile.mkdtemp(prefix="soak-")))
        self._mark = uuid.uuid4().hex
        space.environment[builds.MARK] = self._mark
        self.prepare(space)
        return space
