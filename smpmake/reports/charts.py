"""The page's still pictures: where everything in them is.

page/charts.html draws them as SVG, which needs no script and prints as it is.

Their width is that of a telephone, so that their words are readable there; elsewhere they grow.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from smpmake.reports.document import Document
from smpmake.units import seconds

_WIDTH: Final = 440
_HEIGHT: Final = 236
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 26, 40
_GAP: Final = 3.0  # px between labels in a line
_PANEL: Final = 96  # px of one of two pictures of bars above each other
_LETTER: Final = 6.9  # px that a letter of a label takes, at 11.5 px and in the widest of our fonts
_LINE: Final = 14.0  # px from one line of text to the next
_DOT: Final = 6.0  # px round the middle of a point
#: Where a point's words stand beside it: down, to the right, and by which end.  Curves fall, so the
#: upper right and the lower left are mostly free.
_PLACES: Final = (
    *((-10, 0, "middle"), (-9, 4, "start"), (4, 10, "start"), (4, -10, "end")),
    *((18, -4, "end"), (21, 0, "middle"), (-9, -4, "end")),
)
_FARTHER: Final = (-24, 32, -38, 46, -52, 60)
#: Round figures for an axis of seconds: 1, 2, 5 up to a minute, then what clocks have.
_ROUND: Final = (
    *(factor * 10.0**power for power in range(-4, 1) for factor in (1, 2, 5)),
    *(10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0, 7200.0, 18000.0, 36000.0, 86400.0),
)


@dataclass(frozen=True, slots=True)
class Label:
    """Words at a point; `anchor` as in SVG."""

    x: float
    y: float
    words: str
    kind: str
    anchor: str = "middle"

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the words, rather too large."""
        wide = len(self.words) * _LETTER
        left = self.x - {"start": 0.0, "middle": wide / 2, "end": wide}[self.anchor]
        return left, self.y - _LINE + 2, left + wide, self.y + 2


@dataclass(slots=True)
class Picture:
    """Shapes and words; `title` says it all to who cannot see it."""

    title: str
    width: float = _WIDTH
    height: float = _HEIGHT
    labels: list[Label] = field(default_factory=list)
    lines: list[tuple[float, float, float, float, str]] = field(default_factory=list)

    solid: list[tuple[float, float, float, float]] = field(default_factory=list)  # no place there

    def _is_free(self, box: tuple[float, float, float, float]) -> bool:
        """Whether words may stand there, as far as a kind of picture has something to say."""
        return True

    def put(self, label: Label) -> bool:
        """Places a label where nothing else stands and the picture has room; whether it could."""
        if label.anchor == "middle":  # at an edge it is moved inside
            half = len(label.words) * _LETTER / 2
            inside = min(max(label.x, half), self.width - half)
            label = dataclasses.replace(label, x=round(inside, 1))
        left, top, right, bottom = label.box
        if left < 0 or right > self.width or top < 0 or bottom > self.height:
            return False
        if not label.kind.startswith("tick") and not self._is_free(label.box):
            return False
        for x1, y1, x2, y2 in (*(other.box for other in self.labels), *self.solid):
            if left < x2 + _GAP and x1 - _GAP < right and top < y2 and y1 < bottom:
                return False
        self.labels.append(label)
        return True


@dataclass(slots=True)
class Curve(Picture):
    """Time over CPUs."""

    points: list[tuple[float, float, bool]] = field(default_factory=list)  # x, y, is ours
    measured: tuple[float, float] | None = None

    def name(self, point: tuple[float, float], words: str, kind: str) -> bool:
        """Places a point's words where nobody takes them for another point's: beside it where there
        is room, else farther away at the end of a line from it; whether it could."""
        x, y = point
        for away, across, anchor in _PLACES:
            near = Label(x + across, round(y + away, 1), words, kind, anchor)
            if self._is_nearest(near.box, point) and self.put(near):
                return True
        for away in _FARTHER:
            for across, anchor in ((0, "middle"), (16, "start"), (-16, "end")):
                if self.put(Label(x + across, round(y + away, 1), words, kind, anchor)):
                    label = self.labels[-1]
                    end = label.y - _LINE + 3 if away > 0 else label.y + 2
                    self.lines.append((x, y, x + across, round(end, 1), "leader"))
                    return True
        return False

    def _spots(self) -> list[tuple[float, float]]:
        spots = [(x, y) for x, y, _ in self.points]
        return [*spots, self.measured] if self.measured else spots

    def _is_nearest(self, box: tuple[float, float, float, float], own: tuple[float, float]) -> bool:
        """Whether no other point is as near as the one that the words are about."""

        def away(spot: tuple[float, float]) -> float:
            across = max(box[0] - spot[0], spot[0] - box[2], 0.0)
            return math.hypot(across, max(box[1] - spot[1], spot[1] - box[3], 0.0))

        return all(away(own) + _DOT < away(spot) for spot in self._spots() if spot != own)

    def _is_free(self, box: tuple[float, float, float, float]) -> bool:
        """Neither on a point nor on the line between two."""
        left, top, right, bottom = box
        if left < _LEFT or bottom > _HEIGHT - _BOTTOM:  # there are the axes' words
            return False
        if any(top < y < bottom for _, y, _, _, kind in self.lines if kind == "bound"):
            return False
        for x, y in self._spots():
            if left < x + _DOT and x - _DOT < right and top < y + _DOT and y - _DOT < bottom:
                return False
        for (x1, y1, _), (x2, y2, _) in pairwise(self.points):
            steps = max(1, math.ceil(abs(x2 - x1) / 2))
            for step in range(steps + 1):
                x, y = (a + (b - a) * step / steps for a, b in ((x1, x2), (y1, y2)))
                if left < x < right and top < y < bottom:
                    return False
        return True


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; `least` is the shortest time in it, where it stands for commands."""

    x: float
    y: float
    wide: float
    tall: float
    kind: str
    title: str
    least: float | None = None


@dataclass(slots=True)
class Bars(Picture):
    """Bars on a line."""

    bars: list[Bar] = field(default_factory=list)


def shown_sizes(document: Document) -> list[Document]:
    """The what-if curve as far as it falls, and one step more to show that it does not."""
    curve: list[Document] = document["what_if"]
    least = min((point["seconds"] for point in curve), default=0.0)
    here = document["figures"]["extra_cpus"]
    for number, point in enumerate(curve):
        if point["seconds"] <= least * 1.01 and point["cpus"] >= here:
            return curve[: number + 2]
    return curve


def what_if(document: Document) -> Curve | None:
    """Time over the number of CPUs, both logarithmic, so that twice is as far everywhere; the build
    as it really was stands in it."""
    curve, figures = shown_sizes(document), document["figures"]
    if len(curve) < 2:
        return None
    times = [point["seconds"] for point in curve]
    times += [time for time in (figures["wall"], figures["critical_path"]) if time > 0]
    high = max(*times, 1e-6)
    low = min(max(min(times), high / 1e4), high / 2)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    wide = math.log(curve[-1]["cpus"] / curve[0]["cpus"])

    def across(cpus: int) -> float:
        share = math.log(cpus / curve[0]["cpus"]) / wide
        return round(_LEFT + 12 + share * (_WIDTH - _LEFT - _RIGHT - 12), 1)

    def down(value: float) -> float:
        share = math.log(max(value, low) / low) / math.log(high / low)
        return round(_HEIGHT - _BOTTOM - 4 - share * (_HEIGHT - _TOP - _BOTTOM - 4), 1)

    said = ", ".join(f"{p['cpus']} CPUs {seconds(p['seconds'])}" for p in curve)
    made = Curve(f"Simulated time by number of CPUs: {said}")
    base = _HEIGHT - _BOTTOM
    for tick in ticks:
        made.lines.append((_LEFT, down(tick), _WIDTH, down(tick), "grid"))
        made.put(Label(_LEFT - 6, down(tick) + 4, _round(tick), "tick", "end"))
    made.lines.append((_LEFT, base, _WIDTH, base, "axis"))
    bound = down(figures["critical_path"])
    made.lines.append((_LEFT, bound, _WIDTH, bound, "bound"))
    here = figures["extra_cpus"]
    for point in curve:
        x, y, ours = across(point["cpus"]), down(point["seconds"]), point["cpus"] == here
        made.points.append((x, y, ours))
        made.put(Label(x, base + 16, f"{point['cpus']}", f"tick{' strong' if ours else ''}"))
        if ours:
            made.measured = (x, down(figures["wall"]))
    # Ours first, then the ends: what there is no room for goes without words.
    ends = (curve[0]["cpus"], curve[-1]["cpus"])
    measured = f"{seconds(figures['wall'])} measured"
    if made.measured:
        made.name(made.measured, measured, "value strong")
    for at in sorted(
        range(len(curve)), key=lambda n: (curve[n]["cpus"] != here, curve[n]["cpus"] not in ends, n)
    ):
        (x, y, ours), words = made.points[at], seconds(curve[at]["seconds"])
        if not ours or f"{words} measured" != measured:
            made.name((x, y), words, f"value{' strong' if ours else ''}")
    made.put(Label(_WIDTH / 2, _HEIGHT - 4, "CPUs", "tick"))
    return made


def _ticks(low: float, high: float) -> list[float]:
    """Some four round figures from one to the other, or the two round them."""
    first = max(0, bisect.bisect_right(_ROUND, low) - 1)
    inside = list(_ROUND[first : bisect.bisect_left(_ROUND, high) + 1]) or [low, high]
    return inside[:: math.ceil(len(inside) / 5)]


def _round(value: float) -> str:
    """A round figure of seconds, without the decimals of others."""
    if value >= 60:
        return f"{value / 3600:g} h" if value >= 3600 else f"{value / 60:g} min"
    return f"{value:g} s" if value >= 0.1 else f"{value * 1000:g} ms"


def _short(value: float) -> str:
    """A duration where there is little room."""
    if value < 99.5:
        return seconds(value)
    return f"{value / 60:.0f} min" if value < 5970 else f"{value / 3600:.3g} h"


def lengths(document: Document) -> Bars | None:
    """How many commands took how long, in steps of 1, 2, 5; and below, what time they had."""
    times = [
        round(command["ended"] - command["started"], 6)
        for command in document["commands"]
        if command["started"] is not None and command["ended"] is not None
    ]
    if len(times) < 2:
        return None
    steps: dict[int, list[float]] = {}
    for time in times:
        steps.setdefault(max(0, bisect.bisect_right(_ROUND, max(0.0, time)) - 1), []).append(time)
    first, last = min(steps), max(steps)
    pitch = min(70.0, _WIDTH / (last - first + 1))
    said = "; ".join(f"{len(steps[at]):,} from {_round(_ROUND[at])}" for at in sorted(steps))
    made = Bars(f"Commands by how long they took: {said}", height=2 * _PANEL + 20)
    panels: tuple[tuple[str, Callable[[list[float]], float], Callable[[float], str]], ...] = (
        ("count", len, lambda value: f"{value:,.0f}"),
        ("time", sum, _short),
    )
    for number, (kind, measure, written) in enumerate(panels):
        base = number * (_PANEL + 20) + _PANEL
        made.lines.append((0, base, _WIDTH, base, "axis"))
        most = max(measure(inside) for inside in steps.values()) or 1.0
        words = []
        for at in sorted(steps):
            value, x = measure(steps[at]), (at - first) * pitch
            tall = round(max(1.5, value / most * (_PANEL - 20)), 1)
            limit = _ROUND[at]
            title = f"{len(steps[at]):,} of {_round(limit)} or more: {seconds(sum(steps[at]))}"
            bar = Bar(round(x + 1, 1), base - tall, round(pitch - 2, 1), tall, kind, title, limit)
            made.bars.append(bar)
            made.solid.append((bar.x + _GAP, bar.y, bar.x + bar.wide - _GAP, base))
            middle = round(x + pitch / 2, 1)
            words.append((tall, Label(middle, bar.y - 5, written(value), "value")))
        # The fullest first: where bars are narrow not every one can say its figure.
        for _, label in sorted(words, key=lambda pair: -pair[0]):
            made.put(label)
    for at in range(first, last + 1):
        x = (at - first) * pitch
        made.put(Label(round(x + 1, 1), _PANEL + 15, _round(_ROUND[at]), "tick", "start"))
    return made


def builds(earlier: list[Document]) -> Bars:
    """A bar a build, oldest first; the last one is this."""
    made = Bars("Wall time of the builds of this folder and command, oldest first")
    most = max((row["wall"] or 0.0 for row in earlier), default=0.0) or 1.0
    pitch = min(64.0, (_WIDTH - 8) / len(earlier))
    base = _HEIGHT - _BOTTOM + 12
    made.lines.append((0, base, _WIDTH, base, "axis"))
    for number, row in reversed(list(enumerate(earlier))):  # the last one's words first
        wall, last = row["wall"], number == len(earlier) - 1
        x = 4 + number * pitch
        tall = round(max(2.0, (wall or 0.0) / most * (base - 24)), 1)
        kind = f"{'ours' if last else ''}{'' if row['status'] == 0 else ' bad'}"
        title = f"build {row['id']}: {seconds(wall) if wall is not None else 'no end'}"
        place = (round(x + pitch * 0.1, 1), round(base - tall, 1))
        made.bars.append(Bar(*place, round(pitch * 0.8, 1), tall, kind, title))
        middle = round(x + pitch / 2, 1)
        if wall is not None:
            made.put(Label(middle, round(base - tall - 6, 1), seconds(wall), "value"))
        made.put(Label(middle, base + 15, f"{row['id']}", "tick strong" if last else "tick"))
    return made
