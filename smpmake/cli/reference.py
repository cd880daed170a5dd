"""The user's variables and the keys of settings files, for the man page and the documentation.

It needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from smpmake.options import OPTIONS, OTHER_VARIABLES, Option

_OTHERS: Final = (
    "Show this text as the status line, as NINJA_STATUS does for ninja; empty: no status line.",
    "Print a status line every so many seconds where there is no terminal; 0: none.",
    "Take the server of this name, as --socket does.",
)


class Row(NamedTuple):
    """A name that the user can set.

    same  how the command line says it; "" for not at all.
    """

    name: str
    value: str
    default: str
    same: str
    help: str


def variables() -> list[Row]:
    """Of the environment, by name."""
    rows = [_row(option, option.variable) for option in OPTIONS if option.variable]
    rows += [
        Row(name, "text", "", "", text) for name, text in zip(OTHER_VARIABLES, _OTHERS, strict=True)
    ]
    return sorted(rows)


def keys() -> list[Row]:
    """Of settings files, by name."""
    return sorted(_row(option, option.key) for option in OPTIONS if option.key)


def _row(option: Option, name: str) -> Row:
    value = option.must_be.replace('"', "")
    default = str(option.default in option.words).lower() if option.off else option.default
    same = " / ".join(_words(option))
    return Row(name, value, default, same, option.help)


def _words(option: Option) -> tuple[str, ...]:
    """How the command line says it, and takes it back."""
    return (*option.words[-1:], *option.off)


def markdown() -> Iterator[str]:
    """A table for the documentation, line by line."""
    yield "| option | variable | key | what it does |"
    yield "| --- | --- | --- | --- |"
    for option in filter(lambda each: each.help, OPTIONS):  # others are for tests
        names = (_words(option), (option.variable,), (option.key,))
        cells = (", ".join(f"`{name}`" for name in each if name) for each in names)
        yield f"| {' | '.join(cells)} | {_told(option)} |"
    for name, text in zip(OTHER_VARIABLES, _OTHERS, strict=True):
        yield f"| | `{name}` | | {text} |"


def _told(option: Option) -> str:
    text = option.help.replace("|", r"\|").replace("  ", " ")
    default = option.default
    if option.off:
        default = "on" if default in option.words else "off"
    return f"{text} Default: {default}." if default else text
