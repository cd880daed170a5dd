"""What a recipe's line does, as guards have seen it: learnt in one build, checked in the next.

Pure.  What guards note in order (native/guard/guard.h has the letters) becomes the effects of a
whole line; what cannot be told beforehand, or could not be taken back, is not learnt.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable
from typing import Final, NamedTuple

from smpmake.commands.model import Analysis, Kind, Write

Event = tuple[str, str]
"""A letter and an absolute path."""

MOST: Final = 1000  # paths of a line
_AFFAIRS: Final = {
    "u": "starts a program without a guard",
    "m": "runs a make",
    "s": "talks to other programs",
}
#: What differs from login to login, and what we add, does not make another line.
_PASSING: Final = (
    *(b"SMPMAKE_", b"_", b"OLDPWD", b"PWD", b"SHLVL", b"COLUMNS", b"LINES", b"TERM", b"WINDOWID"),
    *(b"SSH_", b"XDG_", b"DBUS_", b"GPG_", b"TMUX", b"STY", b"DISPLAY", b"WAYLAND_", b"LS_COLORS"),
    *(b"MAKE_TERMOUT", b"MAKE_TERMERR", b"COLORTERM", b"LD_PRELOAD"),
)
_WHOLE: Final = frozenset({b"_"})  # of these the name has to be equal


class NotLearntError(Exception):
    """Why a line's effects are not to be counted on."""


class Effects(NamedTuple):
    """What a line has done.

    reads      paths that were opened or run, and that it had not made itself.
    writes     files that it made or wrote to.
    changes    those whose time is not the line's: modes, times that it gave.
    removes    what is not there afterwards, whether it was before or not.
    passing    what it made and removed again.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()


class _Seen:
    """The effects of the events so far."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.made: dict[str, None] = {}  # and there
        self.changed: dict[str, None] = {}
        self.removed: dict[str, None] = {}
        self.passing: dict[str, None] = {}
        self.folders: set[str] = set()  # made, and there
        self.own: set[str] = set()  # made, whatever became of them
        self.links: set[str] = set()
        self._old: bool = False  # what was moved last has a time of its own

    def add(self, letter: str, path: str) -> None:
        if letter in _AFFAIRS:
            raise NotLearntError(_AFFAIRS[letter])
        if letter == "r":
            if path not in self.made and path not in self.own and not self._is_within(path):
                self.reads[path] = None
        elif letter == "w":
            self._write(path)
        elif letter in "ct":
            if letter == "t" or path not in self.made:
                self.changed[path] = None
        elif letter == "x":
            self._remove(path)
        elif letter == "n":
            if path not in self.made:
                raise NotLearntError(f"moves {path}, which it did not make")
            self._old = path in self.changed
            self._remove(path)
        elif letter == "d":
            self.folders.add(path)
            self.own.add(path)
        elif letter == "l":
            self.links.add(path)
        elif letter == "L" and not self._is_within(f"{path}/"):
            raise NotLearntError(f"lists {path}")

    def _is_within(self, path: str) -> bool:
        """Whether it lies in a folder of the line's own."""
        return any(path.startswith(f"{folder}/") for folder in self.own)

    def _write(self, path: str) -> None:
        self.made[path] = None
        self.changed.pop(path, None)
        self.removed.pop(path, None)
        self.passing.pop(path, None)
        if self._old:
            self.changed[path] = None
            self._old = False

    def _remove(self, path: str) -> None:
        self.links.discard(path)
        if path in self.folders:
            self.folders.discard(path)
            self.passing[path] = None
        elif path in self.made:
            del self.made[path]
            self.passing[path] = None
        else:
            self.removed[path] = None
        self.changed.pop(path, None)

    def effects(self) -> Effects:
        for what in (*self.folders, *self.links):
            raise NotLearntError(f"makes {what}, which is no file")
        writes = tuple(path for path in self.made if path not in self.changed)
        gone = [p for p in self.removed if p not in self.passing and not self._is_within(p)]
        passing = [path for path in self.passing if not self._is_within(path)]
        groups = (self.reads, writes, self.changed, gone, passing)
        if sum(map(len, groups)) > MOST:
            raise NotLearntError(f"has to do with more than {MOST} files")
        return Effects(*map(tuple, groups))


class Lesson(NamedTuple):
    """What is known of a line: what it does, and how long it took (ms)."""

    effects: Effects
    ms: int


def effects_of(events: Iterable[Event]) -> Effects:
    """Raises NotLearntError."""
    seen = _Seen()
    for letter, path in events:
        seen.add(letter, path)
    return seen.effects()


def difference(known: Effects, events: Iterable[Event]) -> str:
    """What a line did this time that was not foreseen, in words; "" where all is well.

    What it reads besides is no matter: guards have it wait for that, or find what it should.
    """
    try:
        now = effects_of(events)
    except NotLearntError as error:
        return str(error)
    for what, before, after in (
        ("wrote", known.writes, now.writes),
        ("changed", known.changes, now.changes),
    ):
        for path in after:
            if path not in before:
                return f"{what} {path}"
        for path in before:
            if path not in after:
                return f"{'did not write' if what == 'wrote' else 'did not change'} {path}"
    for path in now.removes:
        if path not in known.removes and path not in known.passing:
            return f"removed {path}"
    return ""


def analysis_of(known: Effects, name: str) -> Analysis:
    """A line that does again what it did.  `name` is by which people know it."""
    gone = (*known.removes, *known.passing)
    writes = [Write(path) for path in known.writes]
    writes += [Write(path, timed=False, in_place=True) for path in known.changes]
    writes += [Write(path, removed=True, target=False) for path in gone]
    return Analysis(
        Kind.RECIPE,
        known.reads,
        tuple(writes),
        undeclared=True,
        search=tuple(dict.fromkeys(map(posixpath.dirname, known.reads))) or (".",),
        speaks=True,
        tool=name,
    )


def digest_of_line(cwd: bytes, argv: bytes, env: bytes) -> str:
    """By what a line is known: its words, its folder, its environment but for what passes."""
    variables = sorted(each for each in env.split(b"\0") if each and not _passes(each))
    whole = b"\0".join([cwd, argv, *variables])
    return hashlib.sha256(whole).hexdigest()[:32]


def _passes(variable: bytes) -> bool:
    name = variable.partition(b"=")[0]
    return any(
        name == each if each in _WHOLE or not each.endswith(b"_") else name.startswith(each)
        for each in _PASSING
    )


def is_to_be_learnt(text: str) -> bool:
    """Whether all that a line starts has ended when its shell has: nothing runs beside it."""
    at = text.find("&")
    while at >= 0:
        if text[at + 1 : at + 2] == "&":
            at += 1
        elif text[at - 1 : at] not in ("<", ">") and text[at + 1 : at + 2] != ">":
            return False
        at = text.find("&", at + 1)
    return True
