"""`smpmake compare`: two builds side by side."""

from __future__ import annotations

import json

import click

from smpmake.cli.builds import BUILDS, Builds, find, like_it
from smpmake.cli.values import COUNT


@click.command()
@click.argument("builds", type=BUILDS, nargs=-1, metavar="[BUILD [BUILD]]")
@click.option(
    "--build",
    "options",
    type=BUILDS,
    multiple=True,
    metavar="BUILD",
    help="Name a build by an option instead.",
)
@click.option(
    "--median",
    type=COUNT,
    metavar="N",
    help="Compare with the median of the last N builds before it that had as much to do.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.option(
    "--rows", type=COUNT, metavar="N", default="15", help="Print at most N rows.  [default: 15]"
)
def compare(
    builds: tuple[Builds, ...],
    options: tuple[Builds, ...],
    median: int | None,
    as_json: bool,
    rows: int,
) -> int:
    """Say what got slower between two builds, by command and by cause.

    BUILD is a number that smpmake history shows, `last` or `last-N`.  One build is compared with
    the last one of this folder.  Without a BUILD, smpmake compares the last two of this folder.
    Several builds, as in 3,4,5, stand for their median.
    """
    from smpmake.cli.screen import look
    from smpmake.reports import comparison
    from smpmake.timing.compare import compare as compared

    named = (*builds, *options)
    if len(named) > 2:
        raise click.UsageError(f"Two builds are compared, and {len(named)} are named.")
    if median is not None:
        if len(named) > 1:
            raise click.UsageError("--median finds the builds before by itself: name one, or none.")
        new = [find(name) for name in (named[0] if named else ("last",))]
        old = like_it(new[0], median)
    else:
        both = (*(named or [("last-1",)]), ("last",))[:2]
        old, new = ([find(name) for name in names] for names in both)
    found = compared(old, new)
    if as_json:
        click.echo(json.dumps(comparison.document(found, old, new), indent=1))
        return 0
    for line in comparison.lines(found, old, new, rows, look()):
        click.echo(line)
    return 0
