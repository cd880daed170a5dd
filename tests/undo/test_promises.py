"""What the server writes down of its promises where nothing else can be undone."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from smpmake.undo.backup_dirs import move
from smpmake.undo.journal import UndoJournal
from tests.support.clock import pass_tick


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def journal(tmp_path: Path, tree: Path) -> Iterator[UndoJournal]:
    (tmp_path / "session").mkdir()
    with closing(UndoJournal(tmp_path / "session")) as journal:
        yield journal


def old(path: Path, text: str = "old") -> Path:
    """A file of long ago."""
    path.write_text(text)
    path.chmod(0o751)
    os.utime(path, (1000, 2000))
    pass_tick(path.stat().st_ctime_ns)
    return path


def is_old(path: Path) -> bool:
    info = path.lstat()
    return (path.read_text(), info.st_mode & 0o7777, info.st_mtime) == ("old", 0o751, 2000)


def promise(journal: UndoJournal, number: int, path: Path) -> Path:
    """A command will make a target anew; returns where the older one is meanwhile."""
    journal.issued(number)
    kept = journal.sets_aside(number, str(path), path.lstat())
    journal.makes(number, str(path))
    return Path(kept)


def killed(journal: UndoJournal) -> None:
    """What the keeper does."""
    assert journal.take_back(everything=False).complaints == []


def comes_to_nothing(journal: UndoJournal) -> None:
    """What the server does."""
    journal.withdraw(0)


ENDS = pytest.mark.parametrize("end", [killed, comes_to_nothing])
End = Callable[[UndoJournal], None]


@ENDS
def test_a_target_comes_back_from_a_command_that_never_ran(
    journal: UndoJournal, tree: Path, end: End
) -> None:
    path = old(tree / "a.o")
    kept = promise(journal, 0, path)
    assert os.listdir(tree) == []
    assert is_old(kept)
    end(journal)
    assert is_old(path)
    assert not kept.exists()


@ENDS
def test_a_link_comes_back(journal: UndoJournal, tree: Path, end: End) -> None:
    path = tree / "a.o"
    path.symlink_to("elsewhere")
    promise(journal, 0, path)
    assert os.listdir(tree) == []
    end(journal)
    assert os.readlink(path) == "elsewhere"


def test_a_target_stays_that_cannot_be_written_down(
    journal: UndoJournal, tree: Path, tmp_path: Path
) -> None:
    """The disk is full: nobody would bring it back."""
    path = old(tree / "a.o")
    journal.issued(0)
    written = (tmp_path / "session" / "undo" / "server").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (written, before[1]))
    try:
        kept = journal.sets_aside(0, str(path), path.lstat())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert kept == ""
    killed(journal)
    assert is_old(path)


def test_what_a_tool_leaves_that_fails_stays(journal: UndoJournal, tree: Path) -> None:
    path = old(tree / "a.o")
    kept = promise(journal, 0, path)
    path.write_text("half")
    journal.withdraw(0)
    assert path.read_text() == "half"
    assert not kept.exists()
    killed(journal)  # nobody waits for it any more
    assert path.read_text() == "half"


def test_what_is_half_made_goes_with_everybody_who_knew(journal: UndoJournal, tree: Path) -> None:
    path = old(tree / "a.o")
    promise(journal, 0, path)
    journal.issued(1)
    journal.makes(1, str(tree / "b.o"))
    path.write_text("half")
    (tree / "b.o").write_text("half")
    killed(journal)
    assert is_old(path)
    assert os.listdir(tree) == ["a.o"]


def test_nothing_comes_back_that_a_worker_has_removed(journal: UndoJournal, tree: Path) -> None:
    """It has ended the command: make would believe what is older."""
    path = old(tree / "a.o")
    promise(journal, 0, path).unlink()
    killed(journal)
    assert os.listdir(tree) == []


def test_only_what_has_not_ended_is_undone(journal: UndoJournal, tree: Path) -> None:
    """Though an earlier command is still at work."""
    first, second = old(tree / "a.o"), old(tree / "b.o")
    promise(journal, 0, first)
    kept = promise(journal, 1, second)
    journal.vouches([0, 1], str(tree / "stamp"))
    (tree / "stamp").touch()
    second.write_text("new")
    journal.ended(1)
    assert not kept.exists()
    folder = tree.stat().st_mtime_ns
    killed(journal)
    assert is_old(first)
    assert second.read_text() == "new"
    assert sorted(os.listdir(tree)) == ["a.o", "b.o"]  # the stamp spoke of both
    assert tree.stat().st_mtime_ns >= folder


@ENDS
def test_an_empty_stamp_goes(journal: UndoJournal, tree: Path, end: End) -> None:
    journal.issued(0)
    journal.vouches([0], str(tree / "empty"))
    journal.vouches([0], str(tree / "full"))
    (tree / "empty").touch()
    (tree / "full").write_text("what would be lost")
    end(journal)
    assert os.listdir(tree) == ["full"]


@ENDS
def test_a_stamp_gets_its_first_time_back(journal: UndoJournal, tree: Path, end: End) -> None:
    path, link = old(tree / "stamp"), tree / "link"
    link.symlink_to("stamp")
    journal.issued(0)
    for each in (path, link):
        journal.vouches([0], str(each))
        os.utime(each)
    end(journal)
    assert is_old(path)


@ENDS
def test_what_is_made_anew_goes_whatever_it_holds(
    journal: UndoJournal, tree: Path, end: End
) -> None:
    made = old(tree / "x.loT")
    journal.issued(0)
    journal.vouches([0], str(tree / "x.lo"), str(made))
    made.rename(tree / "x.lo")
    end(journal)
    assert os.listdir(tree) == []


@ENDS
def test_a_stamp_stays_whose_command_waits_for_it(
    journal: UndoJournal, tree: Path, end: End
) -> None:
    """It was never renamed: both are what they were."""
    made, stamp = old(tree / "x.loT"), old(tree / "x.lo")
    journal.issued(0)
    journal.vouches([0], str(stamp), str(made))
    end(journal)
    assert is_old(made) and is_old(stamp)


def test_nothing_is_known_of_what_is_over(journal: UndoJournal, tree: Path, tmp_path: Path) -> None:
    """A server that runs for months writes no more than its longest build."""
    log = tmp_path / "session" / "undo" / "server"
    for number in range(3):
        promise(journal, number, old(tree / "a.o")).unlink()
        (tree / "a.o").write_text("new")
        journal.ended(number)
    assert log.stat().st_size > 0
    journal.rest()
    assert log.stat().st_size == 0
    killed(journal)
    assert (tree / "a.o").read_text() == "new"


@ENDS
def test_a_target_on_another_file_system(tmp_path: Path, end: End) -> None:
    """It is kept there: nothing large is copied, perhaps into memory."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if os.stat(other).st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is no file system of its own here")
        path = old(Path(other) / "a.o")
        inode = path.stat().st_ino
        with closing(UndoJournal(tmp_path)) as journal:
            kept = promise(journal, 0, path)
            assert kept.stat().st_ino == inode
            end(journal)
        assert is_old(path)
        assert path.stat().st_ino == inode
        assert not kept.parent.exists()


@ENDS
def test_a_target_that_can_only_be_copied(
    journal: UndoJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: End
) -> None:
    monkeypatch.setattr("smpmake.undo.journal.backup_dirs", lambda tree, kept: [])
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        path = old(Path(other) / "a.o")
        promise(journal, 0, path)
        assert os.listdir(other) == []
        end(journal)
        assert is_old(path)


def test_no_half_of_a_target_is_left_where_there_is_no_room(tmp_path: Path) -> None:
    """make would believe it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if os.stat(other).st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is no file system of its own here")
        kept, path = Path(other) / "kept", tmp_path / "a.o"
        kept.write_bytes(b"x" * 100_000)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
        try:
            with pytest.raises(OSError):
                move(os.fspath(kept), os.fspath(path))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not path.exists()
        assert kept.stat().st_size == 100_000


def test_a_target_that_is_set_aside_comes_back_with_all_else(
    journal: UndoJournal, tree: Path
) -> None:
    """Where everything can be undone, also behind the command's end."""
    path = old(tree / "a.o")
    journal.begin(str(tree), 1 << 20)
    folder = tree.stat().st_mtime_ns
    promise(journal, 0, path)
    path.write_text("new")
    journal.ended(0)
    assert journal.take_back(everything=True).complaints == []
    assert is_old(path)
    assert tree.stat().st_mtime_ns == folder


def test_a_target_that_came_back_is_not_brought_back_twice(
    journal: UndoJournal, tree: Path
) -> None:
    path = old(tree / "a.o")
    journal.begin(str(tree), 1 << 20)
    promise(journal, 0, path)
    journal.withdraw(0)
    assert is_old(path)
    assert journal.take_back(everything=True).complaints == []
    assert is_old(path)
