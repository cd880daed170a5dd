"""`smpmake serve`, `env`, `wait`, `stop`: the server behind a name."""

from __future__ import annotations

import logging
import os
import shlex
from pathlib import Path
from typing import Any

import click

from smpmake.cli.run import settings_from, settings_options
from smpmake.config import DEFAULT_NAME
from smpmake.said import say, say_what_is_logged

_SOCKET = click.option(
    "--socket",
    "name",
    default=DEFAULT_NAME,
    envvar="SMPMAKE_SERVER",
    show_envvar=True,
    show_default=True,
    metavar="NAME",
    help="The server's name.",
)


@click.command()
@_SOCKET
@settings_options
def serve(name: str, **options: Any) -> int:
    """Run a server until `smpmake stop`; several builds share its slots."""
    import asyncio

    from smpmake.server.daemon import Service
    from smpmake.session.means import raise_descriptor_limit
    from smpmake.session.session import FAULT

    say_what_is_logged(logging.INFO)
    raise_descriptor_limit()

    def ready(path: Path, slots: int) -> None:
        say(f"serving {slots} slots at {path}")
        env_hint = "" if name == DEFAULT_NAME else f" --socket {shlex.quote(name)}"
        say(f'in a shell: eval "$(smpmake env{env_hint})"')

    async def main() -> list[str]:
        return await Service(name, settings_from(options)).run(ready)

    leftovers = asyncio.run(main())
    for leftover in leftovers:
        say(f"left over: {leftover}")
    return FAULT if leftovers else 0


@click.command()
@_SOCKET
def env(name: str) -> None:
    """Print what a shell has to eval to use a server."""
    from smpmake.protocol.client import Client
    from smpmake.server.daemon import folder_of

    client = Client(folder_of(name) / "socket")
    addresses = client.ask("env")
    client.close()
    values = {
        "SMPMAKE_SOCKET": addresses["socket"],
        "SMPMAKE_BOARD": addresses["board"],
        "SMPMAKE_BUILD": addresses["build"],
    }
    lines = [f"export {variable}={shlex.quote(value)}" for variable, value in values.items()]
    shims = addresses["shims"]
    if shims not in os.environ.get("PATH", "").split(":"):
        lines.append(f'export PATH={shlex.quote(shims)}:"$PATH"')
    for line in lines:
        click.echo(os.fsencode(line))  # a path need not be text


@click.command()
@_SOCKET
def wait(name: str) -> int:
    """Wait for everything deferred; the status is the outcome on it.

    0 when all succeeded, else the first failure's status; failures are shown on stderr.
    """
    from smpmake.engine.sinks import write_all
    from smpmake.protocol.client import Client, outcome_of
    from smpmake.records import BuildRecord
    from smpmake.reports import summary
    from smpmake.server.daemon import folder_of

    path = os.environ.get("SMPMAKE_SOCKET") or folder_of(name) / "socket"
    client = Client(path)
    build = os.environ.get("SMPMAKE_BUILD")
    commands, failures, *_ = outcome_of(client.ask("wait", **({"build": build} if build else {})))
    client.close()
    record = BuildRecord([], os.getcwd(), 0, 0, "", commands=commands, failures=failures)
    write_all(2, summary.failures(record))
    if not failures:
        return 0
    first = min(failures, key=lambda f: f.record.number)
    return first.record.status or 1


@click.command()
@_SOCKET
def stop(name: str) -> None:
    """End a server, after everything deferred."""
    from smpmake.protocol.client import Client
    from smpmake.server.daemon import folder_of

    client = Client(folder_of(name) / "socket")
    client.ask("stop")
    client.close()
