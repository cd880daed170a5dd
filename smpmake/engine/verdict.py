"""How one command is run, and who waits for its end."""

from __future__ import annotations

from typing import NamedTuple

from smpmake.decide.policy import Decision


class Verdict(NamedTuple):
    """What engine/intake has decided about a command, once for all.

    decision            whether it is a job, and if not why.
    caller              the command line of its caller: b"" for a make, or where nobody asks.
    failure_key         by what its failure is known, if its driver is told how it went; else "".
    is_first_of_script  its shim waits because it is the first of a tool that may write anything.
    """

    decision: Decision
    caller: bytes = b""
    failure_key: str = ""
    is_first_of_script: bool = False

    @property
    def is_awaited(self) -> bool:
        """Whether its shim waits until it has ended."""
        return bool(self.failure_key) or self.is_first_of_script
