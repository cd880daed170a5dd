"""Which commands were not deferred, and why."""

from __future__ import annotations

from smpmake.commands.model import Reason
from smpmake.records import BuildRecord, CommandRecord

_EXAMPLES = 5


def lines(record: BuildRecord, *, everything: bool = False) -> list[str]:
    """Grouped by reason, most frequent first; a few examples of each, or all."""
    groups: dict[str, list[CommandRecord]] = {}
    for command in record.commands:
        if command.reason:
            groups.setdefault(command.reason, []).append(command)
    if not groups:
        rows = ["Every command was deferred."] if record.commands else ["No commands."]
        return rows + _stalls(record) + _surprises(record)
    rows = []
    for name, commands in sorted(groups.items(), key=lambda item: -len(item[1])):
        reason = Reason(name)
        waits = any(command.verdict == "barrier" for command in commands)
        barrier = "; it waits for everything pending" if waits else ""
        rows.append(f"{len(commands):5} {name}: {reason.text}{barrier}")
        shown = commands if everything else commands[:_EXAMPLES]
        for command in shown:
            detail = f"  [{command.detail}]" if command.detail else ""
            rows.append(f"        {_cut(command.command)}{detail}")
        if len(shown) < len(commands):
            rows.append(f"        … and {len(commands) - len(shown)} more")
    return rows + _stalls(record) + _surprises(record)


def _surprises(record: BuildRecord) -> list[str]:
    """What jobs did that their command lines did not say, and who called without a guard."""
    found = [(c, surprise) for c in record.commands for surprise in c.surprises]
    rows = []
    if found:
        rows.append(f"{len(found):5} surprises: a job did what its command line did not say")
        for command, surprise in found[:_EXAMPLES]:
            rows.append(f"        {surprise}  [{_cut(command.command, 60)}]")
    programs = sorted({c.unguarded for c in record.commands if c.unguarded})
    if programs:
        rows.append(f"      unguarded: {', '.join(programs)} (links wait, or all does)")
    return rows


def _stalls(record: BuildRecord) -> list[str]:
    """Who waited for pending results, longest first."""
    stalls = sorted(record.stalls, key=lambda stall: -stall.duration)
    if not stalls:
        return []
    numbers = {command.number: command for command in record.commands}
    total = sum(stall.duration for stall in stalls)
    rows = [f"{len(stalls):5} stalls, {total:.1f} s: somebody touched a result before it was there"]
    for stall in stalls[:_EXAMPLES]:
        cause = numbers.get(stall.waited_for)
        what = f" (for {_cut(cause.command, 60)})" if cause is not None else ""
        rows.append(f"        {stall.duration:.2f} s {stall.who} {stall.cause} {stall.path}{what}")
    return rows


def _cut(text: str, width: int = 110) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
