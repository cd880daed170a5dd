"""`smpmake report`: a page for a terminal, made from the document (document.py)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from typing import Final

from smpmake.reports import diagnostics, phrases
from smpmake.reports.document import Document
from smpmake.reports.grid import Kind, Look, Part, lines, pairs, rest, table, title
from smpmake.reports.headline import headline, is_measured, label, told
from smpmake.units import cut, cut_left, seconds, size

_FAILURES: Final = 20
_NOTICES: Final = 5
_CAUSES: Final = 8
_HEADERS: Final = "What headers cost (CPU time of the compiles that read them)"
_WEIGHTED: Final = "(weighted: while several commands run, each has its share of these seconds)"
_BAR: Final = 40  # characters of the longest bar
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_FIGURE: Final = Kind.FIGURE
_SUMS: Final = tuple((name, _FIGURE) for name in ("weighted", "wall", "CPU", "commands", "memory"))


def page(document: Document, look: Look = Look(), rows: int = 10) -> list[str]:
    """The lines; `rows` at most in each table."""
    failed = document["build"]["status"] not in (0, None)
    parts = _head(document, look.width)
    failures = _section("Failures", _failures(document))
    if document["build"]["running"]:
        parts += _section("Running now", _running(document, rows))
        parts.append("")
    if failed:
        parts += [f"  {headline(document)}", *failures, ""]
    parts.append(pairs(_figures(document)))
    parts += _section("What held it back", _findings(document))
    parts += _section("Use of the machine", _graph(document, look.width))
    parts += _section("Where the time went", _split(document))
    parts += _section("With more CPUs", _what_if(document))
    parts += _section("Stalls", _causes(document))
    for name, word in (("languages", "Languages"), ("folders", "Folders"), ("tools", "Tools")):
        parts += _section(word, _groups(document[name], rows))
    parts += _section(_HEADERS, _headers(document["headers"], rows))
    parts += _section("Costliest commands", _commands(document, rows))
    parts += _section("Critical path", _path(document, rows))
    parts += _section("Warnings and errors", diagnostics.worst(document, rows))
    parts += _section("Environment", _environment(document["environment"]))
    if not failed:
        parts += failures
    return lines(parts, look)


def _section(name: str, parts: Iterable[Part]) -> list[Part]:
    body = list(parts)
    return ["", title(name), *body] if body else []


def _head(document: Document, width: int) -> list[Part]:
    build = document["build"]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(build["started_unix"]))
    number = f"build {build['id']}, " if build["id"] else ""
    state = "; it is still running" if build["running"] else "; it was killed"
    if build["complete"]:
        state = f"; status {build['status']}" if build["status"] else ""
    place = cut_left(build["cwd"], max(20, width - 40))
    return [
        title(cut(shlex.join(build["command"]), width)),
        f"  {number}{when}, in {place}{state}",
    ]


def _running(document: Document, rows: int) -> list[Part]:
    """Of a build that has not ended: what is at work, for how long, and what it waits for."""
    now, commands = document["figures"]["wall"], document["commands"]
    by_number = {command["number"]: command for command in commands}
    waits = {
        stall["command"]: stall for stall in document["stalls"] if stall["end"] is None
    }  # the driver's as that of -1
    shown = []
    if -1 in waits:
        stall = waits[-1]
        who = phrases.driver(document["build"]["command"])
        name = who if stall["who"] == who else f"{who} ({stall['who']})"
        shown.append((now - stall["start"], name, _awaited(stall["path"], stall, by_number)))
    for command in commands:
        if command["state"] or command["started"] is None:
            continue
        stall = waits.get(command["number"])
        what = _awaited(stall["path"], stall, by_number) if stall is not None else ""
        shown.append((now - command["started"], label(command), what))
    shown.sort(key=lambda row: -row[0])
    queued = [c for c in commands if not c["state"] and c["started"] is None]
    parts: list[Part] = []
    if shown:
        columns = (("for", _FIGURE), ("", Kind.TEXT), ("", Kind.WORDS))
        cells = ((seconds(max(0.0, took)), *names) for took, *names in shown[:rows])
        parts += [table(columns, cells), *rest(len(shown) - rows)]
    blocked = [c for c in queued if c["waits_for"]]
    if blocked:
        cells = (
            (label(c), f"waits for {_several(c['waits_for'], by_number)}") for c in blocked[:rows]
        )
        parts += [table((("", Kind.TEXT), ("", Kind.WORDS)), cells), *rest(len(blocked) - rows)]
    if slots := len(queued) - len(blocked):
        parts.append(f"  {slots} command{'s wait' if slots > 1 else ' waits'} for a slot")
    return parts or [
        f"  none that smpmake knows: {phrases.driver(document['build']['command'])} is at work"
    ]


def _awaited(path: str, stall: Document, commands: dict[int, Document]) -> str:
    name = path.rpartition("/")[2]
    command = commands.get(stall["waited_for"])
    by = f" ({label(command)})" if command is not None and not command["state"] else ""
    return f"waits for {name}{by}"


def _several(numbers: list[int], commands: dict[int, Document]) -> str:
    more = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
    return f"{label(commands[numbers[0]])}{more}"


def _figures(document: Document) -> list[tuple[str, str]]:
    figures = document["figures"]
    build = document["build"]
    rows = [] if build["status"] else [("result", headline(document))]
    gained = told(document)
    if gained is not None:
        kind = "measured" if is_measured(document) else "estimated"
        plain = phrases.between(*map(seconds, gained.seconds))
        text = f"{phrases.times(gained.speedup)}: the plain build takes {plain} ({kind})"
        rows.append(("speed-up", text))
        if gained.efficiency is not None and gained.efficiency.middle > 0:
            how = phrases.formula(gained.speedup, figures["extra_cpus"])
            rows.append(("extra CPUs", f"{phrases.part(gained.efficiency)} used = {how}"))
    if again := phrases.again(build):
        rows.append(("repeated", again))
    cpu = (
        f"{figures['user']:.1f} s user + {figures['system']:.1f} s system, "
        f"{figures['utilisation']:.0%} of {phrases.places(build['slots'], build['cpus'])}; "
        f"smpmake itself {seconds(figures['server_cpu'])}"
    )
    commands = phrases.commands(figures["deferred"], figures["foreground"])
    for name in ("cancelled", "failed"):
        if figures[name]:
            commands += f", {figures[name]} {name}"
    driver = phrases.driver(document["build"]["command"])
    waiting = (
        f"{driver} {seconds(figures['stalled'])}, "
        f"jobs for a slot {seconds(figures['queue_wait'])} in all"
    )
    memory = (
        f"{size(figures['peak_job_bytes'])} at most in one job, "
        f"{size(figures['peak_memory_bytes'])} more in use at the peak"
    )
    rows += [("CPU", cpu), *_bound(figures), ("commands", commands)]
    rows += [("waiting", waiting), ("memory", memory)]
    if complaints := phrases.complaints(figures):
        rows.append(("told", " and ".join(complaints)))
    if figures["unguarded"]:
        rows.append(("unguarded", ", ".join(figures["unguarded"])))
    if figures["surprises"]:
        rows.append(("surprises", f"{figures['surprises']} (smpmake why shows them)"))
    return rows + [("notice", notice) for notice in document["build"]["notices"][:_NOTICES]]


def _bound(figures: Document) -> list[tuple[str, str]]:
    """The least that the build could take; of a part of a build it says nothing."""
    if figures["lower_bound"] is None:
        return []
    text = (
        f"{seconds(figures['lower_bound'])} is the least this machine could take"
        f"{' by itself' if figures['busy'] else ''} "
        f"(critical path {seconds(figures['critical_path'])}, work {seconds(figures['work'])})"
    )
    if figures["closeness"] is not None:
        text += f"; the build had {figures['closeness']:.0%} of that speed"
    return [("bound", text)]


def _findings(document: Document) -> list[Part]:
    causes = [each for each in document["findings"] if each["kind"] != "cpus"]
    rows = [("-", finding["text"]) for finding in causes]
    return [pairs(rows)] if rows else []


def _graph(document: Document, width: int) -> list[Part]:
    """CPU, running and queued over time, a character a moment."""
    samples = document["samples"]
    wall = document["figures"]["wall"]
    if len(samples) < 2 or wall <= 0:
        return []
    columns = max(10, width - 20)
    slots = document["build"]["slots"]
    most = max(1, *(sample["queued"] for sample in samples))
    curves: tuple[tuple[str, Callable[[Document], float], str], ...] = (
        ("CPU", lambda s: s["cpu"], "100%"),
        ("running", lambda s: s["running"] / slots, str(slots)),
        ("queued", lambda s: s["queued"] / most, str(most)),
    )
    text = Kind.TEXT
    rows = [(name, _line(samples, wall, columns, value), top) for name, value, top in curves]
    rows.append(("", f"0{seconds(wall).rjust(columns - 1)}", ""))
    return [table((("", text), ("", text), ("", text)), rows)]


def _line(
    samples: list[Document], wall: float, columns: int, value: Callable[[Document], float]
) -> str:
    sums, counts = [0.0] * columns, [0] * columns
    for sample in samples:
        place = min(columns - 1, int(sample["at"] / wall * columns))
        sums[place] += min(1.0, value(sample))
        counts[place] += 1
    line, last = "", 0.0
    for total, count in zip(sums, counts, strict=True):
        last = total / count if count else last  # between samples nothing else is known
        line += _BLOCKS[round(last * (len(_BLOCKS) - 1))]
    return line


def _split(document: Document) -> list[Part]:
    wall = document["figures"]["wall"]
    words = phrases.split(phrases.driver(document["build"]["command"]))
    rows = [
        (seconds(value), f"{value / wall:.0%}", words[name])
        for name, value in document["split"].items()
        if value >= 0.0005
    ]
    counts = ", ".join(
        f"{count}: {value / wall:.0%}"
        for count, value in enumerate(document["concurrency"])
        if value / wall >= 0.005
    )
    columns = (("", _FIGURE), ("", _FIGURE), ("", Kind.WORDS))
    return [table(columns, rows), f"  commands at once: {counts}"]


def _what_if(document: Document) -> list[Part]:
    curve = document["what_if"]
    if not curve:
        return []
    first = curve[0]["seconds"] or 1.0
    shown = 0.0
    rows: list[tuple[str, ...]] = []
    for point in curve:
        value = point["seconds"]
        if shown and value > shown * 0.99:
            rows.append(("", "", "more gains nothing"))
            break
        shown = value
        bar = "█" * max(1, round(value / first * _BAR))
        rows.append((phrases.cpus(point["cpus"]), seconds(value), bar))
    figures = document["figures"]
    note = "on a quiet machine"
    if not figures["busy"]:
        off = figures["simulated"] / figures["wall"] - 1
        note = f"for this machine it says {seconds(figures['simulated'])}, {off:+.0%}"
    columns = (("", _FIGURE), ("", _FIGURE), ("", Kind.TEXT))
    return [
        table(columns, rows),
        pairs([("", f"(simulated from the recorded commands; {note})")]),
    ]


def _causes(document: Document) -> list[Part]:
    rows = [
        (seconds(row["seconds"]), str(row["count"]), row["cause"])
        for row in document["causes"][:_CAUSES]
        if row["seconds"] >= 0.001
    ]
    columns = (("seconds", _FIGURE), ("times", _FIGURE), ("somebody", Kind.WORDS))
    return [table(columns, rows)] if rows else []


def _groups(groups: list[Document], rows: int) -> list[Part]:
    shown = (
        (
            *(seconds(group[name]) for name in ("weighted", "seconds", "cpu")),
            f"{group['count']}",
            size(group["max_rss_bytes"]),
            group["name"],
        )
        for group in groups[:rows]
    )
    return [table((*_SUMS, ("", Kind.NAME)), shown), *rest(len(groups) - rows)] if groups else []


def _headers(headers: list[Document], rows: int) -> list[Part]:
    columns = (("CPU", _FIGURE), ("share", _FIGURE), ("compiles", _FIGURE), ("", Kind.NAME))
    shown = (
        (seconds(each["cpu"]), f"{each['share']:.0%}", f"{each['count']}", each["name"])
        for each in headers[:rows]
    )
    return [table(columns, shown), *rest(len(headers) - rows)] if headers else []


def _commands(document: Document, rows: int) -> list[Part]:
    ran = [command for command in document["commands"] if command["started"] is not None]
    ran.sort(key=lambda command: -command["weighted"])
    shown = (
        (
            seconds(command["weighted"]),
            seconds(max(0.0, (command["ended"] or 0) - command["started"])),
            seconds(command["user"] + command["system"]),
            size(command["max_rss_bytes"]),
            label(command),
        )
        for command in ran[:rows]
    )
    columns = (*(column for column in _SUMS if column[0] != "commands"), ("", Kind.NAME))
    return [table(columns, shown), pairs([("", _WEIGHTED)])] if ran else []


def _path(document: Document, rows: int) -> list[Part]:
    """Its longest pieces, in their order."""
    commands = {command["number"]: command for command in document["commands"]}
    driver = phrases.driver(document["build"]["command"])
    pieces = document["critical_path"]
    longest = sorted(pieces, key=lambda p: p["start"] - p["end"])[:rows]
    shown = []
    for piece in sorted(longest, key=lambda p: p["start"]):
        command = commands.get(piece["command"])
        what = label(command) if command is not None else driver
        shown.append((seconds(piece["end"] - piece["start"]), what))
    if shorter := len(pieces) - len(longest):
        shown.append(("", f"… and {shorter} shorter piece{'s' if shorter > 1 else ''}"))
    return [table((("", _FIGURE), ("", Kind.NAME)), shown)] if shown else []


def _environment(place: Document) -> list[Part]:
    rows = phrases.surroundings(place)
    return [pairs(rows)] if rows else []


def _failures(document: Document) -> list[Part]:
    commands = {command["number"]: command for command in document["commands"]}
    driver = phrases.driver(document["build"]["command"])
    found: list[Part] = []
    for failure in document["failures"][:_FAILURES]:
        command = commands[failure["command"]]
        found += [f"  {command['command']}", f"    in {command['cwd']}"]
        found += [f"    {line}" for line in failure["output"].splitlines()[-20:]]
        told = f"; {driver} was told" if failure["reported"] else ""
        found.append(f"    {failure['why']}{told}")
    return found + rest(len(document["failures"]) - _FAILURES)
