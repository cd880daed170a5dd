"""A build's command line without a parser, which would take longer to load than many builds run.

It knows what is usual.  All else - a fault, a question for help, a command of ours - it leaves to
the parser (group, run), whose options come from the same table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from smpmake.cli.names import is_ours
from smpmake.options import Option, ValueUnusableError, of_builds

_COMPLETION: Final = "_SMPMAKE_COMPLETE"


class Asked(NamedTuple):
    """A build: what its options say, by the names of smpmake.options, and its command."""

    given: dict[str, Any]
    command: list[str]


class _UnsureError(Exception):
    """This is for the parser."""


def read(words: Sequence[str], environ: Mapping[str, str]) -> Asked | None:
    """The build that is asked for; None where the parser is to read the command line."""
    if _COMPLETION in environ:
        return None
    line = _Line(words)
    try:
        line.read_options()
        if line.is_at("run"):
            line.at += 1
            line.read_options()
        elif not line.is_ended and is_ours(line.rest):
            return None
        if not line.rest or line.rest[0] == "-":
            return None
        return Asked(_with_variables(line.given, environ), line.rest)
    except (_UnsureError, ValueUnusableError):
        return None


class _Line:
    """A command line that is read, and what its options have said."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._options = {w: o for o in of_builds() for w in (*o.words, *o.off)}
        self.given: dict[str, Any] = {}
        self.at = 0
        self.is_ended = False  # by `--`

    @property
    def rest(self) -> list[str]:
        """What has not been read."""
        return list(self._words[self.at :])

    def is_at(self, word: str) -> bool:
        """Whether that command of ours comes next."""
        return not self.is_ended and self._words[self.at : self.at + 1] == [word]

    def read_options(self) -> None:
        """Up to the first word that is none."""
        while self.at < len(self._words) and self._words[self.at].startswith("-"):
            word = self._words[self.at]
            self.at += 1
            if word == "--":
                self.is_ended = True
                return
            if word == "-":
                raise _UnsureError
            if word.startswith("--"):
                name, joined, value = word.partition("=")
                self._note(name, value if joined else None)
            else:
                self._read_letters(word[1:])

    def _read_letters(self, letters: str) -> None:
        """-k, -j4, -kj4; a value in the next word only where the letter is alone."""
        for place, letter in enumerate(letters):
            option = self._option(f"-{letter}")
            if option.kind != "flag":
                value = letters[place + 1 :]
                if not value and place:
                    raise _UnsureError
                self._note(f"-{letter}", value or None)
                return
            self._note(f"-{letter}", None)

    def _option(self, word: str) -> Option:
        try:
            return self._options[word]
        except KeyError:
            raise _UnsureError from None

    def _note(self, word: str, value: str | None) -> None:
        option = self._option(word)
        if option.kind == "flag":
            if value is not None:
                raise _UnsureError
            self.given[option.name] = word not in option.off
            return
        if value is None:
            if self.at == len(self._words):
                raise _UnsureError
            value = self._words[self.at]
            if value.startswith("-"):  # a missing value, more likely
                raise _UnsureError
            self.at += 1
        found = option.from_text(value)
        if option.kind == "list":
            found = (*self.given.get(option.name, ()), found)
        self.given[option.name] = found


def _with_variables(given: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """What the variables say, where the command line does not."""
    for option in of_builds():
        if option.name in given:
            continue
        text = environ.get(option.variable, "") if option.variable else ""
        if option.kind == "list" and text.split():
            given[option.name] = tuple(map(option.from_text, text.split()))
        elif option.kind != "list" and text:
            given[option.name] = option.from_text(text)
    return given
