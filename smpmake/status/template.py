"""What the status line says: a format in the manner of NINJA_STATUS."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from smpmake.errors import SmpmakeError
from smpmake.units import one_line

#: Used where SMPMAKE_STATUS is not set: with and without an earlier build to compare with.
KNOWN: Final = "smpmake: %f/%t %p, %r running, %q queued, CPU %C, %E, %l left"
UNKNOWN: Final = "smpmake: %f done, %r running, %q queued, CPU %C, %E"
#: From so many seconds on our own line names what runs longest.
LONG: Final = 5.0


class StatusFormatError(SmpmakeError):
    """SMPMAKE_STATUS cannot be used."""


class Facts(NamedTuple):
    """A moment of a build.  Seconds; None where nothing is known.

    rate, lately  commands finished a second: in all, and in the last seconds.
    fraction      of the expected work, 0..1.
    failed        commands of which success had been promised.
    longest       what runs longest, "" where nothing does, and for how long.
    over          the driver's name once it has ended, and its jobs have not; else "".
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
    longest: str = ""
    longest_for: float = 0.0
    over: str = ""


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
    return f"{facts.longest} {minutes(facts.longest_for)}" if facts.longest else ""


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
                raise StatusFormatError(
                    f"SMPMAKE_STATUS: '{found[0]}' is no placeholder (known: {known})"
                )
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
        self._known, self._unknown = Template(KNOWN), Template(UNKNOWN)

    def render(self, facts: Facts) -> str:
        """The line for a moment."""
        if self._own is not None:
            return self._own.render(facts)
        known = facts.left is not None and facts.fraction is not None
        text = (self._known if known else self._unknown).render(facts)
        if facts.over:
            text += f", {facts.over} is done"
        if facts.failed:
            text += f", {facts.failed} failed"
        if facts.longest and facts.longest_for >= LONG:
            text += f", {_longest(facts)}"
        return one_line(text)
