"""`smpmake report`: a finished build, for people and for programs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from smpmake.cli.builds import BUILD, build_option, earlier, find, later_than, one_build
from smpmake.cli.values import COUNT
from smpmake.console import say
from smpmake.errors import SmpmakeError
from smpmake.history import default_path
from smpmake.records import BuildRecord

if TYPE_CHECKING:  # the reports are loaded when one is asked for
    from smpmake.reports.document import Document


#: What --fail-under ends with; a build's statuses of ours are 1 and 125 to 127.
TOO_SLOW: Final = 3


class ReportError(SmpmakeError):
    """A report cannot be written."""


@click.command()
@click.argument("argument", type=BUILD, required=False, metavar="[BUILD]")
@build_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--trace",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write Chrome trace events (for ui.perfetto.dev).",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write a page for a browser: one file, which needs no network.",
)
@click.option("--log", is_flag=True, help="Print what commands with warnings or errors said.")
@click.option("--open", "show", is_flag=True, help="Show the page of --html in your browser.")
@click.option(
    "--rows",
    type=COUNT,
    metavar="N",
    default="10",
    help="Print at most N rows of each table.  [default: 10]",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(min=0, min_open=True),
    metavar="FACTOR",
    help="End with status 3 if the build was less than FACTOR times as fast as the plain build.",
)
def report(
    argument: int | str | None,
    build: int | str | None,
    as_json: bool,
    trace: str | None,
    html: str | None,
    log: bool,
    show: bool,
    rows: int,
    fail_under: float | None,
) -> int:
    """Show how much smpmake helped, what held the build back, and what more CPUs would give.

    BUILD is a number that smpmake history shows, `last` (this folder's last build, the default) or
    `last-N`.  --fail-under compares the figure in the first line, the middle of the range.  If the
    report has no such figure, the command succeeds and prints the reason.
    """
    from smpmake.reports.document import document

    name = one_build(argument, build)
    record = find(name, tells=True)
    page = document(record)
    if trace is not None:
        from smpmake.reports.trace import trace as make_trace

        _write(trace, json.dumps(make_trace(page)))
    if html is not None or show:
        _page(record, page, html, show)
    if as_json:
        click.echo(json.dumps(page, indent=1))
    elif log:
        from smpmake.cli.screen import look
        from smpmake.reports import diagnostics

        for line in diagnostics.log(page, look()):
            click.echo(line)
    elif trace is None and html is None and not show:
        from smpmake.cli.screen import look
        from smpmake.reports.terminal import page as make_page

        for line in make_page(page, look(most=120), rows):
            click.echo(line)
    if fail_under is None:
        return 0
    if name == "last" and (later := later_than(record)):
        say(f"--fail-under {fail_under:g} passes: {later}")
        return 0
    return _verdict(page, fail_under)


def _verdict(page: Document, wanted: float) -> int:
    """The status by which a build server goes, with a line that says why."""
    from smpmake.reports.headline import told, untold_word
    from smpmake.reports.phrases import pace

    gained = told(page)
    if gained is None:
        say(f"--fail-under {wanted:g} passes: {untold_word(page)}")
        return 0
    is_met = gained.speedup.middle >= wanted
    verb = "passes" if is_met else "fails"
    say(
        f"--fail-under {wanted:g} {verb}: the build was {pace(gained.speedup)} "
        f"({gained.speedup.middle:.2f})"
    )
    return 0 if is_met else TOO_SLOW


def _page(record: BuildRecord, page: Document, target: str | None, show: bool) -> None:
    from smpmake.reports.document import brief
    from smpmake.reports.html import html

    if show and target == "-":
        raise click.UsageError("--open needs a file: name one with --html, or none.")
    text = html(page, [brief(head) for head in earlier(record)])
    if target is None:
        # One file for all: a page that is only looked at is not to be kept.
        target = str(default_path().with_name("report.html"))
    _write(target, text)
    if show and click.launch(os.path.abspath(target)) != 0:
        raise ReportError(f"no browser could be started; the page is {os.path.abspath(target)}")


def _write(path: str, text: str) -> None:
    """The whole file or none; what is no plain file (a pipe, a device) is written to."""
    data = text.encode("utf-8", "replace")
    if path == "-":
        sys.stdout.buffer.write(data)
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        try:
            target.write_bytes(data)
        except OSError as error:
            raise ReportError(f"{path}: cannot be written: {error.strerror}") from None
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ReportError(f"{path}: cannot be written: {error.strerror}") from None
