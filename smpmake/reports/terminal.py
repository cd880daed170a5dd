"""`smpmake report`: a page for a terminal, made from the document (document.py)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from typing import Final

from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.ending import gains, of_document
from smpmake.units import cut, cut_left, one_line, seconds, size

_LABEL: Final = 200  # characters of a command without outputs
_FAILURES: Final = 20
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_SPLIT: Final = {
    "several": "several at work",
    "driver": "the driver alone",
    "linker": "a link or archive alone",
    "one": "one other command alone",
    "nobody": "nobody",
}


def page(document: Document, width: int = 80, rows: int = 10) -> list[str]:
    """The lines; `rows` at most in each table."""
    width = max(40, width)
    failed = document["build"]["status"] not in (0, None)
    lines = _head(document, width)
    if failed:
        lines += [f"  {headline(document)}", *_section("Failures", _failures(document)), ""]
    lines += _figures(document)
    lines += _section("What held it back", _findings(document, width))
    lines += _section("Use of the machine", _graph(document, width))
    lines += _section("Where the time went", _split(document))
    lines += _section("With more CPUs", _what_if(document))
    lines += _section("Stalls", _causes(document))
    for name, title in (("languages", "Languages"), ("folders", "Folders"), ("tools", "Tools")):
        lines += _section(title, _groups(document[name], rows, width))
    lines += _section("What headers cost", _headers(document["headers"], rows, width))
    lines += _section("Costliest commands", _commands(document, rows, width))
    lines += _section("Critical path", _path(document, rows, width))
    if not failed:
        lines += _section("Failures", _failures(document))
    return [one_line(line) for line in lines]


def _section(title: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return ["", title, *body] if body else []


def _head(document: Document, width: int) -> list[str]:
    build = document["build"]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(build["started_unix"]))
    number = f"build {build['id']}, " if build["id"] else ""
    state = "; it is still running" if build["running"] else "; it was killed"
    if build["complete"]:
        state = f"; status {build['status']}" if build["status"] else ""
    return [
        cut(shlex.join(build["command"]), width),
        f"  {number}{when}, in {cut_left(build['cwd'], width - 40)}{state}",
    ]


def headline(document: Document) -> str:
    """One line: how much it helped, or how it failed."""
    figures, build = document["figures"], document["build"]
    if build["status"]:
        return of_document(document)
    if not gains(document):
        return seconds(figures["wall"])
    serial, kind = best_serial(document)
    return phrases.result(
        wall=figures["wall"],
        serial=serial["seconds"],
        measured=kind == "a measured",
        speedup=serial["speedup"],
        efficiency=serial["efficiency"],
        slots=build["slots"],
        count=build["cpus"],
        load=load(document),
    )


def load(document: Document) -> str:
    """Who else had the CPUs, where it must be said."""
    figures = document["figures"]
    return phrases.taken(figures["others"], figures["stolen"]) if figures["loaded"] else ""


def best_serial(document: Document) -> tuple[Document, str]:
    """The measured serial time if there is one, else the estimate, and what to call it."""
    figures = document["figures"]
    if figures["serial_measured"] is not None:
        return figures["serial_measured"], "a measured"
    return figures["serial_estimated"], "an estimated"


def _figures(document: Document) -> list[str]:
    figures = document["figures"]
    serial, kind = best_serial(document)
    rows = [] if document["build"]["status"] else [("", headline(document))]
    if serial["efficiency"] is not None and serial["speedup"] >= 1 and gains(document):
        how = phrases.formula(serial["speedup"], figures["extra_cpus"])
        text = f"{serial['efficiency']:.0%} used = {how}, serial time {kind.split()[-1]}"
        rows.append(("extra CPUs", text))
    cpu = (
        f"{figures['user']:.1f} s user + {figures['system']:.1f} s system, "
        f"{figures['utilisation']:.0%} of {document['build']['cpus']} CPUs; "
        f"smpmake itself {seconds(figures['server_cpu'])}"
    )
    bound = (
        f"{seconds(figures['lower_bound'])} is the least this machine could take"
        f"{' by itself' if figures['loaded'] else ''} "
        f"(critical path {seconds(figures['critical_path'])}, work {seconds(figures['work'])})"
    )
    if figures["closeness"] is not None:
        bound += f"; the build came to {figures['closeness']:.0%} of it"
    commands = f"{figures['deferred']} deferred, {figures['foreground']} in the foreground"
    for name in ("cancelled", "failed"):
        if figures[name]:
            commands += f", {figures[name]} {name}"
    waiting = (
        f"driver {seconds(figures['stalled'])}, jobs for a slot {seconds(figures['queue_wait'])}"
    )
    memory = (
        f"{size(figures['peak_job_bytes'])} at most in one job, "
        f"{size(figures['peak_memory_bytes'])} more in use at the peak"
    )
    rows += [("CPU", cpu), ("bound", bound), ("commands", commands)]
    rows += [("waiting", waiting), ("memory", memory)]
    if figures["unguarded"]:
        rows.append(("unguarded", ", ".join(figures["unguarded"])))
    if figures["surprises"]:
        rows.append(("surprises", f"{figures['surprises']} (smpmake why shows them)"))
    rows += [("notice", notice) for notice in document["build"]["notices"][:5]]
    return [f"  {name:<11}{text}" if name else f"  {text}" for name, text in rows]


def _findings(document: Document, width: int) -> list[str]:
    lines = []
    for finding in document["findings"]:
        words, line = finding["text"].split(), "  -"
        for word in words:
            if len(line) + len(word) + 1 > width and line.strip():
                lines.append(line)
                line = "   "
            line += f" {word}"
        lines.append(line)
    return lines


def _graph(document: Document, width: int) -> list[str]:
    """CPU, running and queued over time, a character a moment."""
    samples = document["samples"]
    wall = document["figures"]["wall"]
    if len(samples) < 2 or wall <= 0:
        return []
    columns = width - 20
    slots = document["build"]["slots"]
    most = max(1, *(sample["queued"] for sample in samples))
    return [
        f"  CPU      {_line(samples, wall, columns, lambda s: s['cpu'])} 100%",
        f"  running  {_line(samples, wall, columns, lambda s: s['running'] / slots)} {slots}",
        f"  queued   {_line(samples, wall, columns, lambda s: s['queued'] / most)} {most}",
        f"           0{seconds(wall).rjust(columns - 1)}",
    ]


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


def _split(document: Document) -> list[str]:
    wall = document["figures"]["wall"]
    rows = [
        f"  {seconds(value):>9}  {value / wall:4.0%}  {_SPLIT[name]}"
        for name, value in document["split"].items()
        if value >= 0.0005
    ]
    counts = ", ".join(
        f"{count}: {value / wall:.0%}"
        for count, value in enumerate(document["concurrency"])
        if value / wall >= 0.005
    )
    return [*rows, f"  commands at once: {counts}"]


def _what_if(document: Document) -> list[str]:
    curve = document["what_if"]
    if not curve:
        return []
    first = curve[0]["seconds"] or 1.0
    shown, rows = 0.0, []
    for point in curve:
        value = point["seconds"]
        if shown and value > shown * 0.99:
            rows.append("            more gains nothing")
            break
        shown = value
        bar = "█" * max(1, round(value / first * 40))
        rows.append(f"  {point['cpus']:>4} CPUs {seconds(value):>9}  {bar}")
    figures = document["figures"]
    if figures["loaded"]:
        rows.append("  (a simulation of the recorded graph, with nothing beside it)")
        return rows
    off = figures["simulated"] / figures["wall"] - 1
    rows.append(
        f"  (a simulation of the recorded graph; for this build as it was it says "
        f"{seconds(figures['simulated'])}, {off:+.0%})"
    )
    return rows


def _causes(document: Document) -> list[str]:
    return [
        f"  {seconds(row['seconds']):>9}  {row['count']:5}  {row['cause']}"
        for row in document["causes"][:8]
        if row["seconds"] >= 0.001
    ]


def _groups(groups: list[Document], rows: int, width: int) -> list[str]:
    if not groups:
        return []
    lines = ["   weighted      wall       CPU  commands    memory"]
    for group in groups[:rows]:
        lines.append(
            f"  {seconds(group['weighted']):>9} {seconds(group['seconds']):>9} "
            f"{seconds(group['cpu']):>9} {group['count']:>9} {size(group['max_rss_bytes']):>9}  "
            f"{cut_left(group['name'], width - 54)}"
        )
    if len(groups) > rows:
        lines.append(f"  … and {len(groups) - rows} more")
    return lines


def _headers(headers: list[Document], rows: int, width: int) -> list[str]:
    if not headers:
        return []
    lines = ["        CPU  share  compiles"]
    for header in headers[:rows]:
        lines.append(
            f"  {seconds(header['cpu']):>9} {header['share']:>6.0%} {header['count']:>9}  "
            f"{cut_left(header['name'], width - 32)}"
        )
    if len(headers) > rows:
        lines.append(f"  … and {len(headers) - rows} more")
    return lines


def label(command: Document) -> str:
    """A command by what it makes."""
    if command["outputs"]:
        name = command["outputs"][0].rpartition("/")[2]
        place = command["folder"]
        return f"{command['tool']} {name if place == '.' else f'{place}/{name}'}"
    return cut(command["command"], _LABEL)


def _commands(document: Document, rows: int, width: int) -> list[str]:
    ran = [command for command in document["commands"] if command["started"] is not None]
    ran.sort(key=lambda command: -command["weighted"])
    if not ran:
        return []
    lines = ["   weighted      wall       CPU    memory"]
    for command in ran[:rows]:
        wall = (command["ended"] or 0) - command["started"]
        lines.append(
            f"  {seconds(command['weighted']):>9} {seconds(max(0.0, wall)):>9} "
            f"{seconds(command['user'] + command['system']):>9} "
            f"{size(command['max_rss_bytes']):>9}  {cut_left(label(command), width - 44)}"
        )
    return lines


def _path(document: Document, rows: int, width: int) -> list[str]:
    """Its longest pieces, in their order."""
    commands = {command["number"]: command for command in document["commands"]}
    pieces = document["critical_path"]
    longest = sorted(pieces, key=lambda p: p["start"] - p["end"])[:rows]
    lines = []
    for piece in sorted(longest, key=lambda p: p["start"]):
        command = commands.get(piece["command"])
        what = label(command) if command is not None else "the driver"
        lines.append(f"  {seconds(piece['end'] - piece['start']):>9}  {cut_left(what, width - 14)}")
    if len(pieces) > len(longest):
        rest = len(pieces) - len(longest)
        lines.append(f"             … and {rest} shorter piece{'s' if rest > 1 else ''}")
    return lines


def _failures(document: Document) -> list[str]:
    commands = {command["number"]: command for command in document["commands"]}
    lines = []
    for failure in document["failures"][:_FAILURES]:
        command = commands[failure["command"]]
        lines += [f"  {command['command']}", f"    in {command['cwd']}"]
        lines += [f"    {line}" for line in failure["output"].splitlines()[-20:]]
        told = "; the driver was told" if failure["reported"] else ""
        lines.append(f"    {failure['why']}{told}")
    if len(document["failures"]) > _FAILURES:
        lines.append(f"  … and {len(document['failures']) - _FAILURES} more")
    return lines
