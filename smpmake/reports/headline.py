"""What every printer of a document begins with: the headline, and what a command is called."""

from __future__ import annotations

from typing import Final

from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.ending import gains, of_document
from smpmake.timing import Against
from smpmake.units import cut, seconds

_LABEL: Final = 200  # characters of a command without outputs


def headline(document: Document) -> str:
    """One line: how much it helped, or how it failed."""
    figures, build = document["figures"], document["build"]
    if build["status"]:
        return of_document(document)
    if not gains(document):
        return seconds(figures["wall"])
    serial, kind = best_serial(document)
    return phrases.result(
        wall=figures["wall"],
        against=serial,
        measured=kind == "a measured",
        slots=build["slots"],
        count=build["cpus"],
        load=load(document),
    )


def load(document: Document) -> str:
    """Who else had the CPUs, where it must be said."""
    figures = document["figures"]
    return phrases.taken(figures["others"], figures["stolen"]) if figures["loaded"] else ""


def best_serial(document: Document) -> tuple[Against, str]:
    """The measured serial time if there is one, else the estimate, and what to call it."""
    figures = document["figures"]
    if figures["serial_measured"] is not None:
        return against(figures["serial_measured"]), "a measured"
    return against(figures["serial_estimated"]), "an estimated"


def against(figures: Document) -> Against:
    """A serial time from a document."""
    least = figures["least"]
    return Against(
        figures["seconds"],
        figures["speedup"],
        figures["efficiency"],
        against(least) if least is not None else None,
    )


def label(command: Document) -> str:
    """A command by what it makes."""
    if command["outputs"]:
        name = command["outputs"][0].rpartition("/")[2]
        place = command["folder"]
        return f"{command['tool']} {name if place == '.' else f'{place}/{name}'}"
    return cut(command["command"], _LABEL)
