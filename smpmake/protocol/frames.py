"""Frames on a socket: a stream of bytes cut into pieces, each with a kind.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from smpmake.protocol import layout
from smpmake.protocol.layout import WIRE_MAGIC, WIRE_MAX_PAYLOAD, WIRE_VERSION

HEADER: Final = layout.WIRE_HEADER_LAYOUT


class WireError(ValueError):
    """Bytes that are not a frame of ours, or a frame whose lengths do not add up."""


def frame(kind: int, *parts: bytes) -> bytes:
    """One whole frame."""
    return b"".join((HEADER.pack(WIRE_MAGIC, WIRE_VERSION, kind, sum(map(len, parts))), *parts))


class Splitter:
    """Cuts a stream into frames: feed it what arrived, get the frames that are complete."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = b""

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not complete yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Frames as (kind, payload).  Raises WireError at the first byte that is not ours."""
        buffer = self._buffer + data if self._buffer else data
        frames = []
        at = 0
        while len(buffer) - at >= HEADER.size:
            magic, version, kind, length = HEADER.unpack_from(buffer, at)
            if magic != WIRE_MAGIC:
                raise WireError("not a frame of smpmake")
            if version != WIRE_VERSION:
                raise WireError(f"wire version {version}, this is {WIRE_VERSION}")
            if length > WIRE_MAX_PAYLOAD:
                raise WireError(f"a payload of {length} bytes, the limit is {WIRE_MAX_PAYLOAD}")
            end = at + HEADER.size + length
            if end > len(buffer):
                break
            frames.append((kind, buffer[at + HEADER.size : end]))
            at = end
        self._buffer = buffer[at:]
        return frames


def blobs(payload: bytes, start: int, *lengths: int) -> list[bytes]:
    """The blobs that fill a payload from `start` on.  Raises WireError when they do not."""
    found = []
    for length in lengths:
        end = start + length
        found.append(payload[start:end])
        start = end
    if start != len(payload):
        raise WireError("the lengths in a frame do not add up")
    return found


def strings(blob: bytes) -> list[bytes]:
    """The NUL-ended strings of a blob."""
    if not blob:
        return []
    if blob[-1] != 0:
        raise WireError("a list of strings does not end in NUL")
    return blob[:-1].split(b"\0")


def join_strings(words: Iterable[bytes]) -> bytes:
    """The inverse of `strings`."""
    return b"".join(word + b"\0" for word in words)


def encode_json(kind: int, message: dict[str, Any]) -> bytes:
    """A request or a reply."""
    import json  # few builds have any

    return frame(kind, json.dumps(message, separators=(",", ":")).encode())


def decode_json(payload: bytes) -> dict[str, Any]:
    """Raises WireError for anything but a JSON object."""
    import json

    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise WireError("a request is not an object")
    return message
