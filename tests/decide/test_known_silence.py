"""Which commands said nothing in a project's earlier builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.decide.known_silence import KnownSilence, digest_in_environment

ONE, TWO, THREE = ("1" * 32, "2" * 32, "3" * 32)


def heard(folder: Path, what: dict[str, bool]) -> KnownSilence:
    known = KnownSilence("/p", folder)
    for digest, silent in what.items():
        known.heard(digest, silent=silent)
    return known


def test_what_was_heard_counts_if_the_build_succeeds(tmp_path: Path) -> None:
    heard(tmp_path, {ONE: True}).save()
    assert len(KnownSilence("/p", tmp_path)) == 0
    known = heard(tmp_path, {ONE: True, TWO: False})
    known.keep()
    known.save()
    again = KnownSilence("/p", tmp_path)
    assert [again.was_silent(digest) for digest in (ONE, TWO, THREE)] == [True, False, None]
    assert len(KnownSilence("/other", tmp_path)) == 0


def test_a_command_that_printed_once_in_a_build_is_not_silent(tmp_path: Path) -> None:
    known = KnownSilence("/p", tmp_path)
    for silent in (True, False, True):
        known.heard(ONE, silent=silent)
    known.keep()
    assert known.was_silent(ONE) is False


def test_a_wrong_prediction_is_not_made_again(tmp_path: Path) -> None:
    known = heard(tmp_path, {ONE: True})
    known.keep()
    known.distrust(ONE)
    known.save()
    assert KnownSilence("/p", tmp_path).was_silent(ONE) is False


def test_what_was_heard_in_a_run_that_is_undone_is_forgotten(tmp_path: Path) -> None:
    known = heard(tmp_path, {ONE: True})
    known.forget_new()
    known.keep()
    assert known.was_silent(ONE) is None


@pytest.mark.parametrize("text", ["", "\0", "x\n", f"{ONE}\n", f"{ONE} 2\n", f"{ONE[1:]} 1\n"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    known = heard(tmp_path, {ONE: True})
    known.keep()
    known.save()
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    assert len(KnownSilence("/p", tmp_path)) == 0


def test_a_command_is_its_words_folder_and_environment() -> None:
    command = digest_in_environment(b"/d", b"gcc\0-c\0x.c\0", b"A=1\0B=2\0")
    passing = b"B=2\0A=1\0SHLVL=3\0SSH_TTY=x\0_=/x\0"
    assert command == digest_in_environment(b"/d", b"gcc\0-c\0x.c\0", passing)
    for other in (
        digest_in_environment(b"/e", b"gcc\0-c\0x.c\0", b"A=1\0B=2\0"),
        digest_in_environment(b"/d", b"gcc\0-c\0y.c\0", b"A=1\0B=2\0"),
        digest_in_environment(b"/d", b"gcc\0-c\0x.c\0", b"A=1\0B=3\0"),
        digest_in_environment(b"/d", b"gcc\0-c\0x.c\0", b"A=1\0B=2\0_X=1\0"),
    ):
        assert other != command
