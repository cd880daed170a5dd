"""Programs that were seen with a guard are remembered, as long as they are the very same."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from smpmake.guard.proofs import Proofs


def later() -> int:
    return time.time_ns() + 1_000_000_000


@pytest.fixture
def guard(tmp_path: Path) -> str:
    path = tmp_path / "guard.so"
    path.write_text("a guard")
    return str(path)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "cc1"
    path.write_text("a program")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "seen"


def test_what_one_build_has_seen_the_next_knows(guard: str, program: Path, file: Path) -> None:
    first = Proofs(guard, file)
    assert not first.has_seen(str(program))
    assert first.add_programs([str(program)], later())
    assert not first.add_programs([str(program)], later())
    assert first.has_seen(str(program))
    assert Proofs(guard, file).has_seen(str(program))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_another_file_of_that_name_is_not_known(guard: str, program: Path, file: Path) -> None:
    Proofs(guard, file).add_programs([str(program)], later())
    before = program.stat()
    new = program.with_name("new")
    new.write_text("a progran")
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.rename(program)
    assert not Proofs(guard, file).has_seen(str(program))


def test_a_program_that_changed_in_place_is_not_known(
    guard: str, program: Path, file: Path
) -> None:
    Proofs(guard, file).add_programs([str(program)], later())
    program.write_text("another one")
    assert not Proofs(guard, file).has_seen(str(program))


def test_what_may_have_changed_since_the_job_began_was_not_seen(
    guard: str, program: Path, file: Path
) -> None:
    assert not Proofs(guard, file).add_programs([str(program)], program.stat().st_ctime_ns)


def test_another_build_of_the_guard_begins_anew(guard: str, program: Path, file: Path) -> None:
    Proofs(guard, file).add_programs([str(program)], later())
    Path(guard).write_text("another guard")
    assert not Proofs(guard, file).has_seen(str(program))


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage\n", b"\xff\x00" * 50, b"1 2 3\n", b"1 2 3 4 5 6 7 8 9 " + b"9" * 5000 + b"\n"],
)
def test_what_is_no_list_of_ours_is_none(
    guard: str, program: Path, file: Path, content: bytes
) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    file.chmod(0o600)
    assert not Proofs(guard, file).has_seen(str(program))


def test_a_line_that_was_cut_is_not_believed(guard: str, program: Path, file: Path) -> None:
    Proofs(guard, file).add_programs([str(program)], later())
    file.write_bytes(file.read_bytes()[:-1])
    assert not Proofs(guard, file).has_seen(str(program))


def test_what_others_could_have_written_is_not_believed(
    guard: str, program: Path, file: Path
) -> None:
    Proofs(guard, file).add_programs([str(program)], later())
    file.chmod(0o622)
    assert not Proofs(guard, file).has_seen(str(program))
    elsewhere = file.rename(file.with_name("elsewhere"))
    elsewhere.chmod(0o600)
    file.symlink_to(elsewhere)
    assert not Proofs(guard, file).has_seen(str(program))


def test_where_nothing_can_be_kept_a_build_knows_what_it_has_seen(
    guard: str, program: Path, tmp_path: Path
) -> None:
    proofs = Proofs(guard, tmp_path / "cc1" / "no folder")
    assert proofs.add_programs([str(program)], later())
    assert proofs.has_seen(str(program))


def test_a_long_list_begins_anew(guard: str, program: Path, file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"x\n" * (1 << 18))
    file.chmod(0o600)
    Proofs(guard, file).add_programs([str(program)], later())
    assert file.stat().st_size < 1 << 12
    assert Proofs(guard, file).has_seen(str(program))


def test_a_loader_is_asked_once_about_a_program(guard: str, program: Path, file: Path) -> None:
    asked: list[list[str]] = []

    def ask(programs: list[str]) -> list[str]:
        asked.append(programs)
        return programs[:1]

    other = program.with_name("other")
    other.write_text("another")
    proofs = Proofs(guard, file)
    for _ in range(2):
        proofs.ask_about([str(program), str(other), "/none"], ask)
    assert asked == [[str(program), str(other)]]
    assert proofs.has_seen(str(program))
    assert not proofs.has_seen(str(other))
    assert Proofs(guard, file).has_seen(str(program))


def test_what_was_exchanged_while_its_loader_was_asked_is_not_known(
    guard: str, program: Path, file: Path
) -> None:
    def ask(programs: list[str]) -> list[str]:
        program.write_text("another one")
        return programs

    proofs = Proofs(guard, file)
    proofs.ask_about([str(program)], ask)
    assert not proofs.has_seen(str(program))
