"""Where a build's jobs run: a server that was there before (backend.Backend).

Several builds share that server's slots this way, and so does a build inside a build.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from smpmake import variables
from smpmake.config import Settings, sent
from smpmake.protocol.client import AsyncClient, Client, ServerGoneError, outcome_of
from smpmake.records import BuildRecord
from smpmake.server.rundir import FolderError, SessionFolder
from smpmake.session.backend import Backend
from smpmake.session.driver_environment import driver_environment, output_ids


class RemoteBackend(Backend):
    """A build on somebody else's server (see Backend).  `program` is the driver's."""

    def __init__(self, settings: Settings, client: Client, program: str) -> None:
        self._settings = settings
        self._program = program
        self._blocking = client
        self.environment: dict[str, str] = {}
        self._lost = ""
        self._counts = (0, 0, 0, 0)
        self._counting: asyncio.Future[dict[str, Any]] | None = None
        self._session_folder: SessionFolder | None = None
        self._client: AsyncClient | None = None
        self._addresses = client.ask("begin", settings=sent(settings), output=output_ids())
        self.slots = int(self._addresses["slots"])

    async def open(self, record: BuildRecord, on_squash: Callable[[], None]) -> None:
        """See Backend."""
        self._client = AsyncClient(self._blocking)
        addresses = self._addresses
        self.environment = driver_environment(
            Path(addresses["shims"]),
            Path(addresses["socket"]),
            Path(addresses["board"]),
            addresses["build"],
            guarded=self._program if self._settings.guard else "",
        )
        self._session_folder = SessionFolder()
        self.folder = self._session_folder.path
        # No workers are ours: the keeper has nobody to wait for.
        try:
            self.alive, other_end = os.pipe2(os.O_CLOEXEC)
        except OSError as error:
            raise FolderError(f"no pipe for the session: {error.strerror}") from None
        os.close(other_end)

    def stop_build(self, number: int) -> None:
        """See Backend."""
        if self._client is not None:
            self._client.request("interrupt", signal=int(number))

    def counts(self) -> tuple[int, int, int, int]:
        """See Backend.  What the server said last; it is asked again for the next time."""
        asked = self._counting
        if asked is not None and asked.done() and not asked.exception():
            done, running, queued, held = asked.result().get("counts", self._counts)
            self._counts = (done, running, queued, held)
        if self._client is not None and (asked is None or asked.done()):
            self._counting = self._client.request("counts")
        return self._counts

    async def jobs_ended(self, record: BuildRecord) -> None:
        """See Backend.  A server that went away is noticed in the record."""
        assert self._client is not None
        try:
            outcome = outcome_of(await self._client.ask("end"))
        except ServerGoneError as error:
            self._lost = str(error)
            return
        record.commands, record.failures, record.notices, record.stalls, parallel = outcome
        record.parallel = record.parallel or parallel

    async def close(self) -> list[str]:
        """See Backend."""
        if self._client is not None:
            self._client.close()
        else:
            self._blocking.close()
        if self._session_folder is not None:
            self._session_folder.remove()
        if self.alive >= 0:
            os.close(self.alive)
        return [self._lost] if self._lost else []


def running_server() -> Client | None:
    """The server of the build that we were started in, or of the shell that evaluated `env`."""
    path = os.environ.get(variables.SOCKET)
    if not path:
        return None
    try:
        return Client(path)
    except ServerGoneError:
        return None
