"""What a recipe's line does, as guards have seen it: learnt in one build, checked in the next.

Pure.  What guards note in order (native/guard/guard.h has the letters) becomes the effects of a
whole line; what cannot be told beforehand, or could not be taken back, is not learnt.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from smpmake.commands.model import Analysis, Kind, Write

Event = tuple[str, str]
"""A letter and an absolute path."""

MOST: Final = 1000  # paths of a line
WORTH_MS: Final = 8  # what takes less time than a job costs runs where it stands
TRIES: Final = 3  # builds until a line is given up
_AFFAIRS: Final = {
    "u": "starts a program without a guard",
    "m": "runs a make",
    "s": "talks to other programs",
}
#: What differs from login to login, from run to run of a service, and what we add, does not make
#: another line: a line runs with its own environment in any case.
_PASSING: Final = re.compile(
    rb"""(?:(?:SMPMAKE|SSH|XDG|DBUS|GPG|WAYLAND|CI|GITHUB|RUNNER|BUILDKITE)_[^=]*
    |_|OLDPWD|PWD|SHLVL|COLUMNS|LINES|TERM|COLORTERM|LS_COLORS|WINDOWID|TMUX|TMUX_PANE|STY|DISPLAY
    |BUILD_ID|BUILD_NUMBER|BUILD_TAG|BUILD_URL|INVOCATION_ID|JOURNAL_STREAM
    |MAKE_TERMOUT|MAKE_TERMERR|LD_PRELOAD)=""",
    re.VERBOSE,
)
#: Goals of a make that runs tests: check, check-am, test_parser, test-suite.log, installcheck ...
_TESTS: Final = re.compile(
    rb"(?:.*[-_./])?(?:(?:dist|install)?check|(?:run|self)?tests?|testsuite)(?:[-_.].*)?",
    re.DOTALL,
)


class NotLearntError(Exception):
    """Why a line's effects are not to be counted on.  final: it will be no better next time."""

    def __init__(self, why: str, *, final: bool = False) -> None:
        super().__init__(why)
        self.final = final


class Effects(NamedTuple):
    """What a line has done.

    reads      paths that were opened or run, and that it had not made itself.  (Of a lesson those
               that its build had made: of others the guards hear in time.)
    writes     files that it made or wrote to.
    changes    those whose time is not the line's: modes, times that it gave.
    removes    what is not there afterwards, whether it was before or not.
    passing    what it made and removed again.
    searched   the folders of all that it read.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()

    @property
    def remain(self) -> bool:
        """Whether there is more to it afterwards than a status."""
        return bool(self.writes or self.changes or self.removes)


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
            raise NotLearntError(_AFFAIRS[letter], final=True)
        if letter == "r":
            if path not in self.made and path not in self.own and not self._is_within(path):
                self.reads[path] = None
        elif letter == "w":
            self._write(path)
        elif letter in "ct":
            if letter == "t" or path not in self.made:
                self.changed[path] = None
        elif letter in "xX":
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
        if path in self.folders or path in self.links:
            self.folders.discard(path)
            self.links.discard(path)
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
        searched = dict.fromkeys(map(posixpath.dirname, self.reads))
        return Effects(*map(tuple, (self.reads, writes, self.changed, gone, passing, searched)))


class Lesson(NamedTuple):
    """What is known of a line.

    effects  what it does.
    ms       how long it took.
    mark     by which makes know it (guard.scoreboard.line_hash).
    """

    effects: Effects
    ms: int
    mark: int

    @property
    def is_plain(self) -> bool:
        """Whether it never is worth a job: it is short, and has nothing to wait for."""
        return self.ms < WORTH_MS and not self.effects.reads


class Doubt(NamedTuple):
    """What is known of a line on which nobody is to count.

    why    in words.
    tries  how many builds have not learnt it.
    """

    why: str
    mark: int
    tries: int

    @property
    def is_plain(self) -> bool:
        """Whether it is not watched any more."""
        return self.tries >= TRIES


def lesson_of(
    events: Iterable[Event],
    ms: int,
    mark: int,
    tries: int,
    *,
    is_old: Callable[[str], bool],
    is_link: Callable[[str], bool],
) -> Lesson | Doubt:
    """What a line that has done this teaches.

    tries    how many builds have not learnt it.
    is_old   whether a file was there before the build.
    is_link  whether a symbolic link is there now: what was written is another file.
    """
    try:
        effects = effects_of(events)
        for path in filter(is_link, (*effects.writes, *effects.changes)):
            raise NotLearntError(f"writes through {path}, a link")
        reads = tuple(path for path in effects.reads if not is_old(path))
        effects = effects._replace(reads=reads)
        if sum(map(len, effects)) > MOST:
            raise NotLearntError(f"has to do with more than {MOST} files", final=True)
    except NotLearntError as error:
        return Doubt(str(error), mark, TRIES if error.final else tries + 1)
    return Lesson(effects, ms, mark)


def effects_of(events: Iterable[Event]) -> Effects:
    """Raises NotLearntError."""
    seen = _Seen()
    for letter, path in events:
        seen.add(letter, path)
    return seen.effects()


def difference(known: Effects, events: Iterable[Event]) -> str:
    """What a line did this time that was not foreseen, in words; "" where all is well.

    What it reads is no matter, and need not be among the events: guards have it wait for that, or
    find what it should.  Nor is what it was to remove and did not find.
    """
    try:
        now = effects_of(event for event in events if event[0] != "X")
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
    """A line that does again what it did.  `name` is by which people know it.

    What it has done by half is the journal's affair: an output may be an earlier line's, to which
    this one adds, and then must not go.
    """
    gone = (*known.removes, *known.passing)
    writes = [Write(path, replaces=True) for path in known.writes]
    writes += [Write(path, timed=False, in_place=True, replaces=True) for path in known.changes]
    writes += [Write(path, removed=True, target=False) for path in gone]
    return Analysis(
        Kind.RECIPE,
        known.reads,
        tuple(writes),
        undeclared=True,
        search=known.searched or (".",),
        speaks=True,
        tool=name,
    )


def digest_of_line(cwd: bytes, argv: bytes, env: bytes) -> str:
    """By what a line is known: its words, its folder, its environment but for what passes."""
    whole = b"\0".join([_digest_of_environment(env), cwd, argv])
    return hashlib.sha256(whole).hexdigest()[:32]


@functools.lru_cache(256)  # most lines have one of a few
def _digest_of_environment(env: bytes) -> bytes:
    variables = sorted(each for each in env.split(b"\0") if not _PASSING.match(each))
    return hashlib.sha256(b"\0".join(variables)).digest()


def runs_tests(make: Iterable[bytes]) -> bool:
    """Whether a make's command line asks for tests: they count on what no file tells, as ports."""
    words = itertools.islice(make, 1, None)
    goals = (word for word in words if not word.startswith(b"-") and b"=" not in word)
    return any(_TESTS.fullmatch(goal) for goal in goals)


def is_to_be_learnt(argv: bytes) -> bool:
    """Whether all that a line starts has ended when its shell has: nothing runs beside it."""
    return re.search(rb"(?<![&<>])&(?![&>])", argv.replace(b"&&", b"")) is None
