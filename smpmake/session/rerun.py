"""After a promise of success was wrong: which drivers can simply be run again.  Pure.

make and its kin go on where they stopped; pip starts afresh.  A script might do something twice.
"""

from __future__ import annotations

import re
from typing import Final

#: How often a driver is run in one build: each time at least one more command has to be new.
MOST_RUNS: Final = 20

_RESTARTABLE: Final = re.compile(
    r"(?:make|gmake|bmake|pmake|fmake|b?wmake|remake|colormake|ninja|samu|scons|"
    r"pip(?:3(?:\.\d+)?)?|pyproject-build)\Z"
)
_PYTHON: Final = re.compile(r"python(?:3(?:\.\d+)?)?\Z")


def can_run_again(command: list[str]) -> bool:
    """Whether a driver does the same work, or what is left of it, when it is run once more."""
    name = _name(command[0])
    if _RESTARTABLE.match(name):
        return True
    if _PYTHON.match(name) and "-m" in command[1:-1]:
        return command[command.index("-m") + 1] in ("pip", "build")
    return name == "cmake" and "--build" in command


def _name(path: str) -> str:
    return path.rpartition("/")[2]
