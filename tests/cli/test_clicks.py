"""The command line with the oldest click that pyproject.toml allows, and with the newest."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from smpmake.cli.names import COMMANDS
from tests.packages.fetch import cache_folder

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
(OLDEST,) = (
    name.partition(">=")[2] for name in PROJECT["dependencies"] if name.startswith("click")
)


@pytest.fixture(scope="module", params=[f"=={OLDEST}.0", ""], ids=["oldest", "newest"])
def click(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds it."""
    folder = tmp_path_factory.mktemp("click")
    made = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)),
            *("--cache-dir", str(cache_folder() / "pip"), f"click{request.param}"),
        ],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        pytest.skip(f"click{request.param} cannot be fetched: {made.stderr.strip()[-200:]}")
    return folder


def run(click: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from smpmake.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "PYTHONPATH": f"{click}:{ROOT}"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("words", [[], ["export"], ["shims"]], ids=["smpmake", "export", "shims"])
def test_without_words_there_is_help(click: Path, words: list[str]) -> None:
    done = run(click, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: {' '.join(['smpmake', *words])} [OPTIONS] ")
    assert done.stdout == run(click, *words, "--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(click: Path, name: str) -> None:
    done = run(click, name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ")


def test_a_wrong_line_is_told_in_one_line(click: Path) -> None:
    done = run(click, "report", "--no-such")
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr == ("smpmake: no such option: --no-such (see smpmake report --help)\n")
