"""The names of our commands.  All else on a command line is a build."""

from __future__ import annotations

from typing import Final

#: Name: module, and a line for the help, which so need not import them all.
COMMANDS: Final = {
    "bench": ("bench", "Time a build with and without smpmake, on one CPU and on more."),
    "compare": ("compare", "Say what got slower between two builds."),
    "doctor": ("doctor", "Say whether smpmake works here, and what it sees of this machine."),
    "env": ("serve", "Print what a shell has to eval to use a server."),
    "export": ("export", "Write a build down for clangd (compile-commands) or ninja."),
    "history": ("history", "List the builds that are remembered."),
    "report": ("report", "Show how much it helped and what held it back."),
    "run": ("run", "Run a build command (for commands named like one of these)."),
    "serve": ("serve", "Run a server until it is stopped; builds share its slots."),
    "shims": ("shims", "Install, list or remove shims in a folder for your PATH."),
    "stop": ("serve", "End a server, after everything deferred."),
    "wait": ("serve", "Wait for everything deferred; the status is the outcome."),
    "why": ("why", "Say which commands of the last build were not deferred, and why."),
}
#: Key of a click context's meta: whether `run` was left out on the command line.
UNNAMED: Final = "smpmake.unnamed"
