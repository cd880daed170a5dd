"""What stands around the message of a job, which is printed when make is elsewhere by then."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import Final

from smpmake.records import CommandRecord
from smpmake.units import cut, one_line

_COLUMNS: Final = 80  # where nobody says how many there are
#: What libtool tells of itself, as make does of the commands that it runs: no message.
_TOLD: Final = re.compile(rb"(?:libtool: (?:compile|link):(?! *(?:warning|error):)[^\n]*\n)*")


def width_of(fd: int) -> int:
    """The columns of a terminal; of anything else those that most have."""
    try:
        return os.get_terminal_size(fd).columns or _COLUMNS
    except OSError:
        return _COLUMNS


def told(text: bytes) -> int:
    """How much of the beginning of what a recipe's line printed is no message."""
    found = _TOLD.match(text)
    return found.end() if found else 0


def head(words: Sequence[str], record: CommandRecord, columns: int) -> bytes:
    """A line that names a command: whole, or by what it compiles where that is too long."""
    room = columns - 1
    text = f"smpmake: {one_line(shlex.join(words))}"
    if len(text) > room:
        text = f"smpmake: {one_line(_shortened(words, record))}"
    return f"{cut(text, room)}\n".encode(errors="replace")


def _shortened(words: Sequence[str], record: CommandRecord) -> str:
    """The program's name and its operands."""
    operands = {os.path.basename(path) for path in (*record.inputs, *record.outputs)}
    kept, before = [os.path.basename(words[0])], ""
    for word in words[1:]:
        is_operand = not word.startswith("-") and os.path.basename(word) in operands
        if word in ("-c", "-S", "-o") or (is_operand and before not in _SIDE):
            kept.append(shlex.quote(word))
        elif kept[-1] != "...":
            kept.append("...")
        before = word
    return " ".join(kept)


#: Options whose operand is no result.
_SIDE: Final = ("-MT", "-MF", "-MQ", "-include")


def placed(text: bytes, folder: bytes, level: str | None) -> bytes:
    """A message in its folder, as the make would name that which issued its command.

    level  its MAKELEVEL: what that make gave to its commands is one more than its own.
    """
    depth = int(level) - 1 if level and level.isdecimal() else 0
    name = b"make[%d]" % depth if depth > 0 else b"make"
    end = b"" if text.endswith(b"\n") else b"\n"
    lines = (
        b"%b: %b directory '%b'\n" % (name, word, folder) for word in (b"Entering", b"Leaving")
    )
    return next(lines) + text + end + next(lines)
