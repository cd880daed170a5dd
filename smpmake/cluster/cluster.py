"""Hosts and their client: a place for a compile, and when that needs no CPU here any more."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from smpmake.cluster.canary import Canaries
from smpmake.cluster.compilers import Compiler, compiler_of
from smpmake.cluster.farm import Client, Host
from smpmake.cluster.places import Place, Places
from smpmake.commands.compilers.launchers import keeps_nothing
from smpmake.disk.inotify import Watch
from smpmake.engine.worker_requests import Order
from smpmake.threads import run_in_thread

_FOLLOWED: Final = 1.0  # s between looks at hosts that change
_MOST_FAULTS: Final = 2  # in one line
FOLDER: Final = "cluster"  # its own, in a session's


class Cluster:
    """One per engine.  Needs a running loop; raises OSError where folders cannot be watched.

    client  the program that sends compiles.
    hosts   who compiles.  complaints: what the user has been told of them.  places: their room.
    most    how many compiles are sent at once, 0 for as many as the hosts take.
    folder  is ours, and goes with the session.
    wake    is called when there may be room.  say: is called with what the user is to be told.
    """

    def __init__(
        self,
        client: Client,
        hosts: Iterable[Host],
        most: int,
        folder: Path,
        wake: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        hosts = tuple(hosts)
        self.client = client
        self._folder = folder
        self._watch = Watch()
        self._canaries = Canaries(client, folder / "canaries")
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = wake
        self._say = say
        self._faults: dict[str, str] = {}
        self.complaints: list[str] = []
        self.hosts = hosts
        self.places = Places(hosts, most or sum(host.slots for host in hosts), self._check)
        if client.changes:
            self._tasks.add(asyncio.get_running_loop().create_task(self._follow()))

    def _tell(self, text: str) -> None:
        self.complaints.append(text)
        self._say(text)

    @property
    def fault(self) -> str:
        """Why no host could be used; "" where that is not known of all."""
        if any(host.name not in self._faults for host in self.hosts):
            return ""
        shown = [f"{name}: {fault}" for name, fault in self._faults.items()]
        more = f"; and {len(shown) - _MOST_FAULTS} more" if len(shown) > _MOST_FAULTS else ""
        return f"{'; '.join(shown[:_MOST_FAULTS])}{more}"

    def take(self, name: str, real: str, path: str) -> Place | None:
        """Room for a compile by a compiler that is called `name` and found at `real`, or None."""
        return self.places.take(compiler_of(name, real, path))

    def waits(self, name: str, real: str, path: str) -> bool:
        """Whether room for it will come, as others end."""
        return self.places.waits(compiler_of(name, real, path))

    def order(
        self,
        order: Order,
        place: Place,
        argv: tuple[str, ...],
        real: str,
        path: str,
        prefix: str = "",
    ) -> Order:
        """How a compile is run there.

        prefix  the variable by which a launcher (`real`, called by the whole of `argv`) is told.
        """
        folder = self._folder_of(place)
        if prefix:
            told = self.client.environment(place.host, folder)
            # What hosts make is not for plain builds, who would find it there.
            told |= {
                prefix: self.client.prefix(self._folder),
                **keeps_nothing(os.path.realpath(real)),
            }
            return order.by(real, argv, told)
        compiler = compiler_of(argv[0].rpartition("/")[2], real, path)
        words = self.client.words((compiler.word, *argv[1:]), compiler.file)
        return order.by(self.client.path, words, self.client.environment(place.host, folder))

    def watch(self, place: Place, moved: Callable[[str], None]) -> None:
        """Has `moved` called, perhaps several times, with the machine that has it now, or "".

        With one, nothing is left to be done here.  To be called before it starts; raises OSError.
        """
        folder = self._folder_of(place)

        is_away = False

        def look() -> None:
            nonlocal is_away
            if is_away and not self.client.comes_back:
                return
            is_sent = self.client.is_sent(folder)
            if is_sent is not None:
                is_away = is_sent
                there = self.client.host_of(folder) or place.host.name
                moved(there if is_sent else "")

        self._watch.add(self.client.prepare(folder), look)

    def host_of(self, place: Place) -> str:
        """Who has had a compile that has ended, "" where it has not come to its client at all."""
        folder = self._folder_of(place)
        if not self.client.was_called(folder):
            return ""
        return self.client.host_of(folder) or place.host.name

    def failed(self, place: Place) -> None:
        """A host has not done what it should have."""
        if self.places.failed(place.host):
            text = f"{place.host.name} failed several times: nothing is sent there any more"
            self._faults[place.host.name] = "it failed several times"
            self._tell(text)
            if not self.places.hosts:
                name = self.client.name
                self._tell(f"no host of {name} is left: everything is compiled on this machine")

    async def _follow(self) -> None:
        """Hosts come and go."""
        while True:
            await asyncio.sleep(_FOLLOWED)
            for host in self.places.hosts:
                slots = await run_in_thread(functools.partial(self.client.slots, host))
                if slots is not None:
                    self.places.resize(host, slots)
            self._wake()

    def close(self) -> None:
        """Ends what is under way."""
        for task in self._tasks:
            task.cancel()
        self._watch.close()

    def _folder_of(self, place: Place) -> Path:
        return self._folder / f"{self.hosts.index(place.host)}-{place.number}"

    def _check(self, host: Host, compiler: Compiler) -> None:
        number = len(self._tasks)
        task = asyncio.get_running_loop().create_task(self._fits(host, compiler, number))
        self._tasks.add(task)

    async def _fits(self, host: Host, compiler: Compiler, number: int) -> None:
        fault = await self._canaries.fault(host, compiler, number)
        self.places.checked(host, compiler, fits=not fault)
        if fault:
            text = f"nothing that {compiler} compiles is sent to {host.name}: {fault}"
            self._faults[host.name] = fault
            self._tell(text)
        else:
            self._wake()
