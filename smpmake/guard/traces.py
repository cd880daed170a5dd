"""What jobs were seen to read and write: each slot has a file in which guards note it.

The layout is that of native/layout/trace.h: two counts, the times when the job was about to
be started and when it was issued, whether it is watched, for how many microseconds its processes
waited for a CPU, whether it asks about its own outputs, how litter's paths begin, by what its
outputs and its inputs are known, then notes of a letter and an absolute path, NUL-ended.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any, Final, NamedTuple

from smpmake.disk.shared import NoRoomError, shared_map
from smpmake.protocol import layout
from smpmake.protocol.layout import structure
from smpmake.schedule.job import Operands
from smpmake.schedule.names import is_product

_BEGIN: Final = structure(layout.TRACE_CODES, before="inputs")
_HEAD: Final = layout.TRACE_AT["text"]
_GIVEN, _MISSED, _DOUBTED = map(list(layout.TRACE_CODES).index, ("given_us", "missed", "doubted"))
_WAITED: Final = list(layout.TRACE_CODES).index("waited_us")
MOST_INPUTS: Final = layout.TRACE_INPUTS // 2
_FOREIGN: Final = (
    "/usr/",
    "/lib",
    "/etc/",
    "/proc/",
    "/dev/",
    "/sys/",
)  # not noted: change/notes.c


class Trace(NamedTuple):
    """What a job did.  Paths are as it spelled them, made absolute.

    whole      nothing is missing: no note was lost, and no part of it ran without a guard.
    waited_us  how long its processes had to wait for a CPU.
    programs   the files of those of its programs that had a guard.
    missed     why it had no remembered result, in words; "" if it had, or nobody looked.
    given_us   the CPU time that its remembered results took when they were made; 0 for none.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    whole: bool
    waited_us: int = 0
    programs: tuple[str, ...] = ()
    given_us: int = 0
    missed: str = ""


class Traces:
    """The files, one a slot, in the session's folder.  `fault` says why there was none.

    litter  how the paths begin of files that are no part of the build, "" for none.
    """

    fault = ""

    def __init__(self, folder: Path, litter: str = "") -> None:
        self._folder = folder
        self._litter = os.fsencode(litter)
        assert len(self._litter) < layout.TRACE_LITTER, litter
        self._maps: dict[int, mmap.mmap] = {}
        self._names: dict[bytes, str] = {}

    def begin_trace(
        self,
        slot: int,
        issued_ns: int,
        *,
        watched: bool = False,
        own: Sequence[int] = (),
        inputs: Sequence[int] = (),
        older_ns: int | None = None,
        asks_own: bool = True,
    ) -> bytes:
        """Empties a slot's file; returns its path, b"" where there is no room for one.

        issued_ns  when its command was issued.
        older_ns   when the newest of those was issued that were before it, and may still read what
                   they have not named; 0 for none; if not known, as late as itself.
        watched    what was made later it is not to find unasked.
        own        its outputs (scoreboard.output_check),
        asks_own   and whether it asks before it makes or changes them.
        inputs     what it finds there however young that is; at most MOST_INPUTS are told.
        """
        path = self._folder / f"trace-{slot}"
        known = self._maps.get(slot)
        if known is None:
            try:
                known = self._maps[slot] = shared_map(path, layout.TRACE_SIZE)
            except NoRoomError as error:
                self.fault = self.fault or f"some jobs' reads and writes are not noted: {error}"
                return b""
        end, _ = _extent(known)
        known[_HEAD:end] = bytes(end - _HEAD)  # a killed process fills no more than it has come to
        places = (*own[: layout.TRACE_OWN], *(0 for _ in range(layout.TRACE_OWN - len(own))))
        table = _table(inputs[:MOST_INPUTS])
        flags = (watched, 0, asks_own, len(table), layout.TRACE_SIZE - _HEAD, 0, 0, 0)
        times = (time.time_ns(), issued_ns, issued_ns if older_ns is None else older_ns)
        known[: _BEGIN.size] = _BEGIN.pack(0, 0, *times, *flags, self._litter, 0, 0, b"", *places)
        end = _BEGIN.size + 8 * len(table)
        known[_BEGIN.size : end] = struct.pack(f"<{len(table)}Q", *table)
        return os.fsencode(path)

    def end_trace(self, slot: int) -> Trace:
        """What was noted since `begin`; the job may still be at work."""
        known = self._maps.get(slot)
        if known is None:
            return Trace((), (), whole=False)
        end, lost = _extent(known)
        notes = dict.fromkeys(known[_HEAD:end].split(b"\0"))
        names = self._names
        found: dict[bytes, list[str]] = {b"r": [], b"w": [], b"u": [], b"p": []}
        for note in notes:
            if note[:1] in found:
                path = names.get(note[1:])
                if path is None:
                    path = names[note[1:]] = os.path.normpath(os.fsdecode(note[1:]))
                found[note[:1]].append(path)
        whole = not lost and not found[b"u"]
        fields = _BEGIN.unpack_from(known)
        reads, writes, programs = (tuple(found[letter]) for letter in (b"r", b"w", b"p"))
        return Trace(
            reads, writes, whole, fields[_WAITED], programs, fields[_GIVEN], _missed(fields)
        )

    def has_opened(self, slot: int, path: str) -> bool:
        """Whether a job that runs may have a file of that name open, in whatever folder."""
        known = self._maps.get(slot)
        if known is None:
            return True
        end, lost = _extent(known)
        name = os.fsencode(path[path.rfind("/") :]) + b"\0"
        return bool(lost) or path.startswith(_FOREIGN) or known.find(name, _HEAD, end) >= 0

    def drop_names(self) -> None:
        """Drops the names that all notes share: the builds that had them are over."""
        self._names.clear()

    def close(self) -> None:
        """Unmaps the files; they go with the session's folder."""
        for known in self._maps.values():
            known.close()


def _missed(fields: tuple[Any, ...]) -> str:
    why = layout.MEMO_WHY_SENTENCES.get(fields[_MISSED], "")
    doubted = os.fsdecode(fields[_DOUBTED].partition(b"\0")[0])
    return f"{why} ({doubted})" if why and doubted else why


def _extent(known: mmap.mmap) -> tuple[int, int]:
    """Where the notes end, and how many were lost."""
    used, lost, *_ = _BEGIN.unpack_from(known)
    return _HEAD + min(used, layout.TRACE_SIZE - _HEAD), lost


def _table(checks: Sequence[int]) -> list[int]:
    """Numbers where their lowest bits say, or behind; half of the places are free."""
    if not checks:
        return []
    size = 1 << (2 * len(checks) - 1).bit_length()
    table = [0] * size
    for check in checks:
        at = check & (size - 1)
        while table[at]:
            at = (at + 1) & (size - 1)
        table[at] = check
    return table


def surprises(trace: Trace, operands: Operands, made: Set[str]) -> tuple[str, ...]:
    """What a job did that its declaration did not say.

    It wrote what it did not declare and what is there now (temporary files are not), or read a
    product that an earlier job of the same build made.  Paths by another name are not recognised.
    """
    found = []
    known = {*operands.writes, *operands.reads}
    for path in trace.writes:
        if path not in known and os.path.lexists(path):
            found.append(f"wrote {path}")
    for path in trace.reads:
        if path in made and path not in known and is_product(path):
            found.append(f"read {path}")
    return tuple(found)
