"""The man page says what the help says, and man can read it."""

from __future__ import annotations

import re
import shutil
import subprocess

import click
import pytest

from smpmake.cli.group import group
from smpmake.cli.man import page
from smpmake.cli.names import COMMANDS
from smpmake.cli.run import run

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
