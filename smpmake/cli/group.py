"""The command line for a parser: which command is meant.

Each command lives in a module of its own, imported only when it is called.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from smpmake import __version__, native
from smpmake.cli import folder
from smpmake.cli.exit import ENDINGS, by_signal
from smpmake.cli.names import COMMANDS, FAULT, UNNAMED, first_word, is_ours, options_with_values
from smpmake.cli.run import run
from smpmake.cli.values import variable_of
from smpmake.console import say


class LazyGroup(click.Group):
    """Knows its commands by name and loads them when called; what is none of them is a build."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"smpmake.cli.{COMMANDS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = insert_run(args, options_with_values(run))
        ctx.meta[UNNAMED] = len(words) > len(args)
        return super().parse_args(ctx, words)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _ended_by_signals():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _ended_by_signals():
            return super().invoke(ctx)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("smpmake", "[OPTIONS] [--] COMMAND [ARGS]...")
        names = "|".join(sorted(COMMANDS))
        formatter.write_usage("smpmake", f"{{{names}}} ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in run.params if isinstance(p, click.Option)]
        rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
        rows = [folder.TOLD, *rows]
        rows += [
            ("-V, --version", "Show the version and exit."),
            ("-h, --help", "Show this and exit."),
        ]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """As any tool is; click's own way is to leave with a status."""
    try:
        yield
    except ENDINGS as error:
        raise click.exceptions.Exit(by_signal(error)) from None


def insert_run(args: Sequence[str], takes_value: set[str]) -> list[str]:
    """The command line with `run` made explicit.

    Our options end at the first word that is not one; if that word names a command of ours (and no
    `--` stands before it) it is that command.
    """
    words = list(args)
    at = first_word(words, takes_value)
    if set(words[:at]) & {"--help", "-h", "--version", "-V"}:
        return words
    if is_ours(words[at:]):
        if words[at] != "run" or at == 0:
            return [*words[at : at + 1], *words[:at], *words[at + 1 :]]
        return ["run", *words[:at], *words[at + 1 :]]
    return ["run", *words] if words else words


_STATUSES: Final = """\b
The exit status is the build's own.  Otherwise:
  1        a job failed after the build had taken it for done, and could not be run again
  3        smpmake report --fail-under: the build was slower than that
  4        smpmake check: a makefile forgot something
  5        smpmake check found nothing, but did not look at everything
  125      smpmake itself failed, or the command line or a setting is wrong
  126, 127 the command cannot be run, or is not found
  128+n    signal n has ended the build (Ctrl-C: 130)
"""


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"smpmake {__version__} (build {native.build_id()})")
        context.exit()


@click.group(
    cls=LazyGroup,
    epilog=_STATUSES,
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def group() -> None:
    """Run a build command in parallel, safely, with its makefile untouched.

    Put smpmake in front of any build command: smpmake make, smpmake ./build.sh.  If the command has
    the name of a subcommand below, write smpmake run or smpmake -- in front of it.
    """


#: click 8.2 and newer have an error for a group that is called without any words.
_NO_WORDS: Final[tuple[type[click.UsageError], ...]] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


def parsed(words: list[str]) -> Any:
    """Does what a command line says; returns the status, 125 for usage errors, which are told."""
    try:
        return group.main(words, prog_name="smpmake", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        if isinstance(error, _NO_WORDS) and error.ctx is not None:
            click.echo(error.ctx.get_help())
            return 0
        context = error.ctx if isinstance(error, click.UsageError) else None
        more = f" (see {context.command_path} --help)" if context is not None else ""
        say(f"{_told(error)}{more}")
        return FAULT


def _told(error: click.ClickException) -> str:
    """What is wrong with a command line, in one line."""
    if isinstance(error, click.NoSuchOption):
        from smpmake.cli.hints import nearest

        known = nearest(error.option_name, error.possibilities or ())
        return f"no such option: {error.option_name}" + "".join(
            f"; did you mean {name}?" for name in known
        )
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_named(error.param, error.ctx)} is missing"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_named(error.param, error.ctx)}: {error.message.rstrip('.')}"
    return error.format_message().rstrip(".")


def _named(param: click.Parameter, context: click.Context | None) -> str:
    """What was given, or should have been: an option's last name, an argument's placeholder."""
    if isinstance(param, click.Option):
        return variable_of(context, param) or param.get_error_hint(context).replace("'", "")
    return (param.metavar or param.human_readable_name).strip("[].")
