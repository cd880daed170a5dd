"""What a project's earlier builds have seen its recipes' lines do.

One file a project (a folder in which smpmake was started), in the user's state folder: a line of
JSON for each recipe's line: its digest, and its effects and milliseconds, or why it was wrong to
count on them.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from smpmake import folders
from smpmake.decide.learnt import Effects, Lesson

_VERSION: Final = 1


class Lessons:
    """Those of one project.  A file that cannot be read or written is as none."""

    def __init__(self, project: str, base: Path | None = None) -> None:
        self._known: dict[str, Lesson | str] = {}
        self._new: dict[str, Lesson] = {}
        self._changed = False
        self._path: Path | None = None
        try:
            base = base or folders.state() / "projects"
        except folders.NoHomeError:
            return
        name = hashlib.sha256(os.fsencode(project)).hexdigest()[:16]
        self._path = base / f"{name}.recipes"
        try:
            lines = self._path.read_text(errors="surrogateescape").splitlines()
            if lines and json.loads(lines[0]) == _VERSION:
                for line in lines[1:]:
                    digest, what = json.loads(line)
                    if not isinstance(what, str):
                        what = Lesson(Effects(*map(tuple, what[0])), int(what[1]))
                    self._known[digest] = what
        except (OSError, ValueError, TypeError):
            self._known.clear()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, digest: str) -> Lesson | None:
        """What a line will do, if that is known."""
        found = self._known.get(digest)
        return found if isinstance(found, Lesson) else None

    def is_to_be_learnt(self, digest: str) -> bool:
        """Whether nothing is known of a line, good or bad."""
        return digest not in self._known

    def learn(self, digest: str, lesson: Lesson) -> None:
        """A line has done that, which counts if the build succeeds."""
        self._new[digest] = lesson

    def keep(self) -> None:
        """The build has succeeded.  What was wrong once is not believed again."""
        new = {d: lesson for d, lesson in self._new.items() if self.is_to_be_learnt(d)}
        self._known |= new
        self._changed |= bool(new)
        self._new.clear()

    def distrust(self, digest: str, why: str) -> None:
        """A line did something else than before."""
        self._known[digest] = why
        self._changed = True

    def save(self) -> None:
        """Writes the file, whole or not at all."""
        if not self._changed or self._path is None:
            return
        import tempfile  # few builds learn anything

        self._changed = False
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(
                "w", dir=self._path.parent, delete=False, errors="surrogateescape"
            ) as file:
                file.write(f"{_VERSION}\n")
                for digest, what in self._known.items():
                    file.write(f"{json.dumps([digest, what])}\n")
            os.replace(file.name, self._path)
        except OSError:
            return  # then the next build learns it again
