"""The page's still pictures, as SVG: they need no script and print as they are.

Their width is that of a telephone, so that their words are readable there; elsewhere they grow.
"""

from __future__ import annotations

from typing import Final

from smpmake.reports.document import Document
from smpmake.reports.markup import Markup, join, tag
from smpmake.units import seconds

_WIDTH: Final = 440
_HEIGHT: Final = 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 22, 22, 30, 38


def shown_sizes(document: Document) -> list[Document]:
    """The what-if curve as far as it falls, and one step more to show that it does not."""
    curve: list[Document] = document["what_if"]
    least = min((point["seconds"] for point in curve), default=0.0)
    here = document["figures"]["extra_cpus"]
    for number, point in enumerate(curve):
        if point["seconds"] <= least * 1.01 and point["cpus"] >= here:
            return curve[: number + 2]
    return curve


def what_if(document: Document) -> Markup:
    """Time over the number of CPUs; the build as it really was stands in it."""
    curve, figures = shown_sizes(document), document["figures"]
    if len(curve) < 2:
        return Markup("")
    most = max(*(point["seconds"] for point in curve), figures["wall"]) or 1.0
    step = (_WIDTH - _LEFT - _RIGHT) / (len(curve) - 1)

    def place(number: float, value: float) -> tuple[float, float]:
        y = _HEIGHT - _BOTTOM - value / most * (_HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + number * step, 1), round(y, 1)

    points = [place(number, point["seconds"]) for number, point in enumerate(curve)]
    base = _HEIGHT - _BOTTOM
    line = " ".join(f"{x},{y}" for x, y in points)
    area = f"{points[0][0]},{base} {line} {points[-1][0]},{base}"
    parts = [
        tag("polygon", points=area, class_="area"),
        tag("line", x1=0, x2=_WIDTH, y1=base, y2=base, class_="axis"),
    ]
    bound = place(0, figures["critical_path"])[1]
    parts.append(tag("line", x1=0, x2=_WIDTH, y1=bound, y2=bound, class_="bound"))
    parts.append(tag("polyline", points=line, class_="curve"))
    here = figures["extra_cpus"]
    for number, ((x, y), point) in enumerate(zip(points, curve, strict=True)):
        ours = point["cpus"] == here
        top = y
        parts.append(tag("circle", cx=x, cy=y, r=5 if ours else 3.5, class_="dot"))
        if ours:
            top = min(y, place(number, figures["wall"])[1])
            mark = f"M{x - 6},{place(number, figures['wall'])[1]} l6,-6 l6,6 l-6,6 z"
            what = tag("title", "this build, measured")
            parts.append(tag("path", what, d=mark, class_="measured"))
        kind = " strong" if ours else ""
        parts.append(_label(x, round(top - 11, 1), seconds(point["seconds"]), f"value{kind}"))
        parts.append(_label(x, base + 16, f"{point['cpus']}", f"tick{kind}"))
    parts.append(_label(_WIDTH / 2, _HEIGHT - 4, "CPUs", "tick"))
    said = ", ".join(f"{p['cpus']} CPUs {seconds(p['seconds'])}" for p in curve)
    return _picture(f"Simulated time by number of CPUs: {said}", parts)


def builds(earlier: list[Document]) -> Markup:
    """A bar a build, oldest first; the last one is this."""
    most = max((row["wall"] or 0.0 for row in earlier), default=0.0) or 1.0
    pitch = min(64.0, (_WIDTH - 8) / len(earlier))
    base, parts = _HEIGHT - _BOTTOM + 12, []
    for number, row in enumerate(earlier):
        wall, last = row["wall"], number == len(earlier) - 1
        x = 4 + number * pitch
        tall = max(2.0, (wall or 0.0) / most * (base - 24))
        failed = "" if row["status"] == 0 else " bad"
        bar = tag(
            "rect",
            tag("title", f"build {row['id']}: {seconds(wall) if wall is not None else 'no end'}"),
            x=round(x + pitch * 0.1, 1),
            y=round(base - tall, 1),
            width=round(pitch * 0.8, 1),
            height=round(tall, 1),
            rx=2,
            class_=f"bar{' ours' if last else ''}{failed}",
        )
        parts.append(bar)
        middle = round(x + pitch / 2, 1)
        if wall is not None and (pitch >= 36 or last):
            parts.append(_label(middle, round(base - tall - 6, 1), seconds(wall), "value"))
        if pitch >= 20 or last or number % 2 == 0:
            parts.append(
                _label(middle, base + 15, f"{row['id']}", "tick strong" if last else "tick")
            )
    parts.append(tag("line", x1=0, x2=_WIDTH, y1=base, y2=base, class_="axis"))
    return _picture("Wall time of the builds of this folder and command, oldest first", parts)


def _label(x: float, y: float, words: str, kind: str) -> Markup:
    return tag("text", words, x=x, y=y, class_=kind, text_anchor="middle")


def _picture(title: str, parts: list[Markup]) -> Markup:
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    return tag("svg", join(parts), viewBox=size, role="img", aria_label=title, class_="chart")
