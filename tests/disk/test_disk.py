"""What Disk does for commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.disk.disk import Disk


def test_two_names_of_one_file_are_for_mv(tmp_path: Path) -> None:
    """mv removes the first, and rename(2) does nothing."""
    disk = Disk.__new__(Disk)
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    with pytest.raises(FileExistsError):
        disk.rename(str(tmp_path / "a"), str(tmp_path / "b"), 0)
    disk.rename(str(tmp_path / "a"), str(tmp_path / "c"), 0)
    assert not (tmp_path / "a").exists()
