"""Which build of the history a command line means."""

from __future__ import annotations

import os

import click

from smpmake.errors import SmpmakeError
from smpmake.history import History
from smpmake.records import BuildRecord


class NoBuildError(SmpmakeError):
    """The history does not hold the build."""


def build_name(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    """Checks the name of a build: a number, `last`, or `last-N`, the Nth before the last."""
    if value.isdigit():
        return int(value)
    word, _, back = value.partition("-")
    if word == "last" and (not back or back.isdigit()):
        return value
    raise click.BadParameter(
        f"'{value}' is no build: a number (smpmake history shows them), last, or last-N", ctx, param
    )


def find(name: int | str) -> BuildRecord:
    """The build.  `last` means this folder's, or where there is none the last at all.

    Builds that ran no tool do not count there (a typo, a make that found all up to date).
    """
    history = History()
    if isinstance(name, int):
        record = history.load(name)
        if record is None:
            raise NoBuildError(f"build {name} is not in the history (smpmake history lists it)")
        return record
    back = int(name.partition("-")[2] or 0)
    here = history.heads(os.getcwd(), limit=back + 1, worked=True)
    heads = here or history.heads(limit=back + 1, worked=True)
    if not heads:
        raise NoBuildError(
            "No build is in the history yet in which a compiler or another known tool was run: "
            "put smpmake in front of one."
        )
    if back >= len(heads):
        count = "only one build" if len(heads) == 1 else f"only {len(heads)} builds"
        place = "this folder has" if here else "there is" if len(heads) == 1 else "there are"
        raise NoBuildError(f"{place} {count} in which a tool was run (smpmake history lists all)")
    record = history.load(heads[back].id)
    assert record is not None
    return record


def earlier(record: BuildRecord, most: int = 20) -> list[BuildRecord]:
    """The heads of builds of the same folder and command before this one, newest first."""
    heads = History().heads(record.cwd, limit=10 * most, worked=True)
    same = [h for h in heads if h.id < record.id and h.command == record.command]
    return same[:most]
