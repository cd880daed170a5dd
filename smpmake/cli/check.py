"""`smpmake check`: what a makefile forgot."""

from __future__ import annotations

import json
from pathlib import Path

import click

from smpmake.cli.exit import BySignal

#: Statuses: something was found; nothing was, but not everything was looked at.
FOUND, NOT_ALL = 4, 5


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--json",
    "document",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the findings as JSON to FILE.",
)
@click.option(
    "--patch",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write a diff with the lines to add to FILE.",
)
@click.option(
    "--sources",
    is_flag=True,
    help="Also look at headers that no recipe makes: make then rebuilds too little.",
)
@click.option(
    "--prove",
    is_flag=True,
    help="Try each finding: make the reader's target alone, in an overlay of the tree.",
)
@click.option(
    "--clean",
    metavar="COMMAND",
    default="",
    help="With --prove: use no overlay.  A shell runs COMMAND before each trial, to clean.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def check(
    document: str | None,
    patch: str | None,
    sources: bool,
    prove: bool,
    clean: str,
    command: tuple[str, ...],
) -> int:
    """Build one command at a time, and list what the makefiles forgot to say.

    smpmake notes what each recipe reads and writes.  It compares this with the order that the rules
    declare.  Each finding comes with the line to add.  Start from a clean tree.
    """
    from smpmake import config
    from smpmake.checking import advice, telling
    from smpmake.checking.checking import check as look
    from smpmake.checking.watch import EndedError, NotStartedError
    from smpmake.console import say

    if clean and not prove:
        raise click.UsageError("--clean is for --prove")
    try:
        accepted = config.load(Path.cwd()).accepted
        result = look(
            command, proves=prove, clean=clean, accepted=accepted, sources=sources, tell=say
        )
    except NotStartedError as error:
        say(str(error))
        return error.status
    except EndedError as error:
        return BySignal(128 + error.number)
    if result.status < 0:
        return BySignal(128 - result.status)
    if patch is not None:
        _write(patch, advice.patch(result.open, result.top))
    if document is not None:
        _write(document, json.dumps(telling.document(result), indent=1) + "\n")
    for line in telling.lines(result):
        click.echo(line)
    if result.status:
        say(f"the build ended with status {result.status}: smpmake checked what ran before that")
        return result.status
    if result.open:
        return FOUND
    return NOT_ALL if result.is_partial else 0


def _write(path: str, text: str) -> None:
    from smpmake.errors import SmpmakeError

    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        raise SmpmakeError(f"{path}: smpmake cannot write this file: {error.strerror}") from None
