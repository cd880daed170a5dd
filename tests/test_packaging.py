"""What is published: its scripts' own parts, and all of it made and tried (-m packaging)."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from smpmake import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTROL = (ROOT / "debian" / "control").read_text()


def test_the_linkers_own_command_is_found() -> None:
    link = runpy.run_path(str(ROOT / "scripts" / "zig-cc"))["link_command"]
    told = (
        'clang version 22\nld.lld -o libc.so.6 c.o\n "zig" -cc1 a.c\nld.lld -shared -o a.so a.o\n'
    )
    assert link(told, "a.so") == ["ld.lld", "-shared", "-o", "a.so", "a.o"]
    with pytest.raises(SystemExit, match="no command of the linker"):
        link(told, "b.so")


def test_what_zig_refuses_is_what_the_guard_is_linked_with() -> None:
    refused = runpy.run_path(str(ROOT / "scripts" / "zig-cc"))["REFUSED"]
    guard = runpy.run_path(str(ROOT / "hatch_build.py"))["GUARD_FLAGS"]
    assert set(refused) <= set(guard)


def test_debian_needs_what_python_does() -> None:
    needed = {}
    for requirement in PROJECT["project"]["dependencies"]:
        name, _, version = requirement.partition(">=")
        needed[f"python3-{name}"] = version
    for name in ("ninja-syntax", "tree-sitter", "tree-sitter-bash"):  # Debian has none
        assert needed.pop(f"python3-{name}")
    assert dict(re.findall(r"(?m)^ (python3-\w+) \(>= ([\d.]+)\),$", debian_depends())) == needed


def debian_depends() -> str:
    return CONTROL.partition("\nPackage: ")[2].partition("\nDepends:")[2]


def test_debian_has_our_version() -> None:
    first = (ROOT / "debian" / "changelog").read_text().partition("\n")[0]
    assert first.startswith(f"smpmake ({__version__}) ")


def test_cibuildwheel_compiles_as_the_script_does() -> None:
    linux = PROJECT["tool"]["cibuildwheel"]["linux"]
    wheels = runpy.run_path(str(ROOT / "scripts" / "wheels"))
    assert linux["archs"] == list(wheels["MACHINES"])
    assert f"-linux-gnu.{wheels['GLIBC']}" in linux["environment"]["CC"]
    assert "-linux-musl" in linux["environment"]["SMPMAKE_STATIC_CC"]
    (zig,) = [tool for tool in wheels["TOOLS"] if tool.startswith("ziglang")]
    assert f"'{zig}'" in linux["before-all"]


@pytest.mark.packaging
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("script", ["wheels", "deb"])
def test_it_is_made_and_tried(script: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), "--dist", str(tmp_path)],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{script}: smpmake" in done.stdout
