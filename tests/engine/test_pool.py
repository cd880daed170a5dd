"""Workers that the system does not give: those that are there run everything."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Awaitable, Callable

import pytest

from smpmake.engine import pool
from smpmake.engine.pool import Pool
from smpmake.protocol import frames, layout, working
from smpmake.protocol.wire import FileId, Invoke
from smpmake.protocol.working import Inherited, Result

ORDER = Invoke(1, 0, FileId(0, 0), FileId(0, 0), "t", b"/t", b"/", "b", b"t\0", b"", b"")


def order(number: int) -> bytes:
    return working.encode_job(
        number, 0, ORDER, b"t\0", b"", merged=False, journaled=False, environment=ORDER.env
    )


class System:
    """Gives so many processes; a job ends when the test says so."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.workers: list[FakeWorker] = []
        self.ended: list[tuple[int, int]] = []  # slot, job

    def worker(self, slot: int, *args: object, **more: object) -> FakeWorker:
        if len(self.workers) >= self.most:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        on_result = args[1]
        assert callable(on_result)
        self.workers.append(FakeWorker(slot, on_result, self.workers.remove))
        return self.workers[-1]

    def running(self) -> list[int]:
        return [number for worker in self.workers for number in worker.jobs]

    def end(self, number: int) -> None:
        (worker,) = [worker for worker in self.workers if number in worker.jobs]
        worker.jobs.remove(number)
        worker.on_result(worker.slot, working.failed_result(number, 0))


class FakeWorker:
    def __init__(
        self,
        slot: int,
        on_result: Callable[[int, Result], None],
        on_close: Callable[[FakeWorker], None],
    ) -> None:
        self.slot = slot
        self.on_result = on_result
        self.jobs: list[int] = []
        self._on_close = on_close

    def close(self) -> None:
        self._on_close(self)

    def reap(self) -> None: ...

    def first_words(self) -> Inherited:
        return Inherited()

    def send(self, frame: bytes) -> None:
        assert not self.jobs, "one at a time"
        ((kind, payload),) = frames.Splitter().feed(frame)
        assert kind == layout.WIRE_JOB
        self.jobs.append(int.from_bytes(payload[:8], "little"))


def play(
    monkeypatch: pytest.MonkeyPatch, most: int, part: Callable[[System, Pool], Awaitable[None]]
) -> System:
    system = System(most)
    monkeypatch.setattr(pool, "Worker", system.worker)
    monkeypatch.setattr(pool, "_RETRY", 0.0)
    monkeypatch.setattr("smpmake.native.become_subreaper", lambda: None)

    async def main() -> None:
        ended = system.ended
        made = Pool(lambda slot, result: ended.append((slot, result.id)), lambda slot: None, 4)
        await asyncio.wait_for(part(system, made), 30)

    asyncio.run(main())
    return system


def test_jobs_without_a_worker_wait_for_the_next_that_is_free(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def part(system: System, pool: Pool) -> None:
        for slot in range(4):
            pool.send(slot, order(10 + slot))
        assert system.running() == [10, 11]
        system.end(11)
        assert system.running() == [10, 12]
        system.end(10)
        system.end(12)
        system.end(13)
        pool.send(0, order(14))  # idle workers stand at other slots by now
        pool.send(1, order(15))
        assert sorted(system.running()) == [14, 15]

    system = play(monkeypatch, 2, part)
    assert system.ended == [(1, 11), (0, 10), (2, 12), (3, 13)]
    assert caplog.text.count("worker processes: 2, and no more") == 1


def test_workers_that_have_nothing_to_do_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """They leave what processes there are to others, and come back."""

    async def part(system: System, pool: Pool) -> None:
        pool.start(3)
        pool.send(1, order(10))
        pool.end_idle()
        assert [worker.slot for worker in system.workers] == [1]
        assert system.running() == [10]
        pool.send(0, order(11))
        assert sorted(system.running()) == [10, 11]

    play(monkeypatch, 3, part)


def test_a_worker_that_can_be_started_later_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def part(system: System, pool: Pool) -> None:
        pool.send(0, order(10))
        assert system.running() == []
        system.most = 1
        while not system.running():
            await asyncio.sleep(0)

    play(monkeypatch, 0, part)


def test_a_job_that_waits_for_a_worker_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def part(system: System, pool: Pool) -> None:
        pool.send(0, order(10))
        pool.signal(0, signal.SIGTERM)
        while not system.ended:
            await asyncio.sleep(0)

    assert play(monkeypatch, 0, part).ended == [(0, 10)]


def test_one_worker_at_least_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def part(system: System, pool: Pool) -> None:
        with pytest.raises(OSError, match="unavailable"):
            pool.start(4)
        system.most = 1
        pool.start(4)
        assert len(system.workers) == 1

    play(monkeypatch, 0, part)
