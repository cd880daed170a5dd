"""Which commands did not run in parallel, and why."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from smpmake.commands.model import Reason
from smpmake.records import GIVEN_BACK, REUSED, WAITED_FOR, BuildRecord, CommandRecord
from smpmake.reports import phrases
from smpmake.reports.diagnostics import said
from smpmake.reports.grid import Cell, Kind, Look, Part, example, rest, table
from smpmake.reports.grid import lines as render
from smpmake.timing.findings import hint_to_check
from smpmake.units import cut, seconds

_EXAMPLES: Final = 5
_CUT: Final = 110


_REASONS: Final = (("", Kind.FIGURE), ("", Kind.WORDS))
_LONGEST: Final = (("", Kind.FIGURE), ("", Kind.WORDS), ("", Kind.TEXT))


def lines(
    record: BuildRecord,
    look: Look = Look(),
    *,
    everything: bool = False,
) -> list[str]:
    """Grouped by reason, most frequent first; a few examples of each, or all."""
    groups: dict[str, list[CommandRecord]] = {}
    for command in record.commands:
        if command.reason:
            groups.setdefault(command.reason, []).append(command)
    rows: list[tuple[str, Cell]] = []
    for name, commands in sorted(groups.items(), key=lambda item: -len(item[1])):
        waits = any(command.verdict == "barrier" for command in commands)
        barrier = "; it waits for everything pending" if waits else ""
        rows.append((str(len(commands)), f"{name}: {Reason.text_of(name)}{barrier}"))
        shown = commands if everything else commands[:_EXAMPLES]
        for command in shown:
            detail = f"  [{command.detail}]" if command.detail else ""
            rows.append(("", example(f"{command.command}{detail}")))
        if len(shown) < len(commands):
            rows.append(("", example(f"… and {len(commands) - len(shown)} more")))
    rows += _stalls(record)
    rows += _surprises(record)
    parts: list[Part] = [table(_REASONS, rows)] if rows else []
    if not groups:
        parts.insert(0, "Every command ran in parallel." if record.commands else "No commands.")
    if hint := hint_to_check(record, {stall.path for stall in record.stalls}):
        parts.append(f"a process waited for a file: {hint}")
    return render(parts, look)


def about(
    record: BuildRecord,
    path: str,
    look: Look = Look(),
    *,
    everything: bool = False,
) -> list[str]:
    """All commands that made a path (or, if none did, read it), and who waited for them.

    Of a folder: those that made something in it, the longest first; a few, or all.
    """
    numbers = {command.number: command for command in record.commands}
    makers = [command for command in record.commands if path in command.outputs]
    inside = [] if makers else [c for c in record.commands if _made_in(c, path)]
    if inside:
        return render(_folder(record, path, inside, everything), look)
    if not makers:
        readers = [c for c in record.commands if path in c.inputs or path in c.reads]
        if not readers:
            return []
        rows: list[Part] = [f"{path}: made by no command that smpmake saw; read by {len(readers)}:"]
        rows += [f"  {cut(command.command, _CUT)}" for command in readers[:_EXAMPLES]]
        return render(rows, look)
    rows = [f"{path}:"]
    for command in makers:
        rows += [f"  {command.command}", f"    in {command.cwd}", f"    {_verdict(command)}"]
        cause = numbers.get(command.waited_for)
        if cause is not None:
            waited = max(0, command.ready - command.issued) / 1e9
            rows.append(
                f"    waited {seconds(waited)} for its inputs, last for: {cut(cause.command, _CUT)}"
            )
        rows.append(f"    {_times(command, record)}")
        rows += [f"    surprise: {surprise}" for surprise in command.surprises]
        rows += [f"  {line}" for line in said(command.said)] if command.said else []
        for stall in record.stalls:
            if stall.waited_for == command.number and stall.ended:
                rows.append(
                    f"    {stall.who} waited {seconds(stall.duration)} for it ({stall.cause} "
                    f"{stall.path})"
                )
    return render(rows, look)


def document(record: BuildRecord, path: str | None) -> dict[str, Any]:
    """The same for programs: the commands that did not run in parallel, or all about a path."""
    if path is None:
        found = [("", command) for command in record.commands if command.reason]
    else:
        found = [(role, c) for c in record.commands if (role := _role(c, path))]
    numbers = {command.number for _, command in found}
    return {
        "format": "smpmake-why",
        "version": 1,
        "build": record.id,
        "path": path,
        "commands": [_command(command, role) for role, command in found],
        "stalls": [
            {
                "who": stall.who,
                "cause": stall.cause,
                "path": stall.path,
                "waited_for": stall.waited_for,
                "seconds": round(stall.duration, 6),
            }
            for stall in record.stalls
            if stall.ended and (path is None or stall.waited_for in numbers)
        ],
    }


def _role(command: CommandRecord, path: str) -> str:
    """Whether it made a path, something inside it, or read it; "" for none of these."""
    if path in command.outputs:
        return "made"
    if _made_in(command, path):
        return "inside"
    return "read" if path in command.inputs or path in command.reads else ""


def _command(command: CommandRecord, role: str) -> dict[str, Any]:
    return {
        "number": command.number,
        "command": command.command,
        "cwd": command.cwd,
        "role": role or None,
        "verdict": command.verdict,
        "reason": command.reason or None,
        "text": Reason.text_of(command.reason) if command.reason else None,
        "detail": command.detail,
        "state": command.state,
        "status": command.status,
        "waited_for": command.waited_for,
        "outputs": list(command.outputs),
        "surprises": list(command.surprises),
        "seconds": round(command.duration, 6),
    }


def _made_in(command: CommandRecord, folder: str) -> bool:
    return any(output.startswith(f"{folder.rstrip('/')}/") for output in command.outputs)


def _folder(
    record: BuildRecord, path: str, commands: list[CommandRecord], everything: bool
) -> list[Part]:
    counts = Counter(command.verdict for command in commands)
    verdicts = ", ".join(f"{count} {phrases.verdict(name)}" for name, count in counts.most_common())
    took, cpu = sum(c.duration for c in commands), sum(c.cpu for c in commands)
    several = f"{len(commands)} commands" if len(commands) > 1 else "one command"
    times = f"{seconds(took)} all in all, {seconds(cpu)} of CPU"
    longest = sorted(commands, key=lambda command: -command.duration)
    shown = longest if everything else longest[:_EXAMPLES]
    rows = []
    for command in shown:
        reason = f": {command.reason}" if command.reason else ""
        rows.append(
            (
                seconds(command.duration),
                f"{phrases.verdict(command.verdict)}{reason}",
                command.command,
            )
        )
    parts: list[Part] = [
        f"{path}: {several} made files in it ({verdicts}); {times}",
        table(_LONGEST, rows),
    ]
    parts += rest(len(longest) - len(shown), " (--all shows them)")
    numbers = {command.number for command in commands}
    waits = [stall for stall in record.stalls if stall.waited_for in numbers and stall.ended]
    if waits:
        total = sum(stall.duration for stall in waits)
        who = ", ".join(name for name, _ in Counter(s.who for s in waits).most_common(3))
        parts.append(f"  waited for them: {who}; {seconds(total)} all in all")
    return parts


def _verdict(command: CommandRecord) -> str:
    how = phrases.verdict(command.verdict)
    if not command.reason:
        text = how
    else:
        text = f"{how}: {command.reason}, {Reason.text_of(command.reason)}"
        if command.detail:
            text += f" [{command.detail}]"
    if command.unguarded and command.program.endswith(f"/{command.unguarded}"):
        text += "; it takes no guard: others waited, since nobody knows what it reads"
    elif command.unguarded:
        text += f"; called by {command.unguarded}, which takes no guard"
    if command.detail == REUSED:
        text += "; reused, from before the build was run again"
    if command.detail.startswith(WAITED_FOR) and not command.reason:
        text += f"; {command.detail}"
    if command.detail == GIVEN_BACK:
        text += "; smpmake gave its remembered result back"
    elif command.missed:
        text += f"; smpmake gave no remembered result back because {command.missed}"
    return f"{text}; {command.state or 'had not ended'}" + (
        f", status {command.status}" if command.status else ""
    )


def _times(command: CommandRecord, record: BuildRecord) -> str:
    base = record.started
    issued = seconds(max(0, command.issued - base) / 1e9)
    if not command.started:
        return f"issued at {issued}; never ran"
    slot = f" in slot {command.slot}" if command.slot >= 0 else ""
    queue = max(0, command.started - max(command.ready, command.issued)) / 1e9
    host = f" ({seconds(command.elsewhere)} of it on {command.host})" if command.host else ""
    return (
        f"issued at {issued}, started at {seconds((command.started - base) / 1e9)}{slot} after "
        f"{seconds(queue)} in the queue; took {seconds(command.duration)}{host}, "
        f"{seconds(command.cpu)} of CPU, {command.max_rss / 1024:.0f} MiB"
    )


def _surprises(record: BuildRecord) -> list[tuple[str, Cell]]:
    """What jobs did that their command lines did not say, and who called without a guard."""
    found = [(c, surprise) for c in record.commands for surprise in c.surprises]
    rows: list[tuple[str, Cell]] = []
    if found:
        rows.append((str(len(found)), "surprises: a job did what its command line did not say"))
        for command, surprise in found[:_EXAMPLES]:
            rows.append(("", example(f"{surprise}  [{cut(command.command, 60)}]")))
    programs = sorted({c.unguarded for c in record.commands if c.unguarded})
    if programs:
        names = ", ".join(programs)
        rows.append((str(len(programs)), f"unguarded: {names} (links wait, or all does)"))
    return rows


def _stalls(record: BuildRecord) -> list[tuple[str, Cell]]:
    """Who waited for pending results, longest first."""
    stalls = sorted(record.stalls, key=lambda stall: -stall.duration)
    if not stalls:
        return []
    numbers = {command.number: command for command in record.commands}
    total = sum(stall.duration for stall in stalls)
    text = f"stalls, {total:.1f} s: somebody touched a result before it was there"
    rows: list[tuple[str, Cell]] = [(str(len(stalls)), text)]
    for stall in stalls[:_EXAMPLES]:
        cause = numbers.get(stall.waited_for)
        what = f" (for {cut(cause.command, 60)})" if cause is not None else ""
        waited = f"{stall.duration:.2f} s {stall.who} {stall.cause} {stall.path}{what}"
        rows.append(("", example(waited)))
    return rows
