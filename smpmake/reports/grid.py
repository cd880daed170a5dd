"""Tables for a terminal, laid out by rich.

No other module imports it, and none that a build loads imports this one.  What a project has named
or printed is never rich's markup here, and is only ever shown (units.one_line).
"""

from __future__ import annotations

import enum
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from smpmake.units import one_line

_NARROWEST: Final = 12  # a name cut shorter tells nothing
_INDENT: Final = 2


@dataclass(frozen=True, slots=True)
class Look:
    """What lines are made for.  As it stands: for a pipe or a file.

    frames  lines may be drawn between rows; color: words may be coloured.
    """

    width: int = 80
    frames: bool = False
    color: bool = False


class Kind(enum.Enum):
    """What a column holds: it decides how it is aligned, and what is left out first."""

    FIGURE = "figure"  # to the right, whole
    RANGE = "range"  # to the right, wrapped
    WORDS = "words"  # wrapped
    NAME = "name"  # cut at its beginning: its end tells paths apart
    TEXT = "text"  # cut at its end


Part = str | Text | Padding
Cell = str | Text


@dataclass(frozen=True, slots=True)
class _Name:
    """A text of which, where there is too little room, the beginning goes."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(cut_left(self.text, options.max_width), no_wrap=True, overflow="crop")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        cells = cell_len(self.text)
        return Measurement(min(_NARROWEST, cells), cells).with_maximum(options.max_width)


def cut_left(text: str, cells: int) -> str:
    """The end of a text that takes no more than so many cells of a terminal."""
    if cell_len(text) <= cells:
        return text
    end = text[-max(0, cells - 1) :] if cells > 1 else ""
    while cell_len(end) >= cells and end:
        end = end[1:]
    return f"…{end}" if cells > 0 else ""


def title(text: str) -> Text:
    """The line above a section."""
    return Text(one_line(text), style="bold")


def table(columns: Sequence[tuple[str, Kind]], rows: Iterable[Sequence[Cell]]) -> Padding:
    """A table; without any head none is shown.  Its last row may be shorter."""
    heads = any(name for name, _ in columns)
    made = Table(
        box=box.SIMPLE_HEAD if heads else None,
        show_header=heads,
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="dim",
        border_style="dim",
    )
    for name, kind in columns:
        made.add_column(
            Text(name),
            justify="right" if kind in (Kind.FIGURE, Kind.RANGE) else "left",
            no_wrap=kind is Kind.FIGURE,  # what may give way is what can be wrapped
            overflow="ellipsis" if kind is Kind.TEXT else "fold",
        )
    for row in rows:
        made.add_row(*(_cell(text, kind) for text, (_, kind) in zip(row, columns, strict=False)))
    return Padding(made, (0, 0, 0, _INDENT), expand=False)


def rest(count: int, hint: str = "") -> list[Part]:
    """The line below a table that there is no room for all rows of; none where there is."""
    return [f"{' ' * _INDENT}… and {count} more{hint}"] if count > 0 else []


def example(text: str) -> Text:
    """A cell that is one line, whatever its column holds else: of too long a text the end goes."""
    return Text(f"  {one_line(text)}", no_wrap=True, overflow="ellipsis")


def _cell(text: Cell, kind: Kind) -> RenderableType:
    if isinstance(text, Text):
        return text
    shown = one_line(text)
    if kind is Kind.NAME:
        return _Name(shown)
    return Text(
        shown, no_wrap=kind is Kind.TEXT, overflow="ellipsis" if kind is Kind.TEXT else None
    )


def pairs(rows: Iterable[Sequence[Cell]], first: Kind = Kind.TEXT) -> Padding:
    """A word and what there is to say about it, which is wrapped."""
    return table((("", first), ("", Kind.WORDS)), rows)


def lines(parts: Iterable[Part], look: Look) -> list[str]:
    """The lines of all parts; a text is one line, however long (it can be copied whole)."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=look.width,
        height=100,
        force_terminal=look.frames or look.color,
        color_system="standard" if look.color else None,
        no_color=not look.color,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    for part in parts:
        if isinstance(part, Padding):
            _frame(part, look)
            console.print(part)
        else:
            text = Text(one_line(part)) if isinstance(part, str) else part
            console.print(text, soft_wrap=True)
    return [line.rstrip() for line in out.getvalue().split("\n")[:-1]]


def _frame(part: Padding, look: Look) -> None:
    """Without a terminal nothing is drawn: others read it."""
    if isinstance(part.renderable, Table) and not look.frames:
        part.renderable.box = None
