"""What the shims of a build are told: who waits, who is refused, and who hears nothing for now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from smpmake.engine.promises import Promises
from smpmake.engine.undoing import Undoing
from smpmake.schedule.job import Job

_REFUSED: Final = 1 << 8  # status 1, as wait(2) gives it


class Reply(Protocol):
    """The way back to one shim.  Exactly one of `leave`, `decline` and `become` is called, once."""

    def wait(self, withdraw: Callable[[], None]) -> None:
        """The answer comes later; `withdraw` is called if the shim goes away before."""

    def leave(self, status: int, message: bytes = b"", out: bytes = b"") -> None:
        """The shim ends by `status`, as wait(2) gives it, having written `out` to its stdout and
        `message` to stderr."""

    def decline(self) -> None:
        """The shim becomes the real tool, which is no command."""

    def become(self, job: Job, argv: bytes = b"", message: bytes = b"") -> None:
        """The shim becomes the real tool; `Engine.lease_ended(job)` follows when that ends."""


class Replies:
    """Of one build.

    stopping  the signal that ended the build, 0 before.
    """

    def __init__(self, promises: Promises, undoing: Undoing) -> None:
        self.stopping = 0
        self._promises = promises
        self._undoing = undoing
        self._has_refused = False
        self._held: list[Callable[[], None]] | None = None

    def stop_build(self, number: int) -> None:
        """The driver is told by signal `number` that the build ends, and nothing else for now."""
        self.stopping = self.stopping or number
        self._held = self._held or []

    def send_held(self) -> None:
        """The driver has heard of the signal: whoever is still there gets an answer."""
        held, self._held = self._held, None
        for answer in held or ():
            answer()

    def answer_driver(self, give: Callable[[], None]) -> None:
        """Gives one of the driver's processes an answer as soon as it may have one."""
        if self._held is None:
            give()
        else:
            self._held.append(give)

    def refuse_shim(self, reply: Reply) -> None:
        """Tells a shim that smpmake runs nothing any more, so that the driver stops."""
        if self._undoing.squashed:  # its driver is being ended, and is not to print about it
            reply.wait(lambda: None)
            return
        if self.stopping:
            reply.wait(lambda: None)
            self.answer_driver(lambda: reply.leave(self.stopping))
            return
        message = b""
        if not self._has_refused:  # it is said once
            self._has_refused = True
            first = self._promises.first_failure
            what = first.record.brief if first is not None else "an earlier command"
            message = f"smpmake: not run, because this failed: {what}\n".encode()
        reply.leave(_REFUSED, message)

    def start_over(self) -> None:
        """The driver is run again."""
        self._has_refused = False
