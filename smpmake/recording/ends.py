"""What an engine is given from outside: ways back to shims and guards, workers, tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smpmake.protocol.working import Inherited, Result
from smpmake.recording import plain
from smpmake.recording.seams import Seams
from smpmake.recording.substitutes import same

if TYPE_CHECKING:
    from smpmake.capacity.tokens import Tokens
    from smpmake.engine.pool import Hire, OnLost, OnResult
    from smpmake.engine.replies import Reply
    from smpmake.schedule.job import Job


class Shim:
    """The way back to a shim (replies.Reply); `number` is that of the entry in which it came."""

    def __init__(self, seams: Seams, number: int, real: Reply | None) -> None:
        self._seams = seams
        self._number = number
        self._real = real

    def wait(self, withdraw: Callable[[], None]) -> None:
        """See Reply."""
        name = f"shim {self._number}"
        self._seams.left[name] = withdraw
        world, real = self._seams.world, self._real
        world.act("wait", name)
        if real is not None:
            gone = withdrawing(self._seams, name)
            world.outside(lambda: real.wait(gone), None)

    def leave(self, status: int, message: bytes = b"", out: bytes = b"") -> None:
        """See Reply."""
        self._answer("leave", status, plain.text_of(message), plain.text_of(out))
        real = self._real
        if real is not None:
            self._seams.world.outside(lambda: real.leave(status, message, out), None)

    def decline(self) -> None:
        """See Reply."""
        self._answer("decline")
        real = self._real
        if real is not None:
            self._seams.world.outside(real.decline, None)

    def become(self, job: Job, argv: bytes = b"", message: bytes = b"") -> None:
        """See Reply."""
        self._seams.jobs[job.number] = job
        self._answer("become", job.number, plain.text_of(argv), plain.text_of(message))
        real = self._real
        if real is not None:
            self._seams.world.outside(lambda: real.become(job, argv, message), None)

    def _answer(self, *words: Any) -> None:
        name = f"shim {self._number}"
        self._seams.left.pop(name, None)
        self._seams.shows(name)
        self._seams.world.act(words[0], name, *words[1:])


def withdrawing(seams: Seams, name: str) -> Callable[[], None]:
    """What is to be called when somebody goes away before the answer."""

    def gone() -> None:
        withdraw = seams.left.pop(name)
        seams.world.enter("withdraw", name, lambda entry: withdraw())

    return gone


def settling(seams: Seams, number: int, real: Callable[[bytes], None] | None) -> Any:
    """The way back to a guard; `number` is that of the entry in which it asked."""

    def settle(data: bytes) -> None:
        name = f"guard {number}"
        seams.left.pop(name, None)
        seams.shows(name)
        seams.world.act("settle", name, plain.text_of(data))
        if real is not None:
            seams.world.outside(lambda: real(data), None)

    return settle


class Shell:
    """Workers (engine.pool.Workers) that are recorded, or none at all.

    hire  makes the real ones.
    """

    def __init__(
        self, seams: Seams, on_result: OnResult, on_lost: OnLost, hire: Hire | None
    ) -> None:
        self._seams = seams
        self.on_result, self.on_lost = on_result, on_lost
        self._real: Any = hire(self._ended, self._worker_lost) if hire is not None else None
        self.keepers: set[int] = getattr(self._real, "keepers", set())

    @property
    def inherited(self) -> Inherited:
        """See Workers."""
        world, real = self._seams.world, self._real
        if world.current is None:
            return Inherited(*real.inherited)
        return world.ask(
            "inherited", "", lambda: Inherited(*real.inherited), list, lambda row: Inherited(*row)
        )

    def _ended(self, slot: int, result: Result) -> None:
        data = [slot, plain.of_result(result)]
        self._seams.world.enter("result", data, lambda entry: self.on_result(slot, result))

    def _worker_lost(self, slot: int) -> None:
        self._seams.world.enter("lost", slot, lambda entry: self.on_lost(slot))

    def start(self, slots: int) -> None:
        """See engine.pool.Pool."""
        self._seams.world.outside(lambda: self._real.start(slots), None)

    def send(self, slot: int, frame: bytes) -> None:
        """See Workers."""
        self._seams.shows(f"slot {slot}")
        self._seams.world.act("order", slot, plain.of_order(frame, self._seams.world.salt))
        self._seams.world.outside(lambda: self._real.send(slot, frame), None)

    def signal(self, slot: int, number: int) -> None:
        """See Workers."""
        self._seams.world.act("signal", slot, int(number))
        self._seams.world.outside(lambda: self._real.signal(slot, number), None)

    def end_strays(self, *, keep_keepers: bool = True) -> None:
        """See Workers."""
        self._seams.world.act("end strays", keep_keepers)
        real = self._real
        self._seams.world.outside(lambda: real.end_strays(keep_keepers=keep_keepers), None)

    def end_idle(self) -> None:
        """See Workers."""
        self._seams.world.outside(lambda: self._real.end_idle(), None)

    def close(self) -> list[str]:
        """See Workers."""
        found: list[str] = self._seams.world.outside(lambda: self._real.close(), [])
        return found


class Counted:
    """Tokens (capacity.tokens.Tokens) that are recorded."""

    def __init__(self, seams: Seams, real: Tokens | None) -> None:
        self._seams = seams
        self._real: Any = real

    @property
    def contended(self) -> bool:
        """See Tokens."""
        return bool(self._ask("contended", lambda: self._real.contended))

    def most_slots(self, wanted: int) -> int:
        """See Tokens."""
        return int(self._ask(f"most {wanted}", lambda: self._real.most_slots(wanted)))

    def settle_tokens(self, busy: int, wake: Callable[[], None] | None) -> None:
        """See Tokens."""
        world, woken = self._seams.world, wake
        if wake is not None:
            self._seams.left["tokens"] = wake
            woken = self._woken
        world.outside(lambda: self._real.settle_tokens(busy, woken), None)

    def _woken(self) -> None:
        self._seams.world.enter("tokens", "tokens", lambda entry: self._seams.left["tokens"]())

    def _ask(self, question: str, real: Callable[[], int]) -> int:
        world = self._seams.world
        if world.current is None:
            return real()
        return int(world.ask(question, "", real, same, same, anew=True))
