"""What clients of a server may ask: builds that come and go, barriers, outcomes.

Requests are JSON objects with a key "op"; replies have "ok", or "error" with a sentence.
docs/wire.md lists them.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import os
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from smpmake.decide.rules import Rules
from smpmake.engine.build import Build
from smpmake.engine.engine import Engine
from smpmake.protocol.wire import FileId
from smpmake.records import Failure, to_row
from smpmake.server.socket import Connection

#: The build of shims whose shell evaluated `smpmake env`.
SHELL_BUILD: Final = "shell"
_ROWS_A_REPLY: Final = 500


class Requests:
    """Answers requests (socket.RequestHandler).  `on_stop` is called when a stop was asked for."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        shims: Path,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self._engine = engine
        self._folder = folder
        self._shims = shims
        self._on_stop = on_stop
        self._ids = 0
        self._owners: dict[Connection, Build] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._handlers: dict[object, Callable[[Connection, dict[str, Any]], None]] = {
            "begin": self._begin,
            "counts": self._counts,
            "end": self._end,
            "env": self._env,
            "interrupt": self._interrupt,
            "state": self._state,
            "stop": self._stop,
            "wait": self._wait,
        }

    def request(self, client: Connection, message: dict[str, Any]) -> None:
        """See socket.RequestHandler."""
        handler = self._handlers.get(message.get("op"))
        if handler is None:
            client.reply({"error": f"no such request: {message.get('op')!r}"})
            return
        try:
            handler(client, message)
        except (KeyError, TypeError, ValueError) as error:
            client.reply({"error": f"a malformed request: {error!r}"})

    def gone(self, client: Connection) -> None:
        """A client that was killed takes its build with it."""
        build = self._owners.pop(client, None)
        if build is not None:
            self._engine.stop(build, signal.SIGKILL)
            self._later(self._forget(build))

    def _begin(self, client: Connection, message: dict[str, Any]) -> None:
        self._ids += 1
        ids = [FileId(*map(int, pair)) for pair in message["output"]]
        rules = Rules(
            bool(message["guard"]),
            bool(message["defer_links"]),
            tuple(map(str, message["foreground"])),
            tuple(map(str, message["exclusive"])),
        )
        build = Build(
            f"build-{self._ids}",
            rules,
            bool(message["keep_going"]),
            (ids[0], ids[1]),
            began=time.time(),
            wmakes=True,  # its driver may be one
        )
        self._engine.builds[build.id] = build
        self._owners[client] = build
        client.reply(
            {"ok": True, "build": build.id, "slots": self._engine.scheduler.slots} | self._places()
        )

    def _places(self) -> dict[str, str]:
        return {
            "shims": os.fspath(self._shims),
            "board": os.fspath(self._folder / "board"),
            "socket": os.fspath(self._folder / "socket"),
        }

    def _env(self, client: Connection, message: dict[str, Any]) -> None:
        client.reply({"ok": True, "build": SHELL_BUILD} | self._places())

    def _counts(self, client: Connection, message: dict[str, Any]) -> None:
        build = self._owners[client]
        client.reply({"ok": True, "counts": [build.done, *self._engine.counts]})

    def _state(self, client: Connection, message: dict[str, Any]) -> None:
        running, queued, _ = self._engine.counts
        stalls = sum(not s.ended for b in self._engine.builds.values() for s in b.stalls)
        pending = [
            [job.number, job.state.value, sorted(b.number for b in job.blockers)]
            for job in self._engine.scheduler.hazards.present()
        ]
        client.reply(
            {
                "ok": True,
                "running": running,
                "queued": queued,
                "waiting": stalls,
                "pending": pending,
            }
        )

    def _interrupt(self, client: Connection, message: dict[str, Any]) -> None:
        self._engine.stop(self._owners[client], int(message["signal"]))
        client.reply({"ok": True})

    def _end(self, client: Connection, message: dict[str, Any]) -> None:
        self._later(self._answer_end(client, self._owners.pop(client)))

    def _wait(self, client: Connection, message: dict[str, Any]) -> None:
        build = self._engine.builds.get(str(message.get("build", SHELL_BUILD)))
        if build is None:
            client.reply({"error": f"no such build: {message.get('build')!r}"})
        else:
            self._later(self._answer_wait(client, build))

    def _stop(self, client: Connection, message: dict[str, Any]) -> None:
        if self._on_stop is None:
            client.reply({"error": "this server ends with its build"})
        else:
            self._later(self._answer_stop(client, self._on_stop))

    def _later(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forget(self, build: Build) -> None:
        await build.empty.wait()
        self._engine.forget(build)

    async def _answer_end(self, client: Connection, build: Build) -> None:
        await self._forget(build)
        await self._send_rows(client, build)

    async def _answer_wait(self, client: Connection, build: Build) -> None:
        await build.empty.wait()
        await self._send_rows(client, build)
        if build.id == SHELL_BUILD:  # other builds end, and have their outcome then
            build.forgive()

    async def _send_rows(self, client: Connection, build: Build) -> None:
        """The build's commands in portions, then its failures and notices."""
        for start in range(0, len(build.records), _ROWS_A_REPLY):
            rows = [to_row(record) for record in build.records[start : start + _ROWS_A_REPLY]]
            client.reply({"ok": True, "rows": rows})
            await asyncio.sleep(0)
        client.reply(
            {
                "ok": True,
                "failures": [_failure(failure) for failure in build.failures],
                "notices": build.notices,
                "stalls": [dataclasses.astuple(stall) for stall in build.stalls],
            }
        )

    async def _answer_stop(self, client: Connection, on_stop: Callable[[], None]) -> None:
        for build in list(self._engine.builds.values()):
            await build.empty.wait()
        client.reply({"ok": True})
        on_stop()


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "row": to_row(failure.record),
        "output": base64.b64encode(failure.output).decode(),
        "why": failure.why,
    }
