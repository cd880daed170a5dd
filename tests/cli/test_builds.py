"""Which words name a build, and which a path."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from smpmake.cli.builds import build_and_path
from smpmake.cli.group import parsed
from smpmake.history import History, Recorder
from smpmake.records import BuildRecord
from smpmake.redact import Redactor
from tests.support.made import build, ran


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("", ("last", None)),
        ("12", (12, None)),
        ("last-3", ("last-3", None)),
        ("lib/a.o", ("last", "lib/a.o")),
        ("12 lib", (12, "lib")),
        ("12 13", (12, "13")),
        ("7", ("last", "7")),
        ("7 7", (7, "7")),
        ("./12", ("last", "./12")),
    ],
)
def test_a_number_is_a_build_unless_it_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, meant: object
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("7").touch()
    assert build_and_path(words.split(), None) == meant


def test_a_build_is_named_once() -> None:
    assert build_and_path(["12", "x"], 12) == (12, "x")
    assert build_and_path(["x"], "last-1") == ("last-1", "x")
    for words, option in ((["12"], 13), (["a", "b"], None)):
        with pytest.raises(click.UsageError):
            build_and_path(words, option)


def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *records: BuildRecord) -> None:
    """Builds in a history of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for record in records:
        record.cwd = str(tmp_path)
        Recorder(History(), record, Redactor()).end()


@pytest.mark.parametrize(
    ("serial", "wanted", "status", "said"),
    [
        (10.0, "1.3", 0, "--fail-under 1.3 passes: the build was about 1.7 times as fast as"),
        (7.0, "1.3", 3, "--fail-under 1.3 fails: the build was about 1.2 times as fast as"),
        (7.0, "1", 0, "--fail-under 1 passes: "),
        (None, "1.3", 0, "--fail-under 1.3 passes: the build failed"),
    ],
)
def test_a_build_server_can_ask_for_a_speed_up(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    serial: float | None,
    wanted: str,
    status: int,
    said: str,
) -> None:
    record = build(ran(0, 0, 0, 5), ran(1, 0, 0, 5, slot=1), wall=6)
    record.serial, record.status = serial, 0 if serial else 2
    kept(tmp_path, monkeypatch, record)
    assert parsed(["report", "--json", "--fail-under", wanted]) == status
    assert capsys.readouterr().err.startswith(f"smpmake: {said}")
    assert parsed(["report", "--fail-under", "-1"]) == 125
