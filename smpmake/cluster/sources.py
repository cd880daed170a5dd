"""What a source says that is lost when it is preprocessed here and compiled there.

A host gets the text of a source and of all that it includes, with its macros where the compiler
can do that (gcc's -fdirectives-only), but neither files nor their times.  Pragmas are what
preprocessors treat most differently: some are obeyed here and not handed on, some are dropped
(gcc 12: redefine_extname), some define macros in a compile alone (target).  So only those are let
go that are known to arrive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

_ARRIVE: Final = (
    rb"(?:pack|weak|once|mark|region|endregion|omp|clang|STDC"
    rb"|GCC\s+(?:visibility|diagnostic|ivdep|unroll|system_header|warning|error))\b"
)
#: Pragmas, in whatever form, that change macros or what follows from them; what the assembler
#: reads; what is told by the machine's clock, by places in lines, or about the file itself.
_LOST: Final = re.compile(
    rb"(?:#|%:)\s*pragma\s+(?!" + _ARRIVE + rb")"
    rb"|\b_Pragma\s*\(\s*\"(?!\s*" + _ARRIVE + rb")"
    rb"|\bGCC\s+(?:target|optimize|poison)\b|\b(?:push|pop)_macro\b"
    rb"|\.inc(?:bin|lude)\b"
    rb"|\b__(?:DATE|TIME|TIMESTAMP|BASE_FILE)__\b|\b__builtin_COLUMN\b|\bsource_location\b"
)
_MOST: Final = 1 << 26  # bytes of a file that are looked at: who has more does what he will
_PRECOMPILED: Final = ".gch"  # gcc's: it is read instead of the header, whatever that says now


class Sources:
    """What was read, looked at once as long as it does not change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int, bool]] = {}

    def lose_by_it(self, paths: Iterable[str]) -> bool:
        """Whether a compile that reads these files is another one elsewhere."""
        return any(self._says_more(path) or os.path.lexists(path + _PRECOMPILED) for path in paths)

    def _says_more(self, path: str) -> bool:
        try:
            info = os.stat(path)
        except OSError:
            return False  # what was looked for, or is gone
        known = self._known.get(path)
        if known is not None and known[:2] == (info.st_mtime_ns, info.st_size):
            return known[2]
        try:
            with open(path, "rb") as file:
                found = _LOST.search(file.read(_MOST)) is not None
        except OSError:  # a folder
            found = False
        self._known[path] = (info.st_mtime_ns, info.st_size, found)
        return found
