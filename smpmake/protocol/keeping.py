"""What the keeper says of the driver, and what it and workers are ordered to do.  Pure.

A build waits for this module; what shims and guards say is `wire`'s.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from smpmake.protocol.frames import WireError, frame

SIGNAL: Final = 5
DRIVER: Final = 6
BYE: Final = 7

DRIVER_STARTED: Final = 1
DRIVER_ENDED: Final = 2
DRIVER_FAILED: Final = 3
DRIVER_ALONE: Final = 4

_SIGNAL: Final = struct.Struct("<i")
_DRIVER: Final = struct.Struct("<IiQQQ")


class DriverEvent(NamedTuple):
    """What became of the driver: started (status = pid), ended (wait status), failed (errno)."""

    event: int
    status: int
    user_us: int
    system_us: int
    max_rss_kib: int


def encode_signal(number: int) -> bytes:
    """An order to a worker or the keeper to signal its child."""
    return frame(SIGNAL, _SIGNAL.pack(number))


def encode_bye() -> bytes:
    """Tells the keeper that the session ended as it should."""
    return frame(BYE)


def decode_driver(payload: bytes) -> DriverEvent:
    """Raises WireError when it is not one."""
    if len(payload) != _DRIVER.size:
        raise WireError("a driver event of the wrong size")
    return DriverEvent(*_DRIVER.unpack(payload))


def driver_events(said: Iterable[tuple[int, bytes]]) -> list[DriverEvent]:
    """What frames of a keeper's say.  Raises WireError."""
    return [decode_driver(payload) for kind, payload in said if kind == DRIVER]
