"""What tools complain of: warnings and errors, as compilers and linkers word them.

a.c:3:5: warning: ...          gcc, clang, as (Warning:), ld, gfortran on a line of its own
a.c(3): Warning! W201: ...     Open Watcom
"""

from __future__ import annotations

import re
from typing import Final

_MOST: Final = 4 << 20  # bytes that are looked through; nobody reads that many
_COLOUR: Final = re.compile(rb"\x1b\[[0-9;]*[mK]")
#: At a line's beginning or behind the place that it is about, and not in a line of the source that
#: compilers quote ("   12 | puts(...)").
SAID: Final = (
    r"^(?![ \t]*\d*[ \t]*\|)"
    r"(?:(?P<place>[^\n]*?[:)])[ \t]+)?"
    r"(?:fatal[ \t]+)?(?:(?P<warning>[Ww]arning)|[Ee]rror)(?:!(?=[ \t])|[ \t]+(?P<number>\d+):|:)"
)
_SAID: Final = re.compile(SAID.encode(), re.MULTILINE)


def count(output: bytes) -> tuple[int, int]:
    """How many warnings and how many errors a tool's output tells of."""
    if not output:
        return 0, 0
    text = output[:_MOST]
    if b"\x1b[" in text:
        text = _COLOUR.sub(b"", text)
    warnings = errors = 0
    for found in _SAID.finditer(text):
        if found["warning"]:
            warnings += 1
        else:
            errors += 1
    return warnings, errors
