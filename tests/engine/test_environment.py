"""What a shell makes of an environment, by the shell itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from smpmake.decide.procfs import Caller, Processes
from smpmake.engine.environment import Environment
from smpmake.engine.tools import make_tells_folders


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


class Above(Processes):
    """A shell, and above it a make that was called so."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self._words = [word.encode() for word in line.split()]

    def caller(self, pid: int) -> Caller | None:
        name = {3: "sh", 2: self._words[0].decode()}.get(pid)
        return Caller(pid, name, pid - 1, 0.0) if name else None

    def command_line(self, pid: int) -> list[bytes]:
        assert pid == 2
        return self._words


@pytest.mark.parametrize(
    ("line", "level", "flags", "tells"),
    [
        ("make", "1", "", False),
        ("make -kC sub", "1", "k", True),
        ("make -Csub", "1", "", True),
        ("make -f C -j2", "1", " -j2", False),
        ("make -fC", "1", "", False),
        ("gmake --directory=sub", "1", "", True),
        ("make all", "2", "", True),
        ("make all", "3", "k -- A=s", True),
        ("make all", "2", "s", False),
        ("make all", "2", "ks", False),
        ("make all", "2", " --no-print-directory", False),
        ("make -C sub", "1", "s", False),
        ("make", "1", "w", True),
        ("make", "2", "sw", True),
        ("make", "1", " --print-directory", True),
        ("bmake all", "2", "", False),
        ("bash x", "2", "", False),
    ],
)
def test_which_makes_say_which_folder_they_enter(
    line: str, level: str, flags: str, tells: bool
) -> None:
    """As make 4.3 and 4.4 do, which write different MAKEFLAGS."""
    environment = Environment(f"MAKELEVEL={level}\0MAKEFLAGS={flags}\0".encode())
    assert make_tells_folders(environment, Above(line), 3) == tells
