"""What engine/verdict makes of the policy's word and of what else is known of a command."""

from __future__ import annotations

import pytest

from smpmake.commands.model import Reason
from smpmake.decide.policy import Decision
from smpmake.engine.verdict import Verdict, judge

JOB = Decision(None)
PLACED = Decision(Reason.CAPTURED_OUTPUT, "pipe", barrier=True)


def of(reason: Reason) -> Decision:
    return Decision(reason)


@pytest.mark.parametrize(
    ("decision", "key", "more", "first", "found"),
    [
        (JOB, "", False, False, Verdict(JOB, b"sh")),
        (JOB, "k", False, False, Verdict(of(Reason.STATUS_MATTERS), b"sh", "k")),
        (JOB, "", False, True, Verdict(of(Reason.FIRST_OF_SCRIPT), b"sh", "", True)),
        (JOB, "k", False, True, Verdict(of(Reason.STATUS_MATTERS), b"sh", "k", True)),
        (JOB, "", True, True, Verdict(of(Reason.WRITES_MORE), b"sh")),
        (JOB, "k", True, True, Verdict(of(Reason.WRITES_MORE), b"sh")),
        (PLACED, "", False, False, Verdict(PLACED, b"sh")),
        (PLACED, "k", True, True, Verdict(PLACED, b"sh")),
    ],
)
def test_a_verdict(
    decision: Decision, key: str, *, more: bool, first: bool, found: Verdict
) -> None:
    verdict = judge(decision, b"sh", key, writes_more=more, is_first=first)
    assert verdict == found
    assert verdict.is_awaited == bool(found.failure_key or found.is_first_of_script)
    if verdict.is_awaited:
        assert not verdict.decision.deferred
