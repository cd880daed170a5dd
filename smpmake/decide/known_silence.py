"""Commands whose output somebody captures: which of them said nothing in a project's last builds.

One file a project (a folder in which smpmake was started), in the user's state folder: a line for
each command, its digest and whether it was silent (1) or not (0).
"""

from __future__ import annotations

import contextlib
import functools
import re
from pathlib import Path
from typing import Final

from smpmake import folders, private
from smpmake.digests import sha256

_MOST: Final = 20_000  # commands; those that were not met for longest go
#: What differs from login to login, from run to run of a service, and what we add, does not make
#: another command: it runs with its own environment in any case.
_PASSING: Final = re.compile(
    rb"""(?:(?:_?SMPMAKE|SSH|XDG|DBUS|GPG|WAYLAND|CI|GITHUB|RUNNER|BUILDKITE)_[^=]*
    |_|OLDPWD|PWD|SHLVL|COLUMNS|LINES|TERM|COLORTERM|LS_COLORS|WINDOWID|TMUX|TMUX_PANE|STY|DISPLAY
    |BUILD_ID|BUILD_NUMBER|BUILD_TAG|BUILD_URL|INVOCATION_ID|JOURNAL_STREAM
    |MAKE_TERMOUT|MAKE_TERMERR|LD_PRELOAD)=""",
    re.VERBOSE,
)


class KnownSilence:
    """The commands of one project.  A file that cannot be read or written counts as empty.

    base  the folder of such files; the user's, if none is given.
    """

    def __init__(self, project: str, base: Path | None = None) -> None:
        self._silent: dict[str, bool] = {}
        self._heard: dict[str, bool] = {}
        self._changed = False
        self._path: Path | None = None
        try:
            self._path = folders.of_project(project, ".silence", base)
        except folders.NoHomeError:
            return
        for line in private.lines_of(self._path, private.LEARNS_NOTHING, private.ANOTHER_STATE):
            digest, _, silent = line.partition(" ")
            if len(digest) == 32 and silent in ("0", "1"):
                self._silent[digest] = silent == "1"

    def __len__(self) -> int:
        return len(self._silent)

    def was_silent(self, digest: str) -> bool | None:
        """Whether a command said nothing and succeeded; None: not known."""
        known = self._silent.pop(digest, None)
        if known is not None:
            self._silent[digest] = known  # the newest last
        return known

    def heard(self, digest: str, *, silent: bool) -> None:
        """A caller has got the output of its command, which counts if the build succeeds."""
        self._heard[digest] = silent and self._heard.get(digest, True)

    def distrust(self, digest: str) -> None:
        """The command printed something after its silence was predicted."""
        self._silent[digest] = False
        self._changed = True

    def forget_new(self) -> None:
        """What was heard since the build began belongs to a run that is undone."""
        self._heard.clear()

    def keep(self) -> None:
        """The build has succeeded."""
        self._changed |= bool(self._heard)
        self._silent |= self._heard
        self.forget_new()

    def save(self) -> None:
        """Writes the file, whole or not at all."""
        if not self._changed or self._path is None:
            return
        self._changed = False
        rows = list(self._silent.items())[-_MOST:]
        with contextlib.suppress(OSError):  # then the next build hears it again
            folders.replace_file(
                self._path, [f"{digest} {int(silent)}\n" for digest, silent in rows]
            )


def digest_in_environment(cwd: bytes, argv: bytes, env: bytes) -> str:
    """What a command is known by: its words, its folder, its environment but for what passes."""
    whole = b"\0".join([_digest_of_environment(env), cwd, argv])
    return sha256(whole).hexdigest()[:32]


@functools.lru_cache(256)  # most commands have one of a few
def _digest_of_environment(env: bytes) -> bytes:
    variables = sorted(each for each in env.split(b"\0") if not _PASSING.match(each))
    return sha256(b"\0".join(variables)).digest()
