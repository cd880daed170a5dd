"""Builds of the same project side by side, one or several on each side: what got slower, by command
and by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smpmake.records import BuildRecord, CommandRecord
from smpmake.timing.figures import analyse
from smpmake.timing.rounds import Range, spread


@dataclass(frozen=True, slots=True)
class Change:
    """One figure on both sides: medians; None where no build of a side had it.

    ranges  the lowest and highest of each side, None where it has fewer than two builds.
    """

    name: str
    before: float | None
    after: float | None
    before_range: Range | None = None
    after_range: Range | None = None

    @property
    def difference(self) -> float:
        """After less before, a missing one as 0."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def is_clear(self) -> bool | None:
        """Whether one side's builds are all above the other's; None for one build on each side."""
        if self.before_range is None and self.after_range is None:
            return None
        if self.before is None or self.after is None:
            return True
        old = self.before_range or Range(self.before, self.before, self.before)
        new = self.after_range or Range(self.after, self.after, self.after)
        return new.low > old.high or new.high < old.low


@dataclass(frozen=True, slots=True)
class Comparison:
    """All in seconds.

    figures   of the whole builds.
    commands  by first output: their wall time.  One that ran on one side alone is new or gone.
    causes    of stalls.
    """

    figures: tuple[Change, ...]
    commands: tuple[Change, ...]
    causes: tuple[Change, ...]


_FIGURES = (
    ("wall", "wall"),
    ("CPU, user", "user"),
    ("CPU, system", "system"),
    ("CPU of smpmake", "server"),
    ("driver stalled", "stalled"),
    ("waiting for a slot", "queue_wait"),
    ("held by memory", "held"),
    ("critical path", "critical_path"),
)
_Side = Sequence[Mapping[str, float]]


def compare(before: Sequence[BuildRecord], after: Sequence[BuildRecord]) -> Comparison:
    """What changed, the largest difference first; what the builds cannot tell comes last."""
    old, new = ([analyse(record) for record in side] for side in (before, after))
    figures = [
        [{name: getattr(timing, field) for name, field in _FIGURES} for timing in side]
        for side in (old, new)
    ]
    causes = [
        [{cause: seconds for cause, _, seconds in timing.causes} for timing in side]
        for side in (old, new)
    ]
    commands = [[_durations(record) for record in side] for side in (before, after)]
    return Comparison(
        tuple(_changes(*figures)), _sorted(_changes(*commands)), _sorted(_changes(*causes))
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


def _changes(before: _Side, after: _Side) -> list[Change]:
    names = dict.fromkeys(name for side in (*before, *after) for name in side)
    return [_change(name, before, after) for name in names]


def _change(name: str, before: _Side, after: _Side) -> Change:
    old, new = ([build[name] for build in side if name in build] for side in (before, after))
    return Change(name, _median(old), _median(new), _range(old), _range(new))


def _median(values: list[float]) -> float | None:
    return spread(values).median if values else None


def _range(values: list[float]) -> Range | None:
    return spread(values) if len(values) > 1 else None


def _sorted(changes: list[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda c: (c.is_clear is False, -abs(c.difference))))
