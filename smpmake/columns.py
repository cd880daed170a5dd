"""The columns of commands: the history, the report, its schema and its page follow this table.

A column is a field of records.CommandRecord, or a figure that the report works out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from smpmake.records import UNKNOWN, CommandRecord

#: The version of the report as JSON.  Raise it when a column in the report is new or changes.
REPORT_VERSION: Final = 4
#: By field: what the history has of builds that are older than the column.
_DEFAULTS: Final = {
    name: f" not null default {int(value)}" if isinstance(value, int) else ""
    for name, value in UNKNOWN.items()
}
_UNITS: Final = {"time": "_ns", "KiB": "_kib"}
#: Kinds that the history does not keep as numbers, as SQL.
_TEXTS: Final = {
    **dict.fromkeys(("text", "printed"), "text not null default ''"),
    **dict.fromkeys(("texts", "paths"), "text not null default '[]'"),
    "words": "blob not null default x''",
}
#: Kinds whose values differ between the record and the report.
_REPORTED: Final[dict[str, Callable[[Any], Any]]] = {
    "CPU": lambda value: value / 1e6,
    "KiB": lambda value: value * 1024,
    "texts": list,
}


class Column(NamedTuple):
    """One of them.

    name     the record's field; empty if the report works the figure out.
    kind     how the record, the history, the report and the page have its values.  Times are ns in
             the record, CPU is us, and both are seconds in the report.  The history keeps each of
             "paths" once a build, and takes secrets out of "printed".
    report   its name in the report; empty if the report does not have it.
    about    its description in the report's schema.
    unknown  -1 in the record means that nobody knows; the report says null.
    least, choices  the values that it may have.
    page     the page's scripts get it, under its name in the report.
    """

    name: str
    kind: Literal[
        "text",
        "printed",
        "texts",
        "paths",
        "words",
        "number",
        "numbers",
        "flag",
        "time",
        "CPU",
        "seconds",
        "KiB",
    ]
    report: str = ""
    about: str = ""
    unknown: bool = False
    least: int = 0
    choices: tuple[str, ...] = ()
    page: bool = False

    @property
    def stored(self) -> str:
        """What the history calls it."""
        return self.name + _UNITS.get(self.kind, "")

    @property
    def declared(self) -> str:
        """Its line in the history's table."""
        default = _DEFAULTS.get(self.name, "")
        return f"{self.stored} {_TEXTS.get(self.kind, f'integer{default}')}"

    def reported(self, record: CommandRecord, began: int) -> Any:
        """Its value in the report of a build that began then."""
        value = getattr(record, self.name)
        if self.kind == "time":
            return round(max(0, value - began) / 1e9, 6) if value else None
        if self.unknown and value == -1:
            return None
        return _REPORTED[self.kind](value) if self.kind in _REPORTED else value


#: In the report's order.
COLUMNS: Final = (
    Column("number", "number", "number", "order of issue"),
    Column("tool", "text", "tool", "as called, without folder", page=True),
    Column("kind", "text", "kind", "compile, link, archive, file ...", page=True),
    Column("", "text", "language", "of the source, or a kind in parentheses", page=True),
    Column("", "text", "folder", "of the output, from build.cwd", page=True),
    Column("cwd", "text", "cwd", "where it ran", page=True),
    Column("argv", "words"),
    Column("", "text", "command", "the command line, quoted for a shell, without secrets"),
    Column("outputs", "texts", "outputs", "canonical paths"),
    Column("verdict", "text", "verdict", choices=("deferred", "foreground", "barrier"), page=True),
    Column("reason", "text", "reason", "why it was not deferred; empty if it was", page=True),
    Column("detail", "printed"),
    Column(
        "state",
        "text",
        "state",
        "empty: it had not ended",
        choices=("done", "failed", "cancelled", "undone", ""),
        page=True,
    ),
    Column(
        "status",
        "number",
        "status",
        "exit status, 128 + n for signal n; null where only its caller knows",
        unknown=True,
        page=True,
    ),
    Column("slot", "number", "slot", "-1: none", least=-1, page=True),
    Column("light", "flag"),
    Column("issued", "time", "issued"),
    Column("ready", "time", "ready", "its last input was there"),
    Column("started", "time", "started"),
    Column("ended", "time", "ended"),
    Column("host", "text", "host", "the other machine that has done it, empty for none", page=True),
    Column("sent", "time", "sent", "since when only that machine had to do with it"),
    Column(
        "waited_for",
        "number",
        "waited_for",
        "the command that it waited for last; -1: none",
        least=-1,
        page=True,
    ),
    Column(
        "",
        "numbers",
        "waits_for",
        "in a build that runs: commands that make what it reads and have still to end; else empty",
    ),
    Column(
        "user_us",
        "CPU",
        "user",
        "CPU time; 0 where nobody could tell (some in the foreground)",
        page=True,
    ),
    Column("system_us", "CPU", "system", "CPU time in the kernel", page=True),
    Column(
        "delay_us",
        "CPU",
        "waited_for_cpu",
        "how long its processes, together, waited for a CPU; null where nobody measured it",
        unknown=True,
    ),
    Column("", "seconds", "weighted", "wall time, shared where several ran at once", page=True),
    Column("max_rss", "KiB", "max_rss_bytes", "largest process; 0 where nobody looked", page=True),
    Column("minor_faults", "number"),
    Column("major_faults", "number"),
    Column("voluntary", "number"),
    Column("involuntary", "number"),
    Column("unguarded", "text"),
    Column("inputs", "paths"),
    Column("reads", "paths"),
    Column(
        "surprises",
        "texts",
        "surprises",
        '"read PATH" or "wrote PATH", which its command line did not say',
    ),
    Column("program", "text", "program", "the tool's file; empty where nobody noted it"),
    Column(
        "warnings",
        "number",
        "warnings",
        "that its output told of; null where nobody saw that (it ran in place)",
        unknown=True,
    ),
    Column("errors", "number", "errors", "the same", unknown=True),
    Column("said", "printed"),
    Column(
        "missed",
        "printed",
        "missed",
        "why smpmake had no remembered result of it; empty if it had, or did not look",
    ),
)
#: What the history's table of commands has.
STORED: Final = tuple(column for column in COLUMNS if column.name)
REPORTED: Final = tuple(column for column in COLUMNS if column.report)
