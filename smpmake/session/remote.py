"""Where a build's jobs run: a place in a server that was there before (host.Backend).

Several builds share that server's slots this way, and so does a build inside a build.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from smpmake.config import Settings
from smpmake.decide.rules import rules_of
from smpmake.protocol.client import Client, ServerGoneError
from smpmake.records import BuildRecord
from smpmake.server.rundir import SessionFolder
from smpmake.session.driver import Driver
from smpmake.session.environment import driver_environment, output_ids


class RemoteBackend:
    """A build on somebody else's server (see host.Backend).  `program` is the driver's."""

    def __init__(self, settings: Settings, client: Client, program: str) -> None:
        self._settings = settings
        self._program = program
        self._client = client
        self.output: int | None = None
        self.environment: dict[str, str] = {}
        self.slots = 0
        self._begin()

    def _begin(self) -> None:
        rules = rules_of(self._settings)
        self._places = self._client.ask(
            "begin",
            guard=rules.guard,
            defer_links=rules.defer_links,
            foreground=rules.foreground,
            exclusive=rules.exclusive,
            keep_going=self._settings.keep_going,
            output=output_ids(),
        )
        self.slots = int(self._places["slots"])

    async def open(self, record: BuildRecord) -> None:
        """Raises SmpmakeError where there is no folder, or no guard can be preloaded."""
        places = self._places
        self.environment = driver_environment(
            Path(places["shims"]),
            Path(places["socket"]),
            Path(places["board"]),
            places["build"],
            guarded=self._program if self._settings.guard else "",
        )
        self._session_folder = SessionFolder()
        self.folder = self._session_folder.path
        # No workers are ours: the keeper has nobody to wait for.
        self.alive, other_end = os.pipe2(os.O_CLOEXEC)
        os.close(other_end)

    def adopt(self, driver: Driver) -> None:
        """See Backend."""

    def driver_lost(self) -> None:
        """See Backend."""

    def stop(self, number: int) -> None:
        """See Backend."""
        with contextlib.suppress(ServerGoneError):
            self._client.ask("interrupt", signal=int(number))

    def counts(self) -> tuple[int, int, int, int]:
        """See Backend."""
        try:
            done, running, queued, held = self._client.ask("counts")["counts"]
        except ServerGoneError:
            return (0, 0, 0, 0)
        return done, running, queued, held

    def sequel(self) -> tuple[tuple[str, float], ...]:
        """See Backend.  A server that several builds share looks at no history."""
        return ()

    async def drained(self, record: BuildRecord) -> None:
        """See Backend.  A server that went away is noticed in the record."""
        self._client.send("end")
        loop = asyncio.get_running_loop()
        replied = asyncio.Event()
        loop.add_reader(self._client.fileno(), replied.set)
        await replied.wait()
        loop.remove_reader(self._client.fileno())
        try:
            outcome = self._client.receive_outcome()
        except ServerGoneError as error:
            self._lost = str(error)
            return
        record.commands, record.failures, record.notices, record.stalls = outcome

    def learn(self) -> list[str]:
        """See Backend.  A server that several builds share keeps no memory of one."""
        return []

    def start_over(self) -> None:
        """See Backend."""

    _lost = ""

    async def close(self) -> list[str]:
        """See Backend."""
        self._client.close()
        self._session_folder.remove()
        os.close(self.alive)
        return [self._lost] if self._lost else []


def running_server() -> Client | None:
    """The server of the build that we were started in, or of the shell that evaluated `env`."""
    path = os.environ.get("SMPMAKE_SOCKET")
    if not path:
        return None
    try:
        return Client(path)
    except ServerGoneError:
        return None
