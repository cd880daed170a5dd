"""What a configure script would do if its checks were answered at once.

The script's text is followed as a shell would, but nothing is run: a check is handed to whoever
follows, who foretells its answer, and what a command would print or find is unknown.  Where a
condition is unknown both ways are followed.  It need not be right: a check that does not come costs
an idle CPU a compile.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from smpmake.configure import grammar
from smpmake.configure.grammar import (
    Case,
    Command,
    Function,
    Group,
    If,
    Joined,
    Loop,
    Not,
    Pipeline,
    Redirection,
    Simple,
)

#: Commands that are followed at most, and functions within each other.
_MOST_STEPS: Final = 200_000
_DEEPEST: Final = 12
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
#: ${NAME}, or with what is to be in its place.
_BRACED: Final = re.compile(r"(\w+|[@*#?])(?:(:?[-+=?])(.*))?\Z", re.DOTALL)
#: How autoconf makes a name of a text: 2.69 to 2.71, 2.72.
_NAMED: Final = re.compile(
    r"\s*(?:\$as_echo|echo|printf\s+\"%s\\n\")\s+(.*?)\s*\|\s*"
    r"(?:\$as_tr_(sh|cpp)|sed\s+\"\$as_sed_(sh|cpp)\")\s*\Z",
    re.DOTALL,
)
#: `echo WORD|sed 's/.../.../'`
_EDITED: Final = re.compile(
    r"\s*echo\s+(\S+)\s*\|\s*sed((?:\s+(?:-e\s+)?'s/[^'/]*/[^'/]*/g?')+)\s*\Z"
)
_EDIT: Final = re.compile(r"'s/([^'/]*)/([^'/]*)/(g?)'")
#: The functions that ask a compiler; the language comes first.
_ASKS: Final = re.compile(r"ac_fn_(\w+)_try_(compile|link|run|cpp)\Z")
#: What stands for itself: outside of quotes, within them, in a here-document.
_UNQUOTED: Final = re.compile(r"[^\\$`\"']+")
_QUOTED: Final = re.compile(r"[^\\$`\"]+")
_OF_HERE: Final = re.compile(r"[^\\$`]+")
_LINE: Final = (['"%s\\n"'], ["'%s\\n'"])
#: Before this a shell is looked for.
_BEGINS: Final = re.compile(r"^(?:PACKAGE_NAME|ac_unique_file)=", re.MULTILINE)


class _UnknownError(Exception):
    """What a word is worth cannot be told."""


class _LeaveError(Exception):
    """`break` in a loop."""


class _NextError(Exception):
    """`continue` in a loop."""


class _EndedError(Exception):
    """It has been followed far enough."""


class Script:
    """A script that is followed.

    variables  the values that are known; those of `fixed` stay whatever the script does, those of
               `guessed` are what is taken for an unknown one.
    asks       called for each check with its language ("c", "cxx"), its way ("compile", "link",
               "run", "cpp"), its text, and whether confdefs.h comes before it; returns the
               foretold answer.
    defines    called with each text that is added to confdefs.h.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        fixed: Mapping[str, str],
        guessed: Mapping[str, str],
        asks: Callable[[str, str, str, bool], bool],
        defines: Callable[[str], None],
    ) -> None:
        self.variables: dict[str, str | None] = {**variables, **fixed}
        self._fixed, self._guessed = fixed, guessed
        self._asks, self._defines = asks, defines
        self._functions: dict[str, list[Command]] = {}
        self._arguments: list[Sequence[str | None]] = [()]
        self._source: tuple[str, bool] | None = None
        self._steps = 0
        self._befores: list[dict[str, str | None]] = []  # of each doubt: what it has changed was so
        self._loops: list[int] = []  # how many doubts there were when each began

    def follow(self, text: str) -> None:
        """Follows all of a script; the callbacks are called in its order."""
        begun = _BEGINS.search(text)
        try:
            for command in grammar.commands(text[begun.start() if begun else 0 :]):
                self._one(command)
        except _EndedError:
            pass

    # ------------------------------------------------------------------ commands

    def _all(self, commands: Sequence[Command]) -> bool | None:
        status: bool | None = True
        for command in commands:
            status = self._one(command)
        return status

    def _one(self, command: Command) -> bool | None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _EndedError
        match command:
            case Simple():
                return self._simple(command)
            case If():
                return self._ways(command.ways)
            case Joined():
                status = self._one(command.left)
                if status is None:
                    self._doubtful([command.right])
                    return None
                return self._one(command.right) if status is command.is_and else status
            case Not():
                status = self._one(command.command)
                return None if status is None else not status
            case Loop():
                return self._loop(command)
            case Case():
                return self._case(command)
            case Function():
                self._functions[command.name] = command.body
                return True
            case Group():
                return self._group(command)
            case Pipeline():
                self._piped(command.commands)
                return None

    def _ways(self, ways: list[tuple[list[Command], list[Command]]]) -> bool | None:
        for i, (conditions, body) in enumerate(ways):
            status = self._all(conditions)
            if status:
                return self._all(body)
            if status is None:
                self._doubtful(body)
                self._doubtful([If(ways[i + 1 :])])
                return None
        return True

    def _doubtful(self, commands: Sequence[Command]) -> None:
        """Follows what may or may not be done: what it assigns is unknown afterwards."""
        self._befores.append({})
        try:
            self._all(commands)
        finally:
            before = self._befores.pop()
        for name, value in before.items():
            if self._befores:
                self._befores[-1].setdefault(name, value)
            if name in self.variables and self.variables[name] != value:
                self._set(name, None)

    def _case(self, case: Case) -> bool | None:
        value = self._known(case.word)
        for patterns, body in case.items:
            if value is None:
                self._doubtful(body)
            elif any(fnmatchcase(value, self._known(pattern) or "") for pattern in patterns):
                return self._all(body)
        return True if value is not None else None

    def _loop(self, loop: Loop) -> bool | None:
        try:
            values = [value for word in loop.words for value in self._fields(word)]
        except _UnknownError:
            self._set(loop.name, None)
            self._doubtful(loop.body)
            return None
        if not loop.name:
            self._doubtful(loop.body)
            return None
        self._loops.append(len(self._befores))
        try:
            for value in values:
                self._set(loop.name, value)
                with contextlib.suppress(_NextError):
                    self._all(loop.body)
        except _LeaveError:
            pass
        finally:
            self._loops.pop()
        return True

    def _group(self, group: Group) -> bool | None:
        if group.is_subshell:
            self._piped(group.body)
            return None
        return self._all(group.body)

    def _piped(self, commands: Sequence[Command]) -> None:
        """Somebody reads what the preprocessor prints, as AC_EGREP_CPP does."""
        while commands and isinstance(commands[0], Group):
            commands = commands[0].body
        first = commands[0] if commands else None
        if isinstance(first, Simple) and any("$ac_cpp" in word for word in first.words):
            self._ask("c", "cpp")

    def _simple(self, command: Simple) -> bool | None:
        for text in command.assignments:
            name, _, value = text.partition("=")
            self._set(name, self._known(value))
        if not command.words:
            return True
        if command.redirections and self._writes(command):
            return True
        name = command.words[0]
        if name in _QUIET:
            return None
        try:
            fields = [field for word in command.words for field in self._fields(word)]
        except _UnknownError:
            if name not in self._functions:
                return None
            return self._call(name, [self._known(word) for word in command.words[1:]])
        return self._run(fields)

    def _run(self, fields: list[str]) -> bool | None:
        name, arguments = (fields[0], fields[1:]) if fields else (":", [])
        asked = _ASKS.match(name)
        if asked is not None:
            return self._ask(asked[1], asked[2])
        if name in (":", "true", "false"):
            return name != "false"
        if name in ("test", "["):
            return _test(arguments[:-1] if name == "[" else arguments)
        if name == "eval":
            return self._all(list(grammar.commands(" ".join(arguments))))
        if name in ("break", "continue"):
            if self._loops and self._loops[-1] == len(self._befores):
                raise _LeaveError if name == "break" else _NextError
            return None
        if name == "unset":
            for argument in arguments:
                self._note(argument)
                self.variables.pop(argument, None)
            return True
        if name == "as_fn_append" and len(arguments) == 2:
            before = self.variables.get(arguments[0], "")
            self._set(arguments[0], None if before is None else before + arguments[1])
            return True
        if name in self._functions and not name.startswith("as_fn_"):
            return self._call(name, arguments)
        return None

    def _call(self, name: str, arguments: Sequence[str | None]) -> bool | None:
        if len(self._arguments) > _DEEPEST:
            return None
        self._arguments.append(arguments)
        try:
            return self._all(self._functions[name])
        finally:
            self._arguments.pop()

    def _ask(self, language: str, way: str) -> bool | None:
        if self._source is None:
            return None
        return self._asks(language, way, *self._source)

    def _note(self, name: str) -> None:
        if self._befores:
            self._befores[-1].setdefault(name, self.variables.get(name, ""))

    def _set(self, name: str, value: str | None) -> None:
        self._note(name)
        known = value if value is not None else self._guessed.get(name)
        self.variables[name] = self._fixed.get(name, known)

    # ------------------------------------------------------------------ files

    def _writes(self, command: Simple) -> bool:
        """Whether it writes a check's source, or to confdefs.h."""
        target = next((one for one in command.redirections if one.operator in (">", ">>")), None)
        if target is None:
            return False
        if target.word == "confdefs.h" and target.operator == ">>":
            text = self._printed(command)
            if text is not None and not self._befores:
                self._defines(text)
            return True
        if target.word.startswith("conftest.") and target.operator == ">":
            text = self._printed(command)
            self._source = (text, "confdefs.h" in command.words) if text is not None else None
            return True
        return False

    def _printed(self, command: Simple) -> str | None:
        """What cat, echo or printf prints, if that is one text."""
        words = command.words
        try:
            if words[0] == "cat":
                return self._here_document(command.redirections)
            if words[0] in ("$as_echo", "echo") and len(words) == 2:
                return f"{self._value(words[1])}\n"
            if words[0] == "printf" and words[1:2] in _LINE and len(words) == 3:
                return f"{self._value(words[2])}\n"
        except _UnknownError:
            pass
        return None

    def _here_document(self, redirections: list[Redirection]) -> str | None:
        for one in redirections:
            if one.operator == "<<":
                if one.word[0] in "'\"\\":
                    return one.text
                return "".join(text for text, _ in self._pieces(one.text, '"', is_here=True))
        return None

    # ------------------------------------------------------------------ words

    def _known(self, text: str) -> str | None:
        try:
            return self._value(text)
        except _UnknownError:
            return None

    def _value(self, text: str, quote: str = "") -> str:
        return "".join(piece for piece, _ in self._pieces(text, quote))

    def _fields(self, text: str) -> list[str]:
        fields: list[str] = []
        is_begun = False
        for piece, is_quoted in self._pieces(text, ""):
            parts = [piece] if is_quoted else re.split(r"[ \t\n]+", piece)
            for i, part in enumerate(parts):
                if i > 0:
                    is_begun = False
                if part or is_quoted:
                    if is_begun:
                        fields[-1] += part
                    else:
                        fields.append(part)
                    is_begun = True
        return fields

    def _pieces(
        self, text: str, quote: str, *, is_here: bool = False
    ) -> Iterator[tuple[str, bool]]:
        """The pieces of a word, and whether each is quoted, or no expansion's.

        A here-document is as within double quotes, which are nothing there.
        """
        at, plain = 0, ""
        usual = _OF_HERE if is_here else _QUOTED if quote else _UNQUOTED
        while at < len(text):
            found = usual.match(text, at)
            if found is not None:
                plain += found[0]
                at = found.end()
                continue
            character = text[at]
            if character == "\\":
                follower = text[at + 1 : at + 2]
                if follower != "\n":
                    is_escape = (
                        not quote
                        or follower in ("$", "`", "\\")
                        or (follower == '"' and not is_here)
                    )
                    plain += follower if is_escape else f"\\{follower}"
                at += 2
                continue
            if character == "'":
                end = text.find("'", at + 1)
                end = end if end >= 0 else len(text)
                yield plain + text[at + 1 : end], True
                plain, at = "", end + 1
                continue
            if character == '"':
                end = grammar.end_of_quote(text, at + 1)
                if plain:
                    yield plain, True
                inner = "".join(piece for piece, _ in self._pieces(text[at + 1 : end], '"'))
                yield inner, True
                plain, at = "", end + 1
                continue
            end, value = self._expansion(text, at, quote)
            if end == at:
                plain += character
                at += 1
                continue
            if plain:
                yield plain, True
                plain = ""
            if value:
                yield value, bool(quote)
            at = end
        if plain:
            yield plain, True

    def _expansion(self, text: str, at: int, quote: str) -> tuple[int, str]:
        """Where it ends, and its value."""
        if text[at] == "`":
            end = grammar.end_of_backquote(text, at + 1)
            return end + 1, self._output(re.sub(r"\\([$`\\])", r"\1", text[at + 1 : end]))
        follower = text[at + 1 : at + 2]
        if follower == "{":
            end = grammar.end_of_bracket(text, at + 2, "{}", is_quoted=bool(quote))
            return end + 1, self._braced(text[at + 2 : end], quote)
        if follower == "(":
            end = grammar.end_of_bracket(text, at + 2, "()")
            return end + 1, self._output(text[at + 2 : end])
        found = _NAME.match(text, at + 1)
        if found is None:
            return at, ""
        return found.end(), self._variable(found[0]) or ""

    def _output(self, command: str) -> str:
        """What a command prints, where that can be told."""
        found = _EDITED.match(command)
        if found is not None:
            return _edited(self._value(found[1]), found[2])
        found = _NAMED.match(command)
        if found is None:
            raise _UnknownError
        value = self._value(found[1])
        if "cpp" in (found[2], found[3]):
            value = value.replace("*", "P").upper()
        else:
            value = value.replace("*+", "p").replace("*", "p")
        return re.sub(r"[^A-Za-z0-9_]", "_", value)

    def _variable(self, name: str) -> str | None:
        """Its value, or None where it is not set."""
        if name.isdigit():
            number = int(name)
            arguments = self._arguments[-1]
            if number == 0 or number > len(arguments):
                return None
            value = arguments[number - 1]
        elif name in ("@", "*", "#", "$", "!", "-"):
            raise _UnknownError
        elif name == "?":
            return "0"
        else:
            if name not in self.variables:
                return None
            value = self.variables[name]
        if value is None:
            raise _UnknownError
        return value

    def _braced(self, text: str, quote: str) -> str:
        found = _BRACED.match(text)
        if found is None:
            raise _UnknownError
        name, how, other = found[1], found[2] or "", found[3] or ""
        if how.endswith("+") and self.variables.get(name, "") is None:
            return self._value(other, quote)  # it is set, to whatever
        value = self._variable(name)
        is_there = value is not None and not (how.startswith(":") and value == "")
        if how.endswith("+"):
            return self._value(other, quote) if is_there else ""
        if how and not is_there:
            value = self._value(other, quote)
            if how.endswith("="):
                self._set(name, value)
        return value or ""


#: They change nothing that is followed, and there are many.
_QUIET: Final = frozenset(("rm", "$as_echo", "$as_echo_n", "printf", "echo", "sed", "cat", "cp"))


def _test(words: list[str]) -> bool | None:
    """test(1) of texts; of files and the rest nothing is known."""
    if words[:1] == ["!"]:
        status = _test(words[1:])
        return None if status is None else not status
    for joint, is_or in (("-o", True), ("-a", False)):
        if joint in words[1:-1]:
            at = words.index(joint, 1)
            left, right = _test(words[:at]), _test(words[at + 1 :])
            if is_or in (left, right):
                return is_or
            return None if None in (left, right) else not is_or
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2 and words[0] in ("-n", "-z"):
        return bool(words[1]) is (words[0] == "-n")
    if len(words) == 3 and words[1] in ("=", "==", "!="):
        return (words[0] == words[2]) is (words[1] != "!=")
    return None


def _edited(text: str, script: str) -> str:
    """What sed makes of a text by commands of the kind s/BASIC REGULAR EXPRESSION/.../."""
    for pattern, other, how in _EDIT.findall(script):
        if "\\" in pattern + other:
            raise _UnknownError
        extended = re.sub(r"([(){}+?|])", r"\\\1", pattern)
        by = other.replace("&", r"\g<0>")
        try:
            text = re.sub(extended, by, text, count=0 if how else 1)
        except re.error as error:
            raise _UnknownError from error
    return text
