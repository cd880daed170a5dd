"""The environment of a command, as it came."""

from __future__ import annotations

import os
from typing import Final

#: Where gcc keeps its temporary files: the first of these that leads to a folder.
_TEMPORARY: Final = ("TMPDIR", "TMP", "TEMP")
_EVERYBODYS: Final = "/tmp"


class Environment:
    """An environment as it came, of which few variables are ever asked."""

    def __init__(self, blob: bytes) -> None:
        self.blob = blob
        self._asked: dict[str, str | None] = {}

    def get(self, name: str) -> str | None:
        """A variable's value."""
        if name not in self._asked:
            self._asked[name] = self._find(os.fsencode(name) + b"=")
        return self._asked[name]

    def _find(self, wanted: bytes) -> str | None:
        start = 0 if self.blob.startswith(wanted) else self.blob.find(b"\0" + wanted) + 1
        if start == 0 and not self.blob.startswith(wanted):
            return None
        start += len(wanted)
        return os.fsdecode(self.blob[start : self.blob.index(b"\0", start)])


def temporary_folder(environment: Environment, cwd: str) -> str:
    """Where a command keeps its temporary files, "" if that is everybody's folder."""
    for value in filter(None, map(environment.get, _TEMPORARY)):
        folder = os.path.join(cwd, value)
        if os.path.isdir(folder):
            return "" if folder == _EVERYBODYS else os.path.realpath(folder)
    return ""
