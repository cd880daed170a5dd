"""The words of a recipe's line: quotes, and the expansions whose value the line itself tells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from smpmake.commands.reading.plain_lines import Piece, PieceKind, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from smpmake.commands.model import Files


class NotUnderstoodError(Exception):
    """The text may mean more than can be told from here."""


#: What an unquoted expansion may hold: neither split nor taken for a pattern.
PLAIN: Final = re.compile(r"[\w./+@%:,=-]*", re.ASCII)
#: What an unquoted word must not hold unescaped: patterns, a home, braces, expansions.
_SPECIAL: Final = frozenset("*?[]{}~!^$`'\"")
_NEEDS_A_LOOK: Final = re.compile(f"[{re.escape(''.join(sorted(_SPECIAL)))}\\\\]")
#: automake's: the dependency file of a target, and a source beside the makefile or in its tree.
_DEPBASE: Final = re.compile(
    rb"`echo ([\w./+-]+) \| sed 's\|\[\^/\]\*\$\|([._]deps)/&\|;s\|\\\.(\w+)\$\|\|'`"
)
_SOURCE: Final = re.compile(rb"`test -f '([\w./+-]+)' \|\| echo '([\w./+-]*)'`")
#: Names that mean nothing to a shell, whose own are in capitals.
_OWN: Final = re.compile(r"(?!histchars$|auto_resume$)[a-z_][a-z0-9_]*", re.ASCII)


class Words:
    """Of one line.

    moved  its shell is in another folder by now.
    asked  files whose being there has decided what is substituted.
    """

    def __init__(self, files: Files, getenv: Callable[[str], str | None]) -> None:
        self._files = files
        self._getenv = getenv
        self._variables: dict[str, str] = {}
        self._substitutions: list[tuple[int, int, str]] = []
        self.moved = False
        self.asked: list[str] = []

    def replaced(self, text: str, without: Sequence[tuple[int, int]] = ()) -> str:
        """The line, once all its words are known, with what was substituted in its place.

        without  where commands are in whose place one stands that does nothing.
        """
        gone = [(start, end, ":") for start, end in without]
        kept = [
            each
            for each in self._substitutions
            if not any(start <= each[0] < end for start, end, _ in gone)
        ]
        for start, end, value in sorted((*kept, *gone), reverse=True):
            text = text[:start] + value + text[end:]
        return text

    def assign(self, node: Node) -> None:
        """A variable of the line's is set.  Raises NotUnderstoodError."""
        name, operator, value = children(node, 3)
        if name.type != "variable_name" or operator.type != "=":
            raise NotUnderstoodError(name.type)
        known = self._own(text_of(name))
        self._variables[known] = self.word(value)

    def set(self, name: str, value: Word) -> None:
        """The same, of a line that needs no grammar.  Raises NotUnderstoodError."""
        known = self._own(name)
        self._variables[known] = self.plain_word(value)

    def _own(self, name: str) -> str:
        if not _OWN.fullmatch(name) or self._getenv(name) is not None:
            raise NotUnderstoodError(name)
        return name

    def plain_word(self, word: Word) -> str:
        """One argument (see `word`) of a line that needs no grammar.  Raises NotUnderstoodError."""
        if isinstance(word, str):
            return word
        found = "".join(map(self._piece, word))
        if not found and (len(word) > 1 or word[0].kind is not PieceKind.STRING):
            raise NotUnderstoodError("an empty expansion")
        return found

    def _piece(self, piece: Piece) -> str:
        if piece.kind is PieceKind.VARIABLE:
            return self._plain(self._value_of(piece.text))
        if piece.kind is PieceKind.SUBSTITUTION:
            value = self._value(piece.text.encode())
            self._substitutions.append((piece.start, piece.end, value))
            return self._plain(value)
        return piece.text

    def word(self, node: Node) -> str:
        """One argument.  An unquoted expansion that could be none, or several, is refused.

        Raises NotUnderstoodError.
        """
        word = self._part(node)
        if not word and node.type not in ("string", "raw_string", "concatenation"):
            raise NotUnderstoodError("an empty expansion")
        return word

    def _part(self, node: Node) -> str:
        match node.type:
            case "word" | "number":
                return _unescaped(text_of(node))
            case "raw_string":
                return text_of(node)[1:-1]
            case "string":
                return self._string(node)
            case "concatenation":
                return self._joined(node)
            case "simple_expansion" | "expansion":
                return self._plain(self._variable(node))
            case "command_substitution":
                return self._plain(self._substituted(node))
            case other:
                raise NotUnderstoodError(other)

    def _joined(self, node: Node) -> str:
        at = node.start_byte
        parts = []
        for child in node.children:
            if child.start_byte != at:
                raise NotUnderstoodError("a gap in a word")
            at = child.end_byte
            parts.append(self._part(child))
        if not "".join(parts):
            raise NotUnderstoodError("an empty word")
        return "".join(parts)

    @staticmethod
    def _plain(value: str) -> str:
        if not PLAIN.fullmatch(value):
            raise NotUnderstoodError("an expansion that is split")
        return value

    def _string(self, node: Node) -> str:
        """Between double quotes: what is no expansion stands for itself, but for a few escapes."""
        source, base = node.text or b"", node.start_byte
        parts, at = [], 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            if child.type not in ("simple_expansion", "expansion"):
                raise NotUnderstoodError(child.type)
            parts.append(_unquoted(source[at : child.start_byte - base]))
            parts.append(self._variable(child))
            at = child.end_byte - base
        parts.append(_unquoted(source[at:-1]))
        return "".join(parts)

    def _variable(self, node: Node) -> str:
        found = re.fullmatch(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", text_of(node), re.ASCII)
        return self._value_of((found[1] or found[2]) if found else "")

    def _value_of(self, name: str) -> str:
        if name not in self._variables:
            raise NotUnderstoodError("a variable that the line has not set")
        return self._variables[name]

    def _substituted(self, node: Node) -> str:
        value = self._value(node.text or b"")
        self._substitutions.append((node.start_byte, node.end_byte, value))
        return value

    def _value(self, text: bytes) -> str:
        if found := _DEPBASE.fullmatch(text):
            target, deps, suffix = map(bytes.decode, found.groups())
            head, slash, name = target.rpartition("/")
            return f"{head}{slash}{deps}/{name}".removesuffix(f".{suffix}")
        if (found := _SOURCE.fullmatch(text)) and not self.moved:
            name, otherwise = map(bytes.decode, found.groups())
            self.asked.append(name)
            is_file = self._files.exists(name) and not self._files.is_dir(name)
            return "" if is_file else otherwise
        raise NotUnderstoodError("a substitution")


def children(node: Node, count: int) -> list[Node]:
    """What it is made of.  Raises NotUnderstoodError if these are not so many."""
    if len(node.children) != count:
        raise NotUnderstoodError(node.type)
    return node.children


def text_of(node: Node) -> str:
    """Its source."""
    return (node.text or b"").decode()


def _unescaped(text: str) -> str:
    """A word without quotes."""
    if not _NEEDS_A_LOOK.search(text):  # nearly all
        return text
    parts = []
    escaped = False
    for letter in text:
        if escaped:
            escaped = False
            if letter != "\n":
                parts.append(letter)
        elif letter == "\\":
            escaped = True
        elif letter in _SPECIAL:
            raise NotUnderstoodError(letter)
        else:
            parts.append(letter)
    if escaped:
        raise NotUnderstoodError("an open end")
    return "".join(parts)


def _unquoted(source: bytes) -> str:
    """A piece between double quotes."""
    text = source.decode()
    if re.search(r"(?<!\\)(?:\\\\)*[$`!]", text):
        raise NotUnderstoodError("an expansion")
    return re.sub(r"\\([$`\"\\\n])", lambda found: found[1].strip("\n"), text)
