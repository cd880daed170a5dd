"""Configure scripts of packages whose checks run ahead of them, beside their plain runs."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence

from tests.packages import fetch
from tests.packages.builds import MARK
from tests.packages.corpus import program
from tests.packages.project import Command, Project
from tests.packages.sources import fetched, lay_out
from tests.packages.trees import Entries, Lens, differences, snapshot
from tests.packages.trials import Stand, stand
from tests.soak.corpus import CannotBuildError, PackageSection
from tests.support.findings import DifferenceError
from tests.support.remembered import forget_all_but_checks

_SCRIPT = "./configure"
_SHOWN = 8
#: Times, and names of temporary files that ld complains of.
_LOGS = ("*config.log", "config.log")
_FLAGS = ("CFLAGS=-O1", "CFLAGS=-g", "CPPFLAGS=-DSOAK=1", "LDFLAGS=-Wl,-O1", "CC=gcc -pipe")


class Configured(PackageSection):
    """A script's first run, and others of which only the list of its checks is left; with other
    flags; and in another folder."""

    name = "configure"
    things = "runs"

    def build(self, project: Project, dice: random.Random) -> int:
        """See PackageSection."""
        commands = (*project.prepare, *project.build)
        script = next((command for command in commands if command[0] == _SCRIPT), None)
        if script is None:
            raise CannotBuildError("it has no configure script")
        before = project.prepare[: project.prepare.index(script)] if project.prepare else ()
        try:
            with stand(project) as place:
                return _Script(place, before, script).run(dice.choice(_FLAGS))
        except (fetch.UnavailableError, fetch.CorruptError) as error:
            raise CannotBuildError(str(error)) from error


class _Script:
    """Runs of one script."""

    def __init__(self, place: Stand, before: Sequence[Command], script: Command) -> None:
        self._place, self._before, self._script = place, before, script
        self._source = fetched(place.project, place.cache)
        self._store = place.home / "memo"
        self._runs = 0
        shutil.rmtree(self._store, ignore_errors=True)

    def run(self, flag: str) -> int:
        """How many runs were compared; raises DifferenceError."""
        self._expect("first", ())
        self._forget()
        self._expect("second", ())
        self._expect("third", ())
        self._forget()
        self._expect("with other flags", (flag,))
        first, self._place.folder = self._place.folder, self._place.home / "another-folder"
        try:
            self._forget()
            self._expect("in another folder", ())
        finally:
            shutil.rmtree(self._place.folder, ignore_errors=True)
            self._place.folder = first
        return self._runs

    def _forget(self) -> None:
        forget_all_but_checks(self._store / "smpmake" / "memo")

    def _expect(self, what: str, more: Sequence[str]) -> None:
        plain = [self._configured((), more) for _ in range(2)]
        lens = Lens.of([entries for _, entries in plain], _LOGS)
        words = ("env", "-u", MARK, f"XDG_CACHE_HOME={self._store}", str(program()), "-q")
        status, entries = self._configured(words, more)
        found = differences(lens.view(plain[0][1]), lens.view(entries))
        if status != plain[0][0]:
            found.insert(0, f"status {status}, should be {plain[0][0]}")
        self._runs += 1
        if found:
            lines = "\n  ".join(found[:_SHOWN])
            name = self._place.project.name
            raise DifferenceError(f"{name}, {what}: {len(found)} differences\n  {lines}")

    def _configured(self, before: Sequence[str], more: Sequence[str]) -> tuple[int, Entries]:
        lay_out(self._place.project, self._source, self._place.folder)
        for command in self._before:
            self._place.run(command)
        outcome = self._place.run([*before, *self._script, *more])
        assert "Traceback" not in outcome.output, outcome.output[-3000:]
        return outcome.status, snapshot(self._place.folder).entries
