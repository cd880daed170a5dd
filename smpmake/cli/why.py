"""`smpmake why`: what did not run in parallel in a build, and all about one output."""

from __future__ import annotations

import json
import os
import time

import click

from smpmake.cli.builds import build_and_path, build_option, complete_paths, find
from smpmake.console import say
from smpmake.units import one_line


@click.command()
@click.argument("words", nargs=-1, metavar="[BUILD] [PATH]", shell_complete=complete_paths)
@click.option(
    "--all", "everything", is_flag=True, help="List all commands, not a few for each reason."
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@build_option
def why(words: tuple[str, ...], everything: bool, as_json: bool, build: int | str | None) -> int:
    """Say which commands of the last build did not run in parallel, and why.

    With the PATH of a file, smpmake shows the commands that made the file: how they ran, how long,
    and which file they waited for.  With a folder it shows all commands that made files
    there.  BUILD is a number that smpmake history shows, `last` or `last-N`.
    """
    from smpmake.cli.screen import look
    from smpmake.reports import why as report

    named, path = build_and_path(words, build)
    record = find(named, tells=True)
    if as_json:
        page = report.document(record, os.path.abspath(path) if path is not None else None)
        click.echo(json.dumps(page, indent=1))
        return 0 if path is None or page["commands"] else 1
    if path is not None:
        lines = report.about(record, os.path.abspath(path), look(), everything=everything)
        if not lines:
            say(f"no command of that build made or read {path}")
            return 1
        for line in lines:
            click.echo(line)
        return 0
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.wall_clock))
    click.echo(one_line(f"{' '.join(record.command)} in {record.cwd}, {when}:"))
    if record.unused:
        click.echo(one_line(record.unused))
    for line in report.lines(record, look(), everything=everything):
        click.echo(line)
    return 0
