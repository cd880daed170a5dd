"""What a command that cannot be run was probably meant to be."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final

from smpmake.cli.names import COMMANDS

#: What only a shell knows, where no program of that name is found, and what does something in a
#: shell of its own: not what only changes the shell itself.
_SHELL_WORDS: Final = (
    "! ( . [[ case command eval exec for function if select source time until while {"
)
_CHANGES_FOLDER: Final = ("cd", "chdir", "pushd")
_OPTIONS: Final = {"help": "--help", "version": "--version"}
_NEAR: Final = 0.75
_LONGEST: Final = 60  # characters of a command that are worth repeating


def hint(command: list[str]) -> str:
    """What to do instead, "" if nothing is likely.  The command is known not to be there."""
    word = command[0]
    if not word.strip():
        return ""
    if _is_assignment(word) and len(command) > 1:
        return _with_variables(command)
    if len(word.split()) > 1:
        return _in_a_shell(word)
    if word in _SHELL_WORDS.split():
        return _in_a_shell(" ".join([word, *map(shlex.quote, command[1:])]))
    if word in _CHANGES_FOLDER:
        return _in_a_folder(command[1:])
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


def _in_a_folder(words: list[str]) -> str:
    """A folder that one command changes to is not the next one's."""
    folders = [word for word in words if not word.startswith("-")]
    folder = shlex.quote(folders[0]) if len(folders) == 1 else "FOLDER"
    return f"to build in a folder: smpmake -C {folder} COMMAND"


def _is_assignment(word: str) -> bool:
    return re.match(r"[A-Za-z_]\w*=", word) is not None


def _with_variables(command: list[str]) -> str:
    """Variables for a command, if there is one."""
    at = next((n for n, word in enumerate(command) if not _is_assignment(word)), 0)
    if at == 0:
        return ""
    parts = [word.partition("=") for word in command[:at]]
    variables = [f"{name}={shlex.quote(value)}" for name, _, value in parts]
    line = " ".join([*variables, "smpmake", *map(shlex.quote, command[at:])])
    return f"variables come before smpmake: {line}"


def _in_a_shell(line: str) -> str:
    shown = shlex.quote(line) if len(line) <= _LONGEST else "'...'"
    return f"it needs a shell: smpmake sh -c {shown}"
