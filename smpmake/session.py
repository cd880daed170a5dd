"""One build from beginning to end: server, driver, signals, and the record of it all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from typing import Final

from smpmake import __version__, cpus, wire
from smpmake.build import Build
from smpmake.config import Settings
from smpmake.driver import Driver
from smpmake.folder import SessionFolder
from smpmake.machine import Machine
from smpmake.output import Transcript, write_all
from smpmake.policy import Rules
from smpmake.records import BuildRecord
from smpmake.sampler import Sampler
from smpmake.server import Server
from smpmake.status import StatusLine
from smpmake.wire import DriverEvent, FileId

log = logging.getLogger("smpmake")

FAULT: Final = 125
CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE: Final = 0.3  # s for the driver to end by the terminal's own signal
_PATIENCE: Final = 2.0  # s between TERM and KILL


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to tell the user: the record, and complaints about ourselves."""

    record: BuildRecord
    faults: list[str]


def rules_of(settings: Settings) -> Rules:
    """The part of the settings that decides verdicts."""
    return Rules(settings.links == "defer", settings.foreground, settings.exclusive)


def driver_environment(folder: SessionFolder, build: str) -> dict[str, str]:
    """The user's environment, with our shims first on PATH."""
    environment = dict(os.environ)
    path = environment.get("PATH", os.defpath)
    environment["PATH"] = f"{folder.shims}:{path}"
    environment["SMPMAKE_SOCKET"] = os.fspath(folder.socket)
    environment["SMPMAKE_BOARD"] = os.fspath(folder.path / "board")
    environment["SMPMAKE_BUILD"] = build
    return environment


def output_ids() -> tuple[FileId, FileId]:
    """Which files our own stdout and stderr are."""
    return _file_id(1), _file_id(2)


def _file_id(fd: int) -> FileId:
    try:
        info = os.fstat(fd)
    except OSError:
        info = os.stat("/dev/null")
    return FileId(info.st_dev, info.st_ino)


def raise_descriptor_limit() -> int:
    """Many shims may wait at once.  Returns the soft limit that the driver is to have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        wanted = 65536 if hard == resource.RLIM_INFINITY else hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return soft


class Session:
    """Runs one command with a server of its own."""

    def __init__(self, settings: Settings, command: list[str]) -> None:
        self._settings = settings
        self._command = command
        self._ended_by: int | None = None
        usable = cpus.usable()
        self._record = BuildRecord(
            command,
            os.getcwd(),
            settings.jobs or usable.count,
            usable.count,
            __version__,
            wall_clock=time.time(),
        )

    async def run(self) -> Outcome:
        """The whole build.  Raises FolderError, tools.ShimError, native.NativeMissingError."""
        settings, record = self._settings, self._record
        soft = raise_descriptor_limit()
        folder = SessionFolder()
        alive_read, alive_write = os.pipe2(os.O_CLOEXEC)
        try:
            folder.make_shims(os.environ.get("PATH", os.defpath))
            machine = Machine(
                folder.path,
                record.slots,
                cpus=cpus.allowed() if settings.affinity else None,
                niceness=settings.nice,
                alive=alive_write,
            )
            server = Server(folder.socket, machine)
            build = Build("main", rules_of(settings), settings.keep_going, output_ids())
            build.began = time.time()
            machine.builds[build.id] = build
            pipe = self._transcribe(build, machine) if settings.output == "serial" else None
            record.started = time.monotonic_ns()
            driver = Driver(
                self._command,
                driver_environment(folder, build.id),
                folder.path,
                alive=alive_read,
                nofile=soft,
                output=pipe,
            )
            if pipe is not None:
                os.close(pipe)
            machine.keeper_pids.add(driver.process.pid)
            faults = await self._see_through(machine, build, driver)
            server.close()
            faults += machine.close()
            driver.close()
        finally:
            os.close(alive_read)
            os.close(alive_write)
            folder.remove()
        record.ended = time.monotonic_ns()
        record.commands, record.failures = build.records, build.failures
        record.notices = build.notices
        usage = resource.getrusage(resource.RUSAGE_SELF)
        record.server_cpu_us = int((usage.ru_utime + usage.ru_stime) * 1e6)
        record.status = self._status(build, faults)
        return Outcome(record, faults)

    async def _see_through(self, machine: Machine, build: Build, driver: Driver) -> list[str]:
        """From the driver's start until everything has ended."""
        loop = asyncio.get_running_loop()
        record = self._record
        for number in _ENDING:
            loop.add_signal_handler(number, self._interrupted, machine, build, driver, number)
        sampler = Sampler(record.samples, machine, record.started)
        status = StatusLine(sampler, self._settings, build)
        watching = asyncio.create_task(sampler.run(status.show))
        faults: list[str] = []
        try:
            event = await driver.ended
            record.driver_ended = time.monotonic_ns()
            faults += self._note_driver(event, machine, build)
            await build.empty.wait()
            if build.transcript is not None:
                await self._transcribed.wait()
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            status.close()
            for number in _ENDING:
                loop.remove_signal_handler(number)
        return faults

    def _note_driver(
        self, event: DriverEvent | None, machine: Machine, build: Build
    ) -> list[str]:
        record = self._record
        if event is None:
            machine.stop(build, signal.SIGKILL)
            from smpmake.pool import end_strays

            end_strays(machine.worker_pids)
            return ["the process that ran the driver was killed"]
        record.driver_user_us, record.driver_system_us = event.user_us, event.system_us
        record.driver_max_rss = event.max_rss_kib
        if event.event == wire.DRIVER_FAILED:
            record.driver_status = NOT_FOUND if event.status == 2 else CANNOT_RUN
            print(
                f"smpmake: {self._command[0]}: cannot be run: {os.strerror(event.status)}",
                file=sys.stderr,
            )
        elif os.WIFSIGNALED(event.status):
            record.driver_status = 128 + os.WTERMSIG(event.status)
        else:
            record.driver_status = os.WEXITSTATUS(event.status)
        return []

    def _interrupted(
        self, machine: Machine, build: Build, driver: Driver, number: signal.Signals
    ) -> None:
        """The first time gently, the second time at once."""
        loop = asyncio.get_running_loop()
        again = self._ended_by is not None
        self._ended_by = self._ended_by or number
        machine.stop(build, number)
        if again:
            driver.signal(signal.SIGKILL)
            machine.stop(build, number)
            return
        # At a terminal the driver got the signal itself; it should not get it twice.
        loop.call_later(_GRACE, lambda: driver.ended.done() or driver.signal(number))
        loop.call_later(_PATIENCE, self._lose_patience, machine, build, driver, number)

    def _lose_patience(
        self, machine: Machine, build: Build, driver: Driver, number: signal.Signals
    ) -> None:
        if not driver.ended.done():
            driver.signal(signal.SIGKILL)
        machine.stop(build, number)

    def _transcribe(self, build: Build, machine: Machine) -> int:
        """--output=serial: the driver writes into a pipe; returns its write end."""
        loop = asyncio.get_running_loop()
        read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(write_end, True)
        self._transcribed = asyncio.Event()
        transcript = Transcript(machine.printer, 1, lambda: _drain(read_end))
        build.transcript = transcript
        info = os.fstat(write_end)
        build.driver_output = (FileId(info.st_dev, info.st_ino),) * 2

        def readable() -> None:
            data = _drain(read_end)
            if data is None:
                loop.remove_reader(read_end)
                os.close(read_end)
                self._transcribed.set()
            else:
                transcript.add(data)

        loop.add_reader(read_end, readable)
        return write_end

    def _status(self, build: Build, faults: list[str]) -> int:
        if self._ended_by is not None:
            return 128 + self._ended_by
        if faults:
            return FAULT
        if self._record.driver_status:
            return self._record.driver_status
        return 1 if build.failures else 0


def _drain(fd: int) -> bytes | None:
    """What a non-blocking pipe holds now; None at its end."""
    pieces = []
    while True:
        try:
            piece = os.read(fd, 1 << 16)
        except BlockingIOError:
            return b"".join(pieces)
        if not piece:
            return b"".join(pieces) if pieces else None
        pieces.append(piece)


def print_failures(record: BuildRecord) -> None:
    """Each failed command, its folder, output and status: shown once, last (promise P2)."""
    for failure in sorted(record.failures, key=lambda f: f.record.number):
        command = failure.record
        text = f"smpmake: failed: {command.command}\n  in {command.cwd}\n"
        output = failure.output
        if output and not output.endswith(b"\n"):
            output += b"\n"
        data = text.encode(errors="replace") + output + f"  {failure.why}\n".encode()
        with contextlib.suppress(OSError):
            write_all(2, data)
