"""Two builds of the same project side by side: what got slower, by command and by cause."""

from __future__ import annotations

from dataclasses import dataclass

from smpmake.records import BuildRecord, CommandRecord
from smpmake.timing.model import Timing, analyse


@dataclass(frozen=True, slots=True)
class Change:
    """One figure in both builds; None where a build did not have it."""

    name: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float:
        """After less before, a missing one as 0."""
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All in seconds.

    figures   of the whole builds.
    commands  by first output: their wall time.  One that ran in one build alone is new or gone.
    causes    of stalls.
    """

    figures: tuple[Change, ...]
    commands: tuple[Change, ...]
    causes: tuple[Change, ...]


def compare(before: BuildRecord, after: BuildRecord) -> Comparison:
    """What changed, the largest difference first."""
    old, new = analyse(before), analyse(after)
    return Comparison(
        _figures(old, new),
        _changes(_durations(before), _durations(after)),
        _changes(
            {cause: seconds for cause, _, seconds in old.causes},
            {cause: seconds for cause, _, seconds in new.causes},
        ),
    )


def _figures(old: Timing, new: Timing) -> tuple[Change, ...]:
    return tuple(
        Change(name, getattr(old, field), getattr(new, field))
        for name, field in (
            ("wall", "wall"),
            ("CPU, user", "user"),
            ("CPU, system", "system"),
            ("CPU of smpmake", "server"),
            ("driver stalled", "stalled"),
            ("waiting for a slot", "queue_wait"),
            ("held by memory", "held"),
            ("critical path", "critical_path"),
        )
    )


def _durations(record: BuildRecord) -> dict[str, float]:
    found: dict[str, float] = {}
    for command in record.commands:
        if command.started and command.ended and not command.light:
            name = key_of(command)
            found[name] = found.get(name, 0.0) + command.duration
    return found


def key_of(command: CommandRecord) -> str:
    """What a command is known by from one build to the next: what it makes, else its words."""
    return command.outputs[0] if command.outputs else command.command


def _changes(before: dict[str, float], after: dict[str, float]) -> tuple[Change, ...]:
    names = dict.fromkeys((*before, *after))
    found = [Change(name, before.get(name), after.get(name)) for name in names]
    return tuple(sorted(found, key=lambda change: -abs(change.difference)))
