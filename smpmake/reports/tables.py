"""The page's tables: commands, sums over them, waits, and the builds before this one."""

from __future__ import annotations

import time
from typing import Final

from smpmake.reports import charts
from smpmake.reports.document import Document
from smpmake.reports.ending import gains
from smpmake.reports.markup import NOTHING, TIMES, Markup, section, tag
from smpmake.reports.terminal import best_serial, label
from smpmake.units import cut, seconds, size

_COMMANDS: Final = 50  # rows of the table that stands in for the interactive one
_GROUPS: Final = 100


def commands(document: Document) -> Markup:
    """The costliest commands; the page's script puts all of them in their place."""
    ran = [command for command in document["commands"] if command["started"] is not None]
    ran.sort(key=lambda command: -command["weighted"])
    rows = []
    for command in ran[:_COMMANDS]:
        wall = max(0.0, (command["ended"] or command["started"]) - command["started"])
        rows.append(
            tag(
                "tr",
                tag("th", label(command), scope="row", title=cut(command["command"], 160)),
                tag("td", command["kind"], class_="words minor"),
                tag("td", seconds(command["weighted"])),
                tag("td", seconds(wall), class_="minor"),
                tag("td", seconds(command["user"] + command["system"]), class_="minor"),
                tag("td", _memory(command["max_rss_bytes"]), class_="minor"),
            )
        )
    if not rows:
        return NOTHING
    heads = ("Weighted", "Wall", "CPU", "Memory")
    header = tag(
        "tr",
        tag("th", "Command", scope="col", class_="words"),
        tag("th", "Kind", scope="col", class_="words minor"),
        *(tag("th", h, scope="col", class_=None if h == heads[0] else "minor") for h in heads),
    )
    note = (
        f"The {len(rows)} costliest of {len(document['commands']):,}.  Weighted: seconds in which "
        "several commands ran at once are shared between them."
    )
    return section(
        "commands",
        "Commands",
        tag(
            "div",
            tag("p", note, class_="note"),
            tag("table", tag("thead", header), tag("tbody", *rows), class_="rows"),
            id="costliest",
        ),
        tag("div", id="all-commands", hidden=""),
    )


def groups(document: Document) -> Markup:
    """Sums by language, folder and tool."""
    tables = [
        _group_table(document[name], one)
        for name, one in (("languages", "Language"), ("tools", "Tool"), ("folders", "Folder"))
        if document[name]
    ]
    if not tables:
        return NOTHING
    return section("groups", "Languages, tools, folders", *tables)


def _group_table(groups: list[Document], one: str) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", group["name"], scope="row"),
            _figure("", seconds(group["weighted"]), group["weighted"]),
            _figure("minor", seconds(group["seconds"]), group["seconds"]),
            _figure("minor", seconds(group["cpu"]), group["cpu"]),
            _figure("", f"{group['count']:,}", group["count"]),
            _figure("minor", _memory(group["max_rss_bytes"]), group["max_rss_bytes"]),
        )
        for group in groups[:_GROUPS]
    ]
    minor = ("Wall", "CPU", "Memory")
    header = tag(
        "tr",
        tag("th", one, scope="col", class_="words"),
        *(
            tag("th", name, scope="col", class_="minor" if name in minor else None)
            for name in ("Weighted", "Wall", "CPU", "Commands", "Memory")
        ),
    )
    table = tag("table", tag("thead", header), tag("tbody", *rows), class_="rows sortable")
    rest = len(groups) - len(rows)
    more = tag("p", f"… and {rest:,} more", class_="note") if rest > 0 else NOTHING
    return tag(
        "div", table, more, class_="box", tabindex=0, role="region", aria_label=f"By {one.lower()}"
    )


def headers(document: Document) -> Markup:
    """Files that several compiles have read, and what touching them would cost."""
    found = document["headers"]
    if not found:
        return NOTHING
    rows = [
        tag(
            "tr",
            tag("th", header["name"], scope="row"),
            _figure("", seconds(header["cpu"]), header["cpu"]),
            _figure("", f"{header['share']:.0%}", header["share"]),
            _figure("", f"{header['count']:,}", header["count"]),
        )
        for header in found[:_GROUPS]
    ]
    header = tag(
        "tr",
        tag("th", "File", scope="col", class_="words"),
        *(tag("th", name, scope="col") for name in ("CPU", "Of all", "Compiles")),
    )
    note = tag(
        "p",
        "CPU time of the compiles that read a file: what touching it costs.",
        class_="note",
    )
    table = tag("table", tag("thead", header), tag("tbody", *rows), class_="rows sortable")
    rest = len(found) - len(rows)
    more = tag("p", f"… and {rest:,} more", class_="note") if rest > 0 else NOTHING
    box = tag("div", table, class_="box", tabindex=0, role="region", aria_label="By header")
    return section("headers", "What headers cost", note, box, more)


def _memory(value: int) -> str:
    """Nothing where nobody looked: the driver ran it itself."""
    return size(value) if value else ""


def _figure(kind: str, words: str, value: float) -> Markup:
    return tag("td", words, class_=kind or None, data_value=value)


def stalls(document: Document) -> Markup:
    """Who waited for what, and what was not deferred."""
    causes = [
        tag(
            "tr",
            tag("th", row["cause"], scope="row"),
            _figure("", seconds(row["seconds"]), row["seconds"]),
            _figure("", f"{row['count']:,}", row["count"]),
        )
        for row in document["causes"]
    ]
    reasons = [
        tag(
            "tr",
            tag("th", row["text"], scope="row"),
            tag("td", tag("code", row["reason"]), class_="words minor"),
            _figure("", f"{row['count']:,}", row["count"]),
        )
        for row in document["reasons"]
    ]
    tables = []
    if causes:
        tables.append(_small("The driver waited because it", ("Seconds", "Times"), causes))
    if reasons:
        tables.append(_small("Not deferred because it", ("Name", "Commands"), reasons))
    if not tables:
        return NOTHING
    body = tag("div", *tables, class_="pair")
    return section("stalls", "Waits and the foreground", body)


def _small(first: str, names: tuple[str, str], rows: list[Markup]) -> Markup:
    header = tag(
        "tr",
        tag("th", first, scope="col", class_="words"),
        *(
            tag("th", name, scope="col", class_="words minor" if name == "Name" else None)
            for name in names
        ),
    )
    table = tag("table", tag("thead", header), tag("tbody", *rows), class_="rows sortable")
    return tag("div", table, class_="box")


def builds(document: Document, earlier: list[Document]) -> Markup:
    """This build among those of the same folder and command before it."""
    if not earlier:
        return NOTHING
    build, wall = document["build"], document["figures"]["wall"]
    serial, kind = best_serial(document)
    measured = kind == "a measured" and gains(document)
    this = {
        "id": build["id"],
        "started_unix": build["started_unix"],
        "wall": wall,
        "status": build["status"],
        "speedup": serial["speedup"] if measured else None,
    }
    rows = sorted([*earlier, this], key=lambda row: (row["started_unix"], row["id"]))
    cells = []
    for row in reversed(rows):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["started_unix"]))
        ours = row is this
        status = "no end" if row["status"] is None else "" if row["status"] == 0 else row["status"]
        against = f"{row['wall'] / wall - 1:+.0%}" if row["wall"] and wall else ""
        speedup = f"{row['speedup']:.2f} {TIMES}" if row["speedup"] is not None else ""
        cells.append(
            tag(
                "tr",
                tag("th", str(row["id"]), scope="row"),
                tag("td", when, class_="words"),
                tag("td", seconds(row["wall"]) if row["wall"] is not None else "?"),
                tag("td", "this one" if ours else against),
                tag("td", speedup, class_="minor"),
                tag("td", f"{status}"),
                class_="ours" if ours else None,
            )
        )
    names = ("Wall", "To this", "Measured", "Status")
    header = tag(
        "tr",
        tag("th", "Build", scope="col", class_="words"),
        tag("th", "Started", scope="col", class_="words"),
        *(tag("th", n, scope="col", class_="minor" if n == "Measured" else None) for n in names),
    )
    table = tag("table", tag("thead", header), tag("tbody", *cells), class_="rows")
    note = "Wall time of the same command in the same folder.  What had to be built may differ."
    body = tag("div", tag("div", charts.builds(rows)), tag("div", table), class_="pair")
    return section("builds", "Earlier builds", tag("p", note, class_="note"), body)
