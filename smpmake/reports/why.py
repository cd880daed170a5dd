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
        return ["Every command was deferred."] if record.commands else ["No commands."]
    rows = []
    for name, commands in sorted(groups.items(), key=lambda item: -len(item[1])):
        reason = Reason(name)
        barrier = "; it waits for everything pending" if reason.barrier else ""
        rows.append(f"{len(commands):5} {name}: {reason.text}{barrier}")
        shown = commands if everything else commands[:_EXAMPLES]
        for command in shown:
            detail = f"  [{command.detail}]" if command.detail else ""
            rows.append(f"        {_cut(command.command)}{detail}")
        if len(shown) < len(commands):
            rows.append(f"        … and {len(commands) - len(shown)} more")
    return rows


def _cut(text: str, width: int = 110) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
