"""What a compiler's driver answers when it is asked which programs it would run (-###).

gcc and clang print a line for each, and gcc says in which folders it looks for them.  What these
run in their turn is known of two: gcc's collect2 looks for the linker, and link-time optimization
has a program that divides the work.
"""

from __future__ import annotations

import shlex
from typing import Final, NamedTuple

from smpmake.commands.paths import basename, dirname

_COLLECTS: Final = "collect2"
_LINKERS: Final = ("real-ld", "collect-ld")  # what it takes first, where that is there
_USE: Final = "-fuse-ld="
_LTO: Final = "-flto"
_FOLDERS: Final = "COMPILER_PATH="
_WRAPPER: Final = "COLLECT_LTO_WRAPPER="

#: A program: paths of which it is the first that is there, or a name for PATH as the last.
Choice = tuple[str, ...]


class Answer(NamedTuple):
    """What a driver has printed.

    programs  their paths, or names for PATH.
    folders   where it looks for programs.
    wrapper   what divides the work of link-time optimization, "" if nothing does.
    """

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    wrapper: str

    def choices(self, question: tuple[str, ...]) -> list[Choice]:
        """All that is run for a question, beside the driver."""
        found: list[Choice] = [(program,) for program in self.programs]
        if not any(basename(program) == _COLLECTS for program in self.programs):
            return found
        used = [word.removeprefix(_USE) for word in question if word.startswith(_USE)]
        linker = f"ld.{used[-1]}" if used else "ld"
        names = (*_LINKERS, linker)
        found.append((*(f"{folder}/{name}" for name in names for folder in self.folders), linker))
        if self.wrapper and any(word.startswith(_LTO) for word in question):
            own = f"{dirname(self.wrapper)}/lto1"
            found += [(self.wrapper,), (own,), ("as",), ("make",)]
        return found


def read(text: str) -> Answer | None:
    """What an answer says; None where it is none."""
    programs, folders, wrapper = [], "", ""
    for line in text.splitlines():
        if line.startswith(" ") and not line.startswith(" ("):
            program = _first_word(line)
            if not program:
                return None
            programs.append(program)
        elif line.startswith(_FOLDERS):
            folders = line.removeprefix(_FOLDERS)
        elif line.startswith(_WRAPPER):
            wrapper = line.removeprefix(_WRAPPER)
    if not programs:
        return None
    found = dict.fromkeys(folder.rstrip("/") for folder in folders.split(":") if folder)
    return Answer(tuple(dict.fromkeys(programs)), tuple(found), wrapper)


def _first_word(line: str) -> str:
    """The first word of a command as a driver prints it, "" if there is none.

    What follows is long, and shlex goes through it letter by letter.
    """
    words = shlex.shlex(line, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    try:
        return words.get_token() or ""
    except ValueError:
        return ""
