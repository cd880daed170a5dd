"""Which descriptors stand for a file that will hold what is written to them, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from smpmake.disk.printed import fresh_file


def opened(path: Path, flags: int = os.O_WRONLY | os.O_CREAT | os.O_TRUNC) -> str:
    fd = os.open(path, flags, 0o644)
    try:
        return fresh_file(fd)
    finally:
        os.close(fd)


def test_a_file_as_a_shell_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "out"
    assert opened(path) == str(path)
    path.write_text("older")
    assert opened(path) == str(path)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert opened(link) == str(path)


def test_what_else_goes_there(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    assert opened(path, os.O_WRONLY | os.O_APPEND) == ""
    assert opened(path, os.O_RDONLY) == ""
    path.write_text("text")
    assert opened(path, os.O_WRONLY) == ""
    path.write_text("")
    fd = os.open(path, os.O_WRONLY)
    os.lseek(fd, 3, os.SEEK_SET)
    assert fresh_file(fd) == ""
    os.close(fd)


def test_what_has_no_name_any_more_or_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    path.unlink()
    assert fresh_file(fd) == ""
    path.touch()  # another one
    assert fresh_file(fd) == ""
    os.close(fd)
    assert fresh_file(fd) == ""
    assert opened(Path(os.devnull), os.O_WRONLY) == ""
