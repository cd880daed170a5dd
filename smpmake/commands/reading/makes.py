"""Programs that run recipes, by name."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

#: Open Watcom's make, and the one that it is built with.
WMAKES: Final = frozenset({"wmake", "bwmake"})
#: Makes that look at the files that their makefiles name, and are shown a serial build's.
READERS: Final = frozenset({"make", "gmake", "bmake", "pmake", "fmake", "remake"}) | WMAKES
#: Names of GNU make, which can be asked for its rules.
GNU: Final = ("gmake", "make")
#: Drivers that read a command's dependency file the moment the command ends.
READ_BACK: Final = frozenset({"ninja", "samu"})
#: Drivers that run their commands in parallel by themselves.
PARALLEL: Final = READ_BACK | {"n2"}
#: All that do not read a recipe's output themselves.
MAKES: Final = READERS | READ_BACK | {"colormake"}

#: Programs that are tools only with -E and one of these words (generators/cmake.py).
SOMETIMES_TOOLS: Final = ("cmake",)
FILE_COMMANDS: Final = (
    "cmake_symlink_executable",
    "cmake_symlink_library",
    "copy",
    "copy_if_different",
    "create_symlink",
    "make_directory",
    "rm",
    "touch",
    "touch_nocreate",
)

#: Letters of make's options that have a value, or may have one.
_VALUED: Final = frozenset("CEIOWflo")

#: How MAKEFLAGS names a job server; the second before make 4.2.
JOBSERVER: Final = ("--jobserver-auth=", "--jobserver-fds=")
#: Variables that may; the second is cargo's, for the build scripts of crates.
NAME_JOBSERVER: Final = ("MAKEFLAGS", "CARGO_MAKEFLAGS")
#: The FIFO of a shell's job server (`smpmake env --jobserver`), and of what the shell tells it.
SHELLS: Final = "smpmake-tokens"
SHELL: Final = "shell"


def names_jobserver(environment: Mapping[str, str]) -> bool:
    """Whether a make, ninja or cargo that calls us has one, by its variables."""
    return any("--jobserver-" in environment.get(name, "") for name in NAME_JOBSERVER)


def runs_in_parallel(command: Sequence[str]) -> bool:
    """Whether a driver does by itself, and was not told to run one command at a time."""
    words = list(command)
    one_at_a_time = "-j1" in words or ("-j", "1") in pairwise(words)
    return posixpath.basename(words[0]) in PARALLEL and not one_at_a_time


def options_of(makeflags: str) -> list[str]:
    """The words of MAKEFLAGS, up to the variables behind ` -- `."""
    words = makeflags.split(" ")
    return words[: words.index("--")] if "--" in words else words


def split_jobs(word: str) -> tuple[str, str | None]:
    """A word of options without -j and its number, which may stand behind other letters (-kj4).

    The number is None where there is no -j, and "" where the next word may be it.
    """
    if word.startswith("--"):
        name, _, number = word.partition("=")
        return ("", number) if name == "--jobs" else (word, None)
    for at, letter in enumerate(word if word.startswith("-") else ""):
        if letter == "j":
            return word[:at] if at > 1 else "", word[at + 1 :]
        if letter in _VALUED:
            break
    return word, None


def jobs_option(makeflags: str) -> str:
    """How a make was told to run several jobs at once: "-j2"; "" where it was not."""
    words = options_of(makeflags)
    found = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        number = split_jobs(word)[1]
        if number is None:
            continue
        if not number and following.isdigit():  # as BSD's makes write it
            number = following
        found = "" if number in ("0", "1") else f"-j{number}"
    return found


def without_jobs(makeflags: str) -> str:
    """MAKEFLAGS for a driver that is to issue one command after the other."""
    options = options_of(makeflags)
    rest = makeflags.split(" ")[len(options) :]
    parts = [split_jobs(word) for word in options if not word.startswith(JOBSERVER)]
    kept = [letters for letters, number in parts if letters or number is None]
    return " ".join([*kept, *rest])
