"""Which words name a build, and which a path."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from smpmake.cli.builds import build_and_path
from smpmake.cli.group import parsed
from smpmake.history import History, Recorder
from smpmake.records import BuildRecord
from smpmake.redact import Redactor
from tests.support.made import build, ran
from tests.support.space import Space


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("", ("last", None)),
        ("12", (12, None)),
        ("last-3", ("last-3", None)),
        ("lib/a.o", ("last", "lib/a.o")),
        ("12 lib", (12, "lib")),
        ("12 13", (12, "13")),
        ("7", ("last", "7")),
        ("7 7", (7, "7")),
        ("./12", ("last", "./12")),
    ],
)
def test_a_number_is_a_build_unless_it_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, meant: object
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("7").touch()
    assert build_and_path(words.split(), None) == meant


def test_a_build_is_named_once() -> None:
    assert build_and_path(["12", "x"], 12) == (12, "x")
    assert build_and_path(["x"], "last-1") == ("last-1", "x")
    for words, option in ((["12"], 13), (["a", "b"], None)):
        with pytest.raises(click.UsageError):
            build_and_path(words, option)


def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *records: BuildRecord) -> None:
    """Builds in a history of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for record in records:
        record.cwd = str(tmp_path)
        Recorder(History(), record, Redactor()).end()


@pytest.mark.parametrize(
    ("serial", "wanted", "status", "said"),
    [
        (10.0, "1.3", 0, "--fail-under 1.3 passes: the build was about 1.7 times as fast as"),
        (7.0, "1.3", 3, "--fail-under 1.3 fails: the build was about 1.2 times as fast as"),
        (7.0, "1", 0, "--fail-under 1 passes: "),
        (None, "1.3", 0, "--fail-under 1.3 passes: the build failed"),
    ],
)
def test_a_build_server_can_ask_for_a_speed_up(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    serial: float | None,
    wanted: str,
    status: int,
    said: str,
) -> None:
    record = build(ran(0, 0, 0, 5), ran(1, 0, 0, 5, slot=1), wall=6)
    record.serial, record.status = serial, 0 if serial else 2
    kept(tmp_path, monkeypatch, record)
    assert parsed(["report", "--json", "--fail-under", wanted]) == status
    assert capsys.readouterr().err.startswith(f"smpmake: {said}")
    assert parsed(["report", "--fail-under", "-1"]) == 125


def test_what_was_no_build_is_listed_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typo; but not a build that called tools before its last command was not found."""
    typo, other, half = (
        build(wall=1),
        build(ran(0, 0, 0, 3), wall=3),
        build(ran(0, 0, 0, 1), wall=3),
    )
    typo.command, typo.status, half.status = ["mkae"], 127, 127
    kept(tmp_path, monkeypatch, other, half, typo)
    assert parsed(["history"]) == 0
    assert "mkae" not in capsys.readouterr().out
    for words in (["history", "--json"], ["history", "--all", "--json"]):
        assert parsed(words) == 0
        listed = json.loads(capsys.readouterr().out)["builds"]
        assert [one["status"] for one in listed] == [127, 127, 0][-len(listed) :]
        assert len(listed) == 2 + ("--all" in words)


def test_builds_of_different_things_are_compared_with_a_word_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = build(ran(0, 0, 0, 3), wall=3), build(ran(0, 0, 0, 4), wall=4)
    other.command = ["make", "check"]
    kept(tmp_path, monkeypatch, one, other)
    assert parsed(["compare", "1", "2"]) == 0
    first = capsys.readouterr().out.partition("\n")[0]
    assert first == "These are builds of different commands: make and make check"
    assert parsed(["compare", "1", "1"]) == 0
    assert "different" not in capsys.readouterr().out
    other.command, other.cwd = ["make"], "/elsewhere"
    Recorder(History(), other, Redactor()).end()
    assert parsed(["compare", "1", "3"]) == 0
    first = capsys.readouterr().out.partition("\n")[0]
    assert first == f"These are builds of different folders: {tmp_path} and /elsewhere"


def test_a_report_says_that_it_is_not_of_the_last_build(space: Space) -> None:
    """A gate judges that alone."""
    space.write({"Makefile": "all: ; gcc -c a.c\nnothing: ; true\nfails: ; exit 3\n", "a.c": ""})
    assert space.smpmake("make").status == 0
    assert space.smpmake("report").err == ""
    for goal, more in (("nothing", ""), ("fails", " and ended with status 2"), ("nothing", "")):
        space.smpmake("make", goal)
        later = f"the last build here, `make {goal}`, called no known tool{more}"
        for command in ("report", "why"):
            assert space.smpmake(command).err == f"smpmake: {later}: this is build 1 before it\n"
        gate = space.smpmake("report", "--fail-under", "99")
        assert (gate.status, gate.err.splitlines()[-1]) == (
            0,
            f"smpmake: --fail-under 99 passes: {later}",
        )
        assert space.smpmake("report", "1").err == ""
    assert space.smpmake("make").status == 0
    assert space.smpmake("report").err == ""


def test_a_report_of_another_folder_says_so(space: Space, tmp_path: Path) -> None:
    space.write({"Makefile": "all: ; gcc -c a.c\n", "a.c": ""})
    assert space.smpmake("make").status == 0
    done = space.smpmake("-C", str(tmp_path), "report")
    assert done.err == (
        f"smpmake: no build of {tmp_path} is in the history: this is build 1, in {space.folder}\n"
    )
