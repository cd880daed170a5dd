"""Entries, questions and actions: what a recorder and a player have in common.

An *entry* is one call from outside into the engine: a frame, a result, a timer, a call of the
session's.  Its number is that of the engine's state.  Within an entry the engine asks the system
*questions*, and *acts*.  An answer is kept by its question, not by its place among the others: a
question is a word and a path, and how often the engine itself has changed that path in this entry.

From one *moment* to the next the system is taken not to change: who asks the same twice is given
the same.  A new moment begins when the engine changes the board, or answers: what it looks at
behind that it must really look at.
"""

from __future__ import annotations

import _thread
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: A question's answer that says which error came of it (an errno; -1: a name that can be none).
ERROR: Final = "error"
#: Answers of what is asked anew each time (the clock): pairs of how often, and what.
SERIES: Final = "series"
#: Answers that changed within an entry: pairs of since which moment, and what.
MOMENTS: Final = "moments"


class Entry:
    """One call into the engine.

    number   of the state; kind and data  what has come, as JSON has it.
    answers  by question; actions  what the engine did, in order.
    moment   how many have begun.
    """

    __slots__ = ("_changed", "_names", "actions", "answers", "data", "kind", "moment", "number")

    def __init__(self, number: int, kind: str, data: Any) -> None:
        self.number = number
        self.kind = kind
        self.data = data
        self.answers: dict[str, Any] = {}
        self.actions: list[Any] = []
        self.moment = 0
        self._changed: Counter[str] = Counter()
        self._names = 0

    def key(self, question: str, target: str, *, is_change: bool = False) -> str:
        """What an answer is kept by.  That of a change does not hang on the changes before it."""
        changed = self._changed[target] if target in self._changed and not is_change else 0
        return f"{question} {target} #{changed}" if changed else f"{question} {target}"

    def changes(self, paths: Iterable[str]) -> None:
        """The engine itself has changed these, and the folders that they are in."""
        for path in paths:
            self._changed[path] += 1
            folder = path.rpartition("/")[0]
            if folder:
                self._changed[folder] += 1

    def name(self) -> str:
        """A name for the next thing that this entry leaves behind: a timer, a pipe."""
        self._names += 1
        return f"{self.number}.{self._names}"


class World(ABC):
    """What stands between an engine and all else, while it is recorded or played.

    played  whether there is no system behind it.
    salt    of the hashes that stand for variables' values.
    """

    played: bool

    def __init__(self, salt: bytes) -> None:
        self.salt = salt
        self._here = _thread._local()
        self._me = _thread.get_ident()

    @property
    def current(self) -> Entry | None:
        """The entry that this thread is in."""
        return getattr(self._here, "entry", None)

    def within(self, entry: Entry | None, run: Callable[[], T]) -> T:
        """Runs something as part of an entry, or of none."""
        before = self.current
        self._here.entry = entry
        try:
            return run()
        finally:
            self._here.entry = before

    def mark(self) -> None:
        """A new moment begins."""
        entry = self.current
        if entry is not None:
            entry.moment += 1

    def act(self, *words: Any) -> None:
        """The engine does something."""
        entry = self.current
        if entry is not None:
            entry.actions.append([*words])

    @abstractmethod
    def enter(self, kind: str, data: Any, run: Callable[[Entry], T]) -> T:
        """Something comes from outside; within an entry it is part of that."""

    @abstractmethod
    def ask(
        self,
        question: str,
        target: str,
        real: Callable[[], T],
        pack: Callable[[T], Any],
        unpack: Callable[[Any], T],
        *,
        is_change: bool = False,
        anew: bool = False,
    ) -> T:
        """Asks the system.  Raises OSError or ValueError as that does.

        is_change  asking changes something; anew  or the answer is another one each time.
        """

    @abstractmethod
    def outside(self, run: Callable[[], T], instead: T) -> T:
        """What the engine need not know of; in a replay it is not done, and this is its result."""

    @abstractmethod
    def variable(self, name: str, value: str) -> None:
        """A variable of a command was asked for."""

    def do(
        self,
        what: str,
        target: str,
        real: Callable[[], T],
        pack: Callable[[T], Any],
        unpack: Callable[[Any], T],
        *more: Any,
        changes: Iterable[str] = (),
        is_told: bool = True,
    ) -> T:
        """Changes something; what comes of it is an answer, too.

        more, is_told  what else belongs to the action, and whether it is one to be compared.
        """
        entry = self.current
        if is_told:
            self.act("do", what, target, *more)
        try:
            return self.ask(what, target, real, pack, unpack, is_change=True)
        finally:
            if entry is not None:
                entry.changes(changes or (target,))


class UnansweredError(BaseException):
    """A question to which a recording has no answer.  No engine is to take it for a system's."""

    def __init__(self, entry: Entry, question: str) -> None:
        super().__init__(
            f"state {entry.number} ({entry.kind}): the recording has no answer to: {question}"
        )
        self.question = question


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        found: T = ended.value
        return found
    coroutine.close()
    raise RuntimeError("this was not to wait for anything")


def raised(number: int, target: str) -> Exception:
    """The error that an answer stands for."""
    if number < 0:
        return ValueError(f"a name that can be none: {target!r}")
    return OSError(number, os.strerror(number), target)
