"""What echo and printf print, where that is the same in every shell.

Shells do not agree on backslashes and options: a text with any of these is not told.
"""

from __future__ import annotations

import re
from typing import Final

#: What a printf's format may hold: text, some escapes, `%%`, and words, perhaps in a column.
_PIECE: Final = re.compile(r"[^%\\]+|\\[ntr\\]|\\[0-3][0-7]{2}|%%|%(-?)([1-9]\d{0,2})?s")
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\\\": "\\", "%%": "%"}


def spoken(words: tuple[str, ...]) -> str | None:
    """The text that a builtin of lines.PRINT prints; None where it cannot be told."""
    name, *rest = words
    if name == "echo":
        if (rest and rest[0].startswith("-")) or any("\\" in word for word in rest):
            return None
        return f"{' '.join(rest)}\n"
    if name == "printf" and rest and not rest[0].startswith("-"):
        return _formatted(*rest)
    return None


def _formatted(text: str, *words: str) -> str | None:
    parts, at, waiting = [], 0, list(words)
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            return None
        at, piece = found.end(), found[0]
        if piece.endswith("s") and piece.startswith("%"):
            if not waiting:
                return None
            word, width = waiting.pop(0), int(found[2] or 0)
            piece = word.ljust(width) if found[1] else word.rjust(width)
        elif piece.startswith("\\") and piece not in _ESCAPES:
            if (code := int(piece[1:], 8)) in (0, *range(128, 256)):
                return None
            piece = chr(code)
        parts.append(_ESCAPES.get(piece, piece))
    return None if waiting else "".join(parts)  # with more words the format is used again
