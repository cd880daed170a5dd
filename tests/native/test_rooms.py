"""The rooms of native/: who may need whom, by what the compiled files ask of each other (nm)."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from smpmake import native

SOURCES: Final = Path(native.__file__).parent
ROOT: Final = SOURCES.parent.parent
#: Each room, and those below it; texts and bare stand in for libc, which is below all.
BELOW: Final = {
    "base": set[str](),
    "memo": {"base"},
    "shim": {"memo", "base"},
    "trace": {"memo", "base"},
    "recall": {"memo", "base"},
    "ahead": {"base"},
    "worker": {"base"},
    "keeper": {"base"},
    "probe": {"base"},
    "guard": set(),
    "guard/view": {"guard"},
    "guard/change": {"guard", "guard/view"},
    "guard/hooks": {"guard", "guard/view", "guard/change"},
    "guard/program": {"guard", "guard/view", "guard/change", "guard/hooks"},
}
LIBC: Final = {"texts", "bare"}


class Part(NamedTuple):
    """A source, what it has for others, and what it needs of others."""

    room: str
    name: str
    has: frozenset[str]
    needs: frozenset[str]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Part]:
    folder = tmp_path_factory.mktemp("objects")
    names = runpy.run_path(str(ROOT / "hatch_build.py"))["_names_of_tools"](ROOT)
    flags = ["-w", "-O0", "-D_GNU_SOURCE", f"-I{SOURCES}", *names]

    def part(source: Path) -> Part:
        path = source.relative_to(SOURCES)
        made = folder / str(path).replace("/", "-")
        subprocess.run(["cc", *flags, "-c", source, "-o", made], check=True)
        told = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
        rows = [line.split()[-2:] for line in told.splitlines()]
        has = frozenset(name for kind, name in rows if kind in "TDBRCVW" and name != "main")
        needs = frozenset(name for kind, name in rows if kind == "U")
        return Part(str(path.parent), path.name, has, needs)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(part, sorted(SOURCES.rglob("*.c"))))


def arrows(parts: list[Part]) -> Iterator[tuple[Part, Part, set[str]]]:
    for one in parts:
        for other in parts:
            is_guards = one.room.startswith("guard")
            met = one.needs & other.has
            if one is not other and is_guards == other.room.startswith("guard") and met:
                yield one, other, set(met)


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_rooms_need_only_those_below_them(parts: list[Part]) -> None:
    assert {part.room for part in parts} == {*BELOW, *LIBC}
    wrong = [
        f"{one.room}/{one.name} needs {other.room}/{other.name}: {', '.join(met)}"
        for one, other, met in arrows(parts)
        if one.room not in LIBC
        and other.room not in LIBC
        and other.room not in {one.room, *BELOW[one.room]}
    ]
    assert wrong == []


def test_a_room_is_no_hall() -> None:
    for folder in {path.parent for path in SOURCES.rglob("*.[ch]")}:
        assert len(list(folder.glob("*.[ch]"))) <= 40, folder


def test_comments_name_files_that_are_there() -> None:
    """By as much of the path as it takes."""
    there = [f"/{path.relative_to(SOURCES)}" for path in SOURCES.rglob("*.*")]
    for path in SOURCES.rglob("*.[ch]"):
        text = re.sub(r"(?m)^#include .*$", "", path.read_text())
        for comment in re.findall(r"/\*.*?\*/", text, re.DOTALL):
            for name in re.findall(r"(?<![\w/.<])\w[\w/]*\.(?:[ch]|def)\b", comment):
                assert any(each.endswith(f"/{name}") for each in there), (path, name)
