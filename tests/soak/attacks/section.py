"""All cases as a section of `scripts/soak`, several at once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from smpmake import native
from tests.soak.attacks.case import Case
from tests.soak.attacks.harness import Attack
from tests.soak.section import Section, SkippedError
from tests.support.others import as_user
from tests.support.space import SMPMAKE

_GUARD = native.guard()  # looked for by us


class Attacks(Section):
    """A case a trial, its number the seed.  They mostly wait, so the next ones run meanwhile."""

    name = "attacks"
    things = "cases"

    AT_ONCE = 4
    #: So many wait to be run: one that takes long does not keep the others waiting.
    AHEAD = 32

    def __init__(self, cases: Sequence[Case]) -> None:
        # Subjects are mixed, so that any part of them has some of each.
        self._cases = sorted(cases, key=lambda case: hashlib.sha256(case.name.encode()).digest())
        self._pool = ThreadPoolExecutor(self.AT_ONCE)
        self._ahead: dict[int, Future[None]] = {}
        self._attacks: dict[int, Attack] = {}

    def attempt(self, seed: int) -> int:
        """See Section."""
        for each in range(seed, seed + min(self.AHEAD, len(self._cases))):
            if each not in self._ahead:
                self._ahead[each] = self._pool.submit(self._run, each)
        self._ahead.pop(seed).result()
        return 1

    def _run(self, seed: int) -> None:
        case = self._case(seed)
        missing = [name for name in case.needs if not _is_there(name)]
        if missing:
            raise SkippedError(f"{case.name}: it needs {' '.join(missing)}")
        attack = self._attacks[seed] = Attack(case)
        try:
            attack.run()
        finally:
            del self._attacks[seed]

    def options(self, seed: int) -> list[str]:
        """See Section."""
        return ["--case", self._case(seed).name]

    def trials(self) -> int:
        """See Section."""
        return len(self._cases)

    def close(self) -> None:
        """See Section."""
        for future in self._ahead.values():
            future.cancel()
        for attack in [*self._attacks.values()]:
            attack.stop()
        self._pool.shutdown()

    def _case(self, seed: int) -> Case:
        return self._cases[seed % len(self._cases)]


def _is_there(name: str) -> bool:
    if name in ("guard", "others"):
        can = _can_read_the_guard if name == "guard" else _can_run_smpmake
        return os.getuid() == 0 and as_user(can)
    return os.getuid() == 0 if name == "root" else shutil.which(name) is not None


def _can_read_the_guard() -> None:
    """Raises PermissionError."""
    os.close(os.open(_GUARD, os.O_RDONLY))


def _can_run_smpmake() -> None:
    """Raises PermissionError."""
    done = subprocess.run([SMPMAKE, "--version"], capture_output=True)
    if done.returncode != 0:
        raise PermissionError(done.stderr)
