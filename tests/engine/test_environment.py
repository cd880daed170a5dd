"""What a shell makes of an environment, by the shell itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from smpmake.engine.environment import Environment


def by_dash(variables: list[bytes], folder: Path) -> set[bytes]:
    """What a command is given that dash becomes."""
    shell: list[str | bytes] = ["env", "-i", *variables, "dash", "-c", "cat /proc/self/environ"]
    told = subprocess.run(shell, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    return set(told.split(b"\0")) - {b""}


@pytest.mark.parametrize(
    "variables",
    [
        ["A=1", "B=", "PWD={here}", "_=x", "a_b1=x y\nz"],
        ["A=1"],
        ["PWD={above}", "OLDPWD=/"],
        ["PWD=relative"],
        ["PWD={link}", "A=1"],
        ["PWD=/nowhere/at/all"],
        ["PWD="],
        ["PS1=x", "PATH=/usr/bin:/bin", "HOME=/", "SHLVL=3", "RANDOM=1", "PS4=+", "MAIL=/x"],
    ],
)
def test_a_command_is_given_what_dash_hands_on(tmp_path: Path, variables: list[str]) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "link").symlink_to(here)
    names = {"here": here, "above": tmp_path, "link": tmp_path / "link"}
    given = [each.format(**names).encode() for each in variables]
    ours = Environment(b"".join(each + b"\0" for each in given)).handed_on(str(here))
    assert ours is not None
    path = [] if any(each.startswith(b"PATH=") for each in given) else [b"PATH=/usr/bin:/bin"]
    assert set(ours.split(b"\0")) - {b""} | set(path) == by_dash([*path, *given], here)


@pytest.mark.parametrize(
    "variables",
    [["BASH_FUNC_f%%=() { :; }"], ["1=x"], ["A"], ["=x"], ["IFS=x"], ["PPID=7"], ["A=1", "A=2"]],
)
def test_what_dash_does_with_others_is_for_dash_to_do(tmp_path: Path, variables: list[str]) -> None:
    given = [f"PWD={tmp_path}", *variables]
    blob = b"".join(each.encode() + b"\0" for each in given)
    assert Environment(blob).handed_on(str(tmp_path)) is None
