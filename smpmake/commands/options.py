"""The grammars in which tools take options, and response files: what families build tables on.

Two grammars exist.  `Table` is that of compilers and linkers: whole words, some with a value glued
on or in the next word, the longest known prefix wins.  `Getopt` is that of the GNU tools: bundled
letters, long names that may be abbreviated, options after operands.

This room knows no option and no tool.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from smpmake.commands.model import Files

D = TypeVar("D", bound=Hashable)


class Marker(enum.Enum):
    """Names that stand for nothing but themselves: what options do, what they take.

    Tables and sets of them are looked into for every word of every command: an Enum hashes its
    name, in Python, which takes three times as long as its place in memory does.
    """

    __hash__ = object.__hash__


class Take(Marker):
    """Where an option has its value."""

    FLAG = "flag"  # it has none
    NEXT = "next"  # the next word
    GLUED = "glued"  # the rest of its own word, perhaps empty
    EITHER = "either"  # the rest of its own word, or where that is empty the next one


class Row(NamedTuple, Generic[D]):
    """Options that mean the same: what they do, where the value is, their names."""

    do: D
    take: Take
    names: str

    def words(self) -> list[str]:
        """The names one by one."""
        return self.names.split()


class Hit(NamedTuple, Generic[D]):
    """What a table says of one word."""

    do: D
    name: str
    value: str
    wants_next: bool


class Table(Generic[D]):
    """Options by whole word or longest prefix.

    find() is called for every word of every command, and builds repeat their words: a dictionary
    of answers makes it one lookup.  It is bounded, because -D and paths make words without end.
    """

    def __init__(
        self,
        rows: Iterable[Row[D]],
        otherwise: Callable[[str], D | None] = lambda word: None,
        memory: int = 16384,
    ) -> None:
        self.rows = tuple(rows)
        self._otherwise = otherwise
        self._whole: dict[str, Hit[D]] = {}
        self._prefix: dict[str, D] = {}
        for row in self.rows:
            for name in row.words():
                if row.take is not Take.GLUED:
                    wants = row.take is not Take.FLAG
                    self._whole[name] = Hit(row.do, name, "", wants)
                if row.take in (Take.GLUED, Take.EITHER):
                    self._prefix[name] = row.do
        self._lengths = tuple(sorted({len(name) for name in self._prefix}, reverse=True))
        self.find: Callable[[str], Hit[D] | None] = functools.lru_cache(memory)(self._find)

    def _find(self, word: str) -> Hit[D] | None:
        whole = self._whole.get(word)
        if whole is not None:
            return whole
        for length in self._lengths:
            do = self._prefix.get(word[:length])
            if do is not None and length <= len(word):
                return Hit(do, word[:length], word[length:], False)
        other = self._otherwise(word)
        return None if other is None else Hit(other, word, "", False)


class Want(Marker):
    """Whether a getopt option has an argument."""

    NO = "no"
    YES = "yes"
    MAYBE = "maybe"  # only glued: -bSUFFIX, --backup=KIND


class Opt(NamedTuple, Generic[D]):
    """One getopt option under all its names: "-f --force"."""

    names: str
    do: D
    want: Want = Want.NO


class Given(NamedTuple, Generic[D]):
    """One option as it was given."""

    do: D
    name: str
    value: str | None


class Parsed(Generic[D]):
    """A getopt command line taken apart; `wrong` is the first word that does not belong."""

    __slots__ = ("given", "operands", "wrong")

    def __init__(self, given: list[Given[D]], operands: list[str]) -> None:
        self.given = given
        self.operands = operands
        self.wrong = ""


class Getopt(Generic[D]):
    """A GNU tool's options."""

    def __init__(self, options: Iterable[Opt[D]]) -> None:
        self.options = tuple(options)
        self._short: dict[str, Opt[D]] = {}
        self._long: dict[str, Opt[D]] = {}
        for option in self.options:
            for name in option.names.split():
                if name.startswith("--"):
                    self._long[name[2:]] = option
                else:
                    self._short[name[1:]] = option
        self._resolve = functools.lru_cache(1024)(self._find_long)

    def _find_long(self, name: str) -> Opt[D] | None:
        exact = self._long.get(name)
        if exact is not None:
            return exact
        found = {id(opt): opt for full, opt in self._long.items() if full.startswith(name)}
        return found.popitem()[1] if len(found) == 1 and name else None

    def parse(self, words: Sequence[str], permute: bool = True) -> Parsed[D]:
        """Take words apart; without `permute` the first operand ends the options."""
        parsed: Parsed[D] = Parsed([], [])
        rest = iter(words)
        for word in rest:
            if word == "--":
                parsed.operands.extend(rest)
            elif word.startswith("--"):
                self._long_word(word, rest, parsed)
            elif len(word) > 1 and word[0] == "-":
                self._short_word(word, rest, parsed)
            else:
                parsed.operands.append(word)
                if not permute:
                    parsed.operands.extend(rest)
            if parsed.wrong:
                break
        return parsed

    def _long_word(self, word: str, rest: Iterator[str], parsed: Parsed[D]) -> None:
        name, equals, value = word[2:].partition("=")
        option = self._resolve(name)
        if option is None or (equals and option.want is Want.NO):
            parsed.wrong = word
            return
        argument = value if equals else None
        if option.want is Want.YES and argument is None:
            argument = next(rest, None)
            if argument is None:
                parsed.wrong = word
                return
        parsed.given.append(Given(option.do, f"--{name}", argument))

    def _short_word(self, word: str, rest: Iterator[str], parsed: Parsed[D]) -> None:
        at = 1
        while at < len(word):
            letter = word[at]
            option = self._short.get(letter)
            if option is None:
                parsed.wrong = word
                return
            at += 1
            argument: str | None = None
            if option.want is not Want.NO:
                argument, at = word[at:] or None, len(word)
                if option.want is Want.YES and argument is None:
                    argument = next(rest, None)
                    if argument is None:
                        parsed.wrong = word
                        return
            parsed.given.append(Given(option.do, f"-{letter}", argument))


# A response file may name others, or itself; GNU tools give up after 2000.
MOST_RESPONSE_FILES = 200


class UnreadableError(Exception):
    """A response file that cannot be read; inside this package only."""


def expand(words: Sequence[str], files: Files) -> tuple[list[str], list[str]]:
    """The words with their @files put in place, and the response files read on the way.

    A GNU tool takes an @file that does not exist literally: that is refused.  Raises
    UnreadableError.
    """
    out: list[str] = []
    read: list[str] = []
    todo = list(reversed(words))
    while todo:
        word = todo.pop()
        if len(word) < 2 or word[0] != "@":
            out.append(word)
            continue
        name = word[1:]
        text = files.read_text(name) if len(read) < MOST_RESPONSE_FILES else None
        if text is None:
            raise UnreadableError(name)
        read.append(name)
        todo.extend(reversed(split_words(text)))
    return out, read


def split_words(text: str) -> list[str]:
    """A response file's words as libiberty's buildargv sees them.

    Not a shell's: a backslash escapes the next character inside single quotes too.
    """
    words: list[str] = []
    word: list[str] = []
    quote = ""
    started = escaped = False
    for char in text:
        if escaped:
            word.append(char)
            escaped = False
        elif char == "\\":
            escaped = started = True
        elif quote:
            if char == quote:
                quote = ""
            else:
                word.append(char)
        elif char in "'\"":
            quote = char
            started = True
        elif char in " \t\n\r\v\f":
            if started:
                words.append("".join(word))
                word, started = [], False
        else:
            word.append(char)
            started = True
    if started:
        words.append("".join(word))
    return words


def names(text: str) -> frozenset[str]:
    """The words of a text, which is how sets of names are written down."""
    return frozenset(text.split())


def rows(table: Mapping[tuple[D, Take], str]) -> tuple[Row[D], ...]:
    """Rows from a mapping, which is how tables are written down."""
    return tuple(Row(do, take, names) for (do, take), names in table.items())
