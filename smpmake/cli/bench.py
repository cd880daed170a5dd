"""`smpmake bench`: how much smpmake helps a build, measured."""

from __future__ import annotations

import json
import os

import click

from smpmake.cli.values import COUNT


def _counts(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Numbers with commas between, N for all usable CPUs."""
    from smpmake import cpus

    if value is None:
        return ()
    usable = cpus.usable().count
    found = []
    for word in value.split(","):
        text = word.strip()
        if text.upper() == "N":
            found.append(usable)
        elif text.isdigit() and int(text) > 0:
            found.append(int(text))
        else:
            raise click.BadParameter(
                f"'{text}' must be a whole number, at least 1, or N", ctx, param
            )
    if param.name == "cpus" and max(found) > usable:
        raise click.BadParameter(f"only {usable} CPUs can be used here", ctx, param)
    return tuple(sorted(dict.fromkeys(found)))


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--clean",
    required=True,
    metavar="COMMAND",
    help="Undo a build by COMMAND, which a shell runs before each build.",
)
@click.option(
    "--runs", type=COUNT, metavar="N", default="3", help="Build N times each way.  [default: 3]"
)
@click.option(
    "--cpus",
    callback=_counts,
    default="1,N",
    metavar="LIST",
    help="Build on so many CPUs, one number after the other.  N means all.  [default: 1,N]",
)
@click.option(
    "--jobs", callback=_counts, metavar="LIST", help="Also try these numbers of jobs: 1,2,3,4."
)
@click.option("--json", "as_json", is_flag=True, help="Print the times as JSON.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def bench(
    clean: str,
    runs: int,
    cpus: tuple[int, ...],
    jobs: tuple[int, ...],
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Build with and without smpmake, in turns, and print the times side by side.

    The table has medians and ranges, and says whether these tell a difference.  Before each build
    --clean runs.  From then on, the report of the last build also shows the serial time.
    """
    from smpmake import bench as benching
    from smpmake.cli.exit import BySignal
    from smpmake.cli.screen import look
    from smpmake.console import say
    from smpmake.history import History, HistoryError
    from smpmake.reports import bench as tables

    try:
        done = benching.run(
            list(command), clean, runs, cpus, jobs, lambda text: click.echo(text, err=True)
        )
    except benching.BenchError as error:
        if not error.signal:
            raise
        say(str(error))
        return BySignal(128 + error.signal)
    serial = done.median(benching.Variant(0, max(cpus)))
    try:
        history = History()
        for head in history.heads(os.getcwd(), limit=runs * (len(cpus) + len(jobs)) + 2):
            if (
                serial is not None
                and (head.slots, head.cpus) == (max(cpus), max(cpus))
                and head.command == list(command)
            ):
                history.set_serial(head.id, serial)
                break
    except HistoryError as error:
        say(f"the serial time is not in the history: {error}")
    if as_json:
        click.echo(json.dumps(tables.document(done), indent=1))
    else:
        for line in tables.lines(done, look(pipe=120)):
            click.echo(line)
    return 0
