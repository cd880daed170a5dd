"""-C DIR, before anything else is looked at: as make, git and ninja have it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from smpmake.errors import SmpmakeError
from smpmake.options import OPTIONS

WORD: Final = "-C"
#: For the help.
TOLD: Final = (
    "-C DIR",
    "Change to DIR before anything else.  Several add up: -C a -C b is -C a/b.",
)


class FolderError(SmpmakeError):
    """The folder of a -C cannot be changed to."""


class Parted(NamedTuple):
    """A command line: the folders of -C, and the places of all other words.

    lacks_one  the last -C has no folder.
    """

    folders: list[str]
    kept: list[int]
    lacks_one: bool


def part(words: Sequence[str]) -> Parted:
    """Only what stands before a command, and behind `run`, is ours."""
    folders: list[str] = []
    kept: list[int] = []
    at = 0
    takes_value = _words_with_values()
    may_be_run = True
    while at < len(words):
        word = words[at]
        if word.startswith(WORD):
            folders += [word[2:]] if word != WORD else list(words[at + 1 : at + 2])
            at += 1 if word != WORD else 2
        elif word.startswith("-") and word not in ("-", "--"):
            step = 2 if word in takes_value else 1
            kept += range(at, min(at + step, len(words)))
            at += step
        elif word == "run" and may_be_run:
            may_be_run = False
            kept.append(at)
            at += 1
        else:
            break
    kept += range(at, len(words))
    return Parted(folders, kept, at > len(words) and words[-1] == WORD)


def _words_with_values() -> set[str]:
    return {word for o in OPTIONS if o.kind != "flag" for word in o.words}


def go(words: list[str]) -> list[str]:
    """Changes to the folders, each seen from the one before; returns the other words.

    Raises FolderError.
    """
    parted = part(words)
    if parted.lacks_one:
        raise FolderError(f"{WORD} needs a folder: smpmake {WORD} DIR COMMAND")
    for folder in parted.folders:
        try:
            os.chdir(folder)
        except OSError as error:
            raise FolderError(f"{WORD} {folder}: {error.strerror}") from None
    return [words[at] for at in parted.kept]
