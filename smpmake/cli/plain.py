"""A plain build: no option, no settings.  Its driver runs before what a session needs is loaded."""

from __future__ import annotations

import time
from typing import Final

from smpmake.cli.plainly import go_on_plainly, plainly
from smpmake.said import conclude, say
from smpmake.session import headstart
from smpmake.session.headstart import Headstart
from smpmake.session.limits import SHORT

#: What takes longest to load, in pieces of a few milliseconds; first what the end needs, too.
_SESSION: Final = (
    *("shutil", "smpmake.reports.idle", "socket", "subprocess", "dataclasses", "logging"),
    *("threading", "concurrent.futures", "asyncio", "smpmake.config", "smpmake.commands.families"),
    *("smpmake.cli.build", "smpmake.engine.build", "smpmake.session.local"),
    "smpmake.session.session",
)


def start(command: list[str]) -> int:
    """Runs a build; returns the exit status."""
    ahead = headstart.begin(command)
    if ahead is None:
        try:
            from smpmake.cli import build
        except SHORT as error:
            say(f"{str(error) or type(error).__name__}; running the build plainly")
            return plainly(command)
        return build.start({}, command)
    try:
        if ahead.load(_SESSION):
            return _end(ahead)
        from smpmake.cli import build
    except SHORT as error:
        return go_on_plainly(ahead, command, error)
    return build.follow(command, ahead)


def _end(ahead: Headstart) -> int:
    """Of a build in which nobody asked for anything, and which went well."""
    ahead.close()
    from smpmake.reports import idle

    for line in idle.lines((time.monotonic_ns() - ahead.began) / 1e9):
        conclude(line)
    return 0
