"""What a program's file asks its loader to load with it.

Made for speed: builds start hundreds of programs that they have just linked, and a general reader
of such files takes milliseconds for each.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29
#: By the header's class: where the table of parts is said to be, a part, an entry.
_SHAPES: Final = {1: ("28xI10xHH", "III4xI", "iI"), 2: ("32xQ14xHH", "I4xQQ8xQ", "qQ")}
_ORDERS: Final = {1: "<", 2: ">"}
_MOST: Final = 1000  # entries
_LONGEST: Final = 1 << 16  # bytes of a list of folders


class Dynamic(NamedTuple):
    """Libraries by name, and folders where to look, as the file spells them (`$ORIGIN` stands)."""

    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()


class _Part(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def dynamic_of(path: str) -> Dynamic:
    """Of a program or library.  Raises OSError, and ValueError for what is none."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        try:
            return _read(content)
        except (struct.error, LookupError, OverflowError):
            raise ValueError(f"{path}: no program, or only part of one") from None


def _read(content: mmap.mmap) -> Dynamic:
    if content[:4] != b"\x7fELF":
        raise ValueError("no program")
    header, part, entry = (_ORDERS[content[5]] + shape for shape in _SHAPES[content[4]])
    start, size, count = struct.unpack_from(header, content)
    parts = [
        _Part(*struct.unpack_from(part, content, start + number * size)) for number in range(count)
    ]
    entries = [
        item
        for where in parts
        if where.kind == _DYNAMIC
        for item in _entries(content[where.offset : where.offset + where.size], entry)
    ]
    strings = next((_offset(parts, value) for tag, value in entries if tag == _STRINGS), 0)

    def text(tag: int) -> Iterator[str]:
        for kind, value in entries[:_MOST]:
            if kind == tag:
                name, _, _ = content[strings + value : strings + value + _LONGEST].partition(b"\0")
                yield os.fsdecode(name)

    lists = [*text(_RPATH), *text(_RUNPATH)]
    return Dynamic(tuple(text(_NEEDED)), tuple(":".join(lists).split(":") if lists else ()))


def _entries(table: bytes, shape: str) -> Iterator[tuple[int, int]]:
    size = struct.calcsize(shape)
    for tag, value in struct.iter_unpack(shape, table[: len(table) // size * size]):
        if tag == 0:
            return
        yield tag, value


def _offset(parts: list[_Part], address: int) -> int:
    """Where in the file lies what will be at an address.  Raises ValueError."""
    for part in parts:
        if part.kind == _LOAD and part.address <= address < part.address + part.size:
            return part.offset + address - part.address
    raise ValueError("no such address in the file")
