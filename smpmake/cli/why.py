"""`smpmake why`: what was not deferred in the last build."""

from __future__ import annotations

import os
import time

import click


@click.command()
@click.option("--all", "everything", is_flag=True, help="All commands, not a few of each reason.")
def why(everything: bool) -> int:
    """Say which commands of the last build were not deferred, and why.

    The last build that was started in this folder, or else the last one at all.
    """
    from smpmake.history import History
    from smpmake.reports import why as report

    history = History()
    record = history.last(os.getcwd()) or history.last()
    if record is None:
        click.echo("No build is in the history yet: put smpmake in front of one.", err=True)
        return 1
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.wall_clock))
    click.echo(f"{' '.join(record.command)} in {record.cwd}, {when}:")
    for line in report.lines(record, everything=everything):
        click.echo(line)
    return 0
