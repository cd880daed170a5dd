"""What the status line says: a format in the manner of NINJA_STATUS."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from smpmake.errors import SmpmakeError
from smpmake.units import cut, one_line

#: From so many seconds on our own line says for how long a job has run.
LONG: Final = 5.0
#: Where nobody says how wide a line may be.
_COLUMNS: Final = 100
#: What must be there of a name.
_NAME: Final = 12


class StatusFormatError(SmpmakeError):
    """SMPMAKE_STATUS cannot be used."""


class Facts(NamedTuple):
    """A moment of a build.  Seconds; None where nothing is known.

    rate, lately  commands finished a second: in all, and in the last seconds.
    fraction      of the expected work, 0..1.
    failed        commands of which success had been promised.
    at_work       what runs, and for how long: what has run longest is the first.
    over          the driver has ended, and its jobs have not.
    """

    finished: int
    started: int
    running: int
    queued: int
    slots: int
    cpu: float
    elapsed: float
    rate: float
    lately: float
    total: int | None = None
    fraction: float | None = None
    left: float | None = None
    failed: int = 0
    at_work: tuple[tuple[str, float], ...] = ()
    over: bool = False

    @property
    def known(self) -> int:
        """Jobs in all, as far as anybody knows."""
        return max(self.total or 0, self.finished + self.running + self.queued)


def minutes(seconds: float | None) -> str:
    """`m:ss`, or `h:mm:ss`."""
    if seconds is None:
        return "?"
    whole = round(max(0.0, seconds))
    hours, rest = divmod(whole, 3600)
    if hours:
        return f"{hours}:{rest // 60:02}:{rest % 60:02}"
    return f"{rest // 60}:{rest % 60:02}"


def _longest(facts: Facts) -> str:
    return " ".join((facts.at_work[0][0], minutes(facts.at_work[0][1]))) if facts.at_work else ""


def _named(facts: Facts, room: int) -> str:
    """As many of the jobs at work as there is room for, and how many more there are."""
    names = [f"{name} {minutes(took)}" if took >= LONG else name for name, took in facts.at_work]
    text = more = ""
    for shown in range(len(names), 0, -1):
        more = f", +{len(names) - shown}" if shown < len(names) else ""
        text = f"{', '.join(names[:shown])}{more}"
        if len(text) <= room:
            return text
    if names and room - len(more) >= _NAME:
        return f"{cut(names[0], room - len(more))}{more}"
    text = f"{facts.running} running" if facts.running else ""
    return text if len(text) <= room else ""


def _own(facts: Facts, columns: int) -> str:
    """Our own line: `[12/13] g++ sort.o, g++ wrap.o  1:03, ~0:20 left`."""
    parts = []
    if facts.over:
        jobs = facts.running + facts.queued
        parts.append(f"finishing: {jobs} job{'s' if jobs != 1 else ''}")
    if facts.failed:
        parts.append(f"{facts.failed} failed")
    head = f"[{facts.finished}/{facts.known}] {''.join(f'{part}, ' for part in parts)}"
    tail = minutes(facts.elapsed)
    if facts.left is not None:
        tail += f", ~{minutes(facts.left)} left"
    names = one_line(_named(facts, columns - len(head) - len(tail) - 2))
    return f"{f'{head}{names}'.rstrip(', ')}  {tail}"


_PLACES: Final[dict[str, Callable[[Facts], str]]] = {
    "f": lambda facts: str(facts.finished),
    "s": lambda facts: str(facts.started),
    "r": lambda facts: str(facts.running),
    "q": lambda facts: str(facts.queued),
    "u": lambda facts: "?" if facts.total is None else str(max(0, facts.total - facts.started)),
    "t": lambda facts: "?" if facts.total is None else str(facts.total),
    "p": lambda facts: "?" if facts.fraction is None else f"{int(facts.fraction * 100)}%",
    "o": lambda facts: f"{facts.rate:.1f}",
    "c": lambda facts: f"{facts.lately:.1f}",
    "e": lambda facts: f"{facts.elapsed:.1f}",
    "E": lambda facts: minutes(facts.elapsed),
    "l": lambda facts: minutes(facts.left),
    "C": lambda facts: f"{facts.cpu:.0%}",
    "j": lambda facts: str(facts.slots),
    "F": lambda facts: str(facts.failed),
    "L": lambda facts: _longest(facts),
    "%": lambda facts: "%",
}


class Template:
    """A format.  Raises StatusFormatError for a placeholder that is none."""

    def __init__(self, text: str) -> None:
        for found in re.finditer(r"%(.?)", text, re.DOTALL):
            if found[1] not in _PLACES:
                known = " ".join(f"%{place}" for place in _PLACES)
                raise StatusFormatError(f"'{found[0]}' is no placeholder (known: {known})")
        # One line it must be, and no more than text: it goes to a terminal.
        self._text = "".join(c if c.isprintable() else " " for c in text)

    def render(self, facts: Facts) -> str:
        """The line."""
        return re.sub(r"%(.)", lambda found: _PLACES[found[1]](facts), self._text)


class Wording:
    """The user's format, or ours; empty means that there is to be no line at all."""

    def __init__(self, wanted: str | None) -> None:
        self.wanted = wanted != ""
        self._own = Template(wanted) if wanted else None

    def render(self, facts: Facts, columns: int = 0) -> str:
        """The line for a moment, of at most so many columns; 0: in a log, where it is one of many
        programs' lines."""
        if self._own is not None:
            text = self._own.render(facts)
            return text[:columns] if columns else text
        return _own(facts, columns)[:columns] if columns else f"smpmake: {_own(facts, _COLUMNS)}"
