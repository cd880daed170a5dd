"""What clients of a server may ask: builds that come and go, barriers, outcomes.

Requests are JSON objects with "op" and "id"; replies have that id and "ok", or "error" with a
sentence.  docs/wire.md lists them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpmake.config import received
from smpmake.engine.build import Build
from smpmake.engine.command import command_of
from smpmake.engine.engine import Engine
from smpmake.protocol.client import Outcome
from smpmake.protocol.wire import FileId
from smpmake.records import CommandRecord, Failure, to_row
from smpmake.server.callers import SHELL_BUILD
from smpmake.server.connections import Connection

if TYPE_CHECKING:
    from smpmake.server.implicit_builds import ImplicitBuilds

_MOST_WAITING: Final = 64  # requests of one connection
_ROWS_A_REPLY: Final = 500
_PATIENCE: Final = 10.0  # s for those who do not read their outcome
_BYTES_A_REPLY: Final = 1 << 20  # of words and names, about


class RequestError(ValueError):
    """What a client asked for cannot be; the message says why."""


class Request(NamedTuple):
    """One request: who asked, under which id of theirs, and what."""

    client: Connection
    message: dict[str, Any]

    def reply(self, **fields: Any) -> None:
        """Answers it: a client may have asked for something else meanwhile."""
        self._send({"ok": True, **fields})

    def refuse(self, why: str) -> None:
        """Answers that it cannot be."""
        self._send({"error": why})

    def _send(self, fields: dict[str, Any]) -> None:
        self.client.reply({"id": self.message.get("id"), **fields})


class Requests:
    """Answers requests (connections.RequestHandler).

    guests   the builds that nobody began, on a named server.
    on_stop  is called when a stop was asked for.
    """

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        shims: Path,
        guests: ImplicitBuilds | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self._guests = guests
        self._engine = engine
        self._folder = folder
        self._shims = shims
        self._on_stop = on_stop
        self._ids = 0
        self._owners: dict[Connection, Build] = {}
        self._ending: set[Connection] = set()  # builds that end; they are their owners' until then
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[Connection, set[asyncio.Task[None]]] = {}
        self._handlers: dict[str, Callable[[Request], None]] = {
            "begin": self._begin,
            "builds": self._builds,
            "counts": self._counts,
            "end": self._end,
            "env": self._env,
            "interrupt": self._interrupt,
            "state": self._state,
            "stop": self._stop,
            "wait": self._wait,
        }

    def request(self, client: Connection, message: dict[str, Any]) -> None:
        """See connections.RequestHandler."""
        request = Request(client, message)
        operation = message.get("op")
        handler = self._handlers.get(operation) if isinstance(operation, str) else None
        if handler is None:
            request.refuse(f"no such request: {operation!r}")
            return
        try:
            handler(request)
        except RequestError as error:
            request.refuse(str(error))
        except (LookupError, ArithmeticError, TypeError, ValueError) as error:
            request.refuse(f"a malformed request: {error!r}")

    def gone(self, client: Connection) -> None:
        """A client that was killed takes its build with it, and what it waited for."""
        for task in self._waiting.pop(client, ()):
            task.cancel()
        build = self._owners.pop(client, None)
        if build is not None:
            self._engine.stop_build(build, signal.SIGKILL)
            if client not in self._ending:
                self._later(self._forget(build))

    def close(self) -> None:
        """The server ends: nobody is answered any more."""
        for task in self._tasks:
            task.cancel()

    def _build_of(self, client: Connection) -> Build:
        build = self._owners.get(client)
        if build is None:
            raise RequestError("this connection has begun no build")
        return build

    def _begin(self, request: Request) -> None:
        client, message = request.client, request.message
        if client in self._owners:
            raise RequestError("this connection has begun a build already")
        ids = [FileId(*map(int, pair)) for pair in message["output"]]
        self._ids += 1
        builds = self._engine.builds.values()
        build = Build(
            f"build-{self._ids}",
            received(message["settings"]),
            (ids[0], ids[1]),
            began=time.time(),
            has_wmake=True,  # its driver may be one
            outer=next((each for each in builds if each.undoing.journal is not None), None),
        )
        self._engine.add_build(build)
        self._owners[client] = build
        slots = self._engine.scheduler.slots
        request.reply(build=build.id, slots=slots, **self._addresses())

    def _addresses(self) -> dict[str, str]:
        return {
            "shims": os.fspath(self._shims),
            "board": os.fspath(self._folder / "board"),
            "socket": os.fspath(self._folder / "socket"),
        }

    def _env(self, request: Request) -> None:
        request.reply(build=SHELL_BUILD, **self._addresses())

    def _counts(self, request: Request) -> None:
        build = self._build_of(request.client)
        request.reply(counts=[build.commands.done, *self._engine.counts])

    def _state(self, request: Request) -> None:
        running, queued, _ = self._engine.counts
        stalls = sum(not s.ended for b in self._engine.builds.values() for s in b.stalls)
        present = self._engine.scheduler.hazards.present()
        pending = [
            [job.number, job.state.value, sorted(b.number for b in job.blockers), job.mode.value]
            for job in present
        ]
        awaited = [job.number for job in present if command_of(job).is_awaited]
        request.reply(
            running=running,
            queued=queued,
            waiting=stalls,
            pending=pending,
            awaited=awaited,
            hosts=self._engine.elsewhere.report().hosts,
        )

    def _builds(self, request: Request) -> None:
        """Who is on the server."""
        found: list[dict[str, Any]] = []
        for guest in self._guests.present() if self._guests is not None else ():
            found.append(
                {
                    "command": guest.record.command,
                    "folder": guest.record.cwd,
                    "began": guest.record.wall_clock,
                    "done": guest.build.commands.done,
                    "pending": guest.build.commands.present,
                }
            )
        for build in self._owners.values():
            words = {"command": [], "folder": "", "began": build.began}
            found.append({**words, "done": build.commands.done, "pending": build.commands.present})
        request.reply(builds=found, slots=self._engine.scheduler.slots)

    def _interrupt(self, request: Request) -> None:
        build = self._build_of(request.client)
        self._engine.stop_build(build, int(request.message["signal"]))
        request.reply()

    def _end(self, request: Request) -> None:
        build = self._build_of(request.client)
        if request.client in self._ending:
            raise RequestError("this build is ending already")
        self._ending.add(request.client)
        self._later(self._answer_end(request, build))

    def _wait(self, request: Request) -> None:
        name = request.message.get("build", SHELL_BUILD)
        build = self._engine.builds.get(str(name))
        guests = self._guests if name == SHELL_BUILD else None
        waiting = self._waiting.setdefault(request.client, set())
        if len(waiting) >= _MOST_WAITING:
            raise RequestError("too many requests of this connection wait already")
        if guests is not None:
            waiting.add(self._later(self._answer_guests(request, guests)))
        elif build is not None:
            waiting.add(self._later(self._answer_wait(request, build)))
        else:
            raise RequestError(f"no such build: {name!r}")

    def _stop(self, request: Request) -> None:
        if self._on_stop is None:
            raise RequestError("this server ends with its build")
        self._later(self._answer_stop(request, self._on_stop))

    def _later(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _forget(self, build: Build) -> None:
        await build.commands.empty.wait()
        self._engine.forget_build(build)

    async def _answer_end(self, request: Request, build: Build) -> None:
        try:
            await self._forget(build)
            await self._send(request, _outcome_of(build))
        finally:
            self._ending.discard(request.client)
            self._owners.pop(request.client, None)

    async def _answer_wait(self, request: Request, build: Build) -> None:
        await build.commands.empty.wait()
        self._no_longer_waits(request.client)  # from here on an outcome could be lost
        await self._send(request, _outcome_of(build))

    async def _answer_guests(self, request: Request, guests: ImplicitBuilds) -> None:
        outcomes = await guests.wait(request.client.pid)
        self._no_longer_waits(request.client)  # from here on an outcome could be lost
        rows = map(_failure, outcomes.failures)
        request.reply(failures=list(rows), summary=outcomes.summary)
        if not await request.client.drained():
            guests.untold(request.client.pid, outcomes)

    async def _send(self, request: Request, outcome: Outcome) -> bool:
        """In portions, as fast as they are read.  Returns whether somebody is there at the end."""
        for records in _portions(outcome.commands):
            request.reply(rows=[to_row(record) for record in records])
            if not await request.client.drained():
                return False
        request.reply(
            failures=[_failure(failure) for failure in outcome.failures],
            notices=outcome.notices,
            stalls=[stall.values() for stall in outcome.stalls],
            parallel=outcome.parallel,
        )
        return await request.client.drained()

    def _no_longer_waits(self, client: Connection) -> None:
        waiting = self._waiting.get(client, set())
        waiting.discard(asyncio.current_task())
        if not waiting:
            self._waiting.pop(client, None)

    async def _answer_stop(self, request: Request, on_stop: Callable[[], None]) -> None:
        for build in list(self._engine.builds.values()):
            await build.commands.empty.wait()
        others = self._tasks - {asyncio.current_task()}
        if others:  # who is being told an outcome is told the whole of it
            await asyncio.wait(others, timeout=_PATIENCE)
        request.reply()
        await request.client.drained()
        on_stop()


def _outcome_of(build: Build) -> Outcome:
    """How a build went so far, whatever becomes of it meanwhile."""
    return Outcome(
        list(build.commands.records),
        list(build.promises.failures),
        list(build.notices),
        list(build.stalls),
        build.parallel.found,
    )


def _portions(records: list[CommandRecord]) -> Iterator[list[CommandRecord]]:
    """What fits into one reply each: command lines may be long."""
    portion: list[CommandRecord] = []
    size = 0
    for record in records:
        portion.append(record)
        size += len(record.argv) + sum(map(len, (*record.inputs, *record.reads, record.said)))
        if len(portion) == _ROWS_A_REPLY or size > _BYTES_A_REPLY:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _failure(failure: Failure) -> dict[str, Any]:
    import base64  # few commands fail

    return {
        "row": to_row(failure.record),
        "output": base64.b64encode(failure.output).decode(),
        "why": failure.why,
    }
