"""Whatever a build's processes do to a tree, the undoing leaves the one that was there before."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from smpmake import native
from smpmake.undo.journal import UndoJournal, now_ns
from tests.support import undoing
from tests.support.clock import pass_tick
from tests.support.variants import often


@pytest.mark.parametrize("seed", often((*range(11), 174), range(200)))
def test_p3_random_changes(tmp_path: Path, seed: int) -> None:
    plan = undoing.plan(seed)
    assert undoing.trial(tmp_path, plan) == [], str(plan)


#: Found by chance; all is taken back, or what follows the first step.
SHAPES = {
    "a-folder-between-a-link-and-itself": (
        [["0", "remove", "b", "a"], ["0", "mkdir", "b", "a"], ["1", "rmdir", "./b", "a"]],
        3,
    ),
    "a-second-name-of-a-link": ([["0", "link", "d/c", "d/e"], ["1", "rmtree", "d", "a"]], 1),
    "a-number-that-another-file-has-now": (
        [
            *(["0", "up", "a", "a"], ["1", "rename", "d/a/c", "d/c"], ["1", "rename up", "a", "d"]),
            *(["0", "rmtree", "d", "a"], ["1", "owner", "d", "e"]),
        ],
        5,
    ),
    "flags-by-two-names": (
        [["1", "rename", "e", "c"], ["0", "flags", "c/d", "a"], ["1", "flags", "a", "e"]],
        0,
    ),
    "exchanged-with-what-is-gone": (
        [["1", "append", "c", "a"], ["1", "exchange", "e", "c"], ["1", "remove", "e", "a"]],
        0,
    ),
    "exchanged-with-what-was-made-and-is-gone": (
        [
            *(["1", "remove", "a", "b"], ["0", "create", "a", "b"]),
            *(["0", "exchange", "a", "e"], ["1", "remove", "e", "a"]),
        ],
        4,
    ),
    "a-link-whose-other-name-goes": ([["1", "link", "b", "e/c"], ["1", "remove", "b", "a"]], 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_p3_shapes_that_were_wrong(tmp_path: Path, name: str) -> None:
    steps, promise = SHAPES[name]
    assert undoing.trial(tmp_path, undoing.Plan(steps, promise, {})) == []


def journal_of(tmp_path: Path) -> UndoJournal:
    """Of a tree with an older file and an older folder."""
    tree = tmp_path / "tree"
    (tree / "old").mkdir(parents=True)
    (tree / "old/file").write_text("older\n")
    pass_tick(now_ns())
    (tmp_path / "session").mkdir()
    journal = UndoJournal(tmp_path / "session")
    journal.begin(str(tree), 1 << 30)
    return journal


def test_what_is_not_where_it_should_be_is_told(tmp_path: Path) -> None:
    """Somebody outside of the build has taken it away."""
    with closing(journal_of(tmp_path)) as journal:
        old, new = tmp_path / "tree/old", tmp_path / "tree/new"
        journal.renames(0, str(old), str(new))
        old.rename(tmp_path / "elsewhere")
        undone = journal.take_back(everything=True)
        assert not undone.complete
        assert undone.complaints == [f"{new}: is not there any more, or is another file"]


def test_older_contents_without_a_place_lie_beside_it(tmp_path: Path) -> None:
    with closing(journal_of(tmp_path)) as journal:
        file = tmp_path / "tree/old/file"
        journal.removes(0, str(file))
        file.unlink()
        file.write_text("another's\n")
        undone = journal.take_back(everything=True)
        assert not undone.complete
        assert undone.complaints == [
            f"{file}: is there again",
            f"{file}: its older contents are in {file}.older1",
        ]
        assert file.with_name("file.older1").read_text() == "older\n"


def test_a_file_whose_folder_does_not_come_back_stays_where_it_belongs(tmp_path: Path) -> None:
    with closing(journal_of(tmp_path)) as journal:
        file = tmp_path / "tree/old/file"
        journal.removes(0, str(file))
        file.unlink()
        file.parent.rmdir()  # nobody has written that down
        undone = journal.take_back(everything=True)
        assert not undone.complete
        assert "holds what has found no other place" in undone.complaints[0]
        assert file.read_text() == "older\n"


def test_an_undoing_that_is_begun_once_more_passes_over_what_is_done(tmp_path: Path) -> None:
    """The first one was killed."""
    with closing(journal_of(tmp_path)) as journal:
        old, new = tmp_path / "tree/old", tmp_path / "tree/new"
        journal.removes(0, str(old / "file"))
        (old / "file").unlink()
        journal.renames(0, str(old), str(new))
        old.rename(new)
        undo = [native.program("keeper"), "undo", str(tmp_path / "session"), "all"]
        for _ in range(2):
            assert subprocess.run(undo, check=True, stdout=subprocess.PIPE).stdout == b""
            assert (old / "file").read_text() == "older\n"
            assert not new.exists()
