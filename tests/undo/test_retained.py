"""Which results may stay when a build stops."""

from __future__ import annotations

import pytest

from smpmake.protocol.layout import UNDO_ENDED, UNDO_ISSUED, UNDO_MOVE, UNDO_NEW
from smpmake.undo.entries import Change
from smpmake.undo.retained import retained_changes

UNFINISHED = [Change(0, UNDO_ISSUED, 0, "", "")]
COMPILE = [
    Change(10, UNDO_ISSUED, 1, "", ""),
    Change(11, UNDO_NEW, 1, "/x.o", ""),
    Change(12, UNDO_NEW, 1, "/x.Tpo", ""),
    Change(13, UNDO_ENDED, 1, "", ""),
]
RENAME = [
    Change(20, UNDO_ISSUED, 2, "", ""),
    Change(21, UNDO_MOVE, 2, "/x.Tpo", "/x.Po"),
    Change(22, UNDO_ENDED, 2, "", ""),
]


@pytest.mark.parametrize(
    ("changes", "read", "stays"),
    [
        (COMPILE, {1: ("/x.c",)}, [1]),
        (COMPILE + RENAME, {1: ("/x.c",), 2: ("/x.Tpo",)}, [1, 2]),
        # What cannot stay takes with it what it has renamed: half a recipe is never done again.
        (COMPILE + RENAME, {1: ("/x.c",)}, []),
        (COMPILE + RENAME[:2], {1: ("/x.c",), 2: ("/x.Tpo",)}, []),
        ([*COMPILE, Change(20, UNDO_MOVE, -1, "/x.Tpo", "/x.Po")], {1: ("/x.c",)}, []),
        (COMPILE, {1: ("/gen.h",)}, [1]),
        ([Change(5, UNDO_NEW, -1, "/gen.h", ""), *COMPILE], {1: ("/gen.h",)}, []),
    ],
)
def test_a_result_goes_with_its_recipe(
    changes: list[Change], read: dict[int, tuple[str, ...]], stays: list[int]
) -> None:
    assert retained_changes(UNFINISHED + changes, read) == stays
