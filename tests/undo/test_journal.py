"""Undoing by a journal alone, without a build: what comes back is what was there."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from smpmake.undo import journal as journals
from smpmake.undo.journal import UndoJournal
from tests.support.clock import pass_tick

OLD = b"x" * 100_000


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[UndoJournal]:
    (tmp_path / "tree").mkdir()
    (tmp_path / "session").mkdir()
    with closing(UndoJournal(tmp_path / "session")) as journal:
        journal.begin(str(tmp_path / "tree"), 1 << 30)
        yield journal


@pytest.fixture
def product(tmp_path: Path, journal: UndoJournal) -> Path:
    """An older file that a command without a guard is about to write."""
    path = tmp_path / "tree" / "product"
    path.write_bytes(OLD)
    path.chmod(0o751)
    os.utime(path, (1000, 2000))
    pass_tick(path.stat().st_ctime_ns)  # or it could have been made by the command
    journal.issued(0)
    journal.keeps(0, str(path), path.stat())
    return path


def test_a_file_that_was_appended_to_is_cut_where_it_ended(
    tmp_path: Path, journal: UndoJournal
) -> None:
    """Also of what somebody outside of the build has appended meanwhile: the journal knows where
    the file ended when the build first opened it, not who wrote which bytes behind.  Only its
    writes could tell, and they pass by the guard (docs/limits.md)."""
    log = tmp_path / "tree" / "log"
    log.write_text("before\n")
    os.utime(log, (1000, 2000))
    pass_tick(log.stat().st_ctime_ns)
    journal.grew(str(log), log.stat())
    with log.open("a") as ours, log.open("a") as theirs:
        print("ours", file=ours, flush=True)
        print("another build's", file=theirs, flush=True)
        print("ours", file=ours, flush=True)
        assert journal.take_back(everything=True).complaints == []
        assert log.read_text() == "before\n"
        print("another build's next", file=theirs, flush=True)
    assert log.read_text() == "before\nanother build's next\n"


def undo_in(journal: UndoJournal, largest: int) -> list[str]:
    """Undoes where no file may become larger: a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, limits[1]))
    try:
        return journal.take_back(everything=True).complaints
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_contents_that_find_no_room_are_told(journal: UndoJournal, product: Path) -> None:
    product.write_bytes(b"new")
    assert undo_in(journal, len(OLD) // 2) == [
        f"{product}: File too large",
        f"{product}: its older contents are in {product}.older1",
    ]
    assert product.with_name("product.older1").read_bytes() == OLD


def test_a_copy_that_comes_back_is_what_the_file_was(journal: UndoJournal, product: Path) -> None:
    product.unlink()
    product.write_bytes(b"new")
    assert journal.take_back(everything=True).complaints == []
    info = product.stat()
    assert product.read_bytes() == OLD
    assert (info.st_mode & 0o7777, info.st_atime, info.st_mtime) == (0o751, 1000, 2000)


@pytest.mark.parametrize("refusals", [0, 3])
def test_a_process_that_is_not_to_be_had_is_waited_for(
    journal: UndoJournal, product: Path, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    run, left = subprocess.run, refusals

    def refuse(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise BlockingIOError(errno.EAGAIN, "not now")
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(journals, "_PAUSE", 0.0)
    product.unlink()
    assert journal.take_back(everything=True).complaints == []
    assert product.read_bytes() == OLD


def test_where_no_process_is_ever_to_be_had_nothing_is_undone(
    journal: UndoJournal, product: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise BlockingIOError(errno.EAGAIN, "not now")

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(journals, "_TRIES", 1)
    product.unlink()
    with pytest.raises(BlockingIOError):
        journal.take_back(everything=True)
    monkeypatch.undo()
    assert journal.is_whole
    assert journal.take_back(everything=True).complaints == []
    assert product.read_bytes() == OLD


def test_where_there_is_no_room_nothing_is_left_near_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's folder goes by itself; a store on the tree's file system would stay."""
    made: list[str] = []
    allocate = os.posix_fallocate

    def note(tree: str, kept: Path) -> list[Path]:
        made.append(tree)
        return []

    def is_full(fd: int, offset: int, size: int) -> None:
        if size == 1 << 20:  # the log, which is the largest
            raise OSError(errno.ENOSPC, "No space left on device")
        allocate(fd, offset, size)

    monkeypatch.setattr("smpmake.undo.journal.backup_dirs", note)
    monkeypatch.setattr(os, "posix_fallocate", is_full)
    before = os.listdir("/proc/self/fd")
    with closing(UndoJournal(tmp_path)) as journal:
        with pytest.raises(OSError, match="No space"):
            journal.begin(str(tmp_path), 1)
        assert not journal.undoes
    assert made == []
    assert len(os.listdir("/proc/self/fd")) == len(before)
