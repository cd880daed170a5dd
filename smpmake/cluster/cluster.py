"""Hosts and their client: a place for a compile, and when that needs no CPU here any more."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from smpmake.cluster.canary import Canaries
from smpmake.cluster.client import Client, Host
from smpmake.cluster.compilers import Compiler, compiler_of, is_program
from smpmake.cluster.places import Place, Places
from smpmake.cluster.sources import Sources
from smpmake.commands.launchers import keeps_nothing
from smpmake.disk.watch import Watch
from smpmake.engine.elsewhere import HostState
from smpmake.threads import in_a_thread

_FOLLOWED: Final = 1.0  # s between looks at hosts that change
_MOST_FAULTS: Final = 2  # in one line
FOLDER: Final = "cluster"  # its own, in a session's


class Errand(NamedTuple):
    """How a compile is run that goes to a host: program, words, and what its environment gets."""

    program: str
    argv: tuple[str, ...]
    environment: dict[str, str]


class Cluster:
    """One per engine.  Needs a running loop; raises OSError where folders cannot be watched.

    hosts   who compiles.  complaints: what the user has been told of them.
    most    how many compiles are sent at once, 0 for as many as the hosts take.
    folder  is ours, and goes with the session.
    """

    def __init__(
        self,
        client: Client,
        hosts: Iterable[Host],
        most: int,
        folder: Path,
    ) -> None:
        hosts = tuple(hosts)
        self._client = client
        self._folder = folder
        self._watch = Watch()
        self._sources = Sources()
        self._canaries = Canaries(client, folder / "canaries")
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake: Callable[[], None] = lambda: None
        self._say: Callable[[str], None] = lambda text: None
        self._faults: dict[str, str] = {}
        self.complaints: list[str] = []
        self.hosts = hosts
        self._places = Places(hosts, most or sum(host.slots for host in hosts), self._check)

    @property
    def name(self) -> str:
        """Of the engine."""
        return self._client.name

    @property
    def litter(self) -> str:
        """How the paths begin of what is nothing but the client's own affair; "" for none."""
        return self._client.litter

    @property
    def total(self) -> int:
        """Compiles that it takes at once."""
        return self._places.total

    @property
    def has_room(self) -> bool:
        """Whether there is any place, for whichever compiler."""
        return self._places.taken < self._places.total

    def connect(self, wake: Callable[[], None], say: Callable[[str], None]) -> None:
        """Whom to call when there may be room, and with what the user is to be told."""
        self._wake, self._say = wake, say
        if self._client.changes:
            self._tasks.add(asyncio.get_running_loop().create_task(self._follow()))

    def _tell(self, host: Host, fault: str, text: str) -> None:
        self._faults[host.name] = fault
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

    def state(self) -> list[HostState]:
        """Those that are not left out, as they are now."""
        return self._places.state()

    @staticmethod
    def may_take(real: str) -> bool:
        """Whether a compiler is what hosts have, too: a program, no script that calls one."""
        return is_program(real)

    def loses(self, read: Iterable[str]) -> bool:
        """Whether sources say more than a preprocessor hands on."""
        return self._sources.lose_by_it(set(read))

    def take(self, name: str, real: str, path: str) -> Place | None:
        """Room for a compile by a compiler that is called `name` and found at `real`, or None."""
        return self._places.take(compiler_of(name, real, path))

    def waits(self, name: str, real: str, path: str) -> bool:
        """Whether room for it will come, as others end."""
        return self._places.waits(compiler_of(name, real, path))

    def errand(
        self, place: Place, argv: tuple[str, ...], real: str, path: str, prefix: str = ""
    ) -> Errand:
        """How it is run there.

        prefix  the variable by which a launcher (`real`, called by the whole of `argv`) is told.
        """
        folder = self._folder_of(place)
        if prefix:
            told = self._client.environment(place.host, folder)
            # What hosts make is not for plain builds, who would find it there.
            told |= {
                prefix: self._client.prefix(self._folder),
                **keeps_nothing(os.path.realpath(real)),
            }
            return Errand(real, argv, told)
        compiler = compiler_of(argv[0].rpartition("/")[2], real, path)
        words = self._client.words((compiler.word, *argv[1:]), compiler.file)
        return Errand(self._client.path, words, self._client.environment(place.host, folder))

    def watch(self, place: Place, moved: Callable[[str], None]) -> None:
        """Has `moved` called, perhaps several times, with the machine that has it now, or "".

        With one, nothing is left to be done here.  To be called before it starts; raises OSError.
        """
        folder = self._folder_of(place)

        is_away = False

        def look() -> None:
            nonlocal is_away
            if is_away and not self._client.comes_back:
                return
            is_sent = self._client.is_sent(folder)
            if is_sent is not None:
                is_away = is_sent
                there = self._client.host_of(folder) or place.host.name
                moved(there if is_sent else "")

        self._watch.add(self._client.prepare(folder), look)

    def give(self, place: Place) -> None:
        """A compile has ended."""
        self._places.give(place)

    def host_of(self, place: Place) -> str:
        """Who has had a compile that has ended, "" where it has not come to its client at all."""
        folder = self._folder_of(place)
        if not self._client.was_called(folder):
            return ""
        return self._client.host_of(folder) or place.host.name

    def blames_host(self, status: int) -> bool:
        """Whether an exit status is not the compiler's."""
        return self._client.blames_host(status)

    def failed(self, place: Place) -> None:
        """A host has not done what it should have."""
        if self._places.failed(place.host):
            text = f"{place.host.name} failed several times: nothing is sent there any more"
            self._tell(place.host, "it failed several times", text)
            self._have_any()

    async def _follow(self) -> None:
        """Hosts come and go."""
        while True:
            await asyncio.sleep(_FOLLOWED)
            for host in self._places.hosts:
                slots = await in_a_thread(functools.partial(self._client.slots, host))
                if slots is not None:
                    self._places.resize(host, slots)
            self._wake()

    def close(self) -> None:
        """Ends what is under way."""
        for task in self._tasks:
            task.cancel()
        self._watch.close()

    def _folder_of(self, place: Place) -> Path:
        return self._folder / f"{self.hosts.index(place.host)}-{place.number}"

    def _have_any(self) -> None:
        if not self._places.hosts:
            text = f"no host of {self.name} is left: everything is compiled on this machine"
            self.complaints.append(text)
            self._say(text)

    def _check(self, host: Host, compiler: Compiler) -> None:
        number = len(self._tasks)
        task = asyncio.get_running_loop().create_task(self._fits(host, compiler, number))
        self._tasks.add(task)

    async def _fits(self, host: Host, compiler: Compiler, number: int) -> None:
        fault = await self._canaries.fault(host, compiler, number)
        self._places.checked(host, compiler, fits=not fault)
        if fault:
            text = f"nothing that {compiler} compiles is sent to {host.name}: {fault}"
            self._tell(host, fault, text)
        else:
            self._wake()
