"""What a command that cannot be run was probably meant to be."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final

from smpmake.cli.names import COMMANDS

#: What only a shell knows, where no program of that name is found.
_SHELL_WORDS: Final = (
    "! ( . : [[ alias bg break case cd command continue declare eval exec exit export fg for "
    "function if jobs let local pushd popd read readonly select set shift source time trap type "
    "typeset ulimit umask unset until while {"
)
_OPTIONS: Final = {"help": "--help", "version": "--version"}
_NEAR: Final = 0.75
_LONGEST: Final = 60  # characters of a command that are worth repeating


def hint(command: list[str]) -> str:
    """What to do instead, "" if nothing is likely.  The command is known not to be there."""
    word = command[0]
    if not word.strip():
        return ""
    if len(word.split()) > 1:
        return _in_a_shell(word)
    if word in _SHELL_WORDS.split() or re.match(r"[A-Za-z_]\w*=", word):
        return _in_a_shell(" ".join([word, *map(shlex.quote, command[1:])]))
    meant = near(word.lower())
    return f"did you mean `smpmake {meant}`?" if meant else ""


def near(word: str) -> str:
    """The command or option of ours that a word is nearly, or the beginning of; "" if none."""
    known = [*COMMANDS, *_OPTIONS]
    begun = [name for name in known if len(word) > 2 and name.startswith(word)]
    found = begun or nearest(word, known)
    return _OPTIONS.get(found[0], found[0]) if found else ""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The one that a word is nearly, if there is one."""
    import difflib

    return difflib.get_close_matches(word, list(known), 1, _NEAR)


def _in_a_shell(line: str) -> str:
    shown = shlex.quote(line) if len(line) <= _LONGEST else "'...'"
    return f"it needs a shell: smpmake sh -c {shown}"
