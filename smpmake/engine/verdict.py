"""How one command is run, and who waits for its end."""

from __future__ import annotations

from typing import NamedTuple

from smpmake.commands.model import Reason
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


def judge(
    decision: Decision,
    caller: bytes = b"",
    failure_key: str = "",
    *,
    writes_more: bool = False,
    is_first: bool = False,
) -> Verdict:
    """How a command is run: in the background, with its shim waiting, or in place.

    decision     what the policy says of its words, and of what stands around it.
    failure_key  see Verdict; "" also where its shim could not tell.
    writes_more  it was seen to write more than its words say.
    is_first     it is a script's first command, and may write anything.
    """
    if not decision.deferred:
        return Verdict(decision, caller)
    if writes_more:
        return Verdict(decision._replace(reason=Reason.WRITES_MORE), caller)
    if failure_key:
        return Verdict(
            decision._replace(reason=Reason.STATUS_MATTERS), caller, failure_key, is_first
        )
    if is_first:
        return Verdict(decision._replace(reason=Reason.FIRST_OF_SCRIPT), caller, "", is_first)
    return Verdict(decision, caller)
