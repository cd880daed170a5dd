"""`smpmake env --jobserver`: a process that keeps tokens, and how a shell's tools find these."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Final

from smpmake import cpus
from smpmake.commands.reading.makes import SHELL, SHELLS
from smpmake.config import Settings
from smpmake.errors import SmpmakeError
from smpmake.session.jobserver import leave_shells

#: The first GNU make that takes a FIFO, and the first that calls the option as today.
_FIFO: Final = (4, 4)
_AUTH: Final = (4, 2)


def lines(settings: Settings) -> list[str]:
    """Starts the process, and tells what the shell evaluates.  Raises SmpmakeError."""
    make = shutil.which("make")
    version = (_version(make) if make is not None else ()) or _FIFO
    takes_fifo = version >= _FIFO
    folder = _started(settings, inherited=not takes_fifo)
    return told(folder, settings.jobs or cpus.usable().count, version)


def told(folder: Path, jobs: int, version: tuple[int, ...]) -> list[str]:
    """What a shell evaluates whose make is of that version."""
    environment = dict(os.environ)
    leave_shells(environment)
    fifo = folder / SHELLS
    found = [f"echo $$ >{shlex.quote(str(folder / SHELL))}"]
    named = f"--jobserver-auth=fifo:{fifo}"
    if version < _FIFO:  # it would end at a FIFO
        found.append(f"exec 6<>{shlex.quote(str(fifo))} 7>&6")
        named = f"--jobserver-{'auth' if version >= _AUTH else 'fds'}=6,7"
    flags = f"{environment.get('MAKEFLAGS', '')} -j{jobs} {named}".strip()
    return [*found, f"export MAKEFLAGS={shlex.quote(flags)}"]


def _started(settings: Settings, *, inherited: bool) -> Path:
    """Its folder."""
    from smpmake.server import shell_jobserver

    ours, its = os.pipe()
    if os.fork() == 0:
        try:
            os.close(ours)
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nowhere, number)
            shell_jobserver.run(settings, its, inherited=inherited)
        finally:
            os._exit(0)
    os.close(its)
    with open(ours, "rb") as pipe:
        folder = os.fsdecode(pipe.read())
    if not folder:
        raise SmpmakeError(
            "no job server can be started: this user's builds cannot share the CPUs"
            " (smpmake doctor says why; own-pool must be off)"
        )
    return Path(folder)


def _version(make: str) -> tuple[int, ...]:
    """Of a GNU make; () of another one, which does not look at MAKEFLAGS."""
    try:
        told = subprocess.run([make, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    match = re.match(r"GNU Make (\d+)\.(\d+)", told.stdout)
    return tuple(map(int, match.groups())) if match else ()
