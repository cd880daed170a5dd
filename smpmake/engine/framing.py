"""What is printed of a job: what stands around its message, and whether it was printed before.

A job's message is printed when make is elsewhere by then; and once more when the driver is run
again, unless the user has seen it.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections import Counter
from collections.abc import Sequence
from typing import Final

from smpmake.protocol.wire import Invoke
from smpmake.records import CommandRecord
from smpmake.units import cut, one_line

_COLUMNS: Final = 80  # where nobody says how many there are
#: What libtool tells of itself, as make does of the commands that it runs: no message.
_TOLD: Final = re.compile(rb"(?:libtool: (?:compile|link):(?! *(?:warning|error):)[^\n]*\n)*")


def terminal_size(fd: int) -> os.terminal_size | None:
    """The size of the terminal that a descriptor leads to; None where it is no terminal."""
    try:
        return os.get_terminal_size(fd)
    except OSError:
        return None


def width_of(fd: int) -> int:
    """The columns of a terminal; of anything else those that most have."""
    size = terminal_size(fd)
    return (size.columns if size is not None else 0) or _COLUMNS


def has_open_line(fd: int) -> bool:
    """Whether a plain file's last line has no end."""
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or not info.st_size:
        return False
    try:
        file = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it may be written only
        return False
    try:
        return os.pread(file, 1, info.st_size - 1) != b"\n"
    finally:
        os.close(file)


def fresh_line(fd: int, term: str) -> bytes:
    """What brings a terminal's cursor to the beginning of a line, and is not seen if it is there.

    Blanks for a whole row: from its beginning they fill it, and the carriage returns to it; from
    anywhere else they end in the next one.  zsh's prompt begins so.
    """
    size = terminal_size(fd) if term != "dumb" else None
    return b" " * size.columns + b"\r" if size is not None else b""


def told(text: bytes, behind: bytes) -> tuple[bytes, bytes, bytes]:
    """What a command printed, with the message in it between what is none.

    behind  what it prints last, if it is a recipe's line that says when it has come so far.
    """
    found = _TOLD.match(text)
    start = found.end() if found else 0
    end = len(text) - (len(behind) if text.endswith(behind) else 0)
    return text[:start], text[start : max(start, end)], text[max(start, end) :]


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


class Shown:
    """Of one build: what its commands have printed live, where the user has seen it."""

    def __init__(self) -> None:
        self._before: Counter[int] = Counter()
        self._now: Counter[int] = Counter()
        self._last = 0  # what a shim has been told to print, and has perhaps not printed yet

    def start_over(self, *, killed: bool) -> None:
        """The driver is run again, and comes to the same commands.

        killed  so that the last of its shims may not have come to print.
        """
        if killed and self._last:
            self._now[self._last] -= 1
        self._before |= self._now
        self._now = Counter()

    def note_driver_went_on(self) -> None:
        """The driver has gone on behind its last shim."""
        self._last = 0

    def is_new(self, invoke: Invoke, text: bytes, *, by_shim: bool = False) -> bool:
        """Whether a command's text is to be printed: as often as one run of the driver has it."""
        key = hash((invoke.cwd, invoke.argv, text))
        self._now[key] += 1
        if by_shim:
            self._last = key
        return self._now[key] > self._before[key]
