"""Which words name a build, and which a path."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from smpmake.cli.builds import build_and_path


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
