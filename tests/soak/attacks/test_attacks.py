"""The cases are sound, and the harness finds a difference where there is one."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.soak import ledger
from tests.soak.attacks.case import Case, script
from tests.soak.attacks.harness import Attack
from tests.soak.attacks.section import Attacks
from tests.soak.attacks.subjects import CASES, chosen
from tests.soak.attacks.tree import CLEARLY, Look, differences
from tests.soak.command import main
from tests.soak.loop import Loop
from tests.soak.section import ROOT
from tests.support.findings import DifferenceError

#: It does under smpmake what it does not plainly.
PLANTED = script(
    "planted",
    """
    gcc -c a.c -o a.o
    [ -n "$_SMPMAKE_SOCKET" ] || exit 3
    echo more
    echo odd >&2
    echo x > more
    chmod 600 a.c
    ln a.c b.c
    """,
    files={"a.c": "int a;\n"},
    busy="",
)


def attacked(case: Case) -> str:
    """What an attack finds; it keeps its folder then."""
    with pytest.raises(DifferenceError) as caught:
        Attack(case).run()
    said = str(caught.value)
    kept = Path(said.rpartition("kept: ")[2])
    assert kept.is_dir()
    shutil.rmtree(kept)
    return said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hidden-by-a-moved-folder", "undo-links"])
def test_nothing_is_found_where_nothing_is_wrong(name: str) -> None:
    attack = Attack(*chosen([name]))
    attack.run()
    assert not attack.root.exists()


@pytest.mark.slow
def test_what_smpmake_makes_otherwise_is_found() -> None:
    said = attacked(PLANTED)
    assert "status 0, should be 3" in said
    assert "more: -rw-r--r--" in said and "should be None" in said
    assert re.search(r"a\.c: -rw------- .* = a\.c, should be -rw-r--r--", said)
    assert "stdout: missing [], too many ['more']" in said
    assert "stderr: missing [], too many ['odd']" in said


@pytest.mark.slow
def test_what_is_admitted_is_no_difference() -> None:
    differs = ("output", "status", "^more$", r"^[ab]\.c$")
    Attack(replace(PLANTED, admitted="Some heading", differs=differs)).run()


def look(*ages: int, status: int = 0, said: str = "") -> Look:
    """Files a, b, ... that are so old."""
    times = {chr(ord("a") + at): 10**18 - age for at, age in enumerate(ages)}
    return Look(status, dict.fromkeys(times, ""), times, said, "")


def test_the_order_of_times_counts_where_it_is_clear() -> None:
    plain, unclear, ours = look(9 * CLEARLY, 0), look(CLEARLY // 2, 0), look(0, 1_000_000)
    found = differences(plain, plain, ours)
    assert found == ["a is 1 ms newer than b"]
    assert differences(plain, unclear, ours) == []
    assert differences(plain, plain, plain) == []
    assert differences(plain, plain, ours, ignored=["^b$"]) == []


def test_what_two_plain_builds_do_not_agree_on_is_no_difference() -> None:
    one, two = look(0, status=1, said="1\n"), look(status=2, said="2\n")
    assert differences(one, two, look(0, 0, status=3, said="3\n")) == ["b: , should be None"]


def test_lines_may_come_in_another_order_and_twice_after_a_failure() -> None:
    plain = look(said="x\ny\n")
    assert differences(plain, plain, look(said="y\nx\n")) == []
    assert differences(plain, plain, look(said="y\nx\nx\n")) != []
    failed = look(said="x\nx.c: error: y\n")
    assert differences(failed, failed, look(said="x\nx\nx.c: error: y\n")) == []


def test_every_case_has_a_name_of_its_own() -> None:
    names = Counter(case.name for case in CASES)
    assert [name for name, count in names.items() if count > 1] == []
    assert all(re.fullmatch(r"[a-z0-9]+(-[A-Za-z0-9]+)*", name) for name in names)


def test_what_is_admitted_stands_in_the_limits() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    headings = re.findall(r"(?m)^## (.*)$", page)
    for case in CASES:
        assert bool(case.admitted) == bool(case.differs), case.name
        assert not case.admitted or case.admitted in headings, (case.name, case.admitted)


class Counted(Attacks):
    """Runs nothing."""

    def _run(self, seed: int) -> None:
        if self._case(seed) is CASES[3]:
            raise DifferenceError("planted")


def test_all_cases_are_tried_once_and_a_finding_says_how_to_repeat_it() -> None:
    said: list[str] = []
    loop = Loop([Counted(CASES)], ledger.Ledger(), None, say=said.append)
    loop.run()
    tally = loop.tallies["attacks"]
    assert (tally.tries, tally.differences, tally.losses) == (len(CASES), 1, 0)
    assert f"--tries 1 --case {CASES[3].name} attacks" in said[0]


def test_parts_of_ten_days_are_all_cases() -> None:
    """As .ci/run asks for them."""
    part = int(re.findall(r"--tries (\d+) attacks", (ROOT / ".ci" / "run").read_text())[0])
    assert part * 10 >= len(CASES) > (part - 1) * 10


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--case", "none", "attacks"], "no such case: none"),
        (["--case", "undo-links", "kills"], "--case is for attacks"),
    ],
)
def test_what_cannot_be_asked(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert why in capsys.readouterr().err
