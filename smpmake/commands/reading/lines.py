"""The text that a make gives to its shell, as the simple commands that it is sure to run.

Bash's grammar (tree-sitter) says what the text is; only what means the same in every shell is
taken: words, quotes, `&&`, `;` behind what cannot fail or under `set -e`, pipes, a file for the
first command of a pipe and one from its last, variables that the text itself has set, and the two
substitutions that automake writes.  Everything else is not understood.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from smpmake.commands.echo import spoken
from smpmake.commands.paths import join
from smpmake.commands.reading.line_words import PLAIN, NotUnderstoodError, Words, children, text_of
from smpmake.commands.reading.plain_lines import Command, Statement, statements

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

    from smpmake.commands.model import Files


#: Where a command's input comes from, or its output goes to: another command, and no file.
PIPE: Final = "|"


class Simple(NamedTuple):
    """A command of the text.

    argv    its words.
    folder  the one that it is run in, "" for the shell's own.
    stdin   a file that the shell opens for it, PIPE, or "" for the shell's own.
    stdout  likewise.
    """

    argv: tuple[str, ...]
    folder: str = ""
    stdin: str = ""
    stdout: str = ""


class Line(NamedTuple):
    """What a text means.

    commands  in their order; all of them run if each succeeds.
    prints    some of it prints what is no message.
    text      the same with what was substituted in its place: that is so when a make issues it.
    is_bare   it is one command and nothing else, which its shell becomes.
    asked     files whose being there has decided what is substituted.
    said      what its shell prints by itself before the first command that may fail.
    unsaid    the text without what prints that.
    behind    what its shell prints by itself later, if all succeed.
    """

    commands: tuple[Simple, ...]
    prints: bool
    text: str
    is_bare: bool = False
    asked: tuple[str, ...] = ()
    said: str = ""
    unsaid: str = ""
    behind: str = ""


#: Builtins that only print.
PRINT: Final = frozenset({"echo", "printf"})
_BLANK: Final = re.compile(r"(?:[ \t]|\\\n)*")
#: Printable ASCII, tabs, and lines that go on.
_TEXT: Final = re.compile(r"(?:[\t -~]|\\\n)*")


def read(text: str, files: Files, getenv: Callable[[str], str | None]) -> Line:
    """What a text means.

    getenv  the shell's environment: what is set there would be set for its commands, too.

    Raises NotUnderstoodError, or PendingAnswerError.
    """
    reader = _Reader(text, files, getenv)
    plain = statements(text)
    if plain is not None:
        commands = tuple(reader.plain(plain))
        return reader.line(commands, is_bare=len(commands) == 1 and plain[0].is_whole)
    parser = grammar()
    if parser is None or not _TEXT.fullmatch(text):
        raise NotUnderstoodError("several lines, or no plain text")
    root = parser.parse(text.encode()).root_node
    if root.has_error or root.type != "program":
        raise NotUnderstoodError("the grammar does not know it")
    if not _is_covered(root, text):
        raise NotUnderstoodError("the grammar leaves something out")
    commands = tuple(reader.parsed(root))
    is_bare = len(commands) == 1 and [node.type for node in root.children] == ["command"]
    return reader.line(commands, is_bare=is_bare)


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
        self._words = Words(files, getenv)
        self._folder = ""
        self._ends_at_failure = False
        self._has_begun = False
        self._printers: list[tuple[int, int]] = []
        self.prints = False
        self.said = ""
        self.behind = ""

    def line(self, commands: tuple[Simple, ...], *, is_bare: bool) -> Line:
        """What the text means, once it has been walked."""
        replaced = self._words.replaced
        return Line(
            *(commands, self.prints, replaced(self._source), is_bare, tuple(self._words.asked)),
            *(self.said, replaced(self._source, self._printers), self.behind),
        )

    def plain(self, plain: list[Statement]) -> Iterator[Simple]:
        """What needs no grammar."""
        taken = self._plain_command
        return self._statements(
            [functools.partial(taken, command) for command in statement.commands]
            for statement in plain
        )

    def parsed(self, root: Node) -> Iterator[Simple]:
        """What the grammar has found."""
        return self._statements(
            [functools.partial(self._link, *link) for link in _links(node)]
            for node in root.children
            if node.type != ";"
        )

    def _statements(
        self, found: Iterable[list[Callable[[], Iterator[Simple]]]]
    ) -> Iterator[Simple]:
        """What follows another statement runs whatever became of that one, if it may fail."""
        may_fail = False
        for links in found:
            if may_fail:
                raise NotUnderstoodError("what follows a failure")
            *shielded, last = links
            before = [command for link in shielded for command in link()]
            ends_at_failure = self._ends_at_failure
            behind = list(last())
            if before and self._ends_at_failure != ends_at_failure:
                raise NotUnderstoodError("set -e that may not come")
            # A shell goes on behind what fails in front of a `&&`, whatever was set.
            may_fail = bool(before) or (bool(behind) and not self._ends_at_failure)
            yield from (*before, *behind)

    def _plain_command(self, command: Command) -> Iterator[Simple]:
        if command.name:
            self._words.set(command.name, command.words[0])
            return
        words = tuple(map(self._words.plain_word, command.words))
        self._is_no_function(words[0])
        yield from self._simple(words, (command.start, command.end))

    def _link(self, node: Node, redirections: tuple[Node, ...]) -> Iterator[Simple]:
        if redirections or node.type == "pipeline":
            yield from self._pipeline(node, redirections)
        elif node.type == "variable_assignment":
            self._words.assign(node)
        elif node.type == "command":
            yield from self._command(node)
        else:
            raise NotUnderstoodError(node.type)

    def _pipeline(self, node: Node, redirections: tuple[Node, ...]) -> Iterator[Simple]:
        """Its commands run in shells of their own: what they are is said, whatever they are."""
        parts, operators = [node], []
        if node.type == "pipeline":
            parts, operators = node.children[::2], node.children[1::2]
        if any(operator.type != PIPE for operator in operators):
            raise NotUnderstoodError("a pipe for messages, too")
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            body, own = _bare(part, redirections if is_last else ())
            if body.type != "command":
                raise NotUnderstoodError(body.type)
            files = self._files_for(own)
            stdin = PIPE if number else files.pop("<", "")
            stdout = files.pop(">", "") if is_last else PIPE
            if files:
                raise NotUnderstoodError("a file in the place of a pipe")
            self._has_begun = True
            yield Simple(self._called(body), self._folder, stdin, stdout)

    def _files_for(self, redirections: Iterable[Node]) -> dict[str, str]:
        """What a command reads ("<") and prints into (">")."""
        files: dict[str, str] = {}
        for node in redirections:
            if node.type != "file_redirect":
                raise NotUnderstoodError(node.type)
            operator, word = children(node, 2)
            way, path = operator.type.rstrip("|"), self._words.word(word)
            before = self._source[: node.start_byte].replace("\\\n", "")
            is_apart = before[-1:] in (" ", "\t")  # `2>` is another's
            if way not in ("<", ">") or way in files or not is_apart or path in ("", PIPE):
                raise NotUnderstoodError("a redirection")
            files[way] = path
        return files

    def _command(self, node: Node) -> Iterator[Simple]:
        return self._simple(self._called(node), (node.start_byte, node.end_byte))

    def _simple(self, words: tuple[str, ...], place: tuple[int, int]) -> Iterator[Simple]:
        """Nothing where its shell does it, and what that does is known here."""
        match words:
            case [builtin, *_] if builtin in PRINT:
                self.prints = True
                self._print(words, place)
            case [":" | "true", *_]:
                return
            case ["set", "-e"]:
                self._ends_at_failure = True
            case ["mkdir", "-p", *folders] if all(map(self._is_there, folders)):
                return
            case ["cd", *folder]:
                self._enter(*folder)
            case _:
                self._has_begun = True
                yield Simple(words, self._folder)

    def _print(self, words: tuple[str, ...], place: tuple[int, int]) -> None:
        """What cannot be told is printed when the line is met command by command."""
        text = spoken(words)
        if text is None:
            raise NotUnderstoodError("a text that not every shell prints alike")
        if self._has_begun:
            self.behind += text
            return
        self.said += text
        self._printers.append(place)

    def _called(self, node: Node) -> tuple[str, ...]:
        """The words of a command that is called by its name."""
        name, *rest = node.children
        (first,) = children(name, 1)
        if name.type != "command_name" or first.type != "word" or "\\" in text_of(first):
            raise NotUnderstoodError(name.type)
        for one, other in itertools.pairwise(node.children):
            gap = self._source[one.end_byte : other.start_byte].replace("\\\n", "")
            if not gap or gap.strip(" \t"):
                raise NotUnderstoodError("words that are not apart")
        words = [text_of(first), *map(self._words.word, rest)]
        if not PLAIN.fullmatch(words[0]):
            raise NotUnderstoodError(words[0])
        self._is_no_function(words[0])
        return tuple(words)

    def _is_no_function(self, name: str) -> None:
        if self._getenv(f"BASH_FUNC_{name}%%") is not None:
            raise NotUnderstoodError("a function")

    def _enter(self, folder: str = "", *more: str) -> None:
        """A shell goes back through links as it came, and CDPATH leads elsewhere."""
        if not folder or folder.startswith("-") or more:
            raise NotUnderstoodError("a folder")
        ways = (self._getenv("CDPATH"), ".." in folder.split("/"))
        if any(ways) or not self._is_there(folder):
            raise NotUnderstoodError("a folder")
        self._folder = self._at(folder)
        self._words.moved = True

    def _at(self, path: str) -> str:
        return path if path.startswith("/") else join(self._folder, path)

    def _is_there(self, folder: str) -> bool:
        return self._files.is_dir(self._at(folder))


def _links(node: Node) -> list[tuple[Node, tuple[Node, ...]]]:
    """What `&&` holds together: each with its redirections, which the grammar puts around all."""
    links: list[tuple[Node, tuple[Node, ...]]] = []
    waiting: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    while waiting:
        body, redirections = _bare(*waiting.pop())
        if body.type == "list":
            first, operator, last = children(body, 3)
            if operator.type != "&&":
                raise NotUnderstoodError(operator.type)
            waiting += [(first, ()), (last, redirections)]
        else:
            links.append((body, redirections))
    return links[::-1]


def _bare(node: Node, redirections: tuple[Node, ...]) -> tuple[Node, tuple[Node, ...]]:
    """Without its redirections, and these in front of those that are known already."""
    while node.type == "redirected_statement":
        node, *own = node.children
        redirections = (*own, *redirections)
    return node, redirections
