"""Which results may stay when a build stops."""

from __future__ import annotations

import pytest

from smpmake.undo.entries import ENDED, ISSUED, MOVE, NEW, Change
from smpmake.undo.staying import staying

UNFINISHED = [Change(0, ISSUED, 0, "", "")]
COMPILE = [
    Change(10, ISSUED, 1, "", ""),
    Change(11, NEW, 1, "/x.o", ""),
    Change(12, NEW, 1, "/x.Tpo", ""),
    Change(13, ENDED, 1, "", ""),
]
RENAME = [
    Change(20, ISSUED, 2, "", ""),
    Change(21, MOVE, 2, "/x.Tpo", "/x.Po"),
    Change(22, ENDED, 2, "", ""),
]


@pytest.mark.parametrize(
    ("changes", "read", "stays"),
    [
        (COMPILE, {1: ("/x.c",)}, [1]),
        (COMPILE + RENAME, {1: ("/x.c",), 2: ("/x.Tpo",)}, [1, 2]),
        # What cannot stay takes with it what it has renamed: half a recipe is never done again.
        (COMPILE + RENAME, {1: ("/x.c",)}, []),
        (COMPILE + RENAME[:2], {1: ("/x.c",), 2: ("/x.Tpo",)}, []),
        ([*COMPILE, Change(20, MOVE, -1, "/x.Tpo", "/x.Po")], {1: ("/x.c",)}, []),
        (COMPILE, {1: ("/gen.h",)}, [1]),
        ([Change(5, NEW, -1, "/gen.h", ""), *COMPILE], {1: ("/gen.h",)}, []),
    ],
)
def test_a_result_goes_with_its_recipe(
    changes: list[Change], read: dict[int, tuple[str, ...]], stays: list[int]
) -> None:
    assert staying(UNFINISHED + changes, read) == stays
