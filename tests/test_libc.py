"""Another libc than glibc is refused in a sentence, when it is installed and when it is called."""

from __future__ import annotations

import errno
import os
import runpy
from pathlib import Path

import pytest

from smpmake import cli, libc
from smpmake.cli.names import FAULT

ROOT = Path(__file__).parent.parent


def as_musl(name: str) -> None:
    raise OSError(errno.EINVAL, "Invalid argument")


def without_the_name(name: str) -> None:
    raise ValueError("unrecognized configuration name")


def not_known(name: str) -> None:
    return None


@pytest.fixture(params=[as_musl, without_the_name, not_known])
def musl(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", request.param)


def test_glibc_is_taken() -> None:
    libc.require_glibc()


def test_any_command_ends_with_one_sentence(musl: None, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["make"], ["--version"], ["report"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == FAULT
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("smpmake: this system has musl or another libc, not glibc")
        assert "build without smpmake" in said.err
        assert said.err.count("\n") == 1


def test_nothing_is_compiled(musl: None, tmp_path: Path) -> None:
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    with pytest.raises(SystemExit, match="smpmake: this system has musl"):
        hook["require_glibc"](ROOT)
