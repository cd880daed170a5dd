"""Real packages' builds, recorded: an engine without a build does the same again.

That is also where the build fails, is undone and run again, and in other orders.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from smpmake.recording.command import told
from smpmake.recording.player import Player
from smpmake.recording.recording import Recording

from .builds import Outcome, build
from .catalogue import LUA, XZ, ZLIB, Package
from .workshop import Workshop, copy_tree

pytestmark = [pytest.mark.packages, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=[LUA, ZLIB, XZ], ids=lambda package: package.name)
def package(request: pytest.FixtureRequest) -> Package:
    """The smaller ones."""
    chosen: Package = request.param
    return chosen


def record(
    workshop: Workshop, smpmake: str, file: Path, *options: str, command: tuple[str, ...] = ()
) -> Outcome:
    """Builds the package, or runs another command in its folder, and records it."""
    command = command or workshop.package.make
    words = [smpmake, "--record", str(file), *options, "--", *command]
    return build(words, workshop.folder, {"XDG_STATE_HOME": str(file.parent)})


def expect_same(file: Path) -> Player:
    """The engine does what was recorded."""
    recording = Recording(file)
    assert recording.is_whole
    player = Player(recording)
    difference = player.play()
    assert difference is None, "\n".join(told(difference, {}))
    return player


WAYS = ((), ("--chaos", "3"), ("--no-guard",), ("--output-sync=serial",))


@pytest.mark.parametrize("options", WAYS, ids=" ".join)
def test_a_build_is_played_again(
    workshop: Workshop, smpmake: str, tmp_path: Path, options: tuple[str, ...]
) -> None:
    workshop.restore("pristine")
    outcome = record(workshop, smpmake, tmp_path / "build.rec", *options)
    assert outcome.status == 0, outcome.output[-3000:]
    before = workshop.snapshot()
    assert expect_same(tmp_path / "build.rec").figures.commands > 20
    assert workshop.snapshot() == before


def test_so_is_one_that_fails(workshop: Workshop, smpmake: str, tmp_path: Path) -> None:
    workshop.restore("pristine")
    with contextlib.ExitStack() as mended:
        mended.callback(workshop.mend_source)
        workshop.break_source()
        outcome = record(workshop, smpmake, tmp_path / "build.rec")
    assert outcome.status == 2, outcome.output[-3000:]
    expect_same(tmp_path / "build.rec")


def test_so_is_its_configure_script(workshop: Workshop, smpmake: str, tmp_path: Path) -> None:
    if not workshop.package.configure:
        pytest.skip(f"{workshop.package.name} has none")
    copy_tree(workshop.source, workshop.folder)
    *before, last = workshop.package.configure
    for command in before:
        assert build(command, workshop.folder).status == 0
    outcome = record(workshop, smpmake, tmp_path / "build.rec", command=last)
    assert outcome.status == 0, outcome.output[-3000:]
    expect_same(tmp_path / "build.rec")
