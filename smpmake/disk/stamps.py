"""Files by which a driver says that an earlier command of its own is done.

Serially nothing needs to be known of them: libtool writes `x.lo` after the compile that it stands
for, and `touch stamp` ends a recipe.  When the compile was only promised and then fails, or is
cancelled, such a file is a lie that the next make would believe.  Only what can be undone without
loss is undone: a .lo (make's next libtool writes it anew), a stamp that touch made (empty), the
older time of a stamp that was there.
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from smpmake.commands.model import Vouch, Write


class Stamp(NamedTuple):
    """A file that vouches for a command.

    before_ns  its mtime before it was touched, or None where it did not exist.
    generated  a tool wrote it and will write it again: it may go whatever it holds.
    """

    path: str
    before_ns: int | None
    generated: bool

    @property
    def journal_kind(self) -> str:
        """The letter of its entry in the journal."""
        if self.generated:
            return "V"
        return "E" if self.before_ns is None else "T"

    def journal_text(self, product: str) -> str:
        """The second text of its entry: what must exist for it to stand, and its older time."""
        if self.journal_kind != "T":
            return product
        return f"{(self.before_ns or 0) // 10**9} {(self.before_ns or 0) % 10**9} {product}"

    def take_back(self) -> None:
        """Undoes it."""
        with contextlib.suppress(OSError):
            if self.generated:
                os.unlink(self.path)
            elif self.before_ns is not None:
                os.utime(self.path, ns=(os.stat(self.path).st_atime_ns, self.before_ns))
            elif os.stat(self.path).st_size == 0:
                os.unlink(self.path)


def stamp_of(write: Write, path: str) -> Stamp | None:
    """What a command that is about to run would vouch with, if it is of a kind that can be undone.

    path is the write's canonical name.
    """
    if write.vouches is None:
        return None
    if write.vouches is Vouch.GENERATED:
        return Stamp(path, None, generated=True)
    try:
        before = os.stat(path).st_mtime_ns
    except OSError:
        return Stamp(path, None, generated=False)
    return Stamp(path, before, generated=False)
