"""The scoreboard: in shared memory, what a guard must know before it need not ask.

Names only, the last components of paths, each as a hash: a guard that finds the name of what it is
about to touch here asks the server, which knows paths; one that does not goes on.  A guard also
finds folders (by device and inode) in which outputs are to appear, and older files that are to be
replaced.  The layout is native/layout/board.h's; a slot that a reader may be looking at is changed
by one store of 64 bits.
"""

# Annotations are no texts here: a NamedTuple would compile them, and the first takes 1 ms.
import os
import struct
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from smpmake.disk.shared import shared_map
from smpmake.guard.files import File
from smpmake.protocol import layout
from smpmake.protocol.layout import (
    BOARD_FOLDERS,
    BOARD_PROMISES,
    BOARD_SLOTS,
    BOARD_STANDING,
    OWNER_FOLDERS,
    OWNER_SEVERAL,
    ROLE_KEPT,
    ROLE_LISTED,
    ROLE_OTHERS,
    ROLE_OUTPUT,
    ROLE_STALE,
    structure,
)

#: The owner of ROLE_KEPT is this and a number: commands below that are concerned.
LIMITS: Final = 1 << 32

_FEWEST: Final = 4096  # 32 KiB
_AT: Final = layout.BOARD_AT
_HEADER: Final = structure(layout.BOARD_CODES, before="slots")
# Words of 64 bits, then of 32.
_PENDING, _UNDECLARED = _AT["pending"] // 8, _AT["undeclared_ns"] // 8
_FULL, _GENERATION, _TURNS = _AT["full"] // 4, _AT["generation"] // 4, _AT["turns"] // 4
_STALE, _UNKNOWN, _JOURNAL = _AT["stale"] // 4, _AT["unknown"] // 4, _AT["journal"] // 4
_LIBRARIES, _VERSIONS, _NAMES = _AT["libraries"] // 4, _AT["versions"] // 4, _AT["names"] // 4
_NEWEST, _ORDERED = _AT["newest_ns"] // 8, _AT["ordered"] // 8
_AT_WORK, _PLACES, _BLIND = _AT["at_work"] // 4, _AT["places"] // 4, _AT["blind"] // 4
#: Beside the scoreboard: who has a lock on it is a check that nobody has heard of (shim/shim.c).
CHECK: Final = "check"
_FIRST: Final = _AT["slots"] // 8
_USED: Final = 1 << 32  # a slot that was used: not the end of a chain
_FIRST_FOLDER_TIME: Final = _AT["folders"] // 8
_FIRST_PROMISE: Final = _AT["promises"] // 8
_FIRST_STANDING: Final = _AT["standing"]  # bytes
_FIRST_FOLDER: Final = OWNER_FOLDERS - 1
_KEY: Final = struct.Struct("<QQ")
_64_BITS: Final = (1 << 64) - 1

Claim = tuple[int, int]
"""A hash and a role."""


def name_hash(name: bytes) -> int:
    """The hash of a path's last component, in any case of letters."""
    return _hash(name.lower())


def path_hash(path: str) -> int:
    """The hash of a path's last component."""
    return name_hash(os.fsencode(path[path.rfind("/") + 1 :]))


def file_hash(device: int, inode: int) -> int:
    """The hash of a file or folder whose name does not matter."""
    return _hash(_KEY.pack(device, inode))


def output_hash(folder: File, name: bytes) -> int:
    """The hash of a file that need not be there: its folder, and what it is called in it."""
    return _hash(_KEY.pack(*folder) + name.lower())


def output_check(folder: File, name: bytes) -> int:
    """Another hash of the same, of 64 bits, the name as it is spelled."""
    count = -(-len(name) // 8)
    parts = struct.unpack(f"<{count}Q", name.ljust(8 * count, b"\0"))
    value = len(name)
    for part in (*folder, *parts):
        value = ((value ^ part) * 0x9E3779B97F4A7C15) & _64_BITS
        value ^= value >> 32
    return value


def _hash(data: bytes) -> int:
    value = zlib.crc32(data)
    return value if value > 1 else value + 2


def _shown(owner: int) -> int:
    """An owner as a slot has it."""
    if owner >= LIMITS:
        owner -= LIMITS
        return owner if owner < _FIRST_FOLDER else OWNER_SEVERAL
    return min(owner + 1, OWNER_SEVERAL)


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Promised(NamedTuple):
    """state: of wire.GUARD_...; mode: permissions; mtime_ns: the file's time."""

    state: int
    mode: int
    mtime_ns: int


class _Claimed:
    """What several commands claim: thousands may read one file, and each comes and goes."""

    __slots__ = ("_counts", "owners", "roles", "writers")

    def __init__(self, owner: int, roles: int) -> None:
        self.owners: dict[int, int] = {}
        self.roles = 0
        self.writers: dict[int, None] = {}
        self._counts = [0] * 8  # of owners, by the bit of a role
        self.add(owner, roles)

    def add(self, owner: int, roles: int) -> None:
        known = self.owners.get(owner, 0)
        self.owners[owner] = known | roles
        for bit in _bits(roles & ~known):
            self._counts[bit] += 1
        self.roles |= roles
        if roles & ROLE_OUTPUT:
            self.writers[owner] = None

    def remove(self, owner: int) -> None:
        self.writers.pop(owner, None)
        for bit in _bits(self.owners.pop(owner)):
            self._counts[bit] -= 1
            if not self._counts[bit]:
                self.roles &= ~(1 << bit)

    def shown(self) -> tuple[int, int]:
        """Roles and owner, as a slot has them."""
        if len(self.owners) == 1:
            return self.roles, _shown(next(iter(self.owners)))
        if len(self.writers) == 1:  # what it makes others may be going to read
            return self.roles | ROLE_OTHERS, _shown(next(iter(self.writers)))
        return self.roles, OWNER_SEVERAL


def _bits(roles: int) -> Iterable[int]:
    return [bit for bit in range(8) if roles >> bit & 1]


class Scoreboard:
    """The writer: a command's claims are put up when it enters, taken down when it leaves."""

    def __init__(self, path: Path) -> None:
        """Raises NoRoomError, OSError."""
        with open(path.with_name(CHECK), "wb", opener=_for_us_alone):
            pass
        self._map = shared_map(path, _FIRST_STANDING + BOARD_STANDING * _KEY.size)
        _HEADER.pack_into(self._map, 0, 0, layout.BOARD_MAGIC, layout.BOARD_VERSION, *([0] * 15))
        self._words = memoryview(self._map).cast("Q")
        self._times = memoryview(self._map).cast("q")
        self._halves = memoryview(self._map).cast("I")
        self._indices: dict[int, int] = {}
        # One owner and its roles in a number, as nearly always, or several.
        self._owners: dict[int, int | _Claimed] = {}
        self._used = 0
        self._places = self._halves[_PLACES] = _FEWEST
        self._stale = 0
        self.asks_all = False
        self._free = list(range(BOARD_FOLDERS))

    def set_initial_dirs(self, folders: Iterable[File]) -> None:
        """Folders that were there before anything is pending: what is issued to come into one that
        is not there yet cannot be meant by names in these.  More than there is room for are left
        out."""
        for number, folder in enumerate(islice(folders, BOARD_STANDING)):
            _KEY.pack_into(self._map, _FIRST_STANDING + number * _KEY.size, *folder)

    def show_counts(self, pending: int, undeclared_ns: int = 0, blind: int = 0) -> None:
        """How many commands are pending, and the newest issue of one that may read anything.

        blind  how many of these nobody is sure to hear.
        """
        self._times[_UNDECLARED] = undeclared_ns
        self._halves[_BLIND] = blind
        self._words[_PENDING] = pending
        if pending == 0 and (self._used > self._places // 4 or self._halves[_FULL]):
            self._rebuild()

    def set_busy_slots(self, count: int) -> None:
        """How many commands hold a slot, slots that are lent among them."""
        self._halves[_AT_WORK] = count

    def set_query_all(self, *, on: bool) -> None:
        """Whether guards ask about whatever they meet, as where the board is full."""
        self.asks_all = on
        self._rebuild()

    def keep_journal(self) -> None:
        """From now on guards write what they change into the undo journal (smpmake.undo)."""
        self._halves[_JOURNAL] = 1

    def show_newest(self, dated_ns: int) -> None:
        """The time of the newest result that was promised: what is made next is to be younger."""
        self._times[_NEWEST] = dated_ns

    def count_ordered(self, count: int) -> None:
        """In how many folders that list their names by age results are pending."""
        self._words[_ORDERED] = count

    def unknown_folders(self, count: int) -> None:
        """How many pending outputs will appear in folders that do not exist yet."""
        self._halves[_UNKNOWN] = count

    def names_alone(self, *, tell: bool) -> None:
        """Whether folders of pending outputs may be others now than those that were there."""
        self._halves[_NAMES] = tell

    def count_versions(self, count: int) -> None:
        """How many names there are of files that were changed, or made, under commands."""
        self._halves[_VERSIONS] = count

    def count_libraries(self, count: int) -> None:
        """How many names of shared libraries are pending."""
        self._halves[_LIBRARIES] = count

    def folder_entered(self, key: int) -> int:
        """A folder will have other entries; returns its number (BOARD_FOLDERS: none is left)."""
        number = self._free.pop() if self._free else BOARD_FOLDERS
        if number < BOARD_FOLDERS:
            self._times[_FIRST_FOLDER_TIME + number] = 0
        self.publish_claims(_FIRST_FOLDER + number, [(key, ROLE_LISTED)])
        return number

    def folder_changes(self, number: int, issued_ns: int) -> None:
        """The newest issue of what will change the folder's entries, 0 for nothing."""
        if number < BOARD_FOLDERS:
            self._times[_FIRST_FOLDER_TIME + number] = issued_ns

    def folder_left(self, key: int, number: int) -> None:
        """Nothing is pending in the folder any more."""
        self.retract_claims(_FIRST_FOLDER + number, [(key, ROLE_LISTED)])
        if number < BOARD_FOLDERS:
            self._free.append(number)

    def publish_claims(self, owner: int, claims: Iterable[Claim]) -> None:
        """Claims of the command `owner`."""
        turns = 0
        for value, role in claims:
            known = self._owners.get(value)
            if known is None:
                self._owners[value] = owner << 8 | role
            elif isinstance(known, _Claimed):
                known.add(owner, role)
            elif known >> 8 == owner:
                self._owners[value] = known | role
            else:
                several = self._owners[value] = _Claimed(known >> 8, known & 0xFF)
                several.add(owner, role)
            self._stale += role == ROLE_STALE
            turns |= role
            self._store(value)
        self._halves[_STALE] = self._stale
        if turns & (ROLE_STALE | ROLE_KEPT):
            self._turn()

    def show_promise(self, owner: int, value: int, check: int, what: Promised | None) -> None:
        """What a make may be told of an output, by its hashes; None: it has to ask.

        Before its claim is put up, so that nobody finds an older one.
        """
        at = _FIRST_PROMISE + 3 * (value % BOARD_PROMISES)
        self._words[at] = 0
        if what is None:
            return
        self._words[at + 1] = check
        self._times[at + 2] = what.mtime_ns
        self._words[at] = (owner + 1) << 24 | what.state << 16 | what.mode

    def retract_claims(self, owner: int, claims: Iterable[Claim]) -> None:
        """The inverse, at the command's end."""
        for value, role in claims:
            if role & (ROLE_STALE | ROLE_KEPT):
                self._turn()  # first: who does not find it any more sees that it was there
            self._stale -= role == ROLE_STALE
            known = self._owners.get(value)
            if isinstance(known, _Claimed):
                if owner not in known.owners:
                    continue
                known.remove(owner)
                if known.owners:
                    self._store(value)
                    continue
            elif known is None or known >> 8 != owner:
                continue
            del self._owners[value]
            index = self._indices.pop(value, None)
            if index is not None:
                self._clear(index)
        self._halves[_STALE] = self._stale

    def _turn(self) -> None:
        self._halves[_TURNS] = (self._halves[_TURNS] + 1) & 0xFFFFFFFF

    def _store(self, value: int) -> None:
        known = self._owners[value]
        if isinstance(known, _Claimed):
            roles, owner = known.shown()
        else:
            roles, owner = known & 0xFF, _shown(known >> 8)
        index = self._indices.get(value)
        if index is None:
            index = self._find_index(value)
            if index is None:
                return
        self._words[index] = value << 32 | owner << 8 | roles

    def _find_index(self, value: int) -> int | None:
        if self._used >= self._places // 2:
            self._rebuild()
            if value in self._indices or self._halves[_FULL]:
                return self._indices.get(value)
        words = self._words
        at = value
        last = self._places - 1
        while words[index := _FIRST + (at & last)] not in (0, _USED):
            at += 1
        self._used += words[index] == 0
        self._indices[value] = index
        return index

    def _clear(self, index: int) -> None:
        """Frees a slot: for the next one, or as the end of a chain where it is the last in it."""
        words, last = self._words, self._places - 1
        words[index] = _USED
        behind = (index - _FIRST + 1) & last
        while words[_FIRST + behind] == 0 and words[index] == _USED:
            words[index] = 0
            self._used -= 1
            behind = index - _FIRST
            index = _FIRST + ((behind - 1) & last)

    def _rebuild(self) -> None:
        """Forgets slots that were used, and has as many as are needed.

        Who looks meanwhile sees it, and asks.  Few, since each process of a build that looks has
        the pages to fetch.
        """
        halves = self._halves
        halves[_FULL] = 1
        halves[_GENERATION] = (halves[_GENERATION] + 1) & 0xFFFFFFFF
        before = self._places
        self._places = min(BOARD_SLOTS, max(_FEWEST, 1 << (4 * len(self._owners)).bit_length()))
        halves[_PLACES] = self._places
        size = 8 * max(before, self._places)
        self._map[_HEADER.size : _HEADER.size + size] = bytes(size)
        self._indices.clear()
        self._used = 0
        if len(self._owners) < BOARD_SLOTS // 2:
            for value in self._owners:
                self._store(value)
            halves[_FULL] = self.asks_all
        halves[_GENERATION] = (halves[_GENERATION] + 1) & 0xFFFFFFFF

    def close(self) -> None:
        """Unmaps it; the file goes with the session's folder."""
        for view in (self._words, self._times, self._halves):
            view.release()
        self._map.close()
