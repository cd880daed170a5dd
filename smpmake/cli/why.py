"""`smpmake why`: what was not deferred in a build, and all about one output."""

from __future__ import annotations

import os
import time

import click

from smpmake.cli.builds import build_name, find
from smpmake.said import say
from smpmake.units import one_line


@click.command()
@click.argument("path", required=False)
@click.option("--all", "everything", is_flag=True, help="All commands, not a few of each reason.")
@click.option("--build", callback=build_name, default="last", help="Which build.  [default: last]")
def why(path: str | None, everything: bool, build: int | str) -> int:
    """Say which commands of the last build were not deferred, and why.

    With a PATH: the commands that made it, their verdicts, times, and what they waited for.
    """
    from smpmake.reports import why as report

    record = find(build)
    if path is not None:
        lines = report.about(record, os.path.abspath(path))
        if not lines:
            say(f"no command of that build made or read {path}")
            return 1
        for line in lines:
            click.echo(line)
        return 0
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.wall_clock))
    click.echo(one_line(f"{' '.join(record.command)} in {record.cwd}, {when}:"))
    for line in report.lines(record, everything=everything):
        click.echo(line)
    return 0
