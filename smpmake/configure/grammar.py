"""The grammar of a shell's commands, as far as configure scripts use it.

Words stay as they are written: what they are worth is found by who follows the script.  A text is
parsed as it is asked for, a command at a time; where it makes no sense a line is skipped.  (The
grammar of bash that smpmake uses for recipe lines takes the line behind `name=` to it, and loses
its way in three of four scripts.)

Source: POSIX.1-2017, Shell Command Language, 2.10 Shell Grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias


@dataclass(slots=True)
class Redirection:
    """`>FILE`, `<<END`: the operator, its word, and the text of a here-document."""

    operator: str
    word: str
    text: str = ""


@dataclass(slots=True)
class Simple:
    """Assignments and words."""

    assignments: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class If:
    """Conditions with what each leads to; the last without any is `else`."""

    ways: list[tuple[list[Command], list[Command]]]


@dataclass(slots=True)
class Loop:
    """`for`: a name and words; `while` and `until`: neither."""

    name: str
    words: list[str]
    body: list[Command]


@dataclass(slots=True)
class Case:
    """A word, and patterns with what each leads to."""

    word: str
    items: list[tuple[list[str], list[Command]]]


@dataclass(slots=True)
class Function:
    """A name and what is done by it."""

    name: str
    body: list[Command]


@dataclass(slots=True)
class Group:
    """`{ ... }` or `( ... )`."""

    body: list[Command]
    is_subshell: bool = False


@dataclass(slots=True)
class Joined:
    """`LEFT && RIGHT`, `LEFT || RIGHT`."""

    left: Command
    is_and: bool
    right: Command


@dataclass(slots=True)
class Not:
    """`! COMMAND`."""

    command: Command


@dataclass(slots=True)
class Pipeline:
    """`ONE | OTHER`."""

    commands: list[Command]


Command: TypeAlias = Simple | If | Loop | Case | Function | Group | Joined | Not | Pipeline

_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
#: What needs no look in a word, and within double quotes.
_PLAIN: Final = re.compile(r"[^\\'\"`$ \t\n;&|<>()]+")
_PLAIN_QUOTED: Final = re.compile(r"[^\\\"`$]+")
_OPERATOR: Final = re.compile(r"\d*(?:<<-?|<&|>&|>>|<>|>\||<|>)")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_FUNCTION: Final = re.compile(r"([A-Za-z_][\w-]*)[ \t]*\([ \t]*\)")
#: Lines without sense: with more of them it is no script.
_MOST_SKIPPED: Final = 20
_ENDS: Final = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))


class NonsenseError(Exception):
    """The text at a place is no shell's."""


def commands(text: str) -> Iterator[Command]:
    """The commands of a script in their order."""
    return _Parser(text).all()


def end_of_quote(text: str, at: int) -> int:
    """Where the double quotes end that begin before `at`."""
    while at < len(text) and text[at] != '"':
        found = _PLAIN_QUOTED.match(text, at)
        at = found.end() if found else _end_of_special(text, at, is_quoted=True)
    return at


def end_of_backquote(text: str, at: int) -> int:
    """Where the backquotes end that begin before `at`."""
    while at < len(text) and text[at] != "`":
        at += 2 if text[at] == "\\" else 1
    return at


def end_of_bracket(text: str, at: int, pair: str, *, is_quoted: bool = False) -> int:
    """Where the bracket of a pair ("{}", "()") ends that begins before `at`.

    is_quoted  it is within double quotes, where "'" quotes nothing in a value.
    """
    while at < len(text) and text[at] != pair[1]:
        if text[at] == '"':
            at = end_of_quote(text, at + 1) + 1
        elif text[at] == "'" and not (is_quoted and pair == "{}"):
            at = text.find("'", at + 1) + 1 or len(text)
        elif text[at] == pair[0]:
            at = end_of_bracket(text, at + 1, pair, is_quoted=is_quoted) + 1
        elif text[at] in "\\`$":
            at = _end_of_special(text, at, is_quoted=is_quoted)
        else:
            at += 1
    return at


def _end_of_special(text: str, at: int, *, is_quoted: bool = False) -> int:
    """Behind an escape, a command's output or a value that begins at `at`."""
    if text[at] == "\\":
        return at + 2
    if text[at] == "`":
        return end_of_backquote(text, at + 1) + 1
    if text[at : at + 2] in ("${", "$("):
        pair = "{}" if text[at + 1] == "{" else "()"
        return end_of_bracket(text, at + 2, pair, is_quoted=is_quoted) + 1
    return at + 1


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._awaited: list[Redirection] = []

    def all(self) -> Iterator[Command]:
        skipped = 0
        while skipped < _MOST_SKIPPED:
            self._lines()
            if self._at >= len(self._text):
                return
            begun = self._at
            try:
                yield from self._line()
            except (NonsenseError, RecursionError):
                self._awaited.clear()
                self._at = (self._text.find("\n", begun) + 1) or len(self._text)
                skipped += 1

    def _line(self) -> list[Command]:
        """A command, and those behind it whose line has to end before its here-document begins."""
        found = [self._joined()]
        while self._awaited:
            self._blanks()
            if self._at >= len(self._text):
                raise NonsenseError
            if self._text[self._at] == "\n":
                self._lines()
            else:
                found.append(self._joined())
        return found

    # ------------------------------------------------------------------ lists

    def _list(self) -> list[Command]:
        """Commands until a word or a bracket that ends them."""
        found: list[Command] = []
        while True:
            self._lines()
            if self._at >= len(self._text):
                raise NonsenseError
            if self._text.startswith((")", ";;"), self._at) or self._peek() in _ENDS:
                return found
            found.append(self._joined())

    def _joined(self) -> Command:
        left = self._pipeline()
        while True:
            self._blanks()
            operator = self._text[self._at : self._at + 2]
            if operator not in ("&&", "||"):
                if operator[:1] == "&" or (operator[:1] == ";" and operator != ";;"):
                    self._at += 1
                return left
            self._at += 2
            self._lines()
            left = Joined(left, operator == "&&", self._pipeline())

    def _pipeline(self) -> Command:
        if self._peek() == "!":
            self._word()
            self._blanks()
            return Not(self._pipeline())
        parts = [self._command()]
        self._blanks()
        while self._text.startswith("|", self._at) and not self._text.startswith("||", self._at):
            self._at += 1
            self._lines()
            parts.append(self._command())
            self._blanks()
        return parts[0] if len(parts) == 1 else Pipeline(parts)

    # ------------------------------------------------------------------ commands

    def _command(self) -> Command:
        self._blanks()
        if self._text.startswith("(", self._at):
            self._at += 1
            body = self._list()
            self._expect(")")
            return self._redirected(Group(body, is_subshell=True))
        begin = _COMPOUNDS.get(self._peek())
        if begin is not None:
            self._word()
            return self._redirected(begin(self))
        found = _FUNCTION.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            self._lines()
            return Function(found[1], [self._command()])
        return self._simple()

    def _redirected(self, command: Command) -> Command:
        """Where a compound command reads and writes is of no concern."""
        self._blanks()
        while self._redirection([]):
            self._blanks()
        return command

    def _simple(self) -> Simple:
        command = Simple()
        while True:
            self._blanks()
            if self._redirection(command.redirections):
                continue
            if self._at >= len(self._text) or self._text[self._at] in "\n;&|()":
                break
            word = self._word()
            if not command.words and _ASSIGNMENT.match(word):
                command.assignments.append(word)
            else:
                command.words.append(word)
        if not (command.words or command.assignments or command.redirections):
            raise NonsenseError
        return command

    def _redirection(self, found: list[Redirection]) -> bool:
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None:
            return False
        self._at = operator.end()
        self._blanks()
        found.append(Redirection(operator[0], self._word()))
        if "<<" in operator[0]:
            self._awaited.append(found[-1])
        return True

    def _if(self) -> If:
        ways = []
        word = "if"
        while word in ("if", "elif"):
            conditions = self._list()
            self._expect("then")
            ways.append((conditions, self._list()))
            word = self._word()
        if word == "else":
            ways.append(([], self._list()))
            word = self._word()
        if word != "fi":
            raise NonsenseError
        return If(ways)

    def _for(self) -> Loop:
        self._blanks()
        name, words = self._word(), []
        self._lines()
        if self._peek() == "in":
            self._word()
            while True:
                self._blanks()
                if self._at >= len(self._text) or self._text[self._at] in "\n;":
                    break
                words.append(self._word())
        self._lines(";")
        return Loop(name, words, self._body())

    def _while(self) -> Loop:
        self._list()
        return Loop("", [], self._body())

    def _body(self) -> list[Command]:
        self._expect("do")
        body = self._list()
        self._expect("done")
        return body

    def _case(self) -> Case:
        self._blanks()
        case = Case(self._word(), [])
        self._lines()
        self._expect("in")
        while True:
            self._lines()
            if self._peek() == "esac":
                self._word()
                return case
            if self._text.startswith("(", self._at):
                self._at += 1
            patterns = []
            while not self._text.startswith(")", self._at):
                self._blanks()
                patterns.append(self._word())
                self._blanks()
                if self._text.startswith("|", self._at):
                    self._at += 1
            self._at += 1
            case.items.append((patterns, self._list()))
            if self._text.startswith(";;", self._at):
                self._at += 2

    def _group(self) -> Group:
        body = self._list()
        self._expect("}")
        return Group(body)

    # ------------------------------------------------------------------ words

    def _word(self) -> str:
        begun = self._at
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in " \t\n;&|<>()":
                break
            plain = _PLAIN.match(self._text, self._at)
            if plain is not None:
                self._at = plain.end()
            elif character == "'":
                self._at = self._text.find("'", self._at + 1) + 1 or len(self._text)
            elif character == '"':
                self._at = end_of_quote(self._text, self._at + 1) + 1
            else:
                self._at = _end_of_special(self._text, self._at)
        if self._at == begun:
            raise NonsenseError
        return self._text[begun : self._at]

    def _peek(self) -> str:
        """The word that comes, if it is a plain one."""
        self._blanks()
        found = _PLAIN.match(self._text, self._at)
        if found is None or self._text[found.end() : found.end() + 1] in ("'", '"', "$", "`", "\\"):
            return ""
        return found[0]

    def _expect(self, word: str) -> None:
        self._lines()
        if not self._text.startswith(word, self._at):
            raise NonsenseError
        self._at += len(word)

    def _blanks(self) -> None:
        found = _BLANKS.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _lines(self, more: str = "") -> None:
        """Skips blanks and ends of lines, and the here-documents that follow the first of these."""
        while True:
            self._blanks()
            if self._at >= len(self._text):
                return
            if self._text[self._at] == "\n":
                self._at += 1
                awaited, self._awaited = self._awaited, []
                for one in awaited:
                    self._here_document(one)
            elif self._text[self._at] == more:
                self._at += 1
            else:
                return

    def _here_document(self, one: Redirection) -> None:
        end = re.sub(r"[\\'\"]", "", one.word)
        begun = self._at
        if self._text.startswith(f"{end}\n", begun):
            self._at = begun + len(end) + 1
            return
        found = self._text.find(f"\n{end}\n", begun)
        if found < 0:
            raise NonsenseError
        one.text = self._text[begun : found + 1]
        self._at = found + len(end) + 2


_COMPOUNDS: Final[dict[str, Callable[[_Parser], Command]]] = {
    "if": _Parser._if,
    "for": _Parser._for,
    "while": _Parser._while,
    "until": _Parser._while,
    "case": _Parser._case,
    "{": _Parser._group,
}
