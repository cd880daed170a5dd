"""How the tools of Open Watcom take their command lines apart, and where they put their files.

Whatever the number of arguments was, they are one text: every argument is split again at blanks,
and a blank in a name needs quotes *inside* the argument.  `@name` stands for an environment
variable of that name, or else for a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from smpmake.commands.model import Invocation
from smpmake.commands.options import MOST_RESPONSE_FILES, UnreadableError
from smpmake.commands.paths import basename, join, split_suffix

_WORD = re.compile(r'(?:"[^"]*"?|[^\s"])+')


def split(text: str) -> list[str]:
    """Words as they stand, quotes included: such a word can be given to the tool again."""
    return _WORD.findall(text)


def bare(word: str) -> str:
    """A word without its quotes."""
    return word.replace('"', "") if '"' in word else word


class Words(NamedTuple):
    """A command line's words.

    from_variable  those that a variable of the tool's puts before all others.
    own            those of the command line, every @name replaced by what it stands for now.
    replaced       there was an @name: what is run is to hold what it stands for.
    """

    from_variable: list[str]
    own: list[str]
    replaced: bool


def words_of(inv: Invocation, variable: str) -> Words:
    """Raises UnreadableError for an @name that is neither a variable nor a file."""
    own = [word for argument in inv.argv[1:] for word in split(argument)]
    replaced = any(word[0] == "@" for word in own)
    before = split(inv.getenv(variable) or "") if variable else []
    return Words(_expand(before, inv), _expand(own, inv) if replaced else own, replaced)


def _expand(words: Sequence[str], inv: Invocation) -> list[str]:
    out: list[str] = []
    todo = list(reversed(words))
    read = 0
    while todo:
        word = todo.pop()
        if word[0] != "@" or len(word) == 1:
            out.append(word)
            continue
        name = bare(word[1:])
        text = inv.getenv(name)
        if text is None and read < MOST_RESPONSE_FILES:
            text = inv.files.read_text(name)
        read += 1
        if text is None or read > MOST_RESPONSE_FILES:
            raise UnreadableError(name)
        todo.extend(reversed(split(text)))
    return out


def own_name(tool: str) -> str:
    """A tool's name without a folder, and without the b of those that Open Watcom is built with."""
    name = basename(tool).lower()
    return name[1:] if name.startswith("b") else name


def place(pattern: str, base: str, suffix: str) -> str:
    """The file that an option like -fo= names, for a source of that base name.

    A part that is missing is the usual one: "" a.o, ".obj" a.obj, "*.obj" a.obj, "sub/" sub/a.o,
    "sub/.obj" sub/a.obj, "sub" sub.o, "x.y" x.y.
    """
    folder, slash, name = pattern.rpartition("/")
    start, given = split_suffix(name)
    own = join(folder or "/", "") if slash else ""
    return own + (start if start not in ("", "*") else base) + (given or suffix)


def with_suffix(name: str, suffix: str) -> str:
    """A name, with that suffix where it has none."""
    return name if split_suffix(name)[1] else name + suffix
