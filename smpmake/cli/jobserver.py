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
_MOST_FILES: Final = 1 << 16  # that a shell has open


def lines(settings: Settings) -> list[str]:
    """Starts the process, and tells what the shell evaluates.  Raises SmpmakeError."""
    make = shutil.which("make")
    version = (_version(make) if make is not None else ()) or _FIFO
    return told(_started(settings), settings.jobs or cpus.usable().count, version)


def told(folder: Path, jobs: int, version: tuple[int, ...]) -> list[str]:
    """What a shell evaluates whose make is of that version.

    One before 4.4 ends at a FIFO in MAKEFLAGS.  It takes descriptors; they are open in it alone,
    by a function of the shell: what a script does with the same numbers is its own affair.
    """
    environment = dict(os.environ)
    leave_shells(environment)
    fifo = folder / SHELLS
    flags = f"-j{jobs} --jobserver-auth=fifo:{fifo}"
    found = [f"echo $$ >{folder / SHELL}"]
    if version >= _FIFO:
        return [*found, _exported("MAKEFLAGS", environment.get("MAKEFLAGS", ""), flags)]
    option = f"--jobserver-{'auth' if version >= _AUTH else 'fds'}"
    function = (
        f'make() ( exec 8<>{fifo} 9>&8; export MAKEFLAGS="${{MAKEFLAGS:+$MAKEFLAGS }}'
        f'-j{jobs} {option}=8,9"; exec make "$@" )'
    )
    return [*found, _exported("CARGO_MAKEFLAGS", "", flags), function]


def _exported(name: str, before: str, flags: str) -> str:
    """Behind ` -- ` there are variables only."""
    options, dashes, rest = f" {before} ".partition(" -- ")
    return f"export {name}={shlex.quote(f'{options.strip()} {flags}{dashes}{rest}'.strip())}"


def _started(settings: Settings) -> Path:
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
            os.closerange(3, its)  # a lock of the shell's is not ours to keep
            os.closerange(its + 1, _MOST_FILES)
            shell_jobserver.run(settings, its)
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
