"""What the server writes down by itself, for commands that no guard follows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.undo.journal import UndoJournal, now_ns

BUDGET = 10_000


@pytest.fixture
def undo(tmp_path: Path) -> Iterator[UndoJournal]:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "session").mkdir()
    made = UndoJournal(tmp_path / "session")
    made.begin(os.fspath(tree), BUDGET)
    yield made
    made.close()


def keep(undo: UndoJournal, path: Path) -> None:
    """Command 0, which has no guard, is about to write an older file."""
    os.utime(path, (1000, 1000), follow_symlinks=False)
    undo.issued(0)
    undo.keeps(0, os.fspath(path), os.lstat(path))


def test_what_is_replaced_without_a_guard_comes_back(undo: UndoJournal, tmp_path: Path) -> None:
    path = tmp_path / "tree" / "file"
    path.write_text("older\n")
    path.chmod(0o750)
    keep(undo, path)
    assert undo.kept == 2 * len("older\n")
    path.unlink()
    path.write_text("newer\n")
    assert undo.take_back(everything=True).complaints == []
    assert path.read_text() == "older\n"
    assert (path.stat().st_mode & 0o777, path.stat().st_mtime) == (0o750, 1000)
    assert undo.kept == 0


def test_what_is_written_over_without_a_guard_comes_back(
    undo: UndoJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tree" / "file"
    path.write_text("older\n")
    inode = path.stat().st_ino
    late = now_ns() + 10**9  # than which the file is older
    monkeypatch.setattr("smpmake.undo.journal.now_ns", lambda: late)
    keep(undo, path)
    path.write_text("newer\n")
    assert undo.take_back(everything=True).complaints == []
    assert path.read_text() == "older\n"
    assert (path.stat().st_ino, path.stat().st_mtime) == (inode, 1000)


def test_a_link_that_is_replaced_without_a_guard_comes_back(
    undo: UndoJournal, tmp_path: Path
) -> None:
    link = tmp_path / "tree" / "link"
    link.symlink_to("older")
    keep(undo, link)
    link.unlink()
    link.symlink_to("newer")
    assert undo.take_back(everything=True).complaints == []
    assert os.readlink(link) == "older"
    assert link.lstat().st_mtime == 1000


def test_a_link_that_is_not_replaced_after_all_stays(undo: UndoJournal, tmp_path: Path) -> None:
    link = tmp_path / "tree" / "link"
    link.symlink_to("older")
    keep(undo, link)
    assert undo.take_back(everything=True).complaints == []
    assert os.readlink(link) == "older"


@pytest.mark.parametrize("size", [BUDGET + 1, BUDGET // 2 + 1])
def test_copies_obey_the_budget(undo: UndoJournal, tmp_path: Path, size: int) -> None:
    """Two are made of each file."""
    path = tmp_path / "tree" / "file"
    path.write_bytes(b"x" * size)
    keep(undo, path)
    assert undo.is_incomplete
    stored = tmp_path / "session" / "undo" / "kept"
    assert sum(each.stat().st_size for each in stored.iterdir()) <= BUDGET
    undo.commit()
    assert undo.kept == 0
    path.write_bytes(b"x")
    keep(undo, path)
    assert not undo.is_incomplete
