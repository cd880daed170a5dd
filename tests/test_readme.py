"""README's first commands are what CI runs, literally, and its links lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from smpmake import __version__
from smpmake.cli import _COMMANDS
from smpmake.commands.model import Reason
from smpmake.config import KEYS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def commands() -> list[str]:
    """The first two shell blocks."""
    return [block.strip() for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)][:2]


def test_ci_runs_both_commands_as_they_stand() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    for command in commands():
        assert command in lines
    assert commands()[1] == "scripts/check"


def test_both_are_on_the_first_screen() -> None:
    assert README.index(commands()[1]) < len("\n".join(README.splitlines()[:40]))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_readme_names_every_key_of_the_settings() -> None:
    for key in KEYS:
        assert f"`{key}`" in README


def test_readme_and_package_agree_on_licence_and_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_has_a_help_line() -> None:
    for name, (module, text) in _COMMANDS.items():
        assert (ROOT / "smpmake" / "cli" / f"{module}.py").exists()
        assert text.endswith("."), name


def test_every_reason_explains_itself() -> None:
    names = [reason.value for reason in Reason]
    assert len(set(names)) == len(names)
    for reason in Reason:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", reason.value)
        assert len(reason.text) > 10
