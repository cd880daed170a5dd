"""The user's folders: where the specification has them, and a build by somebody who has none."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from pathlib import Path

import pytest

from smpmake import config, folders
from smpmake.decide.known_failures import KnownFailures
from smpmake.history.store import HistoryError, default_path
from smpmake.server.daemon import base_folder
from smpmake.server.shim_cache import ShimFolderError, shims_for
from tests.support.space import MAIN, SMPMAKE, Space, objects

NOBODY = 54321  # no user has this number


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)


def places() -> list[str]:
    return [str(each()) for each in (folders.user_file, default_path, folders.cache)]


def test_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = f"{tmp_path}/john doe/"
    monkeypatch.setenv("HOME", home.rstrip("/"))
    os.mkdir(home)
    below = [".config/smpmake/config.toml", ".local/state/smpmake/history.db", ".cache/smpmake"]
    assert places() == [home + each for each in below]
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", f"/x/{name}")
    below = ["CONFIG/smpmake/config.toml", "STATE/smpmake/history.db", "CACHE/smpmake"]
    assert places() == ["/x/" + each for each in below]


@pytest.mark.parametrize("value", ["", "relative", "./a", "~/x"])
def test_relative_values_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = places()
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", value)
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    assert places() == expected
    assert folders.runtime() is None


def test_sockets_are_where_the_system_wants_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    short = Path(tempfile.mkdtemp(prefix="smp-", dir="/tmp"))
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
        assert base_folder() == short / "smpmake"
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
        monkeypatch.setattr(tempfile, "tempdir", str(short))
        assert base_folder() == short / f"smpmake-services-{os.getuid()}"
    finally:
        shutil.rmtree(short)


def test_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(folders.NoHomeError, match="set HOME, or XDG_CACHE_HOME"):
        folders.cache()
    with pytest.raises(HistoryError, match="there is no home"):
        default_path()
    known = KnownFailures("/project")
    known.add("0" * 32, b"gcc\0")
    known.save()
    assert config.load(tmp_path) == config.Settings()
    assert shims_for(os.environ["PATH"], tmp_path).is_relative_to(tmp_path)


def test_a_home_that_is_not_there_is_not_made(space: Space) -> None:
    for name in ("CONFIG", "STATE", "CACHE"):
        del space.environment[f"XDG_{name}_HOME"]
    home = space.root / "nowhere"
    space.environment["HOME"] = str(home)
    space.write({"a.c": MAIN})
    ended = space.smpmake("gcc", "-c", "a.c")
    assert (ended.status, (space.folder / "a.o").exists()) == (0, True)
    said = space.smpmake("memo").err
    assert said.startswith("smpmake: there is no home folder for the user's cache: HOME is ")
    assert "(set HOME, or XDG_CACHE_HOME)" in said
    assert not home.exists()


@pytest.mark.parametrize("command", ["memo", "doctor"])
def test_a_cache_that_cannot_be_used_is_named(space: Space, command: str) -> None:
    cache = space.root / "cache"
    assert "let XDG_CACHE_HOME" not in space.smpmake(command).out
    cache.chmod(0o777)
    assert f"{cache} may be changed by anybody (chmod go-w {cache})" in space.smpmake(command).out
    shutil.rmtree(cache)
    cache.write_text("")
    told = ": Not a directory (let XDG_CACHE_HOME name a folder of yours)"
    assert told in space.smpmake(command).out


def test_shims_that_a_path_could_not_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a:b"))
    assert shims_for(os.environ["PATH"], tmp_path).is_relative_to(tmp_path / "shims")
    with pytest.raises(ShimFolderError, match="colon"):
        shims_for(os.environ["PATH"], tmp_path / "c:d")


@pytest.mark.slow
@pytest.mark.parametrize("home", [None, "", "relative", "/proc/nowhere"])
def test_p5_a_build_by_somebody_who_has_no_home(space: Space, home: str | None) -> None:
    nobody = ["unshare", "--user", f"--map-user={NOBODY}", "--"]
    if shutil.which("unshare") is None or space.run(*nobody, "true").status != 0:
        pytest.skip("nobody can be had here: that takes a namespace of users")
    for name in ("CONFIG", "STATE", "CACHE"):
        del space.environment[f"XDG_{name}_HOME"]
    del space.environment["HOME"]
    if home is not None:
        space.environment["HOME"] = home
    script = "".join(f"gcc -c f{n}.c\n" for n in range(4)) + "gcc -o prog main.c f*.o\n"
    space.write({**objects(4), "main.c": MAIN})
    ended = space.run(*nobody, SMPMAKE, "sh", "-ec", script)
    assert ended.status == 0, ended.err
    assert "5 in parallel" in ended.err
    assert "Traceback" not in ended.err
    assert (space.folder / "prog").exists()
    space.expect_clean()
    report = space.run(*nobody, SMPMAKE, "report")
    assert report.status == 125
    assert report.err.startswith("smpmake: ") and "Traceback" not in report.err


@pytest.mark.slow
def test_p5_a_cache_that_cannot_be_had(space: Space) -> None:
    (space.root / "file").write_text("")
    space.environment["XDG_CACHE_HOME"] = str(space.root / "file")
    files = {**objects(3), "build.sh": "gcc -c f0.c\ngcc -c f1.c\ngcc -c f2.c\n"}
    ended = space.expect_same(files, ["sh", "-e", "build.sh"])
    assert "3 in parallel" in ended.err
