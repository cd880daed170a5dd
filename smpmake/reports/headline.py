"""What every printer of a document begins with: the headline, and what a command is called."""

from __future__ import annotations

from typing import Final

from smpmake.records import WhyNot
from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.ending import of_document
from smpmake.timing import Against, Ends
from smpmake.units import cut, seconds

_LABEL: Final = 200  # characters of a command without outputs


def headline(document: Document) -> str:
    """One line: how much it helped, or how it failed."""
    figures, build = document["figures"], document["build"]
    if not build["complete"]:
        driver, took = phrases.driver(build["command"]), seconds(figures["wall"])
        if build["running"]:
            return f"{driver} has run for {took} so far"
        return f"{driver} ran for {took}, until smpmake was killed"
    if build["status"]:
        return of_document(document)
    wrong = sum(not failure["reported"] for failure in document["failures"])
    if build["status"] is None and wrong:  # nobody heard how its driver ended
        commands = f"{wrong} command{'s' if wrong > 1 else ''}"
        return f"ran for {seconds(figures['wall'])}; {commands} failed"
    gained = told(document)
    if gained is None:
        return "; ".join(filter(None, (f"built in {seconds(figures['wall'])}", why(document))))
    return phrases.result(figures["wall"], gained, measured=is_measured(document))


def why(document: Document) -> str:
    """Why nobody is told how much it helped; "" where that needs no word."""
    figures = document["figures"]
    return phrases.untold(
        figures["why_not"] or "",
        wanted=figures["others_wanted"] or 0.0,
        parallel=figures["parallel_driver"] or "",
    )


#: Why nobody is told, where that needs no word beside the headline.
_UNTOLD: Final = {
    WhyNot.RUNNING: "the build has not ended",
    WhyNot.KILLED: "the build was cut short: smpmake was killed",
    WhyNot.INTERRUPTED: "the build was interrupted",
    WhyNot.FAILED: "the build failed",
    WhyNot.SHORT: "the build was too short to say how much smpmake helped",
}


def untold_word(document: Document) -> str:
    """Why nobody is told how much it helped, where somebody has asked."""
    return why(document) or _UNTOLD.get(document["figures"]["why_not"], "")


def told(document: Document) -> Against | None:
    """How much it helped; None where that is told nobody."""
    figures = document["figures"]
    if figures["speedup"] is None:
        return None
    serial = figures["serial_estimated"]
    if is_measured(document):
        serial = dict.fromkeys(("low", "high"), figures["serial_measured"])
    shares = figures["efficiency"]
    return Against(
        ends(serial), ends(figures["speedup"]), ends(shares) if shares is not None else None
    )


def ends(values: Document) -> Ends:
    """A range from a document."""
    return Ends(values["low"], values["high"])


def is_measured(document: Document) -> bool:
    """Whether somebody measured the plain build."""
    return document["figures"]["serial_measured"] is not None


def label(command: Document) -> str:
    """A command by what it makes."""
    if command["outputs"]:
        name = command["outputs"][0].rpartition("/")[2]
        place = command["folder"]
        return f"{command['tool']} {name if place == '.' else f'{place}/{name}'}"
    return cut(command["command"], _LABEL)
