"""What a project's earlier builds taught: commands whose status the driver really looks at.

One small text file a project (a folder in which smpmake was started), in the user's state folder:
a line for each command, its digest and the command itself, for people.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from smpmake import folders, private
from smpmake.digests import sha256
from smpmake.redact import SHOWN, Redactor


def digest_of(cwd: bytes, argv: bytes) -> str:
    """What a command is known by: its folder and its words."""
    return sha256(cwd + b"\0" + argv).hexdigest()[:32]


class KnownFailures:
    """The commands of one project.  A file that cannot be read or written is as none.

    secrets  more names of what is not to be stored (redact.DEFAULT_NAMES).
    """

    def __init__(
        self, project: str, base: Path | None = None, secrets: tuple[str, ...] = ()
    ) -> None:
        self._secrets = secrets
        self._commands: dict[str, str] = {}
        self._changed = False
        self._path: Path | None = None
        try:
            self._path = folders.of_project(project, base)
        except folders.NoHomeError:
            return
        for line in private.lines_of(self._path, private.LEARNS_NOTHING, private.ANOTHER_STATE):
            digest, _, command = line.partition("\t")
            if len(digest) == 32:
                self._commands[digest] = command
        self._forget_secrets()

    def __len__(self) -> int:
        return len(self._commands)

    def __contains__(self, digest: str) -> bool:
        return digest in self._commands

    def add(self, digest: str, argv: bytes) -> None:
        """From now on the driver is told the truth about this command."""
        words = self._redactor().argv(argv[:-1]).decode(errors="replace").split("\0")
        self._commands[digest] = shlex.join(words).replace("\n", " ")
        self._changed = True

    def learn(self, wrong: Mapping[str, bytes]) -> None:
        """Commands of which success had been promised: from now on the truth is told."""
        for digest, argv in wrong.items():
            if digest not in self:
                self.add(digest, argv)

    def _forget_secrets(self) -> None:
        """Older versions stored commands as they came."""
        redactor = self._redactor() if self._commands else None
        for digest, command in self._commands.items():
            if redactor is not None and SHOWN not in command:
                self._commands[digest] = redactor.text(command)
                self._changed |= self._commands[digest] != command

    def _redactor(self) -> Redactor:
        return Redactor(self._secrets, os.environ)

    def discard(self, digest: str) -> None:
        """It has succeeded: its failure was an error that was mended."""
        if self._commands.pop(digest, None) is not None:
            self._changed = True

    def save(self) -> None:
        """Writes the file, whole or not at all."""
        if not self._changed or self._path is None:
            return
        try:
            if not self._commands:
                self._path.unlink(missing_ok=True)
                return
            rows = self._commands.items()
            folders.replace_file(self._path, [f"{digest}\t{command}\n" for digest, command in rows])
        except OSError:
            return  # then the next build learns it again
