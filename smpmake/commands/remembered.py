"""Tools whose results smpmake remembers, whatever machine and version they are of.

They look at nothing but files, variables and words; what they ask for besides is seen, and so is
what becomes of the random numbers by which clang names its temporary files.
"""

from __future__ import annotations

import re
from typing import Final

READERS: Final = (
    *("gcc", "g++", "cc", "c++", "cpp", "clang", "clang++", "clang-cpp"),
    *("as", "ld", "ld.bfd", "ld.gold", "ld.lld", "gold", "lld", "nm"),
)
#: Of these, some read standard input though no word says so (ar, where an M does).
READ_INPUT: Final = ("as", "cpp", "nm")
#: Of these, some look at their older output only to remove it: what they do where there is none is
#: the same.  A linker may look for a library where it finds none (native/guard/looks.c).
REPLACE: Final = ("as", "ld", "ld.bfd")
REPLACE_WHERE_FOUND: Final = ("ld", "ld.bfd")
#: Of these, files have times in them unless words say otherwise; `CHANGERS` may keep times.
ARCHIVERS: Final = ("ar",)
INDEXERS: Final = ("ranlib",)
CHANGERS: Final = ("strip", "objcopy")

_NAMES: Final = "|".join(map(re.escape, (*READERS, *ARCHIVERS, *INDEXERS, *CHANGERS)))
_ALL: Final = re.compile(f"(?:.*-)?(?:{_NAMES})(?:-[0-9.]+)?")


def is_remembered(name: str) -> bool:
    """Whether a program of that name may be one of these."""
    return _ALL.fullmatch(name) is not None
