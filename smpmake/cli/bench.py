"""`smpmake bench`: how much smpmake helps a build, measured."""

from __future__ import annotations

import json
import os

import click


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
            raise click.BadParameter(f"'{text}' is neither a number nor N", ctx, param)
    if param.name == "cpus" and max(found) > usable:
        raise click.BadParameter(f"this machine lets us use {usable} CPUs", ctx, param)
    return tuple(sorted(dict.fromkeys(found)))


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--clean", required=True, metavar="COMMAND", help="What undoes a build, for a shell.")
@click.option("--runs", type=click.IntRange(1), default=3, help="Rounds.  [default: 3]")
@click.option(
    "--cpus", callback=_counts, default="1,N", help="CPUs that builds may use.  [default: 1,N]"
)
@click.option("--jobs", callback=_counts, help="Also try these numbers of slots, e.g. 1,2,3,4.")
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
    """Build in the original way and under smpmake, in turns, and print the times side by side:
    medians with their range, and whether they tell a difference at all.

    Each build starts from what --clean leaves.  The serial time that is measured enters the record
    of the last build under smpmake, whose report shows it from then on.
    """
    from smpmake import bench as benching
    from smpmake.cli.screen import look
    from smpmake.history import History, HistoryError
    from smpmake.reports import bench as tables

    done = benching.run(
        list(command), clean, runs, cpus, jobs, lambda text: click.echo(text, err=True)
    )
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
        from smpmake.said import say

        say(f"the serial time is not in the history: {error}")
    if as_json:
        click.echo(json.dumps(tables.document(done), indent=1))
    else:
        for line in tables.lines(done, look(pipe=120)):
            click.echo(line)
    return 0
