"""The man page says what the help says, and man can read it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

import smpmake
from smpmake.cli.group import group
from smpmake.cli.man import page
from smpmake.cli.names import COMMANDS
from smpmake.cli.reference import keys, variables
from smpmake.cli.run import run
from smpmake.config import Settings
from smpmake.options import OPTIONS
from tests.support import documented

ROOT = Path(__file__).parent.parent.parent
GROFF = shutil.which("groff")


def test_every_command_and_option_is_in_it() -> None:
    text = page().replace("\\-", "-")
    for name in COMMANDS:
        if name != "run":
            assert f".SS smpmake {name} " in text
    assert ".SS smpmake export ninja " in text
    commands = [run, *(group.get_command(click.Context(group), name) for name in COMMANDS)]
    for command in commands:
        assert command is not None
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.opts[-1] in text
                names = [option.envvar] if isinstance(option.envvar, str) else option.envvar
                assert not names or f"env var: {names[0]}" in text
    for status in ("125", "126, 127", "128+n"):
        assert re.search(rf"(?m)^{re.escape(status)} ", text)


def test_every_variable_and_key_is_in_it() -> None:
    text = page().replace("\\-", "-")
    sections = dict(zip(*[iter(re.split(r"(?m)^\.SH (.*)$", text)[1:])] * 2, strict=True))
    for name in ("EXAMPLES", "FILES", "ENVIRONMENT", "CONFIGURATION"):
        assert sections[name].count(".TP") > 3
    for option in OPTIONS:
        if option.variable:
            assert f"\\fB{option.variable}\\fR" in sections["ENVIRONMENT"]
        if option.key:
            assert f"\\fB{option.key}\\fR" in sections["CONFIGURATION"]
            assert option.help, option.key


def test_a_flags_default_is_what_holds_without_it() -> None:
    flags = [option for option in OPTIONS if option.off]
    assert flags
    defaults = {row.name: row.default for row in variables()} | {
        row.name: row.default for row in keys()
    }
    for option in flags:
        holds = str(getattr(Settings(), option.name)).lower()
        for name in filter(None, (option.variable, option.key)):
            assert defaults[name] == holds, name


def test_the_variables_that_are_read_are_those_that_are_told() -> None:
    """Every SMPMAKE_ name in the package; SMPMAKE_STATIC_CC is of its build."""
    sources = (Path(smpmake.__file__).parent).rglob("*.py")
    named = {
        name for path in sources for name in re.findall(r"\bSMPMAKE_[A-Z_]+\b", path.read_text())
    }
    assert named == {row.name for row in variables()}


def test_the_documentation_has_this_table() -> None:
    text = documented.SETTINGS.read_text()
    assert documented.settings(text) == text, "run `python -m tests.support.documented`"


@pytest.mark.slow
@pytest.mark.skipif(GROFF is None, reason="there is no groff")
def test_man_reads_it_without_a_complaint() -> None:
    done = subprocess.run(
        [GROFF or "groff", "-man", "-Tutf8", "-ww", "-rLL=100n"],
        input=page(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    for words in (
        "smpmake - run an unmodified serial build in parallel",
        "-j, --jobs N",
        "EXIT STATUS",
    ):
        assert words in shown
