"""Which tools exist on this machine under names that we know, and shims that stand for them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from smpmake import native
from smpmake.commands import families
from smpmake.disk.elf import is_program
from smpmake.errors import SmpmakeError


class ShimError(SmpmakeError):
    """A folder of shims cannot be made, or holds what is not ours."""


class Tool(NamedTuple):
    """A tool's name and the file that PATH finds for it, our own shims left out."""

    name: str
    path: str


def is_shim(path: str) -> bool:
    """Whether a file is our shim, under whatever name."""
    try:
        return os.path.samefile(path, native.program("shim"))
    except OSError:
        return False


def find_tools(path: str) -> list[Tool]:
    """Every known tool on `path` (a PATH), the first of each name."""
    found: dict[str, str] = {}
    for folder in path.split(":"):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name in found or not families.is_known(name):
                continue
            file = os.path.join(folder or ".", name)
            if is_program(file) and not is_shim(file):
                found[name] = file
    return [Tool(name, file) for name, file in sorted(found.items())]


def install(folder: Path, path: str) -> list[Tool]:
    """Puts a shim into `folder` for every known tool on `path`; returns them.

    Raises ShimError when a name there is taken by something that is not a shim.
    """
    shim = native.program("shim")
    installed = []
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise ShimError(f"{folder}: {error.strerror}") from None
    here = folder.resolve()
    for tool in find_tools(path):
        if families.is_printer(tool.name):
            continue  # only a guard lets others know what it will print
        if Path(tool.path).parent.resolve() == here:
            raise ShimError(f"{tool.path} is a real tool: choose a folder of its own for shims")
        link = folder / tool.name
        if os.path.lexists(link):
            if not os.path.islink(link) or not _points_to_shim(link):
                raise ShimError(f"{link} exists and is not a shim: move it away first")
            link.unlink()
        link.symlink_to(shim)
        installed.append(tool)
    return installed


def installed(folder: Path) -> list[str]:
    """Names of the shims in a folder."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise ShimError(f"{folder}: {error.strerror}") from None
    return [entry.name for entry in entries if entry.is_symlink() and _points_to_shim(entry)]


def uninstall(folder: Path) -> list[str]:
    """Removes the shims (nothing else) from a folder, and the folder if it is empty then."""
    names = installed(folder)
    for name in names:
        (folder / name).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
    return names


def _points_to_shim(link: Path) -> bool:
    # By name: the link of a shim whose package was removed since is still ours to clean up.
    return os.path.basename(os.readlink(link)) == "smpmake-shim"
