"""Figures and lines as a person reads them."""

from __future__ import annotations

import re

import pytest

from smpmake.reports.summary import indent
from smpmake.units import folded

HEADLINE = (
    "smpmake: other programs took 93% of the CPUs; 2.1 s for an estimated 0.6 to 0.7 s of serial"
    " work beside the same load: 0.26 to 0.32 x on 2 CPUs, slower than serially"
)
ROWS = [
    HEADLINE,
    "  slowest    0.2 s (18 ms of CPU) gcc c.o; 0.1 s (17 ms of CPU) gcc a.o; 1:03 min gcc wrap.o",
    "  extra CPUs 67% to 85% used = (speed-up - 1) / (2 - 1), serial time estimated",
    "  memory     117 MiB at most in one job (gcc " + "o" * 90 + ".o), 12 MiB more in use",
    "  CPU        0.1 s user + 0.0 s system, 13% of 2 CPUs",
]
UNIT = re.compile(r"\d%?$")


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("columns", [60, 72, 80, 100])
def test_a_long_line_is_folded_between_words(row: str, columns: int) -> None:
    lines = folded(row, columns, indent(row))
    assert " ".join([lines[0], *(line.strip() for line in lines[1:])]) == row
    for line in lines:
        assert len(line) <= columns or " " not in line.strip()
    for line in lines[:-1]:
        assert not UNIT.search(line), "its unit is in the next line"
    assert all(line.startswith(" " * indent(row)) for line in lines[1:])
    assert len(lines) == 1 or len(row) > columns


def test_what_fits_is_as_it_is() -> None:
    assert folded(HEADLINE, len(HEADLINE), 9) == [HEADLINE]
    assert len(folded(HEADLINE, len(HEADLINE) - 1, 9)) == 2
    assert folded("", 60, 9) == [""]
