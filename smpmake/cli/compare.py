"""`smpmake compare`: two builds side by side."""

from __future__ import annotations

import json
import shutil

import click

from smpmake.cli.builds import BUILD, find


@click.command()
@click.argument("builds", type=BUILD, nargs=-1, metavar="[BUILD [BUILD]]")
@click.option("--build", "options", type=BUILD, multiple=True, metavar="BUILD", help="The same.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.option("--rows", type=click.IntRange(1), default=15, help="Rows of a table.  [default: 15]")
def compare(
    builds: tuple[int | str, ...], options: tuple[int | str, ...], as_json: bool, rows: int
) -> int:
    """Say what got slower between two builds, by command and by cause.

    The builds are numbers that smpmake history shows, `last` or `last-N`.  One is compared with
    this folder's last; without any they are this folder's last two.
    """
    from smpmake.reports import comparison
    from smpmake.timing.compare import compare as compared

    named = (*builds, *options)
    if len(named) > 2:
        raise click.UsageError(f"Two builds are compared, and {len(named)} are named.")
    old, new = (find(name) for name in (*(named or ["last-1"]), "last")[:2])
    found = compared(old, new)
    if as_json:
        click.echo(json.dumps(comparison.document(found, old, new), indent=1))
        return 0
    width = shutil.get_terminal_size((100, 24)).columns
    for line in comparison.lines(found, old, new, rows, width):
        click.echo(line)
    return 0
