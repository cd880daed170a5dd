"""What the driver of one build was promised, where that was wrong, and whom smpmake makes wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from smpmake.decide.known_failures import KnownFailures, digest_of

if TYPE_CHECKING:
    from smpmake.protocol.wire import Invoke
    from smpmake.records import Failure
    from smpmake.schedule.job import Job


class Misprediction(NamedTuple):
    """A promise that was not kept.

    argv     the command's words.
    caller   see Verdict.caller.
    failure  how it failed.
    guessed  it did not fail, but did something else than its words say.
    """

    argv: bytes
    caller: bytes
    failure: Failure
    guessed: bool = False

    @property
    def told(self) -> str:
        """What went wrong, for people."""
        command = self.failure.record.brief
        if self.guessed:
            return f"did not do what its words say ({self.failure.why}): {command}"
        return f"failed after its success was promised: {command}"


class Promises:
    """Of one build.  One inside another waits for the same commands as that.

    failures        promises of success that were wrong.
    reported        other failures: the driver learned of them.
    broken          the first command whose promised success was wrong.
    lost            outputs of commands that have failed: who needs one is waited for.
    promised        what deferred commands were to write, so far.
    known_failures  the commands whose status is known to matter.
    """

    def __init__(self, outer: Promises | None) -> None:
        self.failures: list[Failure] = []
        self.reported: list[Failure] = []
        self.broken: Job | None = None
        self.lost: set[str] = set()
        self.promised: set[str] = set()
        self.known_failures: KnownFailures | None = (
            outer.known_failures if outer is not None else None
        )
        self._outer = outer
        self._wrong: dict[str, Misprediction] = {}  # by the commands' digests
        # Callers whose commands are all waited for, because a promise to one was wrong.
        self._awaited: set[bytes] = outer._awaited if outer is not None else set()
        # Failures whose very command is still to be told, or to succeed.
        self._owed: dict[str, Failure] = outer._owed if outer is not None else {}
        self._waits_for_all: bool = outer is not None and outer._waits_for_all
        self._news: set[str] = set()  # digests of failures that the driver does not know
        self._on_news: Callable[[], None] | None = None

    def remember(self, failures: KnownFailures) -> None:
        """Takes in what earlier builds have learned."""
        self.known_failures = failures

    # ------------------------------------------------------------------ what becomes of them

    def promise_outputs(self, outputs: Iterable[str], writes: Iterable[str]) -> None:
        """A deferred command is to make `outputs`; `writes` has their other names, too."""
        self.promised.update(outputs)
        if self.lost:
            self.lost.difference_update(writes)

    def lose_outputs(self, paths: Iterable[str]) -> None:
        """A command has failed, or will not run: nobody makes its outputs."""
        self.lost.update(paths)

    def note_success(self, digest: str) -> None:
        """A command whose status matters has succeeded."""
        if digest and self.known_failures is not None:
            self.known_failures.discard(digest)

    def note_reported(self, failure: Failure) -> None:
        """A command has failed, and its driver learns of it."""
        self.reported.append(failure)

    def note_wrong(
        self, invoke: Invoke, caller: bytes, failure: Failure, *, guessed: bool = False
    ) -> None:
        """What was promised of a command does not hold (see Misprediction)."""
        self.failures.append(failure)
        wrong = Misprediction(invoke.argv, caller, failure, guessed)
        self._wrong[digest_of(invoke.cwd, invoke.argv)] = wrong

    def stop_behind(self, job: Job) -> None:
        """Nothing behind a job goes on; behind the first of them, if there are several."""
        if self.broken is None or job.number < self.broken.number:
            self.broken = job

    def tell_outer(self) -> None:
        """What was wrong in a build inside another was wrong in that."""
        if self._outer is not None:
            told = self._outer.failures
            told += [failure for failure in self.failures if failure not in told]
            self._outer._wrong |= self._wrong

    @property
    def first_failure(self) -> Failure | None:
        """The wrong promise whose command was issued first."""
        return min(self.failures, key=lambda f: f.record.number, default=None)

    # ------------------------------------------------------------------ whom the driver waits for

    def awaited_digest(self, command: Invoke, caller: bytes) -> str:
        """The digest of a job whose driver is to be told how it went, "" of others."""
        if not self._is_any_awaited:
            return ""
        digest = digest_of(command.cwd, command.argv)
        known = self.known_failures is not None and digest in self.known_failures
        is_awaited = known or self._waits_for_all or caller in self._awaited
        return digest if is_awaited else ""

    def command_tells(self, command: Invoke) -> None:
        """A command that is no job tells its driver by itself how it went."""
        if self._is_any_awaited:
            self.tell_driver(digest_of(command.cwd, command.argv))

    @property
    def _is_any_awaited(self) -> bool:
        return bool(self.known_failures or self._waits_for_all or self._awaited or self._owed)

    def tell_driver(self, digest: str) -> None:
        """The driver is about to hear how a command went."""
        self._owed.pop(digest, None)
        whole = self._outer or self
        if digest in whole._news and whole._on_news is not None:
            whole._on_news()

    def on_news(self, action: Callable[[], None]) -> None:
        """`action` is called when the driver hears of a failure that it did not know."""
        self._on_news = action

    @property
    def owes_truth(self) -> bool:
        """Whether the driver has still to hear of a failure."""
        return bool(self._owed)

    def give_up_owed(self) -> None:
        """The driver has ended without having come to what it was to be told."""
        self.failures += self._owed.values()
        self._owed.clear()

    def start_over(self, *, whole: bool, again: bool) -> None:
        """The driver is run again, and waits for the truth of what failed.

        whole  see Build.start_over.
        again  it was run again before: its callers' commands were waited for, in vain.
        """
        wrong = self._wrong.values()
        if not whole:
            self._owed |= {d: each.failure for d, each in self._wrong.items() if not each.guessed}
        self._news = set(self._wrong)
        self.broken = None
        self.lost.clear()
        guessed = [each.failure for each in wrong if each.guessed]
        self.reported += [failure for failure in self.failures if failure not in guessed]
        self._waits_for_all |= again
        self._awaited.update(each.caller for each in wrong if each.caller)
        self.failures.clear()
        self._wrong.clear()

    # ------------------------------------------------------------------ what later builds know

    def learn_failures(self) -> list[str]:
        """Has this and later builds wait for what was promised wrongly; returns that, in words."""
        if self.known_failures is None:  # nothing was asked
            return []
        self.known_failures.learn({d: w.argv for d, w in self._wrong.items() if not w.guessed})
        self.known_failures.save()
        return [wrong.told for wrong in self._wrong.values()]

    def save_learned(self) -> None:
        """The build is over: what it has learned is written down."""
        if self.known_failures is not None:
            self.known_failures.save()
