"""The worker processes: one native program a slot, spoken to over a socket pair.

This room starts them, sends them jobs and signals, and hands results on.  It decides nothing.
`Workers` is what the engine needs of it; tests have another one, without processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Final, Protocol

from smpmake import native
from smpmake.engine.strays import end_strays
from smpmake.protocol import frames, keeping, layout, working
from smpmake.protocol.working import Inherited, Result

log = logging.getLogger("smpmake")

_CHUNK: Final = 1 << 16
_FIRST_WORDS: Final = 10  # s to wait for them
_RETRY: Final = 0.1  # s until a worker that could not be started is tried again

OnResult = Callable[[int, Result], None]
OnLost = Callable[[int], None]


class Workers(Protocol):
    """Who runs jobs, by slot.

    keepers    processes of ours that are no workers and no strays.
    inherited  what jobs inherit, but for what their orders say.
    """

    keepers: set[int]
    inherited: Inherited

    def send(self, slot: int, frame: bytes) -> None:
        """Gives the worker of a slot a job."""

    def signal(self, slot: int, number: int) -> None:
        """Signals what runs in a slot."""

    def end_strays(self, *, keep_keepers: bool = True) -> None:
        """Kills descendants that nobody holds any more: their worker or keeper was killed."""

    def end_idle(self) -> None:
        """Ends workers that have nothing to do; they are started again when they are needed."""

    def close(self) -> list[str]:
        """Ends all workers; returns complaints about those that had to be killed."""


#: Makes the workers, by whom results go to, and who is told of a slot whose worker died.
Hire = Callable[[OnResult, OnLost], Workers]


class Worker:
    """One worker.  `on_result` gets what a job did; `on_lost` is called if the process dies.

    slot  whose jobs it runs.  Raises OSError if it cannot be started.
    """

    def __init__(
        self,
        slot: int,
        loop: asyncio.AbstractEventLoop,
        on_result: OnResult,
        on_lost: OnLost,
        *,
        alive: int = -1,
    ) -> None:
        self.slot = slot
        self._loop = loop
        self._on_result = on_result
        self._on_lost = on_lost
        self._splitter = frames.Splitter()
        self._unsent = b""
        ours, theirs = socket.socketpair()
        # `alive` is only open as long as the worker lives: the keeper waits for that.
        passed = [theirs.fileno(), *([alive] if alive >= 0 else [])]
        words = [native.program("worker"), *map(str, (theirs.fileno(), alive))]
        try:
            self.process = subprocess.Popen(
                words, pass_fds=passed, stdin=subprocess.DEVNULL, close_fds=True
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._socket = ours
        loop.add_reader(ours.fileno(), self._readable)

    def first_words(self) -> Inherited:
        """Waits for a worker's first words; nothing is known of one that has none."""
        self._socket.settimeout(_FIRST_WORDS)
        try:
            arrived = self._splitter.feed(self._socket.recv(_CHUNK))
            return working.decode_worker(arrived[0][1])
        except (OSError, frames.WireError, IndexError):
            return Inherited()  # that it has ended shows when it is to do something
        finally:
            self._socket.setblocking(False)

    def send(self, data: bytes) -> None:
        """Sends a frame; what the socket does not take at once follows when it can."""
        if self._unsent:
            self._unsent += data
            return
        sent = 0
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            sent = self._socket.send(data)
        if sent < len(data):
            self._unsent = data[sent:]
            self._loop.add_writer(self._socket.fileno(), self._writable)

    def _writable(self) -> None:
        try:
            sent = self._socket.send(self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._unsent)  # the reader side will see the end
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())

    def _readable(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
            arrived = self._splitter.feed(data) if data else None
        except BlockingIOError:
            return
        except (OSError, frames.WireError):
            arrived = None
        if arrived is None:
            self.close()
            self._on_lost(self.slot)
            return
        for kind, payload in arrived:
            if kind == layout.WIRE_RESULT:
                self._on_result(self.slot, working.decode_result(payload))

    def close(self) -> None:
        """Closes the connection, at which the worker leaves, and reaps it."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()

    def reap(self, timeout: float = 10.0) -> None:
        """Waits for the process to leave; kills it if it does not."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Pool:
    """As many workers as slots, started when their slot is first used (slots are taken from the
    lowest up, so a build that never needs the last ones never starts them).

    Where the system gives no process more, those that are there run all the jobs: one that has no
    worker waits for the next that is free.  Makes this process the one that orphans come to.
    """

    def __init__(
        self,
        on_result: OnResult,
        on_lost: OnLost,
        slots: int,
        *,
        alive: int = -1,
    ) -> None:
        native.become_subreaper()
        self.keepers: set[int] = set()
        self.inherited = Inherited()
        self._loop = asyncio.get_running_loop()
        self._workers: dict[int, Worker] = {}
        self._busy: set[int] = set()  # slots whose workers have a job
        self._unmanned: dict[int, bytes] = {}  # jobs that wait for a worker, by slot
        self._retry: asyncio.TimerHandle | None = None
        self._is_short = False
        self._slots = slots
        self._on_result = on_result
        self._on_lost = on_lost
        self._alive = alive

    def start(self, slots: int) -> None:
        """Starts the first `slots` workers, or as many as can be; raises OSError for none."""
        for slot in range(min(slots, self._slots)):
            try:
                self._start(slot)
            except OSError as error:
                if not self._workers:
                    raise
                self._complain(error)
                break
        self.inherited = next(iter(self._workers.values())).first_words()

    def send(self, slot: int, frame: bytes) -> None:
        """See Workers."""
        worker = self._worker(slot)
        if worker is None:
            self._unmanned[slot] = frame
            if self._retry is None:
                self._retry = self._loop.call_later(_RETRY, self._try_again)
            return
        self._busy.add(slot)
        worker.send(frame)

    def signal(self, slot: int, number: int) -> None:
        """See Workers."""
        frame = self._unmanned.pop(slot, None)
        if frame is not None:  # it will not begin
            ended = working.failed_result(working.job_of(frame), 0)._replace(wait_status=number)
            self._loop.call_soon(self._on_result, slot, ended)
            return
        worker = self._workers.get(slot)
        if worker is not None:
            worker.send(keeping.encode_signal(number))

    def end_strays(self, *, keep_keepers: bool = True) -> None:
        """See Workers."""
        workers = {worker.process.pid for worker in self._workers.values()}
        end_strays(workers | (self.keepers if keep_keepers else set()))

    def end_idle(self) -> None:
        """See Workers."""
        idle = [self._workers.pop(slot) for slot in set(self._workers) - self._busy]
        for worker in idle:
            worker.close()
        for worker in idle:
            worker.reap()

    def close(self) -> list[str]:
        """See Workers."""
        if self._retry is not None:
            self._retry.cancel()
        for worker in self._workers.values():
            worker.close()
        complaints = []
        for worker in self._workers.values():
            worker.reap()
            if worker.process.returncode == -signal.SIGKILL:
                complaints.append(f"worker of slot {worker.slot} had to be killed")
        self._workers.clear()
        return complaints

    def _worker(self, slot: int) -> Worker | None:
        """The worker for a slot's job: its own, or else one that has nothing to do."""
        worker = self._workers.get(slot)
        if worker is not None:
            return worker
        try:
            return self._start(slot)
        except OSError as error:
            self._complain(error)
        idle = next((each for each in self._workers if each not in self._busy), None)
        return self._move(idle, slot) if idle is not None else None

    def _start(self, slot: int) -> Worker:
        worker = self._workers[slot] = Worker(
            slot,
            self._loop,
            self._ended,
            self._lost,
            alive=self._alive,
        )
        return worker

    def _move(self, slot: int, to: int) -> Worker:
        worker = self._workers[to] = self._workers.pop(slot)
        worker.slot = to
        return worker

    def _complain(self, error: OSError) -> None:
        if not self._is_short:
            self._is_short = True
            count = len(self._workers)
            log.warning("worker processes: %d, and no more: %s", count, error.strerror)

    def _try_again(self) -> None:
        self._retry = None
        waiting, self._unmanned = self._unmanned, {}
        for slot, frame in waiting.items():
            self.send(slot, frame)

    def _ended(self, slot: int, result: Result) -> None:
        self._busy.discard(slot)
        if self._unmanned:  # who has waited is first
            next_slot = next(iter(self._unmanned))
            frame = self._unmanned.pop(next_slot)
            self._busy.add(next_slot)
            self._move(slot, next_slot).send(frame)
        self._on_result(slot, result)

    def _lost(self, slot: int) -> None:
        self._busy.discard(slot)
        worker = self._workers.pop(slot, None)
        if worker is not None:
            worker.reap()
        self._on_lost(slot)


def describe_exit(result: Result) -> tuple[int, str]:
    """A tool's exit status as a shell gives it, and in words."""
    if result.wait_status < 0:
        return 127, f"could not be started: {os.strerror(result.error)}"
    if os.WIFSIGNALED(result.wait_status):
        number = os.WTERMSIG(result.wait_status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = str(number)
        return 128 + number, f"killed by signal {name}"
    status = os.WEXITSTATUS(result.wait_status)
    return status, f"exit status {status}"
