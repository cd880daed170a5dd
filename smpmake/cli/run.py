"""`smpmake [run] COMMAND`: the options of a build."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from smpmake.cli.build import start
from smpmake.cli.names import UNNAMED
from smpmake.config import (
    CAUSES,
    COLORS,
    ENGINES,
    LINKS,
    OUTPUTS,
    RECIPES,
    RECIPES_BEFORE,
    parse_size,
)


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    size = parse_size(value)
    if size is None:
        raise click.BadParameter(f"'{value}' is no size: 512M, 2G, off", ctx, param)
    return size


def _jobs(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"\d{1,4}", value, re.ASCII) or int(value) > 4096:
        raise click.BadParameter(
            f"'{value}' is no number of jobs: 1 to 4096, or 0 for all CPUs", ctx, param
        )
    return int(value)


class _Recipes(click.Option):
    """Tells a user who gives it a value of older versions; in a variable that is no error."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """See click.Parameter."""
        if value not in RECIPES_BEFORE:
            return super().type_cast_value(ctx, value)
        if ctx.get_parameter_source(self.name or "") is ParameterSource.ENVIRONMENT:
            return value  # `settings_from` says so
        raise click.BadParameter(
            f"'{value}' is gone: smpmake does not run recipe lines in parallel any more that it"
            " does not understand.  Leave the option out, or give 'understood', the default.",
            ctx,
            self,
        )


def settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `run` and `serve` share."""
    options = [
        click.option(
            "-j",
            "--jobs",
            callback=_jobs,
            envvar="SMPMAKE_JOBS",
            help="Run N tools at once; 0: as many as there are usable CPUs, the default.",
            metavar="N",
        ),
        click.option(
            "-k",
            "--keep-going",
            is_flag=True,
            default=None,
            envvar="SMPMAKE_KEEP_GOING",
            help="For scripts: after a failure go on with what does not depend on it."
            "  A make is told so itself: `smpmake make -k`.",
        ),
        click.option(
            "--guard/--no-guard",
            default=None,
            envvar="SMPMAKE_GUARDED",
            help="Make the build's processes wait for results that they touch too early.",
        ),
        click.option(
            "--links",
            type=click.Choice(LINKS),
            envvar="SMPMAKE_LINKS",
            help="Links and archives: wait for their objects in place, or run in parallel too."
            "  [default: defer, without a guard wait]",
        ),
        click.option(
            "--recipes",
            cls=_Recipes,
            type=click.Choice(RECIPES),
            envvar="SMPMAKE_RECIPES",
            help="Run recipe lines, and commands that print into files, in parallel: never (off),"
            " or when all that they do is known.  [default: understood]",
        ),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            envvar="SMPMAKE_ENGINE",
            help="Compile on this machine, or on those of distcc or icecream too; auto: on those"
            " that there are.  [default: local]",
        ),
        click.option(
            "--remote",
            type=click.IntRange(0, 4096),
            envvar="SMPMAKE_REMOTE",
            metavar="N",
            help="Have at most N compiles on other machines; 0: what these take, the default.",
        ),
        click.option(
            "--memory",
            callback=_size,
            envvar="SMPMAKE_MEMORY",
            metavar="SIZE",
            help="Start no job that would leave less than SIZE free; off: do not look at memory."
            "  [default: 5 %, at most 1G]",
        ),
        click.option(
            "--own-pool",
            is_flag=True,
            default=None,
            envvar="SMPMAKE_OWN_POOL",
            help="Do not share the CPUs with other builds of yours: each has as many slots as if it"
            " were alone.",
        ),
        click.option(
            "--nice",
            type=click.IntRange(0, 19),
            envvar="SMPMAKE_NICE",
            metavar="N",
            help="Lower the jobs' priority by N.",
        ),
        click.option(
            "--affinity",
            is_flag=True,
            default=None,
            envvar="SMPMAKE_AFFINITY",
            help="Pin each slot to a CPU.",
        ),
        click.option(
            "--foreground",
            multiple=True,
            envvar="SMPMAKE_FOREGROUND",
            metavar="TOOL",
            help="Always run TOOL in place (a name, or a pattern of its path).",
        ),
        click.option(
            "--exclusive",
            multiple=True,
            envvar="SMPMAKE_EXCLUSIVE",
            metavar="TOOL",
            help="Run TOOL alone, with nothing beside it.",
        ),
    ]
    for option in reversed(options):
        function = _show_variable(option)(function)
    return function


def _show_variable(option: Callable[..., Any]) -> Callable[..., Any]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Callable[..., Any] = option(function)
        for parameter in getattr(decorated, "__click_params__", []):
            if isinstance(parameter, click.Option) and parameter.envvar:
                parameter.show_envvar = True
        return decorated

    return wrap


class _Context(click.Context):
    """Calls itself what was typed: `run` may have been left out."""

    @property
    def command_path(self) -> str:
        """See click.Context."""
        if self.parent is not None and self.meta.get(UNNAMED):
            return self.parent.command_path
        return super().command_path


class _Command(click.Command):
    context_class = _Context


@click.command(
    cls=_Command,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@settings_options
@_show_variable(
    click.option(
        "--output",
        type=click.Choice(OUTPUTS),
        envvar="SMPMAKE_OUTPUT",
        help="Print a job's output when it ends, or in the order of the serial build.",
    )
)
@_show_variable(
    click.option(
        "--chaos",
        type=click.IntRange(0),
        envvar="SMPMAKE_CHAOS",
        metavar="SEED",
        help="Delay and shuffle what may be, by a random SEED: finds missing dependencies.",
    )
)
@_show_variable(
    click.option(
        "--history/--no-history",
        default=None,
        envvar="SMPMAKE_HISTORY",
        help="Let what earlier builds took decide which job is first.",
    )
)
@click.option("--without", multiple=True, hidden=True, type=click.Choice(CAUSES))
@_show_variable(
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        default=None,
        envvar="SMPMAKE_VERBOSE",
        help="Also say which commands did not run in parallel, and why.",
    )
)
@_show_variable(
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        default=None,
        envvar="SMPMAKE_QUIET",
        help="A summary of one line, no status line.",
    )
)
@_show_variable(
    click.option(
        "--color",
        type=click.Choice(COLORS),
        envvar="SMPMAKE_COLOR",
        help="Colours in smpmake's own lines.",
    )
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def run(command: tuple[str, ...], **options: Any) -> int:
    """Run a build command in parallel."""
    return start(options, list(command))
