"""A driver that runs while everything else is being loaded.

Loading a session takes longer than many a build that has nothing to do, so a build begins without:
what its driver asks waits a moment, and who asked nothing needs no session at all.
"""

from __future__ import annotations

import _socket  # see keeper
import contextlib
import fcntl
import importlib
import os
import select
import signal
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from smpmake import variables
from smpmake.commands.reading.makes import PARALLEL, WMAKES
from smpmake.errors import SmpmakeError
from smpmake.protocol import frames, keeping, layout
from smpmake.protocol.keeping import DriverEvent
from smpmake.session import limits
from smpmake.session.keeper import ENDING, Keeper, heard
from smpmake.session.rerun import Input
from smpmake.session.setup import SessionSetup, SetupOptions, setup_options

if TYPE_CHECKING:
    from smpmake.config import Settings

#: With one of these a session has more to do than to run the driver.
_ABOVE: Final = (variables.SOCKET, variables.GUARD, "GITHUB_ACTIONS")
_LOOK: Final = 0.1  # s until it is looked again whether a signal has come
_PEEK: Final = _socket.MSG_PEEK | _socket.MSG_DONTWAIT


class EarlyStart:
    """A driver that has been started, on its stage; `begin` makes one.

    began    when smpmake was started, monotonic clock, ns.
    soft     the limit of open files that we had, and the driver has.
    slots    how many that limit leaves room for.
    input    the standard input as it was before the driver could read it.
    mask     the signals that our caller has blocked; until a session hears them ENDING are, too.
    """

    def __init__(self, command: list[str], began: int, terms: SetupOptions) -> None:
        """Raises SmpmakeError or OSError, and has changed nothing then."""
        self.began = began
        self.slots = limits.most_slots()
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        with contextlib.ExitStack() as given_back:
            given_back.callback(signal.pthread_sigmask, signal.SIG_SETMASK, self.mask)
            self.soft = limits.raise_descriptor_limit()
            given_back.callback(limits.restore_descriptor_limit, self.soft)
            self.stage = stage = SessionSetup(command[0], terms)
            given_back.callback(stage.close)
            self.input = Input()  # before the driver reads it
            self.keeper = Keeper(
                command,
                stage.environment,
                stage.path,
                alive=stage.alive,
                soft=self.soft,
                mask=self.mask,
                output=stage.output,
            )
            given_back.pop_all()

    def wait(self) -> None:
        """Until the driver has ended, or something needs a session: a command, output, a signal.

        A configure script runs for seconds without any, and loading a session costs it CPU time.
        """
        control = self.keeper.control.fileno()
        with select.epoll() as needs:
            # By edges: what the keeper has said of the driver's start stays there for a session.
            needs.register(control, select.EPOLLIN | select.EPOLLET)
            for end in self._asking():
                needs.register(end, select.EPOLLIN)
            while not self._has_signal():
                ready = dict(needs.poll(_LOOK))
                said = ready.pop(control, 0)
                if ready or (said and (self._ended() is not None or self._is_lost())):
                    return

    def load_modules(self, modules: Iterable[str]) -> bool:
        """Loads what a session needs; returns whether none is needed any more."""
        for module in modules:
            if self.is_over():
                return True
            load(module)
        return self.is_over()

    def is_over(self) -> bool:
        """Whether the driver has ended well, nobody asked for anything, no signal waits, and
        nothing that it printed."""
        event = self._ended()
        if event is None and self._is_lost():
            return False
        if event is None or event.event != layout.DRIVER_ENDED or event.status != 0:
            return False
        asks = select.poll()
        for end in self._asking():
            asks.register(end, select.POLLIN)
        return not asks.poll(0) and not self._has_signal()

    def _asking(self) -> list[int]:
        """The descriptors by which the driver asks for a session: a command, its output."""
        return [end for end in (self.stage.listener, self.stage.pipe) if end >= 0]

    def _has_signal(self) -> bool:
        """Whether a signal waits for a session."""
        return bool(heard() & signal.sigpending() - self.mask)

    def _ended(self) -> DriverEvent | None:
        """What the keeper has said of the driver's end; it will say so again to a session."""
        try:
            said = self.keeper.control.recv(4096, _PEEK)
        except OSError:
            return None
        ends = _ends(frames.Splitter().feed(said))
        return ends[0] if ends else None

    def _is_lost(self) -> bool:
        """Whether the keeper was killed before the driver had ended; if so, nothing goes on."""
        look = select.poll()
        look.register(self.keeper.control.fileno(), 0)
        is_lost = bool(look.poll(0)) and self._ended() is None
        if is_lost:
            self._end_build()
        return is_lost

    def _end_build(self) -> None:
        from smpmake.engine.strays import end_build  # hardly ever

        end_build(self.stage.environment)

    def close(self) -> None:
        """Ends it all, where no session has taken it."""
        self.stage.close()
        self.keeper.release()

    def go_on_plainly(self) -> DriverEvent | None:
        """No session can be had: shims become the real tools, guards go on.

        Returns how the driver went; None means that the keeper was lost.
        """
        with contextlib.suppress(OSError):
            self.stage.folder.socket.unlink()
        os.close(self.stage.take_listener())
        for number in heard():
            signal.signal(number, lambda number, _: self.keeper.signal(number))
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        control, printed = self.keeper.control, _Printed(self.stage.take_pipe())
        control.setblocking(True)
        splitter = frames.Splitter()
        ends: list[DriverEvent] = []
        with contextlib.suppress(OSError):
            while not ends:
                printed.pass_on(until=control.fileno())
                said = control.recv(4096)
                if not said:
                    break
                ends = _ends(splitter.feed(said))
        printed.close()
        if not ends:
            self._end_build()
        self.close()
        return ends[0] if ends else None


class _Printed:
    """What a driver prints into a pipe of ours, where there is one, and nobody orders it."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def pass_on(self, until: int) -> None:
        """Prints it until that descriptor can be read; if that fails, whoever goes on printing is
        told so by the system."""
        waiting = select.poll()
        waiting.register(until, select.POLLIN)
        if self._pipe >= 0:
            waiting.register(self._pipe, select.POLLIN)
        while not any(fd == until for fd, _ in waiting.poll()):
            try:
                self._print()
            except OSError:
                waiting.unregister(self._pipe)
                self._discard()

    def close(self) -> None:
        """Prints what the pipe still holds: what outlives the driver may print for ever."""
        if self._pipe < 0:
            return
        with contextlib.suppress(OSError):
            for _ in range(fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ) // select.PIPE_BUF + 1):
                self._print()
        self._discard()

    def _print(self) -> None:
        """A piece of it.  Raises OSError if it cannot be printed."""
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._pipe, 1 << 16)
        _write(data)

    def _discard(self) -> None:
        os.close(self._pipe)
        self._pipe = -1


def _write(data: bytes) -> None:
    """All of it to stdout, which may be one that does not wait by itself.  Raises OSError."""
    room = select.poll()
    room.register(1, select.POLLOUT)
    while data:
        room.poll()
        with contextlib.suppress(BlockingIOError):
            data = data[os.write(1, data) :]


def _ends(said: list[tuple[int, bytes]]) -> list[DriverEvent]:
    """What a keeper's frames say of the driver's end."""
    events = keeping.driver_events(said)
    return [event for event in events if event.event != layout.DRIVER_STARTED]


def begin(command: list[str], settings: Settings) -> EarlyStart | None:
    """A head start for a build; None where it cannot have one.

    Its driver must not have to wait for anything but its stage, and nobody may be there who is
    told of it: a server, a cluster; whoever checks what is remembered.
    """
    began = limits.began_ns()
    if os.path.basename(command[0]) in PARALLEL | WMAKES:
        return None
    if any(name in os.environ for name in _ABOVE):
        return None
    if settings.engine != "local" or settings.memo == "check":
        return None
    try:
        return EarlyStart(command, began, setup_options(settings))
    except (SmpmakeError, OSError, MemoryError):
        return None


def load(module: str) -> None:
    """Loads a module, but asyncio without OpenSSL, which it can do without: that takes long to
    load, for connections that nobody makes here."""
    if module != "asyncio" or "ssl" in sys.modules:
        importlib.import_module(module)
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        importlib.import_module(module)
    finally:
        del sys.modules["ssl"]
