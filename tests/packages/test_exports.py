"""Real packages built by ninja, from what smpmake recorded of their build.

The oracle is the tree that the recorded build left.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .builds import build
from .catalogue import MAKE, ZLIB, Package
from .trees import Snapshot, changes, differences, snapshot
from .workshop import Workshop

pytestmark = [pytest.mark.packages, pytest.mark.timeout(900)]

NINJA = str(Path(sys.executable).parent / "ninja")
OWN = frozenset({"build.ninja", ".ninja_log", ".ninja_deps", "compile_commands.json"})
HEADERS = {
    "zlib": (
        "inftrees.h",
        {"inffast.o", "inflate.o", "libz.a", "example"},
        {"deflate.o", "trees.o"},
    ),
    "make-dfsg": ("src/getopt.h", {"src/main.o", "make"}, {"src/read.o", "lib/libgnu.a"}),
}
"""A header, some of what depends on it, and some of what does not."""


@pytest.fixture(scope="module", params=[ZLIB, MAKE], ids=lambda package: package.name)
def package(request: pytest.FixtureRequest) -> Package:
    """One built by a plain makefile, and one by automake's."""
    chosen: Package = request.param
    return chosen


@pytest.fixture
def recorded(workshop: Workshop, smpmake: str, tmp_path: Path) -> Iterator[tuple[Workshop, Path]]:
    """The package built, its build exported both ways, and ninja's outputs removed."""
    state = {"XDG_STATE_HOME": str(tmp_path)}
    workshop.restore("pristine")
    outcome = build([smpmake, *workshop.package.make], workshop.folder, state)
    assert outcome.status == 0, outcome.output[-3000:]
    for kind in ("ninja", "compile-commands"):
        outcome = build([smpmake, "export", kind], workshop.folder, state)
        assert outcome.status == 0 and outcome.stderr.startswith("smpmake: wrote ")
    yield workshop, tmp_path
    for name in OWN:
        (workshop.folder / name).unlink(missing_ok=True)


def ninja(workshop: Workshop, *options: str) -> str:
    """Runs ninja; returns what it printed."""
    outcome = build([NINJA, *options], workshop.folder)
    assert outcome.status == 0, outcome.output[-3000:]
    return outcome.stdout


def outputs(workshop: Workshop) -> list[str]:
    """All that ninja would make."""
    listed = ninja(workshop, "-t", "targets", "all").splitlines()
    return [line.rpartition(": ")[0] for line in listed]


def seen(workshop: Workshop) -> Snapshot:
    """The files, without what belongs to ninja.  Folders are not compared: one that held files of
    passage alone, which the build removed in the end, stays."""
    tree = snapshot(workshop.folder)
    files = {path: entry for path, entry in tree.entries.items() if entry.kind != "folder"}
    return Snapshot(
        {path: entry for path, entry in files.items() if path not in OWN},
        {path: time for path, time in tree.times.items() if path not in OWN},
    )


def test_ninja_builds_the_package(recorded: tuple[Workshop, Path]) -> None:
    """The same bytes; then nothing to do; then, with a header touched, what depends on it."""
    workshop, _ = recorded
    built = seen(workshop)
    for name in outputs(workshop):
        (workshop.folder / name).unlink()
    ninja(workshop, "-j2")
    after = seen(workshop)
    assert differences(workshop.lens.view(built.entries), workshop.lens.view(after.entries)) == []
    assert "no work to do" in ninja(workshop)
    header, dependent, others = HEADERS[workshop.package.name]
    (workshop.folder / header).touch()
    before = seen(workshop)
    ninja(workshop, "-j2")
    changed = changes(before, seen(workshop))
    assert dependent <= changed and not others & changed, sorted(changed)
    assert "no work to do" in ninja(workshop)


def test_every_entry_of_the_database_compiles(recorded: tuple[Workshop, Path]) -> None:
    """Each source of the package is there, and its arguments compile it."""
    workshop, scratch = recorded
    database = json.loads((workshop.folder / "compile_commands.json").read_text())
    sources = {Path(entry["directory"], entry["file"]).name for entry in database}
    assert Path(workshop.package.touch).name in sources
    assert len(database) > 20
    for entry in database:
        arguments = [*entry["arguments"], "-fsyntax-only", "-MF", str(scratch / "x.d"), "-MD"]
        subprocess.run(arguments, cwd=entry["directory"], check=True, stderr=subprocess.DEVNULL)
