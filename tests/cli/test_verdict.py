"""`smpmake doctor`: whether it works here, said first; and nothing raw from the machine."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from smpmake import __version__
from tests.support.space import SMPMAKE, Space


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.slow
def test_the_verdict_is_first(space: Space) -> None:
    space.write({".smpmake.toml": "jobs = 2\n"})
    ended = space.smpmake("doctor")
    assert ended.status == 0, ended.out
    first, second, *rest = ended.out.splitlines()
    assert first.startswith(f"smpmake {__version__} works here; ")
    assert second.startswith("guard     works: a compile by cc ran in parallel")
    text = "\n".join(rest)
    for word in ("compilers ", "cc", "CPUs ", "usable", "sessions  in /", "history ", "server "):
        assert word in text
    assert f"settings  {space.folder}/.smpmake.toml" in rest
    for word in (platform.release(), "glibc 2.", f"Python {platform.python_version()}", "click "):
        assert word in text
    assert "smpmake-shim" not in text
    assert "in cache" not in text
    space.expect_clean()
    assert space.smpmake("report").status == 125  # the trial is not in the user's history


@pytest.mark.chaos
@pytest.mark.slow
def test_details_are_behind_an_option(space: Space) -> None:
    ended = space.smpmake("doctor", "-v")
    for word in ("smpmake-shim", "gcc", "in cache", "in memory"):
        assert word in ended.out
    assert "in cache" not in space.smpmake("doctor", "-v", "--no-probe").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "says"),
    [
        (None, "guard: not tried: there is no C compiler on PATH"),
        ("echo no licence; exit 3", "guard: cc cannot compile an empty program: no licence"),
    ],
)
def test_what_does_not_work_is_told(space: Space, compiler: str | None, says: str) -> None:
    folder = space.root / "bin"
    script(folder / "other", "")
    if compiler is not None:
        script(folder / "cc", compiler)
        for name in ("sh", "cat"):
            (folder / name).symlink_to(f"/bin/{name}")
    ended = space.smpmake("doctor", PATH=str(folder))
    assert ended.status == 1
    assert ended.out.startswith(f"smpmake {__version__} does not work here as it should: ")
    assert says in ended.out.splitlines()[0]


@pytest.mark.slow
def test_settings_that_cannot_be_used_are_part_of_it(space: Space) -> None:
    space.write({".smpmake.toml": "jbos = 2\n"})
    ended = space.smpmake("doctor")
    assert ended.status == 1
    assert "unknown key 'jbos'; did you mean 'jobs'?" in ended.out.splitlines()[0]
    space.write({".smpmake.toml": "guard = false\n"})
    assert "your settings say guard = false" in space.smpmake("doctor").out


@pytest.mark.slow
def test_it_looks_behind_a_masquerade(space: Space) -> None:
    folder = space.root / "masquerade"
    script(folder / "ccache", "")
    (folder / "gcc").symlink_to("ccache")
    path = f"{folder}:{space.environment['PATH']}"
    shown = space.smpmake("doctor", "-v", "--no-probe", PATH=path)
    assert "(ccache in front of /usr/bin/gcc)" in shown.out


@pytest.mark.slow
def test_names_on_path_do_nothing_to_a_terminal(space: Space) -> None:
    folder = space.root / "\x1b]0;owned\x07"
    script(folder / "gcc", "printf '\\033[31m 1.0\\n'")
    path = f"{folder}:{space.environment['PATH']}"
    shown = space.smpmake("doctor", "-v", "--no-probe", PATH=path)
    shims = str(space.root / "\x1b[2J")
    made = space.smpmake("shims", "install", shims, PATH=path)
    assert made.status == 0
    listed = space.run(SMPMAKE, "shims", "list", shims)
    for ended in (shown, made, listed):
        assert "\x1b" not in ended.out + ended.err
        assert "\x07" not in ended.out + ended.err
    assert "^[]0;owned^G/gcc" in shown.out
    assert "^[]0;owned^G/gcc" in made.out


@pytest.mark.slow
def test_the_same_for_programs(space: Space) -> None:
    space.write({".smpmake.toml": "jobs = 2\n"})
    page = json.loads(space.smpmake("doctor", "--json").out)
    assert (page["format"], page["version"], page["smpmake"]) == ("smpmake-doctor", 1, __version__)
    assert page["works"] and page["faults"] == []
    assert page["settings"] == [str(space.folder / ".smpmake.toml")]
    assert page["cpus"]["usable"] >= 1
    assert any("gcc" in compiler["names"] for compiler in page["compilers"])
    assert {"name", "path"} == page["tools"][0].keys()
    space.write({".smpmake.toml": "jbos = 2\n"})
    wrong = space.smpmake("doctor", "--json")
    page = json.loads(wrong.out)
    assert wrong.status == 1 and not page["works"]
    assert "unknown key 'jbos'" in page["faults"][0]
