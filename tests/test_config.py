"""Settings from a pyproject.toml, and which place wins."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from smpmake.config import ConfigError, Settings, load, merge, received, sent, told
from smpmake.options import OPTIONS
from tests.support.space import Space


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository's root, with a folder `deep/er` in it; the user has no settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "above" / "project"
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".git").mkdir()
    return root


def write(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def test_every_place_wins_over_the_ones_before(project: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "smpmake").mkdir(parents=True)
    user = tmp_path / "config" / "smpmake" / "config.toml"
    user.write_text('jobs = 2\nremote = 5\ncolor = "never"\nforeground = ["a"]\n')
    package = write(project, '[tool.smpmake]\njobs = 3\nhistory-size = 6\nforeground = ["b"]\n')
    (project / ".smpmake.toml").write_text('jobs = 4\nforeground = ["c"]\n')
    settings = load(project / "deep")
    assert (settings.jobs, settings.history_size, settings.color) == (4, 6, "never")
    assert settings.foreground == ("a", "b", "c")
    places = (str(user), f"{package}: [tool.smpmake]", str(project / ".smpmake.toml"))
    assert settings.sources == places
    given = settings.with_given({"jobs": 5, "foreground": ("d",)})
    assert (given.jobs, given.foreground) == (5, ("a", "b", "c", "d"))


def test_the_nearest_table_up_to_the_repositorys_root_counts(project: Path) -> None:
    write(project.parent, "[tool.smpmake]\njobs = 9\n")
    assert load(project / "deep" / "er").jobs == 0
    write(project, "[tool.smpmake]\njobs = 3\n")
    write(project / "deep", '[project]\nname = "smpmake-like"\n')
    assert load(project / "deep" / "er").jobs == 3
    write(project / "deep", "[tool.smpmake]\njobs = 5\n")
    assert load(project / "deep" / "er").jobs == 5
    assert load(project).jobs == 3


def test_without_a_repository_only_the_folder_itself_counts(project: Path) -> None:
    (project / ".git").rmdir()
    write(project, "[tool.smpmake]\njobs = 3\n")
    assert load(project / "deep").jobs == 0
    assert load(project).jobs == 3


def test_a_worktree_has_a_file_where_others_have_a_folder(project: Path) -> None:
    (project / ".git").rmdir()
    (project / ".git").write_text("gitdir: elsewhere\n")
    write(project, "[tool.smpmake]\njobs = 3\n")
    assert load(project / "deep").jobs == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.smpmake]\njob = 3\n", ["unknown key 'job'", "did you mean 'jobs'?"]),
        ("[tool.smpmake]\njobs = -1\n", ["'jobs' is -1 and must be a whole number"]),
        ("[tool]\nsmpmake = 3\n", ["must be a table"]),
        ("[tool.smpmake\n", ["not TOML"]),
    ],
)
def test_errors_name_file_key_and_remedy(project: Path, text: str, words: list[str]) -> None:
    path = write(project, text)
    with pytest.raises(ConfigError) as raised:
        load(project)
    for word in [str(path), *words]:
        assert word in str(raised.value)


def test_what_does_not_concern_us_may_be_as_it_likes(project: Path) -> None:
    write(project, "this is [no TOML")
    assert load(project).jobs == 0


def test_below_a_closed_folder_there_is_no_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "[tool.smpmake]\njobs = 3\n")
    (project / ".smpmake.toml").write_text("jobs = 4\n")
    look = os.stat

    def closed(path: str | Path, *args: object, **more: object) -> os.stat_result:
        if os.fspath(path).startswith(os.fspath(project)):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path)

    monkeypatch.setattr(os, "stat", closed)
    assert load(project / "deep") == Settings()


@pytest.mark.slow
def test_a_package_does_not_say_where_commands_run(space: Space) -> None:
    """It may be a stranger's."""
    table = 'engine = "distcc"\nremote = 3\njobs = 3\ntools.x.kind = "compile"\n'
    space.write({"pyproject.toml": f"[tool.smpmake]\n{table}"})
    ended = space.smpmake("true")
    place = f"smpmake: {space.folder}/pyproject.toml: [tool.smpmake]: "
    assert ended.status == 0
    for key in ("engine", "remote", "tools"):
        assert f"{place}'{key}' is ignored (write it into .smpmake.toml" in ended.err
    settings = load(space.folder)
    assert (settings.jobs, settings.engine, settings.remote, settings.tools) == (3, "local", 0, ())


def test_settings_have_a_field_for_each_option_and_reach_a_server() -> None:
    """A new option is told in reports, and sent, unless config.py says otherwise."""
    asks = {"verbose", "quiet"}  # two words for one field
    made = {"verbosity", "status", "tools", "accepted", "sources", "notices"}
    names = {option.name for option in OPTIONS}
    assert names - asks == set(Settings._fields) - made
    values: dict[str, Any] = {
        "flag": None,
        "number": 7,
        "list": ("a", "b"),
        "text": "x",
        "load_average": "2.5",
        "slots": ("link=2",),
        "without": ("reads",),
        "machine_pool": "/srv",
    }
    usual, changes = Settings(), dict[str, Any]()
    for option in OPTIONS:
        if option.name in asks or option.kind == "amount":
            continue
        changes[option.name] = (
            option.choices[-1]
            if option.kind == "choice"
            else values.get(option.name, values[option.kind])
        )
        if option.kind == "flag":
            changes[option.name] = not getattr(usual, option.name)
    changed = usual._replace(**changes)
    back = received(json.loads(json.dumps(sent(changed))))
    unsent = {"color", "idle", "redact", "history_size"}
    unsent |= {"memo_remote", "memo_push", "memo_size", "machine_pool"}
    assert back == changed._replace(**{name: getattr(usual, name) for name in unsent})
    assert len(list(told(changed))) >= len(sent(changed))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[slots]\nlink = 0\n", "link=0"),
        ('slots = ["link=2"]\n[slots.x]\n', "TOML"),
        ("slots = 3\n", "is 3"),
        ('slots = ["link"]\n', "'link'"),
        ('machine-pool = "/x\\u0000y"\n', "absolute path"),
        ('load-average = "x"\n', "a number such as"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        merge(Settings(), path)


def test_slots_and_loads_as_files_say_them(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('load-average = 2.5\n[slots]\nlink = 2\n"g++ *.pb.cc" = 4\n')
    settings = merge(Settings(slots=("lto=1",)), path)
    assert settings.slots == ("lto=1", "link=2", "g++ *.pb.cc=4")
    assert settings.load_average == "2.5"
