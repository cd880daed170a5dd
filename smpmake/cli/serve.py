"""`smpmake serve`, `env`, `wait`, `stop`: the server behind a name."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smpmake import variables
from smpmake.cli.build import recorder_of
from smpmake.cli.logs import say_what_is_logged
from smpmake.cli.names import JOBSERVER, SERVER
from smpmake.cli.run import with_options
from smpmake.cli.settings import settings_from
from smpmake.config import DEFAULT_NAME, Settings
from smpmake.console import say
from smpmake.options import BY_NAME, of_servers

if TYPE_CHECKING:
    from smpmake.forecast import Forecast
    from smpmake.records import BuildRecord
    from smpmake.server.implicit_builds import State

_SOCKET = click.option(
    SERVER,
    "name",
    default=DEFAULT_NAME,
    envvar="SMPMAKE_SERVER",
    show_envvar=True,
    show_default=True,
    metavar="NAME",
    help="Take the server of this name.",
)


def _address(name: str) -> tuple[str | Path, bool]:
    """A server's socket; where none is named it is that of the shell (`env`), which is told."""
    from smpmake.server.daemon import folder_of

    shells = os.environ.get(variables.SOCKET)
    if shells and name == DEFAULT_NAME:
        return shells, True
    return folder_of(name) / "socket", False


class Notes:
    """The record of a build that nobody began (server.implicit_builds.BuildLog)."""

    def __init__(self, settings: Settings, record: BuildRecord) -> None:
        self._settings = settings
        self._record = record
        self._recorder = recorder_of(settings, record)

    def past(self) -> Forecast | None:
        """See BuildLog."""
        from smpmake.history import History, past

        history = History()
        known = past.of_commands(self._record.cwd, history)
        return past.with_sequel(known, self._record.cwd, history) if known.past else known

    def turn(self) -> None:
        """See BuildLog."""
        self._recorder.turn()

    def end(self) -> list[str]:
        """See BuildLog."""
        from smpmake.cli.closing import conclude
        from smpmake.reports import summary

        return summary.lines(self._record, conclude(self._record, self._recorder))


def machine() -> Callable[[], State]:
    """What tells how busy the machine is."""
    import psutil

    from smpmake.server.implicit_builds import State
    from smpmake.session.machine import Machine

    known: Machine | None = None
    state = State(0.0, 0, 0.0, -1.0, 0)
    with contextlib.suppress(OSError):
        known = Machine()

    def look() -> State:
        nonlocal state
        with contextlib.suppress(OSError):  # no descriptor for a look at /proc: as it was
            if known is not None:
                moment, memory = known.look(), psutil.virtual_memory().used
                state = State(moment.busy, memory, moment.stolen, moment.pressure, known.count)
        return state

    return look


@click.command()
@_SOCKET
@with_options(of_servers())
def serve(name: str, **options: Any) -> int:
    """Run a server until `smpmake stop`.  Several builds share its jobs."""
    import asyncio

    from smpmake.server.daemon import Service
    from smpmake.session.limits import raise_descriptor_limit
    from smpmake.session.session import FAULT

    say_what_is_logged(logging.INFO)
    raise_descriptor_limit()

    def ready(path: Path, slots: int) -> None:
        say(f"serving {slots} slots at {path}")
        env_hint = "" if name == DEFAULT_NAME else f" --socket {shlex.quote(name)}"
        say(f'in a shell: eval "$(smpmake env{env_hint})"')

    settings = settings_from(options)

    async def main() -> list[str]:
        service = Service(name, settings, lambda record: Notes(settings, record), machine())
        return await service.run(ready)

    leftovers = asyncio.run(main())
    for leftover in leftovers:
        say(f"left over: {leftover}")
    return FAULT if leftovers else 0


@click.command()
@_SOCKET
@click.option(
    JOBSERVER,
    "jobserver",
    is_flag=True,
    help="Give plain make, ninja and cargo in this shell a job server instead: their jobs and those"
    " of all builds with smpmake are then never more than there are CPUs.",
)
@with_options(BY_NAME[name] for name in ("jobs", "own_pool", "machine_pool"))
def env(name: str, jobserver: bool, **options: Any) -> None:
    """Print the variables that a shell needs to use a server: eval "$(smpmake env)".

    If a variable or a command follows, smpmake runs the program env instead: smpmake env CC=clang
    make is smpmake in front of env CC=clang make.
    """
    for line in _of_jobserver(options) if jobserver else _of_server(name):
        click.echo(os.fsencode(line))  # a path need not be text


def _of_server(name: str) -> list[str]:
    from smpmake.protocol.client import Client
    from smpmake.server.daemon import folder_of

    client = Client(folder_of(name) / "socket")
    addresses = client.ask("env")
    client.close()
    values = {
        variables.SOCKET: addresses["socket"],
        variables.BOARD: addresses["board"],
        variables.BUILD: addresses["build"],
    }
    lines = [f"export {variable}={shlex.quote(value)}" for variable, value in values.items()]
    shims = addresses["shims"]
    if shims not in os.environ.get("PATH", "").split(":"):
        lines.append(f'export PATH={shlex.quote(shims)}:"$PATH"')
    return lines


def _of_jobserver(options: dict[str, Any]) -> list[str]:
    """Starts a shell's job server."""
    from smpmake.cli import jobserver

    return jobserver.lines(settings_from(options))


@click.command()
@_SOCKET
def wait(name: str) -> int:
    """Wait until a server has nothing left to run.

    The status is 0 if all jobs succeeded, else the status of the first that failed.  Failures, and
    how much smpmake helped, are printed to stderr.
    """
    from smpmake.engine.sinks import write_all
    from smpmake.protocol.client import Client, failures_of
    from smpmake.records import BuildRecord
    from smpmake.reports import summary

    path, is_shells = _address(name)
    client = Client(path)
    build = os.environ.get(variables.BUILD) if is_shells else None
    reply = client.ask("wait", **({"build": build} if build else {}))
    client.close()
    failures = failures_of(reply)
    record = BuildRecord([], os.getcwd(), 0, 0, "")
    record.failures = failures
    lines = "".join(f"{line}\n" for line in reply.get("summary", ()))
    write_all(2, lines.encode(errors="replace") + summary.failures(record))
    if not failures:
        return 0
    first = min(failures, key=lambda f: f.record.number)
    return first.record.status or 1


@click.command()
@_SOCKET
@with_options([BY_NAME["machine_pool"]])
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def status(name: str, as_json: bool, machine_pool: str | None) -> None:
    """Show which builds share this machine's CPUs, and the builds on a server.

    Of each build you see how many slots it has, how many jobs run, how many could run, and what
    these wait for.  This needs no server.
    """
    import time

    from smpmake.capacity.neighbours import places
    from smpmake.cli.screen import look
    from smpmake.protocol.client import Client, ServerGoneError
    from smpmake.reports import pools, server_state

    settings = settings_from({"machine_pool": machine_pool})
    pool = [Path(settings.machine_pool)] if settings.machine_pool else []
    tables = pools.found_in([*pool, *places()])
    shown = pools.lines(tables, time.time(), look())
    for line in shown if not as_json else ():  # they need no server that answers
        click.echo(line)
    state: dict[str, Any] | None = None
    builds: dict[str, Any] = {}
    try:
        client = Client(_address(name)[0])
    except ServerGoneError:
        if name != DEFAULT_NAME:
            raise
    else:
        state, builds = client.ask("state"), client.ask("builds")
        client.close()
    if as_json:
        page = server_state.document(state, builds)
        click.echo(json.dumps({**page, "tables": pools.document(tables)}, indent=1))
        return
    served = server_state.lines(state, builds, time.time(), look()) if state is not None else []
    for line in served or ([] if shown else ["no build runs, and no server"]):
        click.echo(line)


@click.command()
@_SOCKET
def stop(name: str) -> None:
    """End a server, once it has nothing left to run."""
    from smpmake.protocol.client import Client

    client = Client(_address(name)[0])
    client.ask("stop")
    client.close()
