"""cmake -E: the commands by which CMake's makefiles copy, link, touch and remove files.

Everything else that cmake does is the build itself, or its preparation: it has no shim's business
(`makes.FILE_COMMANDS` are compiled into the native programs).  https://cmake.org/cmake/help/latest/manual/cmake.1.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from smpmake.commands.files.coreutils import copies, links, removals, touches
from smpmake.commands.model import Analysis, Invocation, Kind, Reason
from smpmake.commands.paths import basename, join

#: A command's operands, and what it is called in.
_Of = Callable[[Invocation, Sequence[str]], Analysis]


def _refused(reason: Reason, detail: str = "") -> Analysis:
    return Analysis(Kind.FILE, refusal=reason, detail=detail)


def analyse(inv: Invocation) -> Analysis:
    """cmake"""
    if len(inv.argv) < 3 or inv.argv[1] != "-E" or inv.argv[2] not in COMMANDS:
        return _refused(Reason.NOT_PENDING)
    operands = inv.argv[3:]
    if not operands:
        return _refused(Reason.MALFORMED, "no operands")
    return COMMANDS[inv.argv[2]](inv, operands)


def _copy(inv: Invocation, operands: Sequence[str], *, kept: bool = False) -> Analysis:
    """Into a folder that is there, or from one file to another, which is removed first."""
    *sources, last = operands
    if last.startswith("-") or operands[0].startswith("-"):
        return _refused(Reason.UNKNOWN_OPTION, operands[0])
    into = inv.files.is_dir(last)
    if not sources or (len(sources) > 1 and not into):
        return _refused(Reason.MALFORMED, "operands")
    pairs = [(path, join(last, basename(path.rstrip("/"))) if into else last) for path in sources]
    return copies(inv.files, pairs, timed=True, first_remove=not kept, kept=kept)


def _copy_if_different(inv: Invocation, operands: Sequence[str]) -> Analysis:
    """A file that would be the same is left as it was."""
    return _copy(inv, operands, kept=True)


def _rm(inv: Invocation, operands: Sequence[str]) -> Analysis:
    options = [word for word in operands if word.startswith("-")]
    paths = operands[len(options) :]
    if any(set(word[1:]) - set("rRf") or len(word) == 1 for word in options) or (
        any(word.startswith("-") for word in paths)
    ):
        return _refused(Reason.UNKNOWN_OPTION, options[0] if options else "")
    return removals(inv.files, paths)


def _touch(inv: Invocation, operands: Sequence[str]) -> Analysis:
    return touches(inv.files, operands, create=True)


def _touch_nocreate(inv: Invocation, operands: Sequence[str]) -> Analysis:
    return touches(inv.files, operands, create=False)


def _make_directory(inv: Invocation, operands: Sequence[str]) -> Analysis:
    """It makes no file, and what it makes is wanted at once."""
    return _refused(Reason.NOT_PENDING)


def _create_symlink(inv: Invocation, operands: Sequence[str]) -> Analysis:
    if len(operands) != 2:
        return _refused(Reason.MALFORMED, "operands")
    return _symlinks(inv, [(operands[0], operands[1])])


def _symlink_library(inv: Invocation, operands: Sequence[str]) -> Analysis:
    """LIB SONAME NAME: the second leads to the first, and the third to the second."""
    if len(operands) != 3:
        return _refused(Reason.MALFORMED, "operands")
    pairs = [(operands[0], operands[1]), (operands[1], operands[2])]
    return _symlinks(inv, [(basename(to), name) for to, name in pairs if to != name])


def _symlink_executable(inv: Invocation, operands: Sequence[str]) -> Analysis:
    if len(operands) != 2:
        return _refused(Reason.MALFORMED, "operands")
    return _symlinks(inv, [(basename(operands[0]), operands[1])])


def _symlinks(inv: Invocation, pairs: list[tuple[str, str]]) -> Analysis:
    """What is there is replaced, a link of that name too."""
    meaning = links(inv.files, pairs, symbolic=True, force=True)
    made = {name for _, name in pairs}
    return meaning._replace(reads=tuple(path for path in meaning.reads if path not in made))


#: Known ones; each has a row in makes.FILE_COMMANDS, too.
COMMANDS: Final[dict[str, _Of]] = {
    "cmake_symlink_executable": _symlink_executable,
    "cmake_symlink_library": _symlink_library,
    "copy": _copy,
    "copy_if_different": _copy_if_different,
    "create_symlink": _create_symlink,
    "make_directory": _make_directory,
    "rm": _rm,
    "touch": _touch,
    "touch_nocreate": _touch_nocreate,
}
