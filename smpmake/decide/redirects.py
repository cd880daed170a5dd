"""Whether a shell's text redirects one command's output to a file for this command alone.

`sed s/a/b/ in > out` does, `{ sed s/a/b/ in; echo end; } > out` does not, and descriptors cannot
tell: dash opens `out` in its own place for either.  Answers "no" to all that is not plain.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

#: Quoted pieces, with the dollars before them: an odd one makes it another kind of quote.
_QUOTED: Final = re.compile(r"""(\$*)('[^']*'|"(?:[^"\\]|\\.)*")|\\.""", re.DOTALL)
#: What this does not follow: substitutions, comments, here-documents, functions.
_NOT_PLAIN: Final = re.compile(r"""\$\(|['"`]|<<|(?:^|[\s;&|()<>])#|\(\s*\)""")
_TOKEN: Final = re.compile(r"[;<>|&()\n]+|[^\s;<>|&()]+")
_SEPARATOR: Final = re.compile(r"[;&|\n()]+")
_REDIRECTION: Final = re.compile(r"[<>&|]*[<>][<>&|]*")
_OPERATOR: Final = re.compile(r"[;<>|&()\n]")
_BEFORE: Final = frozenset({"then", "do", "else", "{", "time"})
_ASKING: Final = frozenset({"if", "elif", "while", "until", "!"})
_ENDS: Final = frozenset({"}", "fi", "done", "esac"})
#: By these a shell comes to mean something else, or sends its own output elsewhere.
_CHANGES: Final = frozenset(
    {
        *(
            "exec",
            "eval",
            ".",
            "source",
            "command",
            "builtin",
            "alias",
            "unalias",
            "case",
            "select",
        ),
        *("function", "functions", "coproc", "enable", "autoload", "zmodload", "emulate", "shopt"),
        *("setopt", "unsetopt", "noglob", "nocorrect", "-", "[["),
    }
)
_ASSIGNMENT: Final = re.compile(r"\w+\+?=")
#: A command's name that is what it is: nothing in it is quoted, expanded or a pattern.
_NAME: Final = re.compile(r"[\w./+@%:,-]+|\[")
_BLANK: Final = "\0"  # for what was quoted
#: What may stand behind a command whose status decides no more than whether its line goes on.
_GOES_ON: Final = frozenset({"", ";", "&&"})


class _Simple(NamedTuple):
    """A simple command: its words with its redirections, and the separators around it."""

    before: str
    words: list[str]
    behind: str


def alone(text: str, tool: str, target: str) -> bool:
    """Whether stdout of the commands of `tool` in a shell's text goes to `target` and is theirs.

    tool    the command's name, without a folder.
    target  the file that its stdout is, without a folder.
    """
    try:
        commands = list(_commands(_unquoted(text.replace("\\\n", ""))))
    except ValueError:
        return False
    if not all(_leaves_others_alone(command) for command in commands):
        return False
    ours = [command for command in commands if any(_base(w) == tool for w in command.words)]
    names = list(map(_own_file, ours))
    return all(names) and any("$" in name or _base(name) == target for name in names)


def _unquoted(text: str) -> str:
    """The text without its quotes, and without what in them means nothing to a shell.

    Raises ValueError for what this does not follow.
    """

    def plain(piece: re.Match[str]) -> str:
        dollars, quoted = piece[1] or "", piece[2]
        if quoted is None:
            return _BLANK
        if len(dollars) % 2 or (quoted[0] == '"' and ("$(" in quoted or "`" in quoted)):
            raise ValueError(quoted)
        kept = r"[^\w./$-]" if quoted[0] == '"' else r"[^\w./-]"
        return dollars + (re.sub(kept, _BLANK, quoted[1:-1]) or _BLANK)

    text = _QUOTED.sub(plain, text)
    if _NOT_PLAIN.search(text):
        raise ValueError(text)
    return text


def _commands(text: str) -> Iterator[_Simple]:
    """Raises ValueError for operators that are neither separators nor redirections."""
    runs: list[list[str]] = [[]]
    separators: list[str] = [""]
    for token in _TOKEN.findall(text):
        if _SEPARATOR.fullmatch(token):
            runs.append([])
            separators.append(token.replace("\n", ""))
        elif _OPERATOR.match(token) and not _REDIRECTION.fullmatch(token):
            raise ValueError(token)
        else:
            runs[-1].append(token)
    separators.append("")
    for run, (before, behind) in zip(runs, itertools.pairwise(separators), strict=True):
        if run:
            yield _Simple(before, run, behind)


def _leaves_others_alone(command: _Simple) -> bool:
    """Whether it is one known by name, redirects no other and changes nothing for those behind."""
    words = command.words[len(_leading(command.words)) :]
    bare = [word for word in _without_redirections(words) if not _ASSIGNMENT.match(word)]
    redirects = any(map(_REDIRECTION.fullmatch, words))
    if not bare:  # assignments, or what stands behind a subshell
        return not redirects
    if redirects and (bare[0] in _ENDS or ")" in command.before):
        return False
    return bare[0] in _ENDS or (bare[0] not in _CHANGES and _NAME.fullmatch(bare[0]) is not None)


def _without_redirections(words: list[str]) -> list[str]:
    found = [n for n, word in enumerate(words) if _REDIRECTION.fullmatch(word)]
    gone = {*found, *(n + 1 for n in found), *(n - 1 for n in found if _number(words, n))}
    return [word for n, word in enumerate(words) if n not in gone]


def _leading(words: list[str]) -> list[str]:
    """The shell's own words before a command."""
    return list(itertools.takewhile((_BEFORE | _ASKING).__contains__, words))


def _own_file(command: _Simple) -> str:
    """As the text names it; "" where there is none, or the command's status counts."""
    words = command.words
    if (
        not _ASKING.isdisjoint(_leading(words))
        or command.behind not in _GOES_ON
        or "|" in command.before
    ):
        return ""
    found = [n for n, word in enumerate(words) if _REDIRECTION.fullmatch(word)]
    outs = [n for n in found if ">" in words[n] and _number(words, n) in ("", "1")]
    if len(outs) != 1 or any("&" in words[n] for n in found):
        return ""
    at = outs[0]
    if words[at] not in (">", ">|") or at + 1 >= len(words):
        return ""
    return words[at + 1]


def _number(words: list[str], at: int) -> str:
    """The descriptor before a redirection: "2" of `2>`; also of `2 >`, which may mean another."""
    return words[at - 1] if at > 0 and words[at - 1].isdigit() else ""


def _base(path: str) -> str:
    return path.rpartition("/")[2]
