"""A driver that runs while everything else is being loaded.

Loading a session takes longer than many a build that has nothing to do, so a build begins without:
what its driver asks waits a moment, and who asked nothing needs no session at all.
"""

from __future__ import annotations

import _socket  # see keeper
import contextlib
import importlib
import os
import select
import signal
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from smpmake import variables
from smpmake.commands.makes import PARALLEL, WMAKES
from smpmake.errors import SmpmakeError
from smpmake.protocol import frames, keeping
from smpmake.protocol.keeping import DriverEvent
from smpmake.session import limits
from smpmake.session.keeper import ENDING, Keeper, heard
from smpmake.session.rerun import Input
from smpmake.session.stage import Stage, Terms, terms_of

if TYPE_CHECKING:
    from smpmake.config import Settings

#: With one of these a session has more to do than to run the driver.
_ABOVE: Final = (variables.SOCKET, variables.GUARD, "GITHUB_ACTIONS")
_PEEK: Final = _socket.MSG_PEEK | _socket.MSG_DONTWAIT


class Headstart:
    """A driver that has been started, on its stage; `begin` makes one.

    began    when smpmake was started, monotonic clock, ns.
    soft     the limit of open files that we had, and the driver has.
    slots    how many that limit leaves room for.
    input    the standard input as it was before the driver could read it.
    mask     the signals that our caller has blocked; until a session hears them ENDING are, too.
    """

    def __init__(self, command: list[str], began: int, terms: Terms) -> None:
        """Raises SmpmakeError or OSError, and has changed nothing then."""
        self.began = began
        self.slots = limits.most_slots()
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        with contextlib.ExitStack() as given_back:
            given_back.callback(signal.pthread_sigmask, signal.SIG_SETMASK, self.mask)
            self.soft = limits.raise_descriptor_limit()
            given_back.callback(limits.restore_descriptor_limit, self.soft)
            self.stage = stage = Stage(command[0], terms)
            given_back.callback(stage.close)
            self.input = Input()  # before the driver reads it
            self.keeper = Keeper(
                command, stage.environment, stage.path, alive=stage.alive, soft=self.soft
            )
            given_back.pop_all()

    def load(self, modules: Iterable[str]) -> bool:
        """Loads what a session needs; returns whether none is needed any more."""
        for module in modules:
            if self.is_over():
                return True
            if module == "asyncio":
                load_asyncio()
            else:
                importlib.import_module(module)
        return self.is_over()

    def is_over(self) -> bool:
        """Whether the driver has ended well, nobody asked for anything, and no signal waits."""
        event = self._ended()
        if event is None or event.event != keeping.DRIVER_ENDED or event.status != 0:
            return False
        asks = select.poll()
        asks.register(self.stage.listener, select.POLLIN)
        return not asks.poll(0) and not heard() & signal.sigpending() - self.mask

    def _ended(self) -> DriverEvent | None:
        """What the keeper has said of the driver's end; it will say so again to a session."""
        try:
            said = self.keeper.control.recv(4096, _PEEK)
        except OSError:
            return None
        ends = _ends(frames.Splitter().feed(said))
        return ends[0] if ends else None

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
        self.keeper.control.setblocking(True)
        splitter = frames.Splitter()
        ends: list[DriverEvent] = []
        with contextlib.suppress(OSError):
            while not ends and (said := self.keeper.control.recv(4096)):
                ends = _ends(splitter.feed(said))
        self.close()
        return ends[0] if ends else None


def _ends(said: list[tuple[int, bytes]]) -> list[DriverEvent]:
    """What a keeper's frames say of the driver's end."""
    events = keeping.driver_events(said)
    return [event for event in events if event.event != keeping.DRIVER_STARTED]


def begin(command: list[str], settings: Settings) -> Headstart | None:
    """A head start for a build; None where it cannot have one.

    Its driver must not have to wait for anything but its stage, and nobody may be there who is
    told of it: a server, a cluster, who reads what it prints.
    """
    began = limits.began_ns()
    if os.path.basename(command[0]) in PARALLEL | WMAKES:
        return None
    if any(name in os.environ for name in _ABOVE):
        return None
    if settings.engine != "local":
        return None
    try:
        terms = terms_of(settings)
        return None if terms.output else Headstart(command, began, terms)
    except (SmpmakeError, OSError, MemoryError):
        return None


def load_asyncio() -> None:
    """Without OpenSSL, which it can do without: that takes long to load, for connections that
    nobody makes here."""
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio
    finally:
        del sys.modules["ssl"]
    del asyncio
