"""Figures, texts and paths as a person reads them."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Final

#: Colours and the like, and links (which gcc puts behind the names of warnings).
_FOR_TERMINALS: Final = re.compile(r"\x1b(?:\[[0-9;:?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def seconds(value: float) -> str:
    """A duration."""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    hours, minutes = divmod(round(value / 60), 60)
    return f"{hours} h {minutes:02} min"


def size(value: float) -> str:
    """Bytes."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def seen_from(folder: str, path: str) -> str:
    """A path as one who stands in a folder would write it, if it lies there."""
    is_inside = path.startswith(f"{folder.rstrip('/')}/")
    return posixpath.relpath(path, folder) if is_inside else path


def cut(text: str, width: int) -> str:
    """A text of at most `width` characters."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def cut_left(text: str, width: int) -> str:
    """A text of at most `width` characters: its end, which is what tells paths apart."""
    return text if len(text) <= width else f"…{text[len(text) - max(0, width - 1) :]}"


def one_line(text: str) -> str:
    """Text for one line of ours: what `printable` does, and a name cannot begin another line."""
    return printable(text).replace("\n", "^J")


#: Where a line may end: between words, and not behind a number, whose unit follows.
_GAP: Final = re.compile(r"(?<![\d%])[ ]+")


def folded(line: str, columns: int, indent: int) -> list[str]:
    """A line as several of at most so many columns; those behind the first are indented.

    A word that is longer than that stays whole.
    """
    rows: list[str] = []
    rest, lead = line, ""
    while len(lead) + len(rest) > columns:
        start = len(rest) - len(rest.lstrip())
        gaps = [gap for gap in _GAP.finditer(rest) if gap.start() > start]
        if not rows:  # what stands before the text is its name
            gaps = [gap for gap in gaps if gap.start() > indent]
        fitting = [gap for gap in gaps if len(lead) + gap.start() <= columns]
        if not gaps:
            break
        gap = fitting[-1] if fitting else gaps[0]
        rows.append(lead + rest[: gap.start()])
        rest, lead = rest[gap.end() :], " " * indent
    return [*rows, lead + rest]


def plain(output: str) -> str:
    """A tool's output without what it meant for a terminal alone."""
    return _FOR_TERMINALS.sub("", output).replace("\r\n", "\n")


_LINES: Final = {ord("\n"): None, ord("\t"): None}


def printable(text: str) -> str:
    """Text that can do nothing to a terminal: control characters are shown as in `cat -v`."""
    if text.translate(_LINES).isprintable():  # nearly always
        return text
    return "".join(
        character
        if character in "\n\t" or character.isprintable() or unicodedata.category(character) == "Zs"
        else f"^{chr(ord(character) + 64)}"
        if ord(character) < 32
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
