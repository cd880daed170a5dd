"""What would be taken for a header that is elsewhere now."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.disk.include_path import hides
from smpmake.schedule.names import is_header

LAID = ["far/v.h", "far/sys/w.h", "src/own.h", "far/deep/other.h"]


@pytest.mark.parametrize(
    ("new", "hidden"),
    [
        ("near/v.h", True),
        ("near/new.h", False),
        ("near/sys/w.h", True),
        ("near/w.h", False),
        ("far/deep/v.h", True),  # for what far/deep/other.h includes
        ("src/v.h", True),
        ("elsewhere/v.h", False),
        ("near/stdio.h", True),
        ("link/v.h", False),  # its canonical name is another
    ],
)
def test_a_file_of_the_same_name_on_the_search_path(tmp_path: Path, new: str, hidden: bool) -> None:
    for name in LAID:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "near").mkdir()
    (tmp_path / "link").symlink_to("near")
    searches = {(str(tmp_path / "src"), (".", "../link", "../far", "../far/"))}
    assert hides(str(tmp_path / new), searches) is hidden
    assert not hides(str(tmp_path / new), set())


def test_a_header_that_is_to_come_is_hidden_as_one_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "near").mkdir()
    (tmp_path / "far").mkdir()
    searches = {(str(tmp_path), ("near", "far"))}
    new, other = str(tmp_path / "near/v.h"), str(tmp_path / "far/v.h")
    assert not hides(new, searches)
    assert hides(new, searches, lambda path: path == other)


@pytest.mark.parametrize(
    ("name", "could"),
    [
        *(
            (f"/a/b.{suffix}", True)
            for suffix in ["h", "H", "hh", "hpp", "hxx", "h++", "inc", "inl", "ipp", "tcc", "def"]
        ),
        *((f"/a.h/b{suffix}", False) for suffix in ["", ".c", ".o", ".html5", ".incl", ".h.in"]),
    ],
)
def test_names_of_headers(name: str, could: bool) -> None:
    assert is_header(name) is could
