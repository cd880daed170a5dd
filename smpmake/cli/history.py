"""`smpmake history`: the builds that are remembered."""

from __future__ import annotations

import json
import os

import click

from smpmake.cli.values import COUNT

_BEFORE = 100  # builds that those which are shown are compared with


@click.command()
@click.option(
    "--all",
    "everywhere",
    is_flag=True,
    help="List the builds of all folders, and commands that could not be run.",
)
@click.option(
    "-n",
    "--number",
    type=COUNT,
    metavar="N",
    default="20",
    help="List at most N builds.  [default: 20]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def history(everywhere: bool, number: int, as_json: bool) -> int:
    """List the builds that smpmake remembers, the newest first.

    These are the builds of this folder, or all builds if this folder has none.
    """
    from smpmake.cli.screen import look
    from smpmake.history import History
    from smpmake.reports import comparison

    known = History()
    most, ran = number + _BEFORE, not everywhere
    every = known.heads(None if everywhere else os.getcwd(), limit=most, ran=ran)
    every = every or known.heads(limit=most, ran=ran)
    heads = every[:number]
    if as_json:
        click.echo(json.dumps(comparison.history_document(heads, every), indent=1))
        return 0
    if not heads:
        click.echo("No build is in the history yet: put smpmake in front of one.", err=True)
        return 1
    for line in comparison.history(heads, every, look()):
        click.echo(line)
    return 0
