"""For GitHub Actions: annotations for errors and warnings, and a summary of the step.

Pure: texts from the document (document.py).  Workflow commands and their escapes:
https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.headline import headline, label, told
from smpmake.units import plain, printable, seconds, size

_MOST: Final = 10  # GitHub shows no more of each kind in a step
_DIAGNOSTIC: Final = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?: "
    r"(?:fatal )?(?P<kind>error|warning): (?P<text>.*)",
    re.MULTILINE,
)


def workflow_commands(document: Document, workspace: str) -> list[str]:
    """Lines `::error ...::message`, one for each error that a compiler placed; for a failed command
    without any, one for the command.  Then `::warning` for the warnings of all commands; what many
    compiles say of one header is said once.  Paths below `workspace` are made relative to it."""
    commands = {command["number"]: command for command in document["commands"]}
    errors: dict[str, None] = {}
    warnings: dict[str, None] = {}
    for failure in _failures(document):
        command = commands[failure["command"]]
        output = plain(failure["output"])
        found = dict.fromkeys(_placed("error", command, output, workspace))
        if not found:
            text = f"{failure['why']}: {command['command']}\n{output[-500:]}"
            found[_line("error", {"title": _title(command)}, text)] = None
        errors |= found
        warnings |= dict.fromkeys(_placed("warning", command, output, workspace))
    for said in document["diagnostics"]:
        output, command = plain(said["output"]), commands[said["command"]]
        warnings |= dict.fromkeys(_placed("warning", command, output, workspace))
    return [*list(errors)[:_MOST], *list(warnings)[:_MOST]]


def _placed(kind: str, command: Document, output: str, workspace: str) -> Iterator[str]:
    """Lines for what a command's output says of places in files."""
    for each in _DIAGNOSTIC.finditer(output):
        if each["kind"] != kind:
            continue
        path = posixpath.normpath(posixpath.join(command["cwd"], each["file"]))
        if workspace and path.startswith(f"{workspace.rstrip('/')}/"):
            path = path[len(workspace.rstrip("/")) + 1 :]
        # A header's place is its own, whoever was the first to compile it.
        title = _title(command) if kind == "error" else "smpmake"
        places = {"file": path, "line": each["line"], "col": each["column"], "title": title}
        yield _line(kind, places, each["text"])


def _title(command: Document) -> str:
    return f"smpmake: {label(command)}"


def _line(kind: str, properties: dict[str, str | None], text: str) -> str:
    given = ",".join(
        f"{name}={_property(printable(value))}" for name, value in properties.items() if value
    )
    return f"::{kind} {given}::{_data(printable(text))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(document: Document) -> str:
    """Markdown: headline, figures, findings, the costliest commands, failures."""
    figures = document["figures"]
    rows = [("CPU", f"{figures['utilisation']:.0%} of {document['build']['cpus']} CPUs")]
    gained = told(document)
    if gained is not None:
        rows.append(("speed-up", phrases.times(gained.speedup)))
        if said := phrases.used(gained, figures["extra_cpus"]):
            rows.append(("CPUs", said))
    if again := phrases.again(document["build"]):
        rows.append(("repeated", again))
    if figures["lower_bound"] is not None:
        bound = seconds(figures["lower_bound"])
        if figures["closeness"] is not None:
            bound += f", reached to {figures['closeness']:.0%}"
        rows.append(("lower bound", bound))
    rows += [
        ("commands", phrases.commands(figures["deferred"], figures["foreground"])),
        (f"{phrases.driver(document['build']['command'])} waited", seconds(figures["stalled"])),
        ("most memory of one job", size(figures["peak_job_bytes"])),
    ]
    parts = [f"### smpmake: {_text(headline(document))}", _table(("", ""), rows)]
    if document["findings"]:
        found = (f"- {_text(finding['text'])}" for finding in document["findings"])
        parts.append("\n".join(found))
    ran = [command for command in document["commands"] if command["started"] is not None]
    ran.sort(key=lambda command: -command["weighted"])
    if ran:
        costly = [
            (label(c), seconds(c["weighted"]), seconds((c["ended"] or 0) - c["started"]))
            for c in ran[:5]
            if c["ended"]
        ]
        parts.append(_table(("costliest", "weighted", "wall"), costly))
    commands = {command["number"]: command for command in document["commands"]}
    failures = _failures(document)
    for failure in failures[:_MOST]:
        command = commands[failure["command"]]
        body = f"{command['command']}\n{plain(failure['output'])[-5000:]}\n{failure['why']}"
        parts.append(f"**failed: {_text(label(command))}**\n\n{_fenced(printable(body))}")
    if len(failures) > _MOST:
        parts.append(f"… and {len(failures) - _MOST} more failures")
    return "\n\n".join(parts) + "\n"


def _failures(document: Document) -> list[Document]:
    """Those that matter: where the build succeeded the driver did without what it saw fail."""
    every: list[Document] = document["failures"]
    if document["build"]["status"] == 0:
        return [failure for failure in every if not failure["reported"]]
    return every


def _text(text: str) -> str:
    """Text that Markdown takes as nothing but text."""
    plain = " ".join(printable(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|~&@!])", r"\\\1", plain)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(map(_text, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fenced(text: str) -> str:
    """A block whose fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"
