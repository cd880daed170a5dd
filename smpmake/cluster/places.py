"""Which host has room for one more compile.  Pure: no clock, no process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from smpmake.cluster.farm import Host
from smpmake.engine.elsewhere import HostState

_C = TypeVar("_C", bound=Hashable)  # what tells compilers apart
_MOST_FAILURES: Final = 3  # of one host, before it is left out


class Place(NamedTuple):
    """Room for one compile: the `number`th of a host."""

    host: Host
    number: int


@dataclass(slots=True)
class _Room:
    slots: int
    free: list[int]
    extra: set[int] = field(default_factory=set)  # taken, and not to be taken again
    failures: int = 0
    fits: dict[Hashable, bool | None] = field(default_factory=dict)  # None: is being found out


class Places(Generic[_C]):
    """All of them.

    most   how many are used at once, whatever the hosts would take.
    check  is called once for each host and compiler, before that has its first compile there:
           `checked` is to follow.
    """

    def __init__(self, hosts: Iterable[Host], most: int, check: Callable[[Host, _C], None]) -> None:
        self._rooms = {host: _Room(host.slots, list(range(host.slots))) for host in hosts}
        self._most = most
        self._check = check
        self.taken = 0

    @property
    def total(self) -> int:
        """How many there are now."""
        return min(self._most, sum(room.slots for room in self._rooms.values()))

    @property
    def has_room(self) -> bool:
        """Whether there is any place, for whichever compiler."""
        return self.taken < self.total

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Those that are not left out."""
        return tuple(self._rooms)

    def state(self) -> list[HostState]:
        """All hosts that are not left out."""
        return [
            HostState(
                host.name,
                room.slots,
                room.slots - len(room.free) + len(room.extra),
                *(
                    tuple(sorted({str(name) for name, fits in room.fits.items() if fits is wanted}))
                    for wanted in (True, False)
                ),
            )
            for host, room in self._rooms.items()
        ]

    def take(self, compiler: _C) -> Place | None:
        """Room where that compiler is known to be the same, at the host that has most; or None."""
        best: Host | None = None
        for host, room in list(self._rooms.items()):
            if compiler not in room.fits:
                room.fits[compiler] = None
                self._check(host, compiler)
            if not room.fits[compiler] or not room.free:
                continue
            if best is None or _share(room) > _share(self._rooms[best]):
                best = host
        if best is None or self.taken >= self._most:
            return None
        self.taken += 1
        return Place(best, self._rooms[best].free.pop(0))

    def waits(self, compiler: _C) -> bool:
        """Whether room for that compiler will come, as others end."""
        return any(room.fits.get(compiler) for room in self._rooms.values())

    def give(self, place: Place) -> None:
        """A compile has ended."""
        self.taken -= 1
        room = self._rooms.get(place.host)
        if room is None:
            return
        if place.number in room.extra:
            room.extra.remove(place.number)
        else:
            room.free.append(place.number)
            room.free.sort()

    def resize(self, host: Host, slots: int) -> None:
        """A host takes more, or fewer, from now on; those that it has it keeps."""
        room = self._rooms.get(host)
        if room is None:
            return
        taken = set(range(room.slots)) - set(room.free) | room.extra
        room.slots = slots
        room.free = [number for number in range(slots) if number not in taken]
        room.extra = {number for number in taken if number >= slots}

    def checked(self, host: Host, compiler: _C, *, fits: bool) -> None:
        """Whether a host's compiler makes what ours does."""
        if host in self._rooms:
            self._rooms[host].fits[compiler] = fits

    def failed(self, host: Host) -> bool:
        """A host did not do its work; whether that was once too often, and it is left out now."""
        room = self._rooms.get(host)
        if room is None:
            return False
        room.failures += 1
        if room.failures < _MOST_FAILURES:
            return False
        del self._rooms[host]
        return True


def _share(room: _Room) -> float:
    return len(room.free) / room.slots
