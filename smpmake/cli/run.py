"""`smpmake [run] COMMAND` for a parser: its options are made from smpmake.options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from smpmake.cli import folder
from smpmake.cli.names import UNNAMED
from smpmake.cli.values import Value
from smpmake.options import Option, of_builds


class _Option(click.Option):
    """One of the table's.  Its help has the usual words alone; errors name what was given."""

    def __init__(self, option: Option) -> None:
        words = option.words
        more: dict[str, Any] = {"type": Value(option)}
        if option.kind == "flag":
            more = {"is_flag": True}
            words = ("/".join((*words[-1:], *option.off)), *words[:-1])
        super().__init__(
            [option.name, *words],
            default=None,
            multiple=option.kind == "list",
            envvar=[option.variable] if option.variable else None,
            hidden=not option.help,
            **more,
        )
        self._option = option

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """See click.Option."""
        if self.hidden:
            return None
        option = self._option
        shown = ", ".join(option.words)
        shown += f" {option.placeholder}" if option.placeholder else ""
        return " / ".join((shown, *option.off)), option.help_text

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """See click.Option."""
        return self._option.words[-1]


def with_options(
    options: Iterable[Option],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command options of the table."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        params = getattr(function, "__click_params__", [])
        params += [*map(_Option, options)][::-1]  # as decorators come
        function.__click_params__ = params  # type: ignore[attr-defined]
        return function

    return decorate


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

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click.Command."""
        records = (param.get_help_record(ctx) for param in self.get_params(ctx))
        with formatter.section("Options"):
            formatter.write_dl([folder.TOLD, *(record for record in records if record is not None)])


@click.command(
    cls=_Command,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@with_options(of_builds())
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def run(command: tuple[str, ...], **options: Any) -> int:
    """Run a build command in parallel."""
    from smpmake.cli.early import start

    return start(options, list(command))
