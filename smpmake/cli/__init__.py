"""The command line: which command is meant, and how errors become statuses.

Each command lives in a module of its own, imported only when it is called.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from smpmake import __version__

FAULT: Final = 125
#: Name: module, and a line for the help, which so need not import them all.
_COMMANDS: Final = {
    "bench": ("bench", "Time a build with and without smpmake, on one CPU and on more."),
    "compare": ("compare", "Say what got slower between two builds."),
    "doctor": ("doctor", "Show tools, CPUs and server, and probe the CPUs."),
    "env": ("serve", "Print what a shell has to eval to use a server."),
    "export": ("export", "Write a build down for clangd (compile-commands) or ninja."),
    "history": ("history", "List the builds that are remembered."),
    "report": ("report", "Show how much it helped and what held it back."),
    "run": ("run", "Run a build command (for commands named like one of these)."),
    "serve": ("serve", "Run a server until it is stopped; builds share its slots."),
    "shims": ("shims", "Install, list or remove shims in a folder for your PATH."),
    "status": ("serve", "Show who is on a server."),
    "stop": ("serve", "End a server, after everything deferred."),
    "wait": ("serve", "Wait for everything deferred; the status is the outcome."),
    "why": ("why", "Say which commands of the last build were not deferred, and why."),
}


class LazyGroup(click.Group):
    """Knows its commands by name and loads them when called; what is none of them is a build."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"smpmake.cli.{_COMMANDS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, insert_run(args, self._takes_value()))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("smpmake", "[OPTIONS] [--] COMMAND [ARGS]...")
        names = "|".join(sorted(_COMMANDS))
        formatter.write_usage("smpmake", f"{{{names}}} ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from smpmake.cli.run import run

        options = [p for p in run.params if isinstance(p, click.Option)]
        rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
        rows += [("--version", "Show the version and exit."), ("--help", "Show this and exit.")]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    @staticmethod
    def _takes_value() -> set[str]:
        from smpmake.cli.run import run

        return {
            name
            for param in run.params
            if isinstance(param, click.Option) and not param.is_flag and not param.count
            for name in param.opts
        }


def insert_run(args: Sequence[str], takes_value: set[str]) -> list[str]:
    """The command line with `run` made explicit.

    Our options end at the first word that is not one; if that word names a command of ours (and no
    `--` stands before it) it is that command.
    """
    words = list(args)
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--" or not word.startswith("-") or word == "-":
            break
        if word in ("--help", "-h", "--version"):
            return words
        at += 2 if word in takes_value else 1
    if at < len(words) and words[at] in _COMMANDS:
        if words[at] != "run" or at == 0:
            return [*words[at : at + 1], *words[:at], *words[at + 1 :]]
        return ["run", *words[:at], *words[at + 1 :]]
    return ["run", *words] if words else words


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="smpmake", message="%(prog)s %(version)s")
def group() -> None:
    """Run a build command in parallel, safely, with its makefile untouched.

    Put smpmake in front of whatever builds: smpmake make, smpmake ./build.sh.  `smpmake run` is the
    same, for commands that are named like one of ours.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point.  Usage errors and our own faults end with status 125."""
    open_standard_streams()
    status = guarded(lambda: group.main(argv, prog_name="smpmake", standalone_mode=False))
    if argv is None:
        # The process is over: taking the interpreter apart would only keep the user waiting.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def open_standard_streams() -> None:
    """Streams that our caller closed become /dev/null: else their numbers would go to sockets."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
    # Python leaves out what was closed; all our own words go to these two.
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def guarded(call: Callable[[], Any]) -> int:
    """The status of a call: what it returns or exits with, 125 for errors of ours."""
    from smpmake.errors import SmpmakeError

    try:
        status = call()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        error.show()
        return FAULT
    except SmpmakeError as error:
        from smpmake.said import say

        say(str(error))
        return FAULT
    except BrokenPipeError:
        return 141  # as a program that SIGPIPE ended
    return status if isinstance(status, int) else 0
