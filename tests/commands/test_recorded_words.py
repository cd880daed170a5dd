"""What matters of a command line when a recorded command is run once more."""

from __future__ import annotations

import pytest

from smpmake.commands.recorded_words import (
    Removal,
    is_link,
    is_move,
    only_touches,
    removal,
    wants_none,
)


@pytest.mark.parametrize(("line", "whole"), [("rm a b", False), ("grm -rf a b", True)])
def test_what_is_removed(line: str, whole: bool) -> None:
    tool, *words = line.split()
    assert removal(tool, words) == Removal(("a", "b"), whole)


@pytest.mark.parametrize("line", ["mv a b", "gcc -c a.c", "unheard-of a b"])
def test_others_do_not_only_remove(line: str) -> None:
    tool, *words = line.split()
    assert removal(tool, words) is None


@pytest.mark.parametrize(
    ("line", "minds"),
    [
        ("ln a b", True),
        ("ln -s a b", True),
        ("gln -sf a b", False),
        ("ar q lib.a a.o", True),
        ("ar -qc lib.a a.o", True),
        ("arm-none-eabi-ar rc lib.a a.o", False),
        ("ar", False),
        ("wlib -q new +a.obj", False),
        ("gcc -o a a.c", False),
    ],
)
def test_who_minds_that_the_output_is_there(line: str, minds: bool) -> None:
    tool, *words = line.split()
    assert wants_none(tool, words) is minds


def test_gnus_names_are_the_same_tools() -> None:
    for prefix in ("", "g"):
        assert is_move(f"{prefix}mv") and not is_move(f"{prefix}cp")
        assert is_link(f"{prefix}ln") and not is_link(f"{prefix}mv")
        assert only_touches(f"{prefix}touch") and not only_touches(f"{prefix}install")
