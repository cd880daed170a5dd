"""HTML in which everything is escaped that is not markup by its type.

What a report shows comes from other people's projects: names, arguments, compilers' output.  Plain
text therefore cannot get into a page unescaped, not even by forgetting something.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from smpmake.units import printable

_VOID: Final = frozenset({"br", "meta", "rect", "circle", "line", "path", "polyline", "col"})
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


NOTHING: Final = Markup("")
TIMES: Final = "\N{MULTIPLICATION SIGN}"


def text(value: str) -> Markup:
    """Plain text as HTML.  Control characters are shown; halves of broken UTF-8 become U+FFFD."""
    return value if isinstance(value, Markup) else Markup(html.escape(printable(value)))


def plain(output: str) -> str:
    """A tool's output without the colours that it meant for a terminal."""
    return _COLOURS.sub("", output).replace("\r\n", "\n")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """The parts, escaped where they are plain."""
    return Markup(text(between).join(text(part) for part in parts))


def tag(name: str, *content: str, **attributes: str | float | None) -> Markup:
    """An element.  `class_` stands for class, `_` for `-`; an attribute of None is left out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not content:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(content)}</{name}>")


def section(name: str, heading: str, *content: str) -> Markup:
    """A part of the page, with a heading that is its name for who hears it."""
    return tag(
        "section",
        tag("h2", heading, id=f"{name}-title"),
        *content,
        id=name,
        aria_labelledby=f"{name}-title",
    )
