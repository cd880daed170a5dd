"""A recipe's line as one command: what a make gives to its shell, if all of it is understood.

The line is run as it is, in its own shell.  What it reads and writes is what its commands do;
what one of them makes for the next (a dependency file that is moved into place) is its own.
"""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable
from typing import Final

from smpmake.commands.families import SHELLS, find
from smpmake.commands.families import analyse as analyse_tool
from smpmake.commands.files.printers import ANSWERS, FILTERS
from smpmake.commands.generators import libtool, libtool_link
from smpmake.commands.model import (
    Analysis,
    Invocation,
    Kind,
    Program,
    Reason,
    Write,
    named,
)
from smpmake.commands.paths import basename, join
from smpmake.commands.pending_files import Foretold, ForetoldFiles
from smpmake.commands.reading.line_words import NotUnderstoodError
from smpmake.commands.reading.lines import PIPE, PRINT, Line, Simple, read

#: With these a shell does more than its line says, or reads it otherwise.
_CHANGES: Final = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_COMPAT", "POSIXLY_CORRECT")
_COMPILES: Final = (Kind.COMPILE, Kind.ASSEMBLE)
_MAIN: Final = (*_COMPILES, Kind.LINK)  # a link by libtool
_MOVES: Final = frozenset({"mv", "gmv", "rm", "grm"})
_NOT: Final = Analysis(Kind.UNKNOWN, refusal=Reason.RECIPE)


def placed(folder: str, path: str) -> str:
    """The path as seen from where the line begins."""
    return path if not folder or path.startswith("/") else join(folder, path)


def line_of(inv: Invocation) -> Line:
    """What is run; nothing where that cannot be told."""
    nothing = Line((), prints=False, text="")
    if any(map(inv.getenv, _CHANGES)):
        return nothing
    if libtool.call_of(inv.argv) is not None:
        return nothing._replace(commands=(Simple(inv.argv),))
    if len(inv.argv) != 3 or inv.argv[1] != "-c":
        return nothing
    try:
        return read(inv.argv[2], inv.files, inv.getenv)
    except NotUnderstoodError:
        return nothing


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a shell's command line; refused with Reason.RECIPE if not all is known."""
    line, together = line_of(inv), _Together()
    for command in line.commands:
        meaning = _meaning(inv, command, together.look)
        if meaning is None or not together.add(meaning, command):
            return _NOT
    # What was substituted was read before any of it ran.
    if any(isinstance(together.look("", path), Foretold) for path in line.asked):
        return _NOT
    found = together.meaning()
    if line.prints:
        found = found._replace(speaks=True)
    if line.is_bare:
        found = found._replace(only=line.commands[0].argv)
    if line.text and line.text != inv.argv[2]:
        found = found._replace(argv=lambda _: (*inv.argv[:2], line.text))
    if line.behind:
        found = found._replace(behind=line.behind)
    if line.said:
        found = found._replace(said=line.said, unsaid=(*inv.argv[:2], line.unsaid))
    return found


#: What the commands before have made of a name, seen from a folder (see foretold.Look).
_LookFrom = Callable[[str, str], Foretold | str]


def placed_at(inv: Invocation, command: Simple, look: _LookFrom = placed) -> Invocation:
    """One of a line's commands, as if it were met alone, behind the others."""
    called = inv._replace(argv=command.argv, fed=bool(command.stdin))
    if command.folder:
        called = called._replace(cwd=placed(inv.cwd, command.folder))
    files = ForetoldFiles(inv.files, functools.partial(look, command.folder))
    return called._replace(files=files)


def _meaning(inv: Invocation, command: Simple, look: _LookFrom) -> Analysis | None:
    """What one of the commands means, None if it may be no part of a line."""
    called = placed_at(inv, command, look)
    name = basename(command.argv[0])
    if not (command.stdin or command.stdout) and (name in SHELLS or name == "libtool"):
        return _by_libtool(called)
    if "/" in command.argv[0] and not command.argv[0].startswith("/"):
        return None  # a program of the project's own may be called so
    if command.stdin or command.stdout:
        return _printing(called, command)
    family = find(name)
    if family is None or family.built or family.prints:
        return None
    meaning = analyse_tool(called)
    refused = meaning.refusal not in (None, Reason.NOT_PENDING)
    if refused or meaning.split is not None or meaning.argv is not None:
        return None
    return meaning if meaning.kind in _COMPILES or name in _MOVES else None


def _printing(called: Invocation, command: Simple) -> Analysis | None:
    """What a command of a pipe means, or one with files of its own: it only reads and prints."""
    name, is_last = basename(command.argv[0]), command.stdout != PIPE
    reads = () if command.stdin in ("", PIPE) else (command.stdin,)
    writes = (Write(command.stdout),) if is_last else ()
    if not command.stdout:
        return None  # it prints where the line does
    if command.argv[0] in PRINT:
        return Analysis(Kind.INSPECT, reads, writes)
    family, filters = find(name), FILTERS.get(name)
    if (filters is None and (family is None or family.built)) or (is_last and name in ANSWERS):
        return None
    meaning = filters(called) if filters is not None else analyse_tool(called)
    if meaning.kind is not Kind.INSPECT or not meaning.prints:
        return None
    return Analysis(Kind.INSPECT, (*reads, *meaning.reads), writes)


def _by_libtool(called: Invocation) -> Analysis | None:
    """What a call of libtool means, None if it is not plain."""
    call = libtool.call_of(called.argv)
    text = called.files.read_text(call.script) if call is not None else None
    settings = libtool.settings_of(text) if text is not None else None
    if call is None or settings is None:
        return None
    if call.mode == "link":
        return libtool_link.analyse(called, call, settings)
    return libtool.analyse(called, call, settings)


class _Together:
    """What the commands so far have done, taken together."""

    def __init__(self) -> None:
        self._main: Analysis | None = None
        self._tool = ""
        self._words: tuple[str, ...] = ()
        self._reads: dict[str, None] = {}
        self._writes: dict[str, Write] = {}
        self._search: list[str] = []
        self._alone: list[str] = []
        self._folders: list[str] = []
        self._programs: tuple[Program, ...] | None = ()
        self._foretold: dict[str, Foretold] = {}

    def look(self, folder: str, path: str) -> Foretold | str:
        """See foretold.Look: what a name is behind the commands so far."""
        path = placed(folder, path)
        return self._foretold.get(posixpath.normpath(path), path)

    def add(self, meaning: Analysis, command: Simple) -> bool:
        """One more command; False if that cannot be said of both together."""
        folder = command.folder
        place = functools.partial(placed, folder)
        if meaning.kind in (*_MAIN, Kind.INSPECT):
            several = meaning.kind is Kind.INSPECT
            if self._main is not None and not (several and self._main.kind is meaning.kind):
                return False
            self._main = meaning
            self._tool = meaning.tool or basename(command.argv[0])
            self._words = meaning.main or command.argv
            self._search = [place(path) for path in meaning.search]
        if meaning.undeclared and self._programs is not None:
            runs = named(meaning.programs, command.argv[0])
            self._programs = None if runs is None else (*self._programs, *runs)
        self._alone += map(place, meaning.alone)
        self._folders += map(place, meaning.folders)
        made = {path for path, write in self._writes.items() if not write.removed}
        reads = [place(path) for path in meaning.reads]
        if any(self._writes[path].removed for path in reads if path in self._writes):
            return False
        moves = meaning.kind is Kind.FILE and bool(reads)
        if moves and (meaning.rename is None or reads[0] not in made):
            return False  # another's, which keeps its time, or one that mv may leave where it is
        self._reads |= dict.fromkeys(path for path in reads if path not in made)
        # What is put into its place is still what it was.
        header = not moves or self._writes[reads[0]].header
        for write in meaning.writes:
            self._write(write._replace(header=write.header and header), place, made)
        return True

    def _write(self, write: Write, place: Callable[[str], str], made: set[str]) -> None:
        path = place(write.path)
        told = Foretold.GONE if write.removed else Foretold.THERE
        self._foretold[posixpath.normpath(path)] = told if write.is_sure else Foretold.UNSURE
        if write.removed:
            write = write._replace(target=False)
        elif made and not write.timed and not write.in_place:
            # What was made here is put in its place: its time is the line's.
            write = Write(path, target=False, header=write.header, replaces=write.replaces)
        self._writes[path] = write._replace(
            path=path, same_as=place(write.same_as) if write.same_as else ""
        )

    def meaning(self) -> Analysis:
        """Of the whole line."""
        if self._main is None:
            return _NOT
        return self._main._replace(
            reads=tuple(self._reads),
            writes=tuple(self._writes.values()),
            search=tuple(self._search),
            alone=tuple(self._alone),
            folders=tuple(self._folders),
            argv=None,
            rename=None,
            tool=self._tool,
            main=self._words,
            programs=self._programs,
        )
