"""Random changes of a tree that are taken back (tests/support/undoing.py)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from smpmake.errors import SmpmakeError
from tests.soak.section import Section
from tests.support import undoing
from tests.support.findings import DifferenceError

#: On two kinds of file systems, where there are two.
_PLACES = (None, *(("/dev/shm",) if Path("/dev/shm").is_dir() else ()))


class Undo(Section):
    """A tree a trial."""

    name = "undo"
    things = "trees"

    def attempt(self, seed: int) -> int:
        """See Section."""
        folder = Path(tempfile.mkdtemp(prefix="soak-", dir=_PLACES[seed % len(_PLACES)]))
        try:
            found = undoing.trial(folder, plan := undoing.plan(seed))
        except SmpmakeError as error:
            raise AssertionError(str(error)) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if found:
            raise DifferenceError("\n".join([*found, str(plan)]))
        return 1
