"""Packages built with remembered results, beside their plain builds, while sources come and go."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.packages import fetch
from tests.packages.builds import MARK, Outcome
from tests.packages.corpus import program
from tests.packages.project import Project
from tests.packages.trees import Entries, Lens, differences, snapshot
from tests.packages.trials import Stand, stand
from tests.packages.verdicts import MOST_SERIAL
from tests.packages.workshop import SerialBuildError
from tests.soak.corpus import CannotBuildError, PackageSection
from tests.support.findings import DifferenceError

_SHOWN = 8
_CHECKED = "--memo=check:"
_GIVEN = re.compile(r"gave (\d+) remembered results? back")
#: Headers of the system's that most sources include: one in an earlier folder hides them.
_HIDDEN = ("string.h", "stdlib.h", "stdio.h", "errno.h", "limits.h")

Change = Callable[[Path], None]


class Remembered(PackageSection):
    """A package as it is, changed, and as it is again; all with --memo=check; in another folder."""

    name = "memo"
    things = "builds"

    def build(self, project: Project, dice: random.Random) -> int:
        """See PackageSection."""
        try:
            with stand(project) as place:
                return _Trial(place, dice).run()
        except (fetch.UnavailableError, fetch.CorruptError, SerialBuildError) as error:
            raise CannotBuildError(str(error)) from error


class _Trial:
    """Builds of one package, all of one store and in one folder."""

    def __init__(self, place: Stand, dice: random.Random) -> None:
        self._place = place
        self._store = place.home / "memo"
        self._builds = self._given = 0
        place.forget()
        shutil.rmtree(self._store, ignore_errors=True)
        self._lens = self._looked(1)
        self._header = dice.choice(_HIDDEN)
        self._number = dice.randrange(1 << 30)

    def _looked(self, serial: int) -> Lens:
        """The lens through which so many plain builds look alike."""
        patterns = [excuse.pattern for excuse in self._place.project.ignored]
        builds = [trial[0].tree.entries for trial in self._place.serial(serial)]
        return Lens.of(builds, patterns)

    def run(self) -> int:
        """How many builds were compared; raises DifferenceError."""
        states = (_as_it_is, self._with_a_source_changed, self._with_a_header_hidden)
        expected = [self._plainly(state) for state in states]
        for at in (0, 0, 1, 2, 0, 1, 2):
            self._expect("on", states[at], expected[at])
        for at in (0, 1, 2):
            self._expect("check", states[at], expected[at])
        assert self._given, "no result was given back"
        with self._in_another_folder():
            there = self._plainly(_as_it_is)
            for mode in ("on", "check"):
                self._expect(mode, _as_it_is, there)
        return self._builds

    @contextlib.contextmanager
    def _in_another_folder(self) -> Iterator[None]:
        """All that is done meanwhile; the store has what the first folder made."""
        first = self._place.folder
        self._place.folder = self._place.home / "another folder" / "with-a-longer-name"
        try:
            yield
        finally:
            shutil.rmtree(self._place.folder, ignore_errors=True)
            self._place.folder = first

    def _with_a_source_changed(self, tree: Path) -> None:
        with (tree / self._place.project.touch).open("a") as file:
            file.write(f"\nextern int soak_{self._number};\nint soak_{self._number} = 1;\n")

    def _with_a_header_hidden(self, tree: Path) -> None:
        folder = (tree / self._place.project.touch).parent
        (folder / self._header).write_text(
            f"#include_next <{self._header}>\n"
            f"static const int soak_{self._number} __attribute__((used)) = 2;\n"
        )

    def _plainly(self, change: Change) -> tuple[int, Entries]:
        return self._built(change, [])

    def _expect(self, mode: str, change: Change, expected: tuple[int, Entries]) -> None:
        words = ["env", "-u", MARK, f"XDG_CACHE_HOME={self._store}"]
        status, entries = self._built(change, [*words, str(program()), f"--memo={mode}"])
        found = self._differences(expected[1], entries)
        if status != expected[0]:
            found.insert(0, f"status {status}, should be {expected[0]}")
        self._builds += 1
        if found:
            lines = "\n  ".join(found[:_SHOWN])
            raise DifferenceError(
                f"{self._place.project.name}, build {self._builds} with --memo={mode} "
                f"({change.__name__}): {len(found)} differences\n  {lines}"
            )

    def _differences(self, expected: Entries, entries: Entries) -> list[str]:
        """A difference counts when no more plain builds disagree on it."""
        for serial in range(2, MOST_SERIAL + 2):
            found = differences(self._lens.view(expected), self._lens.view(entries))
            if not found or serial > MOST_SERIAL:
                break
            self._lens = self._looked(serial)
        return found

    def _built(self, change: Change, before: Sequence[str]) -> tuple[int, Entries]:
        self._place.lay_out()
        change(self._place.folder)
        status = 0
        for command in self._place.project.build:
            outcome = self._place.run([*before, *command])
            status = outcome.status
            self._look(outcome)
            if status != 0:
                break
        return status, snapshot(self._place.folder).entries

    def _look(self, outcome: Outcome) -> None:
        if _CHECKED in outcome.output:
            at = outcome.output.index(_CHECKED)
            raise DifferenceError(outcome.output[at : at + 500])
        assert "Traceback" not in outcome.output, outcome.output[-3000:]
        self._given += sum(int(count) for count in _GIVEN.findall(outcome.output))


def _as_it_is(tree: Path) -> None:
    """No change."""
