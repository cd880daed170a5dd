"""What is left of a folder of ours."""

from __future__ import annotations

from pathlib import Path

from smpmake.disk.trees import remove_tree


def test_a_folder_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file").touch()
    (folder / ".hidden").touch()
    remove_tree(folder)
    assert list(tmp_path.iterdir()) == []


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    folder, other = tmp_path / "ours", tmp_path / "theirs"
    for each in (folder, other):
        each.mkdir()
    (other / "file").touch()
    (folder / "folder").symlink_to(other)
    (folder / "file").symlink_to(other / "file")
    (folder / "dangling").symlink_to("nowhere")
    remove_tree(folder)
    assert list(tmp_path.iterdir()) == [other]
    assert (other / "file").exists()


def test_a_folder_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    remove_tree(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
