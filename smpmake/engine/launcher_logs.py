"""How the caches of compiler launchers did in a build, by the logs that they keep if asked to.

A log is a file without a name, reached by way of our own descriptor: nothing appears on the disk,
and who undoes a build or looks for what a job has written passes by /proc.  The variable is in the
environment of the launcher's own processes alone, and only where its user keeps no such log.
"""

from __future__ import annotations

import contextlib
import functools
import os

from smpmake.commands import launchers
from smpmake.engine.build import Build
from smpmake.engine.command import Command
from smpmake.engine.environment import Environment


def environment(command: Command) -> bytes:
    """What a job's environment gets for it."""
    name, variable = _launcher(command.invoke.real)
    if not variable:
        return b""
    build = command.build
    if name not in build.launcher_logs:
        build.launcher_logs[name] = _open(variable, Environment(command.invoke.env))
    log = build.launcher_logs[name]
    own = os.fsencode(variable)
    if log < 0 or command.invoke.env.startswith(own) or b"\0" + own in command.invoke.env:
        return b""
    return b"%b=/proc/%d/fd/%d\0" % (own, os.getpid(), log)


@functools.lru_cache(256)
def _launcher(real: bytes) -> tuple[str, str]:
    """A launcher's name and the variable for its log; it may stand on PATH as a compiler."""
    name = os.path.basename(os.path.realpath(os.fsdecode(real)))
    return name, launchers.log_variable(name)


def _open(variable: str, environment: Environment) -> int:
    """A log for a build, -1 where its user keeps one or none can be had."""
    for path in launchers.settings_files(environment.get):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if launchers.configures_log(file.read()):
                return -1
    try:
        return os.memfd_create(variable)
    except OSError:
        return -1


def read(build: Build) -> dict[str, dict[str, int]]:
    """What the logs of a build tell so far, by launcher."""
    found = {}
    for name, log in build.launcher_logs.items():
        if log >= 0:
            counts = launchers.tally(os.pread(log, os.fstat(log).st_size, 0))
            if any(counts.values()):
                found[name] = counts
    return found


def close(build: Build) -> None:
    """The build is over."""
    for log in build.launcher_logs.values():
        if log >= 0:
            os.close(log)
    build.launcher_logs.clear()
