"""`smpmake shims`: shim compilers for a person's own PATH."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from smpmake.console import say, show

_FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@click.group()
def shims() -> None:
    """Install, list or remove shims in a folder for your PATH.

    Without a server (smpmake serve) shims are the plain tools.
    """


@shims.command("install")
@_FOLDER
def install(folder: Path) -> None:
    """Put a shim into DIR for every known tool on PATH."""
    from smpmake.commands import families
    from smpmake.config import load
    from smpmake.server import shims

    families.learn(load(Path.cwd()).tools)
    made = shims.install(folder, os.environ.get("PATH", os.defpath))
    for tool in made:
        show(f"{tool.name} -> {tool.path}")
    say(f"{len(made)} shims; put the folder first on your PATH:")
    say(f'PATH={shlex.quote(str(folder.resolve()))}:"$PATH"')


@shims.command("list")
@_FOLDER
def list_(folder: Path) -> None:
    """List the shims in DIR."""
    from smpmake.server import shims

    for name in shims.installed(folder):
        show(name)


@shims.command("remove")
@_FOLDER
def remove(folder: Path) -> None:
    """Remove the shims, and nothing else, from DIR."""
    from smpmake.server import shims

    removed = shims.uninstall(folder)
    show(f"{len(removed)} shims removed")
