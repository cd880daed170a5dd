"""Many connections that mean no good: what is kept of them is bounded."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from pathlib import Path

import pytest

from smpmake.protocol import frames, layout, wire
from smpmake.protocol.client import ServerGoneError
from smpmake.protocol.wire import Question
from tests.server.test_client_requests import BEGIN, Served, play

OPERATIONS: list[object] = ["state", "env", "counts", "end", "wait", "stop", "x", [], {}, None, 3]


def hostile(chance: random.Random, served: Served) -> tuple[bytes, int]:
    """A frame, whole or not, sensible or not, and how many descriptors go with it."""
    noise = chance.randbytes(chance.randrange(200))
    begin = frames.encode_json(
        layout.WIRE_REQUEST, {"op": "begin", "id": 1, **BEGIN, "output": [[1, 2]] * 2}
    )
    asked = {"op": chance.choice(OPERATIONS), "id": [1], "build": chance.choice(["b", [], "x"])}
    invoke = served.bench.invocation(
        f"gcc -D{chance.random()} --version", environment=[f"X={chance.random()}"]
    )
    invoke.cwd = os.fsencode(f"/{chance.random()}")
    if chance.random() < 0.3:
        invoke.build = str(chance.random())
    if chance.random() < 0.3:
        invoke.limits = chance.randbytes(chance.randrange(40))
    path = f"/{chance.random()}/x"
    question = Question(chance.randrange(1, 13), 1, chance.randrange(-1, 9), "b", path, "/y")
    return chance.choice(
        [
            (noise, 0),
            (frames.HEADER.pack(layout.WIRE_MAGIC, 1, chance.randrange(20), 300) + noise, 0),
            (frames.frame(layout.WIRE_INVOKE, noise), 2),
            (frames.frame(layout.WIRE_QUESTION, noise), 0),
            (wire.encode_question(question), 0),
            (begin, 0),
            (begin + frames.encode_json(layout.WIRE_REQUEST, {"op": "end", "id": 2}), 0),
            (frames.encode_json(layout.WIRE_REQUEST, asked), 0),
            (wire.encode_invoke(invoke), 2),
            (wire.encode_invoke(invoke), 0),
        ]
    )


def kept(served: Served) -> dict[str, int]:
    """How much of what was sent is still there."""
    build, engine = served.bench.build, served.bench.engine
    scheduler = engine.scheduler
    return {
        "builds": len(engine.builds),
        "connections": len(served.server._open),
        "tasks": len(served.requests._tasks),
        "waiting": len(served.requests._waiting),
        "owners": len(served.requests._owners),
        "queued": len(scheduler._urgent) + len(scheduler._queue),
        "present": len(scheduler.hazards),
        "environments": len(build.tools.environments),
        "texts": len(build.tools.texts),
        "stalls": len(build.stalls),
    }


@pytest.mark.chaos
@pytest.mark.slow
def test_what_is_kept_of_hostile_connections_is_bounded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def part(served: Served) -> None:
        chance = random.Random(7)
        served.bench.run("gcc -c a.c")  # so that the build does not end meanwhile
        fds = [os.open(served.bench.log, os.O_WRONLY) for _ in range(2)]
        most: dict[str, int] = {}
        for number in range(6000):
            data, count = hostile(chance, served)
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(os.fspath(served.path))
                if data:
                    socket.send_fds(peer, [data], fds[:count])
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            if number % 50 == 0:
                for name, size in kept(served).items():
                    most[name] = max(size, most.get(name, 0))
        for fd in fds:
            os.close(fd)
        assert max(most["environments"], most["texts"]) <= 1003
        few = {name: most[name] for name in most if name not in ("environments", "texts")}
        assert max(few.values()) < 200, few
        client = served.client()
        assert (await client.ask("env"))["build"] == "shell"
        client.close()
        served.bench.workers.end(0)

    with caplog.at_level(logging.WARNING, "smpmake"):
        play(tmp_path, part)
    assert "Traceback" not in caplog.text


def test_an_operation_that_is_no_name_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        names: list[object] = [[], {}, None, 3]
        for name in names:
            with pytest.raises(ServerGoneError, match="no such request"):
                await client.ask(name)  # type: ignore[arg-type]
        client.close()

    play(tmp_path, part)
    assert caplog.text == ""


def test_a_connection_has_not_everything_wait(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        served.bench.run("gcc -c a.c")
        client = served.client()
        waiting = [client.request("wait", build="b") for _ in range(64)]
        with pytest.raises(ServerGoneError, match="too many"):
            await client.ask("wait", build="b")
        served.bench.workers.end(0)
        await asyncio.gather(*waiting)
        assert served.requests._waiting == {}
        client.close()

    play(tmp_path, part)


def test_what_a_client_waits_for_goes_with_it(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        served.bench.run("gcc -c a.c")
        client = served.client()
        client.request("wait", build="b")
        await client.ask("env")
        client.close()
        while served.requests._tasks:
            await asyncio.sleep(0)
        served.bench.workers.end(0)

    play(tmp_path, part)
