"""What guards find on the board about files of which some jobs are to find an older version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpmake.guard.scoreboard import Scoreboard
from smpmake.guard.versioned_paths import VersionedPaths
from smpmake.protocol import layout
from tests.guard.test_scoreboard import server
from tests.support.guarded import Answering, look, output

__all__ = ["server"]

OLDER, LATER = "4", "5"  # numbers + 1, of commands 3 and 4


@pytest.fixture
def board(tmp_path: Path) -> Scoreboard:
    found = Scoreboard(tmp_path / "board")
    found.show_counts(1)
    return found


@pytest.fixture
def kept(board: Scoreboard) -> VersionedPaths:
    return VersionedPaths(board)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of a name, and ways to one of them."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "v.h").touch()
    (tmp_path / "way").symlink_to("one")
    (tmp_path / "two" / "link").mkdir()
    (tmp_path / "two" / "link" / "v.h").symlink_to("../../one/v.h")
    return tmp_path


def asks(folder: Path, server: Answering, name: str, command: str) -> bool:
    server.asked.clear()
    look(folder, name, _SMPMAKE_COMMAND=command)
    return any(question.kind == layout.ASK_READ for question in server.asked)


@pytest.mark.parametrize(
    ("name", "command", "expected"),
    [
        ("one/v.h", OLDER, True),
        ("one/V.H", OLDER, True),
        ("way/v.h", OLDER, True),
        ("two/link/v.h", OLDER, True),
        ("two/v.h", OLDER, False),
        ("gone/v.h", OLDER, False),
        ("one/v.h", LATER, False),
    ],
)
def test_whom_it_concerns_asks_about_that_file(
    folder: Path, kept: VersionedPaths, server: Answering, name: str, command: str, expected: bool
) -> None:
    for each in ("one/V.H",):
        (folder / each).touch()
    kept.version_path(f"{folder}/one/v.h", 4)
    if not (folder / name).exists():
        with pytest.raises(Exception, match="exit status 1"):
            asks(folder, server, name, command)
        assert bool(server.asked) == expected
    else:
        assert asks(folder, server, name, command) == expected
    kept.forget_paths(f"{folder}/one/v.h")
    assert not asks(folder, server, "one/v.h", OLDER)


def test_more_may_come_to_be_concerned(
    folder: Path, kept: VersionedPaths, server: Answering
) -> None:
    path = f"{folder}/one/v.h"
    kept.version_path(path, 4)
    kept.version_path(path, 5)
    kept.version_path(path, 2)
    assert asks(folder, server, "one/v.h", LATER)
    assert not asks(folder, server, "one/v.h", "6")
    kept.forget_paths(path)
    assert not asks(folder, server, "one/v.h", OLDER)


def test_what_a_command_makes_there_changes_nothing(
    folder: Path, board: Scoreboard, kept: VersionedPaths, server: Answering
) -> None:
    """Its claim of an output and ours meet in one slot."""
    claims = output(folder / "one" / "v.h")
    board.publish_claims(3, claims)
    kept.version_path(f"{folder}/one/v.h", 4)
    board.retract_claims(3, claims)
    assert asks(folder, server, "one/v.h", OLDER)
    assert not asks(folder, server, "one/v.h", LATER)
    kept.forget_paths(f"{folder}/one/v.h")
    assert not asks(folder, server, "one/v.h", OLDER)


@pytest.mark.parametrize("when", ["before", "behind"])
def test_where_its_folder_goes_the_name_tells(
    folder: Path, kept: VersionedPaths, server: Answering, when: str
) -> None:
    path = f"{folder}/one/v.h"
    if when == "before":
        kept.folders_go([str(folder / "one")])
    kept.version_path(path, 4)
    if when == "behind":
        kept.folders_go([str(folder)])
    (folder / "one").rename(folder / "older")
    (folder / "one").mkdir()
    os.replace(folder / "two" / "v.h", folder / "one" / "v.h")
    assert asks(folder, server, "one/v.h", OLDER)
    kept.forget_paths(path)
    assert not asks(folder, server, "one/v.h", OLDER)
    kept.forget_folders()
    kept.version_path(path, 4)
    assert not asks(folder, server, "one/v.h", LATER)


def test_a_folder_that_is_not_there_has_no_key(
    folder: Path, kept: VersionedPaths, server: Answering
) -> None:
    kept.version_path(f"{folder}/three/v.h", 4)
    (folder / "three").mkdir()
    (folder / "three" / "v.h").touch()
    assert asks(folder, server, "three/v.h", OLDER)
    kept.version_path(f"{folder}/way/v.h", 4)  # a link, which may lead elsewhere later
    kept.forget_paths(f"{folder}/three/v.h")
    (folder / "way").unlink()
    (folder / "way").symlink_to("two")
    assert asks(folder, server, "way/v.h", OLDER)
