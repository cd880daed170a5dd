"""What the keeper says of the driver, and what it and workers are ordered to do.  Pure.

A build waits for this module; what shims and guards say is `wire`'s.
"""

# Annotations are no texts here: a NamedTuple would compile them, and the first takes 1 ms.
from collections.abc import Iterable
from typing import Final, NamedTuple

from smpmake.protocol import layout
from smpmake.protocol.frames import WireError, frame

_SIGNAL: Final = layout.WIRE_SIGNAL_LAYOUT
_DRIVER: Final = layout.WIRE_DRIVER_LAYOUT


class DriverEvent(NamedTuple):
    """What became of the driver: started (status = pid), ended (wait status), failed (errno)."""

    event: int
    status: int
    user_us: int
    system_us: int
    max_rss_kib: int


def encode_signal(number: int) -> bytes:
    """An order to a worker or the keeper to signal its child."""
    return frame(layout.WIRE_SIGNAL, _SIGNAL.pack(number))


def encode_bye() -> bytes:
    """Tells the keeper that the session ended as it should."""
    return frame(layout.WIRE_BYE)


def decode_driver(payload: bytes) -> DriverEvent:
    """Raises WireError when it is not one."""
    if len(payload) != _DRIVER.size:
        raise WireError("a driver event of the wrong size")
    return DriverEvent(*_DRIVER.unpack(payload))


def driver_events(said: Iterable[tuple[int, bytes]]) -> list[DriverEvent]:
    """What frames of a keeper's say.  Raises WireError."""
    return [decode_driver(payload) for kind, payload in said if kind == layout.WIRE_DRIVER]
