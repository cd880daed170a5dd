"""Without an option smpmake remembers jobs at once, and checks that come for the second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.protocol import layout
from tests.memo.test_builds import CHECKS, CONFIGURE
from tests.memo.test_jobs import COMMANDS, FILES
from tests.support.remembered import counts, settle
from tests.support.space import Space

#: Of a source that the build has just written, as checks are: so it runs in place.
COMPILE = "cat text > conftest.c; gcc -c conftest.c && test -s conftest.o"
UNKNOWN = str(layout.MEMO_UNKNOWN)


def seen_of(space: Space) -> Path:
    """Where it is noted which questions came."""
    return Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo", "s", "seen")


def stored(space: Space) -> int:
    """How many questions have an answer."""
    return sum(path.is_file() for path in (seen_of(space).parent.parent / "q").rglob("*"))


def test_checks_of_configure(space: Space) -> None:
    for turn in range(4):
        space.clear()
        space.expect_same({"configure": CONFIGURE}, ["sh", "./configure"])
        assert stored(space) == (0 if turn == 0 else CHECKS)
        assert counts(space)["hits"] == (CHECKS if turn >= 2 else 0), counts(space)


def test_jobs_and_links(space: Space) -> None:
    space.write(FILES)
    settle(space.folder)
    for turn in range(4):
        assert space.smpmake("make").status == 0
        assert counts(space)["hits"] == (COMMANDS if turn else 0), counts(space)
        space.run("make", "clean")


def test_another_source_comes_for_the_first_time(space: Space) -> None:
    for turn, text in enumerate(("int a;\n", "int b;\n", "int c;\n", "int a;\n")):
        space.write({"text": text})
        assert space.smpmake("sh", "-c", COMPILE).status == 0
        assert counts(space)["misses"] == {UNKNOWN: 1}
        assert stored(space) == (turn == 3)


@pytest.mark.parametrize("harm", ["garbage", "folder", "link", "none"])
def test_the_table_is_no_more_than_a_hint(space: Space, harm: str) -> None:
    space.write({"text": "int a;\n", "precious": "mine\n"})
    space.smpmake("sh", "-c", COMPILE)
    seen = seen_of(space)
    assert seen.stat().st_size <= 8192 * 64
    seen.unlink()
    match harm:
        case "garbage":
            seen.write_bytes(b"\xa5" * 8192 * 64)  # full of others
        case "folder":
            seen.mkdir()
        case "link":
            seen.symlink_to(space.folder / "precious")
    for _ in range(4):
        (space.folder / "conftest.o").unlink()
        assert space.smpmake("sh", "-c", COMPILE).status == 0
        assert (space.folder / "conftest.o").exists()
    assert (space.folder / "precious").read_text() == "mine\n"
    assert counts(space)["hits"] == (harm != "folder")
