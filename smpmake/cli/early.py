"""A build whose driver runs before what its session needs is loaded."""

from __future__ import annotations

import os
import time
from typing import Any, Final

from smpmake.cli import idle as idle_builds
from smpmake.cli.passthrough import go_on_plainly, plainly
from smpmake.cli.settings import settings_of_build
from smpmake.commands.reading.makes import MAKES, names_jobserver
from smpmake.config import Settings
from smpmake.console import conclude, say
from smpmake.session import early_start
from smpmake.session.early_start import EarlyStart
from smpmake.session.limits import SHORT

#: What takes longest to load, in pieces of a few milliseconds; first what the end needs, too.
_SESSION: Final = (
    *("smpmake.reports.idle", "socket", "subprocess", "logging", "threading"),
    *("concurrent.futures", "asyncio", "smpmake.commands.families"),
    *("smpmake.cli.build", "smpmake.engine.promises", "smpmake.engine.build"),
    *("smpmake.session.local", "smpmake.session.session"),
)


def start(given: dict[str, Any], command: list[str]) -> int:
    """Runs a build; returns the exit status.

    given  what the command line and the variables say, by the names of smpmake.options.
    Raises SmpmakeError for a setting that cannot be used: nothing has run then.
    """
    try:
        os.getcwd()
    except OSError:
        say("the current folder is gone; running the build plainly")
        return plainly(command)
    if names_jobserver(os.environ):
        from smpmake.session.jobserver import leave_shells

        leave_shells(os.environ)
    settings = settings_of_build(given)
    ahead = early_start.begin(command, settings)
    if ahead is None:
        try:
            from smpmake.cli import build
        except SHORT as error:
            say(f"{str(error) or type(error).__name__}; running the build plainly")
            return plainly(command)
        return build.follow(settings, command)
    try:
        if os.path.basename(command[0]) not in MAKES:  # those have a command at once
            ahead.wait()
        # Who wants to know more gets it.
        if ahead.load_modules(_SESSION) and settings.verbosity <= 0:
            return _end(ahead, settings, command)
        from smpmake.cli import build
    except SHORT as error:
        return go_on_plainly(ahead, command, error)
    return build.follow(settings, command, ahead)


def _end(ahead: EarlyStart, settings: Settings, command: list[str]) -> int:
    """Of a build in which nobody asked for anything, and which went well."""
    ahead.close()
    idle_builds.note(command)
    from smpmake.reports import idle

    duration = (time.monotonic_ns() - ahead.began) / 1e9
    for line in idle.lines(duration) if settings.verbosity == 0 else []:
        conclude(line, settings.color)
    return 0
