"""What the page begins with: one sentence about the whole build.

A ratio stands in the largest type only where it can be told.  Of a build that failed or was
interrupted nothing is estimated, and beside busy neighbours nobody can say how much smpmake helped.
"""

from __future__ import annotations

import shlex
from typing import Final, NamedTuple

from smpmake.records import WhyNot
from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.ending import by_signal
from smpmake.reports.headline import ends, is_measured, label, told, untold_word
from smpmake.timing import Ends
from smpmake.units import cut, seconds

TIMES: Final = "\N{MULTIPLICATION SIGN}"
NONBREAKING: Final = "\N{NO-BREAK SPACE}"
#: Share of the CPUs that others had from which on that is worth a word.
_NOTED: Final = 0.1
_COMMAND: Final = 60  # characters of a command that is to be typed


class Heading(NamedTuple):
    """The first sentence, `strong` in bold within it, and what is said below in smaller type.

    In `lead` words between backticks are code.
    """

    before: str
    strong: str
    after: str
    lead: str


def is_whole(document: Document) -> bool:
    """Whether the build came to its end and succeeded: else its times tell nothing of all of it."""
    build = document["build"]
    return bool(build["complete"]) and not build["status"]


class Without(NamedTuple):
    """How many seconds the build takes without smpmake; and the share of the other CPUs that
    smpmake gained, "" where nothing can be said of it."""

    seconds: Ends
    is_measured: bool
    share: str


def without(document: Document) -> Without | None:
    """The comparison that the page makes; None where it makes none."""
    gained = told(document)
    if gained is None:
        return None
    share = phrases.part(gained.efficiency) if gained.efficiency is not None else ""
    return Without(gained.seconds, is_measured(document), share)


def state(document: Document) -> tuple[str, str]:
    """How the build ended, to be read after its command; and whether that is good or bad."""
    build = document["build"]
    if not build["complete"]:
        return ("is still running", "") if build["running"] else ("was killed", "bad")
    if not build["status"]:
        return "succeeded", "good"
    return (by_signal(build["status"]) or f"failed with status {build['status']}"), "bad"


def heading(document: Document) -> Heading:
    """The sentence, and what is to be known about it."""
    build, figures = document["build"], document["figures"]
    driver, wall = phrases.driver(build["command"]), unbroken(seconds(figures["wall"]))
    if not is_whole(document):
        return _partial(document, driver, wall)
    if not document["commands"]:
        lead = "The build called no compiler, linker or other tool that smpmake knows."
        return Heading(f"{driver} took", wall, "and had nothing to run in parallel", lead)
    found = without(document)
    if found is None:
        busy = figures["why_not"] == WhyNot.BUSY
        lead = f"{_capital(untold_word(document))}."
        return Heading(f"{driver} took", wall, "on a busy machine" if busy else "", lead)
    return _compared(document, driver, wall, found)


def _partial(document: Document, driver: str, wall: str) -> Heading:
    build = document["build"]
    words, _ = state(document)
    after = f"after {wall}"
    if build["complete"] and words.startswith("failed"):
        words, after = "failed", f"with status {build['status']} {after}"
    elif build["running"]:
        after = f"and has taken {wall} so far"
    lead = "" if build["running"] else _failed(document, driver)
    none = "smpmake estimates its gain only for builds that succeed."
    return Heading("", unbroken(f"{driver} {words}"), after, f"{lead}{none}")


def _failed(document: Document, driver: str) -> str:
    failures = document["failures"]
    if len(failures) > 1 and document["build"]["driver_runs"] == 1:
        return f"{len(failures):,} commands failed; their messages are below.  "
    if failures:  # of several runs the last one's is what the driver ended by
        number = max(failure["command"] for failure in failures)
        command = next(c for c in document["commands"] if c["number"] == number)
        return f"{cut(label(command), _COMMAND)} failed; its messages are below.  "
    if document["build"]["complete"] and document["build"]["status"] < 128:
        return f"No command that smpmake ran has failed, so the cause is in {driver} itself.  "
    return ""


def _compared(document: Document, driver: str, wall: str, found: Without) -> Heading:
    figures = document["figures"]
    cpus, words = figures["extra_cpus"], []
    if figures["others"] is not None and figures["others"] + figures["stolen"] > _NOTED:
        taken = phrases.percent(figures["others"] + figures["stolen"])
        words.append(f"Others took {taken} of the CPUs, so all times are somewhat longer.  ")
    if cpus < 2:
        words.append("With one CPU, or one slot, smpmake has no other one to use.  ")
        return Heading(f"{driver} took", wall, "with one slot", "".join(words))
    ratio = found.seconds.middle / figures["wall"]
    shown = f"{ratio:.2f}" if found.is_measured else f"{ratio:.1f}"
    about = "" if found.is_measured else "about "
    other = f"{about}{unbroken(seconds(found.seconds.middle))}"
    if found.share and ratio >= 1:
        extra = "the second CPU" if cpus == 2 else f"the {cpus - 1} extra CPUs"
        words.append(f"On {cpus} CPUs smpmake gained {found.share} of {extra}.  ")
    words.append(_source(document, found))
    lead = "".join(words)
    if float(shown) == 1.0:
        return Heading(f"{driver} took", wall, f"with smpmake, and {other} without it", lead)
    if ratio < 1:
        after = f"with smpmake, longer than {other} without it"
        return Heading(f"{driver} took", wall, after, lead)
    fast = f"{unbroken(f'{shown} {TIMES} as fast')}:"
    return Heading("", fast, f"smpmake built this in {wall} instead of {other}", lead)


def _source(document: Document, found: Without) -> str:
    """Where the time without smpmake is from, and how to know it better."""
    if found.is_measured:
        known = document["figures"]["serial_estimated"]
        estimate = unbroken(phrases.between(*map(seconds, ends(known))))
        return f"The time without smpmake was measured; smpmake had estimated {estimate}."
    said = unbroken(phrases.between(*map(seconds, found.seconds)))
    if found.seconds.low == found.seconds.high:
        return f"The time without smpmake is an estimate: {said}."
    once = cut(f"smpmake -j1 {shlex.join(document['build']['command'])}", _COMMAND)
    return (
        f"The time without smpmake is an estimate: {said}.  "
        f"For an exact figure build everything with `{once}` once."
    )


def unbroken(figure: str) -> str:
    """Words that no line break parts: a figure and its unit."""
    return figure.replace(" ", NONBREAKING)


def _capital(words: str) -> str:
    """Words as a sentence; one that begins with a program keeps its name."""
    return f"T{words[1:]}" if words.startswith("the ") else words
