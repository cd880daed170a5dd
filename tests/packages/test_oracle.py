"""The parts of the package tests that need no package: what they compare, and how."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from . import builds, fetch
from .catalogue import PACKAGES
from .trees import Lens, Snapshot, age, changes, differences, renamed, snapshot, strangers


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree: a file, a folder with another, a link that leads nowhere."""
    (tmp_path / "below").mkdir()
    (tmp_path / "a.o").write_text("object")
    (tmp_path / "below/b.o").write_text("another")
    (tmp_path / "link").symlink_to("nowhere")
    return tmp_path


def test_a_snapshot_survives_json(tree: Path) -> None:
    before = snapshot(tree)
    assert set(before.entries) == {"a.o", "below", "below/b.o", "link"}
    assert Snapshot.from_json(before.as_json()) == before


def test_content_mode_kind_and_target_are_seen(tree: Path) -> None:
    before = snapshot(tree).entries
    (tree / "a.o").write_text("objekt")
    (tree / "below/b.o").chmod(0o755)
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")
    (tree / "new").touch()
    seen = [line.partition(":")[0] for line in differences(before, snapshot(tree).entries)]
    assert seen == ["a.o", "below/b.o", "link", "new"]


def test_a_time_is_a_change_but_no_difference(tree: Path) -> None:
    before = snapshot(tree)
    os.utime(tree / "a.o", ns=(1, 1))
    after = snapshot(tree)
    assert changes(before, after) == {"a.o"}
    assert differences(before.entries, after.entries) == []


def test_an_aged_tree_keeps_its_order(tree: Path) -> None:
    os.link(tree / "a.o", tree / "same")
    before = snapshot(tree).times
    age(tree, 2)
    after = snapshot(tree).times
    assert {before[name] - after[name] for name in before} == {2 * 10**9}


def test_what_two_builds_disagree_on_must_exist_only(tree: Path) -> None:
    one = snapshot(tree).entries
    (tree / "a.o").write_text("other")
    (tree / "log").touch()
    two = snapshot(tree).entries
    lens = Lens.of([one, two], ["link"])
    (tree / "a.o").write_text("third")
    (tree / "link").unlink()
    three = snapshot(tree).entries
    assert differences(lens.view(one), lens.view(three)) == []
    del three["a.o"]
    assert differences(lens.view(one), lens.view(three)) != []


def test_a_stranger_is_in_no_allowed_state(tree: Path) -> None:
    complete = snapshot(tree).entries
    (tree / "a.o").write_text("obj")
    found = strangers(snapshot(tree).entries, [{}, complete])
    assert len(found) == 1 and found[0].startswith("a.o: ")
    (tree / "a.o").unlink()
    assert strangers(snapshot(tree).entries, [{}, complete]) == []


def test_renamed_keeps_the_entries(tree: Path) -> None:
    entries = snapshot(tree).entries
    assert renamed(entries, ".o", ".x") == {
        "a.x": entries["a.o"],
        "below/b.x": entries["below/b.o"],
    }


def test_a_process_that_stays_is_seen_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "LINGER_SECONDS", 0.0)
    # It answers from a session of its own, in which the group's end does not reach it.
    stays = (
        "import os, signal, sys\n"
        "heard, told = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); os.write(told, b'.'); signal.pause()\n"
        "os.read(heard, 1); open(os.environ['TMPDIR'] + '/junk', 'w').close(); sys.exit(3)\n"
    )
    with builds.running([sys.executable, "-c", stays], tmp_path) as run:
        outcome = run.finish(30)
        assert outcome.status == 3
        assert len(outcome.left) == 1
        assert outcome.litter == ("tmp/junk",)
    for pid in builds.marked(run.mark):
        builds._wait_for_end(pid, 10)
    assert builds.marked(run.mark) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("5.4.4-3+deb12u1", "5.4.4"),
        ("5:7.0.15-1~deb12u10", "7.0.15"),
        ("1:1.2.13.dfsg-1", "1.2.13.dfsg"),
    ],
)
def test_the_upstream_part_of_a_version(version: str, expected: str) -> None:
    assert fetch.upstream(version) == expected


def test_source_lists_ask_for_sources() -> None:
    assert fetch.as_sources("Types: deb\nSuites: s\n", ".sources") == "Types: deb-src\nSuites: s\n"
    both = "deb [arch=amd64] http://h s main\ndeb-src http://h s main\n# deb no\n"
    assert fetch.as_sources(both, ".list") == (
        "deb-src [arch=amd64] http://h s main\ndeb-src http://h s main\n# deb no\n"
    )


def test_source_lists_of_another_suite() -> None:
    stanzas = "URIs: u\nSuites: s s-updates\n\nURIs: v\nSuites: s-security\n"
    assert fetch.of_suite(stanzas, "t") == "URIs: u\nSuites: t"
    lines = "deb-src [arch=amd64] http://h s main\n"
    assert fetch.of_suite(lines, "t") == "deb-src [arch=amd64] http://h t main\n"


def test_package_names_are_distinct() -> None:
    assert len({package.name for package in PACKAGES}) == len(PACKAGES)
