"""`smpmake [run] COMMAND`: a build."""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smpmake.cli.names import UNNAMED
from smpmake.commands import families
from smpmake.commands.makes import PARALLEL
from smpmake.config import CAUSES, COLORS, LINKS, OUTPUTS, Settings, load, parse_size
from smpmake.said import say, say_what_is_logged
from smpmake.status.template import Wording

if TYPE_CHECKING:
    from smpmake.history import Recorder
    from smpmake.records import BuildRecord
    from smpmake.session.session import Outcome, Session


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    size = parse_size(value)
    if size is None:
        raise click.BadParameter(f"'{value}' is no size: 512M, 2G, off", ctx, param)
    return size


def _jobs(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"\d{1,4}", value, re.ASCII) or int(value) > 4096:
        raise click.BadParameter(
            f"'{value}' is no number of jobs: 1 to 4096, or 0 for all CPUs", ctx, param
        )
    return int(value)


def settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `run` and `serve` share."""
    options = [
        click.option(
            "-j",
            "--jobs",
            callback=_jobs,
            envvar="SMPMAKE_JOBS",
            help="Run N tools at once; 0: as many as there are usable CPUs, the default.",
            metavar="N",
        ),
        click.option(
            "-k",
            "--keep-going",
            is_flag=True,
            default=None,
            envvar="SMPMAKE_KEEP_GOING",
            help="After a failure go on with what does not depend on it.",
        ),
        click.option(
            "--guard/--no-guard",
            default=None,
            envvar="SMPMAKE_GUARDED",
            help="Make the driver's processes wait for results that they touch too early.",
        ),
        click.option(
            "--links",
            type=click.Choice(LINKS),
            envvar="SMPMAKE_LINKS",
            help="Links and archives: wait for their objects in the foreground, or be jobs too."
            "  [default: defer, without a guard wait]",
        ),
        click.option(
            "--memory",
            callback=_size,
            envvar="SMPMAKE_MEMORY",
            metavar="SIZE",
            help="Start no job that would leave less than SIZE free; off: do not look at memory."
            "  [default: 5 %, at most 1G]",
        ),
        click.option(
            "--nice",
            type=click.IntRange(0, 19),
            envvar="SMPMAKE_NICE",
            metavar="N",
            help="Lower the jobs' priority by N.",
        ),
        click.option(
            "--affinity",
            is_flag=True,
            default=None,
            envvar="SMPMAKE_AFFINITY",
            help="Pin each slot to a CPU.",
        ),
        click.option(
            "--foreground",
            multiple=True,
            envvar="SMPMAKE_FOREGROUND",
            metavar="TOOL",
            help="Never defer TOOL (a name, or a pattern of its path).",
        ),
        click.option(
            "--exclusive",
            multiple=True,
            envvar="SMPMAKE_EXCLUSIVE",
            metavar="TOOL",
            help="Run TOOL alone, with nothing beside it.",
        ),
    ]
    for option in reversed(options):
        function = _show_variable(option)(function)
    return function


def _show_variable(option: Callable[..., Any]) -> Callable[..., Any]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Callable[..., Any] = option(function)
        for parameter in getattr(decorated, "__click_params__", []):
            if isinstance(parameter, click.Option) and parameter.envvar:
                parameter.show_envvar = True
        return decorated

    return wrap


def settings_from(options: dict[str, Any]) -> Settings:
    """The files' settings with what the command line and the environment say on top."""
    settings = load(Path.cwd())
    families.learn(settings.tools)
    given: dict[str, Any] = {
        name: value for name, value in options.items() if value is not None and value != ()
    }
    for name in ("foreground", "exclusive"):
        if name in given:
            given[name] = (*getattr(settings, name), *given[name])
    verbosity = int(bool(given.pop("verbose", 0))) - int(bool(given.pop("quiet", 0)))
    return replace(settings, **given, verbosity=verbosity)


class _Context(click.Context):
    """Calls itself what was typed: `run` may have been left out."""

    @property
    def command_path(self) -> str:
        """See click.Context."""
        if self.parent is not None and self.meta.get(UNNAMED):
            return self.parent.command_path
        return super().command_path


class _Command(click.Command):
    context_class = _Context


@click.command(
    cls=_Command,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@settings_options
@_show_variable(
    click.option(
        "--output",
        type=click.Choice(OUTPUTS),
        envvar="SMPMAKE_OUTPUT",
        help="Print a job's output when it ends, or in the order of the serial build.",
    )
)
@_show_variable(
    click.option(
        "--chaos",
        type=click.IntRange(0),
        envvar="SMPMAKE_CHAOS",
        metavar="SEED",
        help="Delay and shuffle what may be, by a random SEED: finds missing dependencies.",
    )
)
@_show_variable(
    click.option(
        "--history/--no-history",
        default=None,
        envvar="SMPMAKE_HISTORY",
        help="Let what earlier builds took decide which job is first.",
    )
)
@click.option("--without", multiple=True, hidden=True, type=click.Choice(CAUSES))
@_show_variable(
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        default=None,
        envvar="SMPMAKE_VERBOSE",
        help="Also say which commands were not deferred, and why.",
    )
)
@_show_variable(
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        default=None,
        envvar="SMPMAKE_QUIET",
        help="A summary of one line, no status line.",
    )
)
@_show_variable(
    click.option(
        "--color",
        type=click.Choice(COLORS),
        envvar="SMPMAKE_COLOR",
        help="Colours in smpmake's own lines.",
    )
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def run(command: tuple[str, ...], **options: Any) -> int:
    """Run a build command in parallel."""
    try:
        os.getcwd()
    except OSError:
        say("the current folder is gone; running the build plainly")
        return plainly(list(command))
    settings = settings_from(options)
    settings = replace(settings, status=os.environ.get("SMPMAKE_STATUS", settings.status))
    Wording(settings.status)  # a fault in it is told before anything runs
    level = {-1: logging.ERROR, 0: logging.WARNING}.get(settings.verbosity, logging.INFO)
    say_what_is_logged(level)
    return build(settings, list(command))


def build(settings: Settings, command: list[str]) -> int:
    """Runs a build and prints its summary; returns the exit status.

    Where no server can be had the command runs plainly, with a word about it: our faults cost
    speed, never the build.
    """
    from smpmake.errors import SmpmakeError

    begun: list[Session] = []
    if settings.verbosity >= 0 and os.path.basename(command[0]) in PARALLEL:
        name = os.path.basename(command[0])
        say(f"{name} runs its commands in parallel already: smpmake gains nothing with it")
    try:
        outcome = _run(settings, command, begun)
    except Exception as error:
        if begun and begun[0].is_begun:
            raise
        known = isinstance(error, (SmpmakeError, OSError))
        why = str(error) if known else f"{type(error).__name__}: {error}"
        say(f"{why}; running the build plainly")
        return plainly(command)
    if outcome.refused:
        _refuse(command, outcome.refused)
    try:
        from smpmake.cli import closing

        closing.report(settings, outcome.record, begun[0].recorder, silent=bool(outcome.refused))
    except (ImportError, RuntimeError, MemoryError) as error:
        say(f"no summary: {error!r}")
    for fault in outcome.faults:
        say(f"left over: {fault}")
    return outcome.record.status


def _run(settings: Settings, command: list[str], begun: list[Session]) -> Outcome:
    """A build on a server of its own, or on one that runs; the session is put into `begun`."""
    import asyncio

    from smpmake import cpus
    from smpmake.session.backend import Backend
    from smpmake.session.local import LocalBackend
    from smpmake.session.means import began_ns, most_slots
    from smpmake.session.remote import RemoteBackend, running_server
    from smpmake.session.session import Session

    def get_ready() -> None:
        """What the end needs is imported while the first commands run."""
        from smpmake.cli import closing
        from smpmake.reports import summary, why

        session.recorder = recorder_of(settings, session.record)
        del closing, summary, why

    backend: Backend
    most = most_slots()
    client = running_server()
    if client is not None:
        backend = remote = RemoteBackend(settings, client, command[0])
        slots = remote.slots
    else:
        slots = min(most, settings.jobs or cpus.usable().count)
        backend = LocalBackend(settings, slots, command[0])
    session = Session(settings, command, slots, backend, began=began_ns())
    begun.append(session)
    return asyncio.run(session.run(get_ready))


def plainly(command: list[str]) -> int:
    """Becomes the command; returns only if it cannot be run."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; the command would inherit it
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        _refuse(command, error.errno or 0)
        return 127 if isinstance(error, FileNotFoundError) else 126


def _refuse(command: list[str], error: int) -> None:
    """Says why a command cannot be run, and what was probably meant."""
    from smpmake.cli.hints import hint

    missing = error == errno.ENOENT
    why = "not found on PATH" if missing and "/" not in command[0] else os.strerror(error)
    instead = hint(command) if missing else ""
    say(f"{command[0]}: cannot be run: {why}{f'; {instead}' if instead else ''}")


def recorder_of(settings: Settings, record: BuildRecord) -> Recorder:
    """What writes a build down while it runs."""
    from smpmake.history import History, Recorder
    from smpmake.redact import Redactor

    redactor = Redactor(settings.redact, os.environ)
    size = settings.history_size << 20
    return Recorder(History(), record, redactor, days=settings.history_days, size=size)
