"""`scripts/soak` itself: it tries, counts, goes on where it stopped, and says how to repeat."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import fetch
from tests.packages.projects import chosen
from tests.soak import builds, command, ledger
from tests.soak.command import NAMES, main
from tests.soak.corpus import Chaos
from tests.soak.loop import Loop
from tests.soak.section import ROOT, Section, SkippedError
from tests.support import space
from tests.support.findings import DifferenceError

#: smpmake as it is, but for a file too many where the environment says so.
WRONG = """#!/bin/sh
{smpmake} "$@"
status=$?
case "$MORE_0" in ?*) : > planted;; esac
exit $status
"""


def begun(path: Path, **seeds: int) -> list[str]:
    """Totals that begin at given seeds; the option that names them."""
    ledger.Ledger({name: ledger.Tally(seed) for name, seed in seeds.items()}).save(path)
    return ["--state", str(path)]


def kept(path: Path) -> dict[str, ledger.Tally]:
    return ledger.load(path).sections


@pytest.mark.chaos
@pytest.mark.slow
def test_a_run_goes_on_where_the_last_one_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = begun(tmp_path / "soak.json", wire=7, arguments=40)
    assert main([*state, "--tries", "1", "wire", "arguments"]) == 0
    assert main([*state, "--tries", "2", "arguments"]) == 0
    after = kept(tmp_path / "soak.json")
    assert (after["wire"].next, after["wire"].tries) == (8, 1)
    assert (after["arguments"].next, after["arguments"].tries) == (43, 3)
    assert after["wire"].things == 200 and after["arguments"].things == 6000
    capsys.readouterr()
    assert main([*state, "--table"]) == 0
    table = capsys.readouterr().out
    assert re.search(r"\| arguments \| 3 \| 6,000 command lines \| 0 \| 0 \| 0.0", table)
    assert "kills" not in table  # none was tried


@pytest.mark.chaos
@pytest.mark.slow
def test_what_is_found_comes_with_the_command_that_finds_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "smpmake"
    planted.write_text(WRONG.format(smpmake=space.SMPMAKE))
    planted.chmod(0o755)
    monkeypatch.setattr(space, "SMPMAKE", str(planted))
    state = begun(tmp_path / "soak.json", environments=4)
    assert main([*state, "--tries", "4", "environments"]) == 1
    said = capsys.readouterr().out
    commands = re.findall(r"again: scripts/soak (.*)", said)
    assert said.count("['planted']") == len(commands) == 2, said
    after = kept(tmp_path / "soak.json")["environments"]
    assert (after.tries, after.differences, after.losses) == (4, 2, 0)
    assert len(ledger.load(tmp_path / "soak.json").findings) == 2
    before = (tmp_path / "soak.json").read_text()
    assert main(shlex.split(commands[1])) == 1
    again = capsys.readouterr().out
    assert f"again: scripts/soak {commands[1]}\n" in again
    assert "['planted']" in again
    monkeypatch.undo()
    assert main(shlex.split(commands[1])) == 0
    assert (tmp_path / "soak.json").read_text() == before  # a repetition is no new try


class Scripted(Section):
    """Does what its script says."""

    name = "scripted"
    things = "words"

    def __init__(self, *script: BaseException | int) -> None:
        self.script = list(script)
        self.seeds: list[int] = []
        self.closed = False

    def attempt(self, seed: int) -> int:
        self.seeds.append(seed)
        what = self.script.pop(0)
        if isinstance(what, BaseException):
            raise what
        return what

    def options(self, seed: int) -> list[str]:
        return ["--package", f"p{seed}"]

    def close(self) -> None:
        self.closed = True


def test_losses_are_told_from_differences(tmp_path: Path) -> None:
    section = Scripted(4, DifferenceError("other bytes"), AssertionError("hangs"), OSError(5, "x"))
    said: list[str] = []
    path = tmp_path / "soak.json"
    book = ledger.Ledger({"scripted": ledger.Tally(9)})
    Loop([section], book, path, tries=4, say=said.append).run()
    tally = kept(path)["scripted"]
    assert (tally.tries, tally.things, tally.differences, tally.losses) == (4, 4, 1, 2)
    assert section.seeds == [9, 10, 11, 12] and section.closed
    assert "difference: other bytes" in said[0]
    assert said[0].endswith("again: scripts/soak --seed 10 --tries 1 --package p10 scripted")
    assert ["loss" in line for line in said] == [False, True, True]


def test_an_interrupted_try_does_not_count(tmp_path: Path) -> None:
    section = Scripted(1, KeyboardInterrupt())
    loop = Loop([section], ledger.Ledger(), tmp_path / "soak.json")
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    tally = kept(tmp_path / "soak.json")["scripted"]
    assert (tally.tries, tally.next) == (1, section.seeds[1])
    assert section.closed


def test_packages_that_are_not_there_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "missing_tools", lambda _: ["cc"])
    words = ["--tries", "9", "--package", "gperf", "--package", "zlib", "chaos"]
    assert main(["--state", str(tmp_path / "soak.json"), *words]) == 0
    said = capsys.readouterr().out
    for name in ("gperf", "zlib"):
        assert said.count(f"chaos: skipped: {name}: not installed: cc") == 1
    assert "chaos: not tried: none of the packages can be built here" in said
    assert not (tmp_path / "soak.json").exists()


def test_it_ends_a_trial_that_goes_on_after_its_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(Scripted):
        def attempt(self, seed: int) -> int:
            left, _ = signal.getitimer(signal.ITIMER_REAL)
            assert left > 60  # it has some time to end by itself
            signal.raise_signal(signal.SIGALRM)
            raise AssertionError

    monkeypatch.setattr(command, "sections", lambda *_: [Endless()])
    assert main(["--seed", "1", "--minutes", "1", "scripted"]) == 0
    assert "interrupted" in capsys.readouterr().out
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize(
    ("script", "status"), [((SkippedError("no network"), 3), 0), ((SkippedError("x"),) * 2, 1)]
)
def test_a_repetition_that_could_try_nothing_fails(
    script: tuple[BaseException | int, ...],
    status: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "sections", lambda *_: [Scripted(*script)])
    assert main(["--seed", "1", "--tries", "2", "scripted"]) == status
    assert ("scripted: nothing could be tried" in capsys.readouterr().out) == bool(status)


def test_each_package_is_drawn_in_turn() -> None:
    chaos = Chaos(chosen(["gperf", "zlib"]))
    assert [chaos.options(seed)[1] for seed in range(3)] == ["gperf", "zlib", "gperf"]


@pytest.mark.chaos
@pytest.mark.slow
def test_the_longest_stalls_of_a_package_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if fetch.missing_tools(chosen(["zlib"])):
        pytest.skip("the package cannot be built here")
    words = ["--seed", "1", "--tries", "1", "--package", "zlib", "waits"]
    status, said = main(["--state", str(tmp_path / "soak.json"), *words]), capsys.readouterr().out
    if "waits: skipped: " in said:
        pytest.skip("the package cannot be fetched")
    assert status == 0
    assert re.search(r"waits: zlib:\n +\d+\.\d\d s  \S+ .*: (mv|ar) ", said), said


@pytest.mark.slow
def test_ctrl_c_prints_the_table(tmp_path: Path) -> None:
    state = begun(tmp_path / "soak.json", arguments=1)
    with subprocess.Popen(
        [sys.executable, ROOT / "scripts" / "soak", *state, "arguments"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while not kept(tmp_path / "soak.json")["arguments"].tries:
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    assert "interrupted" in out and "| arguments |" in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["dance"], "no such section: dance"),
        (["--package", "none", "chaos"], "no such package: none"),
        (["--package", "zlib", "kills"], "--package is for chaos"),
        (["--state", "/dev/null/x/y", "arguments"], "/dev/null/x/y: Not a directory"),
        (["--minutes", "0"], "invalid"),
    ],
)
def test_what_cannot_be_asked(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = main(words)
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert why in capsys.readouterr().err


def test_totals_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "soak.json"
    for text in ("{", "[]", '{"format": 1}', '{"format": 2}', json.dumps({"format": 1})):
        path.write_text(text)
        assert main(["--state", str(path), "--tries", "1", "arguments"]) == 2
        assert path.read_text() == text
    path.unlink()
    with ledger.alone(path):
        assert main(["--state", str(path), "--tries", "1", "arguments"]) == 2
    assert "another run is adding to it" in capsys.readouterr().err


def test_the_page_has_the_table_and_names_every_section() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    for name in (*NAMES, "fuzz"):
        assert f"`{name}`" in page, name
    header = ledger.table({}, []).splitlines()[0]
    assert header in page


def test_environments_name_no_folder_outside() -> None:
    """A build as root would make it."""
    for name in builds.FOLDERS:
        assert name not in builds.SANE and name in builds.NAMES
    for place in builds.PLACES:
        assert not place.startswith("/") or place == "/dev/null"
