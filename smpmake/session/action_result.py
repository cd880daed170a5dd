"""The message by which servers of remembered results know one: ActionResult of Bazel's Remote
Execution API, version 2.

Of its fields these have a meaning here:

    ActionResult  2 output_files (OutputFile, repeated), 4 exit_code
    OutputFile    1 path, 2 digest (Digest)
    Digest        1 hash (lower-case digits), 2 size_bytes

The first output file holds the entries of the question, the others are the contents that these
need: a server that drops results whose files have gone drops or keeps them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

#: Contents of one message; native/memo/remote.h has as many.
_MOST: Final = 1024
_HASH: Final = re.compile(rb"[0-9a-f]{64}")
_VARINT, _EIGHT_BYTES, _TEXT, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_NUMBER: Final = 10  # bytes


class Digest(NamedTuple):
    """Which bytes: their SHA-256 in digits, and how many they are."""

    hash: str
    size: int


class MessageError(ValueError):
    """Bytes are no such message, or it tells of a failure."""


def message(entries: Digest, contents: Sequence[Digest]) -> bytes:
    """The message of a question whose entries are these, and need those."""
    files = [(b"entries", entries), *((f"c/{each.hash}".encode(), each) for each in contents)]
    return b"".join(_text(2, _text(1, path) + _text(2, _digest(of))) for path, of in files)


def entries_of(data: bytes) -> Digest:
    """The inverse: where the question's entries are.  Raises MessageError."""
    files: list[bytes] = []
    for number, value in _fields(data):
        if number == 2 and isinstance(value, bytes):
            files.append(value)
        elif number == 4 and value != 0:
            raise MessageError("it tells of a failure")
    if not files or len(files) > _MOST + 1:
        raise MessageError("it has no files, or too many")
    digest = dict(_fields(files[0])).get(2)
    if not isinstance(digest, bytes):
        raise MessageError("a file has no digest")
    fields = dict(_fields(digest))
    hash_, size = fields.get(1), fields.get(2, 0)
    if not isinstance(hash_, bytes) or _HASH.fullmatch(hash_) is None or not isinstance(size, int):
        raise MessageError("a digest is none")
    return Digest(hash_.decode(), size)


def _digest(of: Digest) -> bytes:
    return _text(1, of.hash.encode()) + _number(2 << 3 | _VARINT) + _number(of.size)


def _text(field: int, value: bytes) -> bytes:
    return _number(field << 3 | _TEXT) + _number(len(value)) + value


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each; what is no number is the bytes that it has."""
    at = 0
    while at < len(data):
        tag, at = _number_at(data, at)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            number, at = _number_at(data, at)
            yield field, number
            continue
        if kind == _TEXT:
            size, at = _number_at(data, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise MessageError("a field is of an unknown kind")
        if field == 0 or size > len(data) - at:
            raise MessageError("a field is cut")
        yield field, data[at : at + size]
        at += size


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[at : at + _LONGEST_NUMBER]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise MessageError("a number is cut")
