"""Stand-in compilers that tell how many of them were at work at once."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.space import Space

#: Counts who is at work with it.  (A file that all write to would have them wait for each other.)
COUNTING = """#!/bin/sh
: > "$AT_WORK/$$"
ls "$AT_WORK" | wc -l > "$COUNTS/$$"
{gcc} "$@"; status=$?
rm "$AT_WORK/$$"
exit $status
"""
#: Goes on when two have been there at once, and the word is given.
MEETING = """#!/bin/sh
: > "$AT_WORK/$$"
until [ "$(ls "$AT_WORK" | wc -l)" -ge 2 ]; do :; done
read word < "$GO"
exec {gcc} "$@"
"""


def counted(space: Space, gcc: str) -> None:
    """Puts such a gcc, one of the above, before the real one on the builds' PATH."""
    _begin(space)
    space.fake("gcc", gcc.format(gcc=shutil.which("gcc")))


def counting_launcher(space: Space) -> Path:
    """A program that counts those whose command lines it is given."""
    _begin(space)
    launcher = space.root / "launcher"
    launcher.write_text(COUNTING.format(gcc=""))
    launcher.chmod(0o755)
    return launcher


def _begin(space: Space) -> None:
    for variable, name in (("AT_WORK", "at-work"), ("COUNTS", "counts")):
        (space.root / name).mkdir()
        space.environment[variable] = str(space.root / name)
    space.environment["GO"] = str(space.root / "go")


def most_at_once(space: Space) -> int:
    """How many of COUNTING were at work at once."""
    return max(int(path.read_text()) for path in (space.root / "counts").iterdir())
