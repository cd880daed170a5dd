"""Values that options and arguments take, for a parser: what smpmake.options converts."""

from __future__ import annotations

import os
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from smpmake.options import Option, ValueUnusableError


class Value(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A value that the table converts."""

    def __init__(self, option: Option) -> None:
        self.name = option.kind
        self._option = option

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See click.ParamType."""
        if not isinstance(value, str):
            return value
        try:
            return self._option.from_text(value)
        except ValueUnusableError as error:
            raise click.BadParameter(str(error), ctx, param) from None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """See click.ParamType."""
        choices = self._option.choices
        return [CompletionItem(each) for each in choices if each.startswith(incomplete)]


def variable_of(ctx: click.Context | None, param: click.Parameter | None) -> str:
    """The variable that a value is from; "" for the command line."""
    if ctx is None or param is None or param.name is None or not param.envvar:
        return ""
    if ctx.get_parameter_source(param.name) is not ParameterSource.ENVIRONMENT:
        return ""
    return next((name for name in param.envvar if os.environ.get(name)), "")


#: A number of things, at least one.
COUNT: Final = Value(Option("count", "number", least=1, wanted="a whole number, at least 1"))
