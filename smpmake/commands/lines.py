"""The text that a make gives to its shell, as the simple commands that it is sure to run.

Bash's grammar (tree-sitter) says what the text is; only what means the same in every shell is
taken: words, quotes, `&&`, `;` behind what cannot fail or under `set -e`, variables that the text
itself has set, and the two substitutions that automake writes.  Everything else is not understood.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from smpmake.commands.paths import join

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

    from smpmake.commands.model import Files


class Simple(NamedTuple):
    """A command of the text: its words, and the folder it is run in, "" for the shell's own."""

    argv: tuple[str, ...]
    folder: str = ""


class Line(NamedTuple):
    """What a text means.

    commands  in their order; all of them run if each succeeds.
    prints    some of it prints what is no message.
    text      the same with what was substituted in its place: that is so when a make issues it.
    """

    commands: tuple[Simple, ...]
    prints: bool
    text: str


class NotUnderstoodError(Exception):
    """The text may mean more than can be told from here."""


#: What an unquoted expansion may hold: neither split nor taken for a pattern.
_PLAIN: Final = re.compile(r"[\w./+@%:,=-]*", re.ASCII)
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
#: Builtins that only print.
_PRINT: Final = frozenset({"echo", "printf"})
_BLANK: Final = re.compile(r"(?:[ \t]|\\\n)*")
#: Printable ASCII, tabs, and lines that go on.
_TEXT: Final = re.compile(r"(?:[\t -~]|\\\n)*")


def read(text: str, files: Files, getenv: Callable[[str], str | None]) -> Line:
    """What a text means.

    getenv  the shell's environment: what is set there would be set for its commands, too.

    Raises NotUnderstoodError.
    """
    parser = grammar()
    if parser is None or not _TEXT.fullmatch(text):
        raise NotUnderstoodError("several lines, or no plain text")
    root = parser.parse(text.encode()).root_node
    if root.has_error or root.type != "program":
        raise NotUnderstoodError("the grammar does not know it")
    if not _is_covered(root, text):
        raise NotUnderstoodError("the grammar leaves something out")
    reader = _Reader(text, files, getenv)
    commands = tuple(reader.statements(root))
    return Line(commands, reader.prints, reader.text())


@functools.cache
def grammar() -> Parser | None:
    """What parses bash, None where it is not installed."""
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:  # a package of a distribution that has none
        return None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _is_covered(root: Node, text: str) -> bool:
    """Whether nothing but blanks lies between the grammar's tokens: it skips an escaped one."""
    at = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.children and node.type != "string":
            waiting += reversed(node.children)
            continue
        if not _BLANK.fullmatch(text, at, node.start_byte):
            return False
        at = node.end_byte
    return _BLANK.fullmatch(text, at) is not None


class _Reader:
    """Walks one text's tree."""

    def __init__(self, text: str, files: Files, getenv: Callable[[str], str | None]) -> None:
        self._source = text
        self._files = files
        self._getenv = getenv
        self._variables: dict[str, str] = {}
        self._folder = ""
        self._ends_at_failure = False
        self._substitutions: list[tuple[int, int, str]] = []
        self.prints = False

    def text(self) -> str:
        """The text, once it has been walked, with what was substituted in its place."""
        text = self._source
        for start, end, value in reversed(self._substitutions):
            text = text[:start] + value + text[end:]
        return text

    def statements(self, root: Node) -> Iterator[Simple]:
        """What follows another statement runs whatever became of that one, if it may fail."""
        may_fail = False
        for node in root.children:
            if node.type == ";":
                continue
            if may_fail:
                raise NotUnderstoodError("what follows a failure")
            *shielded, last = _links(node)
            before = [command for link in shielded for command in self._link(link)]
            ends_at_failure = self._ends_at_failure
            behind = list(self._link(last))
            if before and self._ends_at_failure != ends_at_failure:
                raise NotUnderstoodError("set -e that may not come")
            # A shell goes on behind what fails in front of a `&&`, whatever was set.
            may_fail = bool(before) or (bool(behind) and not self._ends_at_failure)
            yield from (*before, *behind)

    def _link(self, node: Node) -> Iterator[Simple]:
        if node.type == "variable_assignment":
            self._assign(node)
        elif node.type == "command":
            yield from self._command(node)
        else:
            raise NotUnderstoodError(node.type)

    def _assign(self, node: Node) -> None:
        name, operator, value = _children(node, 3)
        known = _text(name)
        is_own = _OWN.fullmatch(known) and self._getenv(known) is None
        if name.type != "variable_name" or operator.type != "=" or not is_own:
            raise NotUnderstoodError(known)
        self._variables[known] = self._word(value)

    def _command(self, node: Node) -> Iterator[Simple]:
        name, *rest = node.children
        (first,) = _children(name, 1)
        if name.type != "command_name" or first.type != "word" or "\\" in _text(first):
            raise NotUnderstoodError(name.type)
        for one, other in itertools.pairwise(node.children):
            gap = self._source[one.end_byte : other.start_byte].replace("\\\n", "")
            if not gap or gap.strip(" \t"):
                raise NotUnderstoodError("words that are not apart")
        words = [_text(first), *map(self._word, rest)]
        if self._getenv(f"BASH_FUNC_{words[0]}%%") is not None:
            raise NotUnderstoodError("a function")
        match words:
            case [builtin, *_] if builtin in _PRINT:
                self.prints = True
            case [":" | "true", *_]:
                return
            case ["set", "-e"]:
                self._ends_at_failure = True
            case ["mkdir", "-p", *folders] if all(map(self._is_there, folders)):
                return
            case ["cd", *folder]:
                self._enter(*folder)
            case _:
                if not _PLAIN.fullmatch(words[0]):
                    raise NotUnderstoodError(words[0])
                yield Simple(tuple(words), self._folder)

    def _enter(self, folder: str = "", *more: str) -> None:
        """A shell goes back through links as it came, and CDPATH leads elsewhere."""
        if not folder or folder.startswith("-") or more:
            raise NotUnderstoodError("a folder")
        ways = (self._getenv("CDPATH"), ".." in folder.split("/"))
        if any(ways) or not self._is_there(folder):
            raise NotUnderstoodError("a folder")
        self._folder = self._at(folder)

    def _at(self, path: str) -> str:
        return path if path.startswith("/") else join(self._folder, path)

    def _is_there(self, folder: str) -> bool:
        return self._files.is_dir(self._at(folder))

    # ------------------------------------------------------------------ words

    def _word(self, node: Node) -> str:
        """One argument.  An unquoted expansion that could be none, or several, is refused."""
        word = self._part(node)
        if not word and node.type not in ("string", "raw_string", "concatenation"):
            raise NotUnderstoodError("an empty expansion")
        return word

    def _part(self, node: Node) -> str:
        match node.type:
            case "word" | "number":
                return _unescaped(_text(node))
            case "raw_string":
                return _text(node)[1:-1]
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
        if not _PLAIN.fullmatch(value):
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
        found = re.fullmatch(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", _text(node), re.ASCII)
        name = (found[1] or found[2]) if found else ""
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
        if (found := _SOURCE.fullmatch(text)) and not self._folder:
            name, otherwise = map(bytes.decode, found.groups())
            is_file = self._files.exists(name) and not self._files.is_dir(name)
            return "" if is_file else otherwise
        raise NotUnderstoodError("a substitution")


def _links(node: Node) -> list[Node]:
    """What `&&` holds together."""
    links = []
    while node.type == "list":
        node, operator, last = _children(node, 3)
        if operator.type != "&&":
            raise NotUnderstoodError(operator.type)
        links.append(last)
    return [node, *reversed(links)]


def _children(node: Node, count: int) -> list[Node]:
    if len(node.children) != count:
        raise NotUnderstoodError(node.type)
    return node.children


def _text(node: Node) -> str:
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
