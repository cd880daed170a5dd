"""Clients of a server: requests with ids, builds that end, peers that do not read."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from smpmake.config import Settings, sent
from smpmake.protocol import frames, layout, wire
from smpmake.protocol.client import AsyncClient, Client, ServerGoneError, outcome_of
from smpmake.server.client_requests import Requests
from smpmake.server.connections import Server
from smpmake.server.rundir import listen
from tests.support.bench import Bench

BEGIN: dict[str, object] = {"settings": sent(Settings())}


class Served:
    """An engine on a bench behind a real socket."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)
        self.bench.write("a.c", "b.c")
        self.path = folder / "socket"
        self.requests = Requests(self.bench.engine, folder, folder)
        engine = self.bench.engine
        self.server = Server(listen(self.path), engine, self.requests, engine.build_of)

    def client(self) -> AsyncClient:
        return AsyncClient(Client(self.path))

    async def begin(self, client: AsyncClient) -> str:
        """A build whose output goes where the bench's commands write."""
        reply = await client.ask("begin", **BEGIN, output=[self.bench.output] * 2)
        return str(reply["build"])

    def shut(self) -> None:
        """The server goes away."""
        self.requests.close()
        self.server.close()


def play(folder: Path, part: Callable[[Served], Awaitable[None]]) -> None:
    """Plays a part with a server in this very loop."""

    async def main() -> None:
        served = Served(folder)
        try:
            await asyncio.wait_for(part(served), 30)
        finally:
            if served.path.exists():
                served.shut()
            served.bench.close()

    asyncio.run(main())


def test_a_request_is_answered_while_an_earlier_one_waits(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        build = await served.begin(client)
        served.bench.run("gcc -c a.c", build)
        end = client.request("end")
        assert (await client.ask("counts"))["counts"] == [0, 1, 0, 0]
        assert not end.done()
        served.bench.workers.end(0)
        outcome = outcome_of(await end)
        assert [record.command for record in outcome.commands] == ["gcc -c a.c"]
        client.close()

    play(tmp_path, part)


def test_a_build_that_ends_obeys_an_interrupt(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        build = await served.begin(client)
        served.bench.run("gcc -c a.c", build)
        end = client.request("end")
        await client.ask("interrupt", signal=signal.SIGINT)
        assert served.bench.workers.signals == [(0, signal.SIGTERM)]
        await client.ask("interrupt", signal=signal.SIGINT)
        assert served.bench.workers.signals[1:] == [(0, signal.SIGKILL)]
        served.bench.workers.end(0, signal.SIGKILL)
        assert outcome_of(await end).failures == []
        assert list(served.bench.engine.builds) == ["b"]
        client.close()

    play(tmp_path, part)


def test_a_client_that_is_killed_takes_its_ending_build_with_it(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        build = await served.begin(client)
        served.bench.run("gcc -c a.c", build)
        client.request("end")
        await client.ask("counts")
        client.close()
        while not served.bench.workers.signals:
            await asyncio.sleep(0)
        served.bench.workers.end(0, signal.SIGTERM)
        while build in served.bench.engine.builds:
            await asyncio.sleep(0)

    play(tmp_path, part)


@pytest.mark.parametrize(
    ("operation", "fields", "why"),
    [
        ("interrupt", {"signal": 2}, "has begun no build"),
        ("end", {}, "has begun no build"),
        ("counts", {}, "has begun no build"),
        ("wait", {"build": "nobody"}, "no such build: 'nobody'"),
        ("stop", {}, "ends with its build"),
        ("dance", {}, "no such request: 'dance'"),
        ("begin", {"output": 3}, "a malformed request"),
        ("begin", {**BEGIN, "output": [[1, 2]]}, "a malformed request"),
        ("begin", {"output": [[1, 2]] * 2, "settings": 3}, "a malformed request"),
        (
            "begin",
            {"output": [[1, 2]] * 2, "settings": {"guard": "yes"}},
            "is 'yes' and must be true or false",
        ),
        (
            "begin",
            {"output": [[1, 2]] * 2, "settings": {"heard": True}},
            "a malformed request: KeyError.'heard'",
        ),
        ("begin", {**BEGIN, "output": [[1, float("inf")], [1, 2]]}, "a malformed request"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, operation: str, fields: dict[str, object], why: str
) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        with pytest.raises(ServerGoneError, match=why):
            await client.ask(operation, **fields)
        assert (await client.ask("env"))["build"] == "shell"
        client.close()

    play(tmp_path, part)


def test_an_operation_that_is_no_word_is_refused(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = Client(served.path)
        client.socket.sendall(frames.encode_json(layout.WIRE_REQUEST, {"op": ["end"], "id": 1}))
        client.socket.setblocking(False)
        data = await asyncio.get_running_loop().sock_recv(client.socket, 1 << 16)
        ((_, payload),) = frames.Splitter().feed(data)
        assert frames.decode_json(payload)["error"] == "no such request: ['end']"
        client.socket.close()

    play(tmp_path, part)


def test_a_connection_has_one_build(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        await served.begin(client)
        with pytest.raises(ServerGoneError, match="begun a build already"):
            await served.begin(client)
        await client.ask("end")
        client.close()

    play(tmp_path, part)


def test_who_waits_is_told_that_the_server_went_away(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        build = await served.begin(client)
        served.bench.run("gcc -c a.c", build)
        end = client.request("end")
        await client.ask("counts")
        served.shut()
        with pytest.raises(ServerGoneError, match="went away"):
            await end
        with pytest.raises(ServerGoneError, match="went away"):
            await client.ask("counts")
        served.bench.workers.end(0)
        client.close()

    play(tmp_path, part)


def test_a_server_that_answers_nothing_may_be_of_another_version(tmp_path: Path) -> None:
    """It closes the connection; only one that has answered is known to have gone."""
    with contextlib.closing(listen(tmp_path / "socket")) as listener:
        listener.setblocking(True)
        for answers, end in ((0, "went away without an answer .*another version"), (1, "away$")):
            client = Client(tmp_path / "socket")
            theirs = listener.accept()[0]
            for number in range(answers):
                reply = frames.encode_json(layout.WIRE_REPLY, {"id": number + 1})
                theirs.sendall(reply)
                client.ask("counts")
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(ServerGoneError, match=end):
                client.ask("counts")
            client.close()
            theirs.close()


def test_who_does_not_read_holds_nobody_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its replies are kept up to a bound; then its connection is closed."""
    question = frames.encode_json(layout.WIRE_REQUEST, {"op": "x" * 60_000, "id": 1})

    async def part(served: Served) -> None:
        loop = asyncio.get_running_loop()
        deaf = socket.socket(socket.AF_UNIX)
        deaf.connect(os.fspath(served.path))
        deaf.setblocking(False)
        client = served.client()
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            while True:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(loop.sock_sendall(deaf, question), 1)
                assert (await client.ask("state"))["running"] == 0
        assert (await client.ask("state"))["running"] == 0
        client.close()
        deaf.close()

    with caplog.at_level(logging.WARNING, "smpmake"):
        play(tmp_path, part)
    assert "does not read its replies" in caplog.text


@pytest.mark.chaos
def test_a_long_outcome_is_sent_as_fast_as_it_is_read(tmp_path: Path) -> None:
    async def part(served: Served) -> None:
        client = served.client()
        build = await served.begin(client)
        word = "x" * 20_000  # more in a portion than may be left unread
        for number in range(1100):
            served.bench.run(f"gcc -D{word} -c -o {number}.o a.c", build)
            served.bench.workers.end(number)
        outcome = outcome_of(await client.ask("end"))
        assert len(outcome.commands) == 1100
        client.close()

    play(tmp_path, part)


def test_what_follows_a_connections_end_is_not_heard(tmp_path: Path) -> None:
    """A shim that was answered asks for nothing more."""

    async def part(served: Served) -> None:
        bench = served.bench
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.fspath(served.path))
        fds = [os.open(bench.log, os.O_WRONLY) for _ in range(2)]
        begin = {"op": "begin", "id": 1, "output": [bench.output] * 2, **BEGIN}
        data = wire.encode_invoke(bench.invocation("gcc -c a.c"))
        data += frames.encode_json(layout.WIRE_REQUEST, begin)
        socket.send_fds(peer, [data], fds)
        while 0 not in bench.workers.running.values():
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert list(bench.engine.builds) == ["b"]
        bench.workers.end(0)
        peer.close()
        for fd in fds:
            os.close(fd)

    play(tmp_path, part)


def test_a_shim_that_is_slow_to_read_gets_its_whole_answer(tmp_path: Path) -> None:
    """The driver waits for the truth about a command, and that is long."""
    said = b"y" * 3_000_000

    async def part(served: Served) -> None:
        bench = served.bench
        bench.run("gcc -c a.c")
        bench.workers.end(0, 1 << 8)
        bench.build.promises.learn_failures()
        bench.build.start_over(whole=True)

        shim = socket.socket(socket.AF_UNIX)
        shim.connect(os.fspath(served.path))
        fds = [os.open(bench.log, os.O_WRONLY) for _ in range(2)]
        socket.send_fds(shim, [wire.encode_invoke(bench.invocation("gcc -c a.c"))], fds)
        while 1 not in bench.workers.running.values():
            await asyncio.sleep(0)
        bench.workers.end(1, 1 << 8, said)
        client = served.client()
        assert (await client.ask("env"))["build"] == "shell"
        client.close()

        received = b""
        shim.setblocking(False)
        while data := await asyncio.get_running_loop().sock_recv(shim, 1 << 16):
            received += data
        ((kind, payload),) = frames.Splitter().feed(received)
        assert kind == layout.WIRE_ANSWER
        assert payload.endswith(said)
        shim.close()
        for fd in fds:
            os.close(fd)

    play(tmp_path, part)


class Short:
    """A listening socket in a process that has no descriptor left, the first few times."""

    def __init__(self, listener: socket.socket, times: int) -> None:
        self._listener = listener
        self.times = times
        self.accepts = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._listener, name)

    def accept(self) -> object:
        self.accepts += 1
        if self.accepts <= self.times:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._listener.accept()


def test_without_a_descriptor_for_a_connection_it_waits_and_so_do_we(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One message; no loop around a socket that stays readable."""

    async def part(served: Served) -> None:
        door, loop = served.server.door, asyncio.get_running_loop()
        short = door._socket = Short(door._socket, 3)  # type: ignore[assignment]
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            if short.accepts <= short.times:
                loop.call_later(0.001, turn)

        turn()
        client = served.client()
        assert (await client.ask("env"))["build"] == "shell"
        assert short.accepts == 4
        assert turns > 10  # others had their time meanwhile
        client.close()

    play(tmp_path, part)
    assert caplog.text.count("Too many open files") == 1


def test_connections_leave_descriptors_for_everything_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def part(served: Served) -> None:
        # Both ends of each connection are ours.
        served.server.door._most = len(os.listdir("/proc/self/fd")) + 60
        idle = []
        for _ in range(40):
            peer = socket.socket(socket.AF_UNIX)
            peer.connect(os.fspath(served.path))
            idle.append(peer)
            await asyncio.sleep(0)
        while "Too many open files" not in caplog.text:
            await asyncio.sleep(0)
        assert 0 < len(served.server._open) < 40
        for peer in idle:
            peer.close()
        client = served.client()
        assert (await client.ask("env"))["build"] == "shell"
        client.close()

    play(tmp_path, part)
    assert caplog.text.count("Too many open files") == 1


def test_who_waits_may_not_ask_for_more(tmp_path: Path) -> None:
    """What it waited for would start for nobody, and hold up all that follow."""

    async def part(served: Served) -> None:
        bench = served.bench
        bench.run("gcc -c a.c")
        shim = socket.socket(socket.AF_UNIX)
        shim.connect(os.fspath(served.path))
        fds = [os.open(bench.log, os.O_WRONLY) for _ in range(2)]
        data = wire.encode_invoke(bench.invocation("gcc -E a.c -fplugin=x"))
        path = str(bench.folder / "b.c")
        data += wire.encode_question(wire.Question(layout.ASK_READ, os.getpid(), -1, "b", path, ""))
        socket.send_fds(shim, [data], fds)
        shim.setblocking(False)
        assert await asyncio.get_running_loop().sock_recv(shim, 1) == b""
        bench.workers.end(0)
        client = served.client()
        assert (await client.ask("state"))["pending"] == []
        client.close()
        shim.close()
        for fd in fds:
            os.close(fd)

    play(tmp_path, part)
