"""Where a build runs: what is noted of the computer and of the compilers that were called."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from smpmake import config
from smpmake.records import Surroundings
from smpmake.session import host_info
from tests.support.made import command


def test_the_computer_and_what_was_decided() -> None:
    settings = config.Settings(jobs=3, guard=False, memory=-1, foreground=("x", "y"), color="never")
    options = tuple(config.told(settings))
    assert options == ("jobs=3", "no-guard", "memory=off", "foreground=x", "foreground=y")
    place = host_info.here(options)
    assert place.options == options
    assert place.host == os.uname().nodename and os.uname().release in place.kernel
    assert place.cpus == os.cpu_count()
    assert not list(config.told(config.Settings()))


def test_what_is_a_script_is_not_run(tmp_path: Path) -> None:
    """It may do more than to answer, and the serial build would not have called it."""
    program = tmp_path / "gcc"
    program.write_text(f"#!/bin/sh\necho gcc 1 | tee {tmp_path}/seen\n")
    program.chmod(0o755)
    (one,) = host_info.with_compilers(Surroundings(), [command(0, program=str(program))]).compilers
    assert (one.path, one.version, one.stamp) == (str(program), "", "")
    assert not (tmp_path / "seen").exists()


def test_what_is_the_same_file_is_not_asked_again() -> None:
    program = shutil.which("gcc")
    if program is None:
        pytest.skip("there is no gcc")
    commands = [command(0, program=program)]
    (one,) = host_info.with_compilers(Surroundings(), commands).compilers
    assert "gcc" in one.version.lower()
    known = one._replace(version="as it was")
    (again,) = host_info.with_compilers(Surroundings(), commands, [known]).compilers
    assert again.version == "as it was"
    other = known._replace(stamp="1:2")
    (fresh,) = host_info.with_compilers(Surroundings(), commands, [other]).compilers
    assert fresh.version == one.version


def test_behind_a_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ccache gcc` is gcc, and so is a gcc that is ccache: that itself is not asked."""
    real = os.path.realpath(shutil.which("gcc") or pytest.skip("there is no gcc"))
    launcher = tmp_path / "ccache"
    launcher.write_text("#!/bin/sh\n: > seen\n")
    launcher.chmod(0o755)
    masked = tmp_path / "masked" / "gcc"
    masked.parent.mkdir()
    masked.symlink_to(launcher)
    monkeypatch.setenv("PATH", f"{masked.parent}:{os.environ['PATH']}")
    behind = command(0, tool="ccache", argv=b"ccache\0gcc\0-c\0a.c\0", program=str(launcher))
    for one in (behind, command(0, program=str(masked))):
        (found,) = host_info.with_compilers(Surroundings(), [one]).compilers
        assert (found.name, found.path) == ("gcc", real)
        assert "gcc" in found.version.lower() and found.stamp


def test_a_compiler_that_is_gone_has_no_version() -> None:
    (one,) = host_info.with_compilers(
        Surroundings(), [command(0, program="/nowhere/gcc")]
    ).compilers
    assert (one.version, one.stamp) == ("", "")
