"""What the server asks of the file system."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from smpmake.commands.pending_files import PendingAnswerError
from smpmake.disk import paths
from smpmake.disk.paths import FolderFiles, Paths

LONG = "x" * (1 << 16)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_texts", {})


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written a moment ago is old now."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**10)
    monkeypatch.setattr(time, "time", lambda: now / 1e9 + 10)


def test_a_long_text_is_the_same_one_until_it_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FolderFiles(str(tmp_path))
    (tmp_path / "long").write_text(LONG)
    later(monkeypatch)
    first = files.read_text("long")
    assert first == LONG
    assert files.read_text("long") is first
    (tmp_path / "long").write_text("y" + LONG[1:])
    assert files.read_text("long") == "y" + LONG[1:]
    (tmp_path / "new").write_text(LONG)
    (tmp_path / "new").replace(tmp_path / "long")
    assert files.read_text("long") == LONG


def test_what_was_changed_just_now_may_be_changed_once_more_at_the_same_time(
    tmp_path: Path,
) -> None:
    files = FolderFiles(str(tmp_path))
    (tmp_path / "long").write_text(LONG)
    assert files.read_text("long") == LONG
    assert not paths._texts


def test_few_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = FolderFiles(str(tmp_path))
    for name in map(str, range(20)):
        (tmp_path / name).write_text(name + LONG)
    later(monkeypatch)
    for name in map(str, range(20)):
        assert files.read_text(name) == name + LONG
    (tmp_path / "short").write_text("short")
    assert files.read_text("short") == "short"
    assert len(paths._texts) == 8


def test_what_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "pending").write_text("")
    info = (tmp_path / "pending").stat()
    files = FolderFiles(str(tmp_path), lambda file: file == (info.st_dev, info.st_ino))
    with pytest.raises(PendingAnswerError):
        files.read_text("pending")
    assert files.read_text(".") is None
    assert files.read_text("none") is None
    assert files.read_text("a\0b") is None


def program(path: Path) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    one, two = program(tmp_path / "one/tool"), program(tmp_path / "two/tool")
    (tmp_path / "zero").mkdir()
    (tmp_path / "zero/tool").write_text("no program")
    (tmp_path / "folder/tool").mkdir(parents=True)
    path = ":".join(str(tmp_path / name) for name in ("none", "zero", "folder", "one", "two"))

    def nothing(_: str) -> bool:
        return False

    found = Paths().on_path
    assert found(path, "tool", nothing) == one
    assert found(path, two, nothing) == two
    assert found(path, "other", nothing) == ""
    assert found(f"relative:{path}", "tool", nothing) == ""
    assert found(f":{path}", "tool", nothing) == ""
    assert found(f"/usr%func:{path}", "tool", nothing) == ""
    assert found(path, str(tmp_path / "zero/tool"), nothing) == ""


@pytest.mark.parametrize("pending", ["zero/tool", "one/tool", "one/itself"])
def test_a_program_that_is_being_made_is_not_looked_for(tmp_path: Path, pending: str) -> None:
    program(tmp_path / "one/itself")
    (tmp_path / "one/tool").symlink_to("itself")
    (tmp_path / "zero").mkdir()
    path = f"{tmp_path}/none:{tmp_path}/zero:{tmp_path}/one"
    assert Paths().on_path(path, "tool", lambda name: name == f"{tmp_path}/{pending}") == ""


class Looks:
    """Notes which names are looked for in a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        lstat = os.lstat

        def look(path: Any, **named: Any) -> os.stat_result:
            if os.path.dirname(path) == str(folder):
                self.names.append(os.path.basename(path))
            return lstat(path, **named)

        monkeypatch.setattr(os, "lstat", look)


def nothing_pending(_: str) -> bool:
    return False


def test_a_name_that_a_folder_lacks_is_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zero").mkdir()
    one = program(tmp_path / "one/tool")
    later(monkeypatch)
    looks = Looks(tmp_path / "zero", monkeypatch)
    paths = Paths()
    path = f"{tmp_path}/zero:{tmp_path}/one"
    for name in ("tool", "tool", "other", "other", "tool"):
        assert paths.on_path(path, name, nothing_pending) == (one if name == "tool" else "")
    assert looks.names == ["tool", "other"]
    pending = f"{tmp_path}/zero/tool"
    assert paths.on_path(path, "tool", lambda name: name == pending) == ""
    zero = program(tmp_path / "zero/tool")
    assert paths.on_path(path, "tool", nothing_pending) == zero
    os.unlink(zero)
    assert paths.on_path(path, "tool", nothing_pending) == one
    (tmp_path / "zero").rename(tmp_path / "gone")
    (tmp_path / "zero").symlink_to("one")
    assert paths.on_path(path, "tool", nothing_pending) == zero


def test_a_folder_that_was_changed_just_now_may_change_once_more_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zero").mkdir()
    one = program(tmp_path / "one/tool")
    folder, stat = str(tmp_path / "zero"), os.stat
    first = stat(folder)

    def unchanged(path: Any, **named: Any) -> os.stat_result:
        return first if path == folder else stat(path, **named)

    monkeypatch.setattr(os, "stat", unchanged)
    paths = Paths()
    path = f"{folder}:{tmp_path}/one"
    assert paths.on_path(path, "tool", nothing_pending) == one
    zero = program(tmp_path / "zero/tool")
    assert paths.on_path(path, "tool", nothing_pending) == zero


def test_what_a_link_to_a_program_leads_to_is_looked_up_anew_when_it_is_another(
    tmp_path: Path,
) -> None:
    old, new = program(tmp_path / "one/old"), program(tmp_path / "one/new")
    (tmp_path / "one/tool").symlink_to("between")
    between = tmp_path / "one/between"
    between.symlink_to("old")
    paths = Paths()

    def found(pending: str) -> bool:
        return bool(paths.on_path(f"{tmp_path}/one", "tool", lambda name: name == pending))

    for _ in range(2):
        assert [found(""), found(old), found(new)] == [True, False, True]
    between.unlink()
    between.symlink_to("new")
    for _ in range(2):
        assert [found(""), found(old), found(new)] == [True, True, False]
    os.rename(new, old)
    assert [found(""), found(old), found(new)] == [False, False, False]
    between.unlink()
    between.symlink_to("old")
    assert [found(""), found(old), found(new)] == [True, False, True]
    (tmp_path / "one").rename(tmp_path / "two")
    (tmp_path / "one").symlink_to("two")
    paths.forget()
    assert [found(old), found(f"{tmp_path}/two/old")] == [True, False]
