"""A build: from its settings to its summary.

It knows no parser, which takes longer to load than a build to begin.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from smpmake import variables
from smpmake.cli.exit import BySignal
from smpmake.cli.logs import say_what_is_logged
from smpmake.cli.names import FAULT
from smpmake.cli.passthrough import go_on_plainly, plainly, refuse
from smpmake.commands.reading.makes import runs_in_parallel
from smpmake.config import Settings, told
from smpmake.console import say
from smpmake.session.early_start import load

log = logging.getLogger("smpmake")

if TYPE_CHECKING:
    from smpmake.history import Recorder
    from smpmake.records import BuildRecord
    from smpmake.session.early_start import EarlyStart
    from smpmake.session.local import LocalBackend
    from smpmake.session.remote import RemoteBackend
    from smpmake.session.session import Outcome, Session
    from smpmake.session.setup import SessionSetup


def follow(settings: Settings, command: list[str], ahead: EarlyStart | None = None) -> int:
    """Runs a build; returns the exit status.

    ahead  the driver, where it runs already.  Files of settings that it has made since then are not
           looked at.
    """
    level = {-1: logging.ERROR, 0: logging.WARNING}.get(settings.verbosity, logging.INFO)
    say_what_is_logged(level)
    return build(settings, command, ahead)


def build(settings: Settings, command: list[str], ahead: EarlyStart | None = None) -> int:
    """Runs a build and prints its summary; returns the exit status.

    ahead  the driver, where it runs already.
    Where no server can be had the command runs plainly, with a word about it: our faults cost
    speed, never the build.
    """
    from smpmake.session.limits import SHORT

    if _is_within_a_build():
        if settings.verbosity > 0:
            say("inside a build of smpmake's already: the commands are that build's")
        return plainly(command)
    begun: list[Session] = []
    parallel = os.path.basename(command[0]) if runs_in_parallel(command) else ""
    if settings.verbosity >= 0 and parallel:
        say(f"{parallel} is parallel already: smpmake gains nothing with it")
    try:
        outcome = _run(settings, command, begun, ahead, parallel)
    except Exception as error:
        if ahead is not None and not begun:
            return go_on_plainly(ahead, command, error)
        if begun and begun[0].is_begun:
            log.error("internal error", exc_info=error)
            say(f"{_described(error)}; the build was ended, and what was unfinished is undone")
            return FAULT
        say(f"{_described(error)}; running the build plainly")
        return plainly(command)
    if outcome.refused:
        refuse(command, outcome.refused)
    try:
        from smpmake.cli import closing

        closing.report(settings, outcome.record, begun[0].recorder, silent=bool(outcome.refused))
    except SHORT as error:
        say(f"no summary: {error!r}")
    for fault in outcome.faults:
        say(f"left over: {fault}")
    return BySignal(outcome.record.status) if outcome.signal else outcome.record.status


def _described(error: Exception) -> str:
    from smpmake.errors import SmpmakeError

    known = isinstance(error, (SmpmakeError, OSError))
    return str(error) if known else f"{type(error).__name__}: {error}"


def _run(
    settings: Settings,
    command: list[str],
    begun: list[Session],
    ahead: EarlyStart | None,
    parallel: str,
) -> Outcome:
    """A build on a server of its own, or on one that runs; the session is put into `begun`.

    parallel  see BuildRecord.
    """
    load("asyncio")
    import asyncio

    from smpmake import cpus
    from smpmake.session.backend import Backend
    from smpmake.session.limits import began_ns, most_slots
    from smpmake.session.session import Session

    def get_ready() -> None:
        """What the end needs is imported while the first commands run."""
        from smpmake.cli import closing

        session.recorder = recorder_of(settings, session.record)
        del closing
        if not session.is_over:  # what called no tool has no figures
            from smpmake.history import past

            del past

    backend: Backend
    most = ahead.slots if ahead is not None else most_slots()
    remote = _on_running_server(settings, command[0])
    if remote is not None:
        backend, slots = remote, remote.slots
    else:
        slots = min(most, settings.jobs or cpus.usable().count)
        stage = ahead.stage if ahead is not None else None
        backend = _own_server(settings, slots, command[0], stage)
    began = ahead.began if ahead is not None else began_ns()
    session = Session(settings, command, slots, backend, began=began, ahead=ahead)
    session.record.parallel = parallel
    begun.append(session)
    return asyncio.run(session.run(get_ready))


def _own_server(
    settings: Settings, slots: int, program: str, stage: SessionSetup | None
) -> LocalBackend:
    from smpmake.session.local import LocalBackend

    return LocalBackend(settings, slots, program, stage)


def _is_within_a_build() -> bool:
    """Whether a guard above us has made all our commands another build's, which goes on."""
    if variables.GUARD not in os.environ:
        return False
    from smpmake.session.remote import running_server

    client = running_server()
    if client is None:
        return False
    client.close()
    return True


def _on_running_server(settings: Settings, program: str) -> RemoteBackend | None:
    """The server of the build that we were started in, or of the shell that evaluated `env`."""
    if variables.SOCKET not in os.environ:
        return None
    from smpmake.session.remote import RemoteBackend, running_server

    client = running_server()
    return RemoteBackend(settings, client, program) if client is not None else None


def recorder_of(settings: Settings, record: BuildRecord) -> Recorder:
    """What writes a build down while it runs."""
    from smpmake.history import History, Recorder
    from smpmake.redact import Redactor
    from smpmake.session import host_info

    record.surroundings = host_info.here(tuple(told(settings)))
    redactor = Redactor(settings.redact, os.environ)
    size = settings.history_size << 20
    return Recorder(History(), record, redactor, size=size)
