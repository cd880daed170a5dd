"""The names of our commands, and where on a command line one begins.  All else is a build."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

#: Name: module, and a line for the help, which so need not import them all.
COMMANDS: Final = {
    "bench": ("bench", "Time a build with and without smpmake, on one CPU and on more."),
    "check": ("check", "Build one command at a time, and say what the makefiles forgot."),
    "compare": ("compare", "Say what got slower between two builds."),
    "completion": (
        "completion",
        "Print a script that completes smpmake's command line in your shell.",
    ),
    "doctor": ("doctor", "Say whether smpmake works here, and what it sees of this machine."),
    "env": ("serve", "Print the variables that a shell needs to use a server."),
    "export": ("export", "Write a build for clangd (compile-commands) or ninja."),
    "history": ("history", "List the builds that smpmake remembers."),
    "memo": ("memo", "Show which results smpmake remembers, and what they saved."),
    "report": ("report", "Show how much smpmake helped, and what held the build back."),
    "run": ("run", "Run a build command (for commands named like one of these)."),
    "serve": ("serve", "Run a server until it is stopped.  Several builds share its jobs."),
    "shims": ("shims", "Install, list or remove shims in a folder for your PATH."),
    "status": ("serve", "Show a server's builds."),
    "stop": ("serve", "End a server, once it has nothing left to run."),
    "wait": ("serve", "Wait until a server has nothing left to run."),
    "why": ("why", "Say which commands of the last build did not run in parallel, and why."),
}
#: The option that names a server.
SERVER: Final = "--socket"
JOBSERVER: Final = "--jobserver"
_OF_ENV: Final = (SERVER, "--help", "-h")
#: The status of what is our fault, or the user's before anything was run.
FAULT: Final = 125
#: Key of a click context's meta: whether `run` was left out on the command line.
UNNAMED: Final = "smpmake.unnamed"


def is_ours(words: Sequence[str]) -> bool:
    """Whether the first word is a command of ours.  env is, too, the program that sets variables
    for a command: ours has nothing but options of its own behind it."""
    if not words or words[0] not in COMMANDS:
        return False
    if words[0] != "env":
        return True
    at = 1
    while at < len(words) and words[at].partition("=")[0] in _OF_ENV:
        at += 2 if words[at] == SERVER else 1
    return at >= len(words) or JOBSERVER in words


def first_word(words: Sequence[str], takes_value: AbstractSet[str]) -> int:
    """Where our options end: at `--`, or at the first word that is none.

    It is beyond the last word where an option lacks its value.
    """
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("--", "-"):
        at += 2 if words[at] in takes_value else 1
    return at


def options_with_values(command: click.Command) -> set[str]:
    """The options of a command that the next word belongs to."""
    from click import Option

    return {
        name
        for param in command.params
        if isinstance(param, Option) and not param.is_flag and not param.count
        for name in param.opts
    }
