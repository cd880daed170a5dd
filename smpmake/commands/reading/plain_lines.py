"""The text of a recipe's line as most of them are: words apart, joined by `&&` and `;`.

It is taken to pieces without a grammar, which takes as long as all else that is done with a line.
What a text has besides, the grammar is asked (lines); both say the same of what is here.
"""

from __future__ import annotations

import enum
import re
from typing import Final, NamedTuple

from smpmake.commands.options import Marker


class PieceKind(Marker):
    """What a piece of a word is."""

    PLAIN = enum.auto()  # it means itself
    STRING = enum.auto()  # the same, in quotes or behind a backslash
    VARIABLE = enum.auto()  # its name
    SUBSTITUTION = enum.auto()  # with its backquotes


class Piece(NamedTuple):
    """A piece of a word, and where in the text it is."""

    kind: PieceKind
    text: str
    start: int
    end: int


#: A word that means nothing but itself is one text.
Word = str | tuple[Piece, ...]


class Command(NamedTuple):
    """A simple command, or a variable that is set: then `words` is its value.

    name        the variable's, "" of a command.
    start, end  where it is in the text.
    """

    words: tuple[Word, ...]
    start: int
    end: int
    name: str = ""


class Statement(NamedTuple):
    """Commands that `&&` holds together.

    is_whole  it is all of the text, and one command.
    """

    commands: tuple[Command, ...]
    is_whole: bool = False


#: The substitutions that automake writes (line_words).
_SUBSTITUTIONS: Final = r"`(?:echo[ ][\w./+-]+[ ]\|[ ]sed[ ]'[^'\n]*'|test[ ]-f[ ][^`\n]*)`"
_PLAIN: Final = r"[\w./+@%:,=-]+"
_TOKEN: Final = re.compile(
    rf"""
      (?P<words>{_PLAIN}(?:[ \t]+{_PLAIN})*)
    | (?P<blank>(?:[ \t]|\\\n)+)
    | (?P<quoted>'[\t -&(-~]*' | "[\t #%-\[\]-_a-~]*")
    | \\(?P<escaped>[ -~])
    | \$(?P<variable>[A-Za-z_]\w*) | \$\{{(?P<braced>[A-Za-z_]\w*)\}}
    | (?P<value>{_SUBSTITUTIONS})
    | (?P<and>&&)
    | (?P<end>;)
    """,
    re.ASCII | re.VERBOSE,
)
_NAME: Final = re.compile(r"[A-Za-z_./][\w./+-]*", re.ASCII)
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_KINDS: Final = {
    "quoted": PieceKind.STRING,
    "escaped": PieceKind.STRING,
    "variable": PieceKind.VARIABLE,
    "braced": PieceKind.VARIABLE,
    "value": PieceKind.SUBSTITUTION,
}


def statements(text: str) -> list[Statement] | None:
    """The statements of a text; None where it has more to it."""
    reader = _Reader()
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or not reader.take(found):
            return None
        at = found.end()
    return reader.ended()


class _Reader:
    """What the tokens so far have been."""

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        self._commands: list[Command] = []
        self._words: list[Word] = []
        self._pieces: list[Piece] = []  # of the word that has begun
        self._start = self._end = 0
        self._has_more = False  # behind an `&&`

    def take(self, token: re.Match[str]) -> bool:
        """One more; False if the text is none of those that are known here."""
        kind, start, end = token.lastgroup or "", token.start(), token.end()
        if kind == "blank":
            if self._pieces and not token[0].strip("\\\n"):
                return False  # a word that goes on in the next line
            self._end_word()
            return True
        if kind in ("and", "end"):
            self._has_more = kind == "and"
            is_known = self._end_command()
            if kind == "end":
                self._end_statement()
            return is_known
        if not self._words and not self._pieces:
            self._start = start
        self._end, self._has_more = end, False
        if kind == "words":
            self._take_words(token[0], start, end)
        else:
            text = token[0][1:-1] if kind == "quoted" else token[kind]
            self._pieces.append(Piece(_KINDS[kind], text, start, end))
        return True

    def ended(self) -> list[Statement] | None:
        """All of them, now that there is no more."""
        has_begun = bool(self._words or self._pieces)
        if self._has_more or (has_begun and not self._end_command()):
            return None
        if self._commands:
            is_whole = not self._statements and len(self._commands) == 1
            self._end_statement(is_whole=is_whole)
        return self._statements or None

    def _take_words(self, text: str, start: int, end: int) -> None:
        """Some that are apart; the first may go on with another one, and the last may go on."""
        first, *others = text.split()
        self._pieces.append(Piece(PieceKind.PLAIN, first, start, start + len(first)))
        if others:
            self._end_word()
            *between, last = others
            self._words += between
            self._pieces.append(Piece(PieceKind.PLAIN, last, end - len(last), end))

    def _end_word(self) -> None:
        if not self._pieces:
            return
        is_plain = len(self._pieces) == 1 and self._pieces[0].kind is PieceKind.PLAIN
        self._words.append(self._pieces[0].text if is_plain else tuple(self._pieces))
        self._pieces.clear()

    def _end_command(self) -> bool:
        self._end_word()
        command = _command(tuple(self._words), self._start, self._end)
        self._words.clear()
        if command is None:
            return False
        self._commands.append(command)
        return True

    def _end_statement(self, *, is_whole: bool = False) -> None:
        self._statements.append(Statement(tuple(self._commands), is_whole))
        self._commands.clear()


def _command(words: tuple[Word, ...], start: int, end: int) -> Command | None:
    if not words:
        return None
    first = words[0]
    if isinstance(first, str) and _NAME.fullmatch(first):
        return Command(words, start, end)
    pieces = (Piece(PieceKind.PLAIN, first, start, end),) if isinstance(first, str) else first
    begin = pieces[0]
    found = _ASSIGNED.match(begin.text) if begin.kind is PieceKind.PLAIN else None
    if found is None or len(words) > 1:
        return None
    rest = begin._replace(text=begin.text[found.end() :], start=begin.start + found.end())
    value = (rest, *pieces[1:]) if rest.text else pieces[1:]
    return Command((value,), start, end, found[1]) if value else None
