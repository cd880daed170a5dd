"""What a project's earlier builds have seen its recipes' lines do, and commands say.

One file a project (a folder in which smpmake was started), in the user's state folder: a version,
the paths that occur in it, and a line of JSON for each recipe's line: its digest and mark, then how
long it took and its effects, as numbers of those paths; or why and how often it was not learnt.
Of a command whose output is caught: its digest, and whether it was silent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from smpmake import folders
from smpmake.decide.learnt import TRIES, Doubt, Effects, Lesson

_VERSION: Final = 2
_MOST: Final = 20_000  # lines; those that were not met for longest go


class Lessons:
    """Those of one project.  A file that cannot be read or written is as none.

    tests  whether lines of a make that runs tests are learnt, too.
    """

    def __init__(self, project: str, base: Path | None = None, *, tests: bool = True) -> None:
        self.tests = tests
        self._known: dict[str, Lesson | Doubt] = {}
        self._new: dict[str, Lesson | Doubt] = {}
        self._silent: dict[str, bool] = {}
        self._heard: dict[str, bool] = {}
        self._changed = False
        self._path: Path | None = None
        try:
            self._path = folders.of_project(project, ".recipes", base)
        except folders.NoHomeError:
            return
        try:
            lines = self._path.read_text(errors="surrogateescape").splitlines()
            if lines and json.loads(lines[0]) == _VERSION:
                paths = json.loads(lines[1])
                for line in lines[2:]:
                    digest, *row = json.loads(line)
                    if len(row) == 1:
                        self._silent[digest] = bool(row[0])
                    else:
                        self._known[digest] = _decoded(row, paths)
        except (OSError, ValueError, TypeError, IndexError):
            self._known.clear()
            self._silent.clear()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, digest: str) -> Lesson | Doubt | None:
        """What is known of a line."""
        known = self._known.pop(digest, None)
        if known is not None:
            self._known[digest] = known  # the newest last
        return known

    def plain(self) -> Iterator[int]:
        """Marks of lines of which nobody need hear."""
        return (known.mark for known in self._known.values() if known.is_plain)

    def learn(self, digest: str, what: Lesson | Doubt) -> None:
        """A line has done that, which counts if the build succeeds."""
        self._new[digest] = what

    def forget_new(self) -> None:
        """What was learnt since the build began was learnt on a wrong way."""
        self._new.clear()
        self._heard.clear()

    def keep(self) -> None:
        """The build has succeeded."""
        self._changed |= bool(self._new or self._heard)
        self._known |= self._new
        self._silent |= self._heard
        self.forget_new()

    def distrust(self, digest: str, why: str) -> None:
        """A line did something else than before, and is not believed again."""
        known = self._known[digest]
        self._known[digest] = Doubt(why, known.mark, TRIES)
        self._changed = True

    def was_silent(self, digest: str) -> bool | None:
        """Whether a command whose output is caught has said nothing; None: not known."""
        known = self._silent.pop(digest, None)
        if known is not None:
            self._silent[digest] = known  # the newest last
        return known

    def heard(self, digest: str, *, silent: bool) -> None:
        """A caller has got the output of its command, which counts if the build succeeds."""
        self._heard[digest] = silent and self._heard.get(digest, True)

    def distrust_silence(self, digest: str) -> None:
        """It had something to say."""
        self._silent[digest] = False
        self._changed = True

    def save(self) -> None:
        """Writes the file, whole or not at all."""
        if not self._changed or self._path is None:
            return
        import tempfile  # few builds learn anything

        self._changed = False
        paths: dict[str, int] = {}
        lines = [_encoded(d, what, paths) for d, what in list(self._known.items())[-_MOST:]]
        lines += [json.dumps([d, int(silent)]) for d, silent in list(self._silent.items())[-_MOST:]]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(
                "w", dir=self._path.parent, delete=False, errors="surrogateescape"
            ) as file:
                file.write("\n".join([str(_VERSION), json.dumps(list(paths)), *lines]))
            os.replace(file.name, self._path)
        except OSError:
            return  # then the next build learns it again


def _encoded(digest: str, what: Lesson | Doubt, paths: dict[str, int]) -> str:
    row: list[object] = [digest, what.mark]
    if isinstance(what, Doubt):
        row += [what.tries, what.why]
    else:
        groups = [[paths.setdefault(p, len(paths)) for p in group] for group in what.effects]
        row += [what.ms, groups]
    return json.dumps(row, separators=(",", ":"))


def _decoded(row: list[Any], paths: list[str]) -> Lesson | Doubt:
    mark, count, what = row
    if isinstance(what, str):
        return Doubt(what, mark, count)
    effects = Effects(*(tuple(paths[number] for number in group) for group in what))
    return Lesson(effects, count, mark)
