"""Of all that speaks against deferring a command the worst counts, in every family."""

from __future__ import annotations

import pytest

from smpmake.commands.model import Analysis, Kind, Reason, Refusals, Write
from tests.commands import test_meaning
from tests.commands.disk import meaning
from tests.commands.watcom import test_watcom

#: Lines that wait for their operands only.  (A question is answered whatever stands beside it, and
#: what stands behind a library's name are commands for it, not options.)
MILD = {
    line: files
    for table, files in (
        (test_meaning.REFUSED, test_meaning.FILES),
        (test_watcom.REFUSED, test_watcom.FILES),
    )
    for line, reason in table.items()
    if reason not in (None, Reason.QUERY) and not reason.barrier and not line.startswith("wlib ")
}


def refused(*reasons: Reason) -> Refusals:
    refusals = Refusals()
    for reason in reasons:
        refusals.refuse(reason, f"for {reason}")
    return refusals


@pytest.mark.parametrize(
    ("reasons", "worst"),
    [
        ((), None),
        ((Reason.QUERY,), Reason.QUERY),
        ((Reason.READS_STDIN, Reason.WRITES_STDOUT), Reason.READS_STDIN),
        ((Reason.READS_STDIN, Reason.UNKNOWN_OPTION), Reason.UNKNOWN_OPTION),
        ((Reason.MALFORMED, Reason.READS_STDIN), Reason.MALFORMED),
        ((Reason.QUERY, Reason.MALFORMED, Reason.UNKNOWN_OPTION), Reason.MALFORMED),
    ],
)
def test_a_barrier_outdoes_what_is_none_and_else_the_first_stays(
    reasons: tuple[Reason, ...], worst: Reason | None
) -> None:
    refusals = refused(*reasons)
    assert refusals.reason is worst
    assert refusals.detail == (f"for {worst}" if worst else "")


def test_an_analysis_can_be_refused_for_one_more_reason() -> None:
    found = Analysis(Kind.LINK, writes=(Write("a"),), split=lambda folder: ())
    mild = found.refused(Reason.READS_STDIN, "-")
    assert (mild.refusal, mild.detail, mild.writes) == (Reason.READS_STDIN, "-", found.writes)
    assert mild.split is None
    assert mild.refused(Reason.WRITES_STDOUT, "-o -") == mild
    worse = mild.refused(Reason.UNKNOWN_OPTION, "-x")
    assert (worse.refusal, worse.detail) == (Reason.UNKNOWN_OPTION, "-x")
    assert worse.refused(Reason.READS_STDIN, "-") == worse


def test_every_family_that_refuses_mildly_has_a_line() -> None:
    tools = "gcc as ar cp ld mv objcopy rm touch wcc386 wlink"
    assert {line.partition(" ")[0] for line in MILD} >= set(tools.split())


@pytest.mark.parametrize("line", MILD)
def test_an_option_that_nobody_knows_makes_any_command_a_barrier(line: str) -> None:
    found = meaning(line, MILD[line])
    assert found.refusal is not None and not found.refusal.barrier
    worse = meaning(f"{line} -~mystery", MILD[line])
    assert worse.refusal is not None and worse.refusal.barrier
