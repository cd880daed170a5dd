"""What a guard and a shim cost each process of a build at its start: a configure script has
thousands."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from smpmake import native
from smpmake.guard.scoreboard import Scoreboard
from tests.support.calls import Counter

_PAGE: Final = 4096
_LOAD, _DYNAMIC, _RELRO, _WRITABLE = 1, 2, 0x6474E552, 2
#: DT_INIT_ARRAY, DT_FINI_ARRAY.
_TABLES: Final = {25, 26}
#: Opens the scoreboard, sees how long it is, maps it, closes it; who am I, and who has started me?
_OF_THE_GUARD: Final = 6
#: Of the loader: opens the guard, reads its head, sees what it is, maps it twice, closes it.
_OF_A_PRELOAD: Final = 6
#: Which file am I; one look for each folder of PATH (there is one); is the operand a FIFO; are
#: stdin and stdout; the place for a check, of four; the head of the scoreboard, of three; becomes
#: the tool.
_OF_THE_SHIM: Final = 13


class Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    address: int
    in_file: int
    in_memory: int


def segments(data: bytes) -> list[Segment]:
    start, size, count = *struct.unpack_from("=Q", data, 32), *struct.unpack_from("=HH", data, 54)
    parts = []
    for at in range(start, start + count * size, size):
        kind, flags, offset, address, _, in_file, in_memory = struct.unpack_from(
            "=IIQQQQQ", data, at
        )
        parts.append(Segment(kind, flags, offset, address, in_file, in_memory))
    return parts


def pages(size: int) -> int:
    return -(-size // _PAGE)


def test_the_guard_is_two_mappings_and_writes_to_one_page_of_its_own() -> None:
    """That page is the last one of the file, and .bss ends on it: if it does not, say ASIDE to what
    is large (guard.h)."""
    data = Path(native.guard()).read_bytes()
    parts = segments(data)
    text, own = (part for part in parts if part.kind == _LOAD)
    assert not text.flags & _WRITABLE and own.flags & _WRITABLE
    assert pages(own.address % _PAGE + own.in_memory) == pages(own.address % _PAGE + own.in_file)
    assert not any(part.kind == _RELRO for part in parts)
    (dynamic,) = (part for part in parts if part.kind == _DYNAMIC)
    last = (own.address + own.in_memory - 1) // _PAGE
    assert dynamic.address // _PAGE == last
    words = struct.unpack_from(f"={dynamic.in_file // 8}Q", data, dynamic.offset)
    entries = dict(zip(words[::2], words[1::2], strict=True))
    assert not entries.keys() & _TABLES
    relocations = [(entries[7], entries[8]), (entries[23], entries[2])]  # RELA, JMPREL
    written = {
        struct.unpack_from("=Q", data, at)[0] // _PAGE
        for start, size in relocations
        for at in range(start, start + size, 24)
    }
    assert written == {last}


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Counter:
    return Counter(tmp_path_factory.mktemp("counter"))


@pytest.fixture
def session(tmp_path: Path) -> dict[str, str]:
    """The variables of one in which nothing is pending."""
    Scoreboard(tmp_path / "board").close()
    (tmp_path / "check").touch()
    return {
        "PATH": str(tmp_path / "bin"),
        "_SMPMAKE_SOCKET": str(tmp_path / "socket"),
        "_SMPMAKE_BOARD": str(tmp_path / "board"),
        "_SMPMAKE_GUARD": native.guard(),
        "_SMPMAKE_SHIMS": str(tmp_path / "shims"),
        "_SMPMAKE_BUILD": "main",
        "_SMPMAKE_CALLER": f"{1:010}",
    }


def test_a_guarded_process_makes_few_calls_more(
    counter: Counter, tmp_path: Path, session: dict[str, str]
) -> None:
    true = shutil.which("true") or "/bin/true"
    library = tmp_path / "none.so"
    options = "-shared -nostdlib -x c /dev/null -Wl,-z,noseparate-code -Wl,-z,norelro -o"
    subprocess.run(["gcc", *options.split(), library], check=True)
    (plain,) = counter.calls(true, ["true"], LC_ALL="C")
    (loaded,) = counter.calls(true, ["true"], LC_ALL="C", LD_PRELOAD=str(library))
    (guarded,) = counter.calls(true, ["true"], LC_ALL="C", LD_PRELOAD=native.guard(), **session)
    assert len(loaded) <= len(plain) + _OF_A_PRELOAD
    assert len(guarded) <= len(plain) + _OF_A_PRELOAD + _OF_THE_GUARD


def test_a_shim_whose_check_runs_unasked_makes_few_calls(
    counter: Counter, tmp_path: Path, session: dict[str, str]
) -> None:
    true = shutil.which("true") or "/bin/true"
    (tmp_path / "bin").mkdir()
    os.symlink(native.program("shim"), tmp_path / "bin" / "gcc")
    del session["_SMPMAKE_CALLER"]
    shim, tool = counter.calls(
        str(tmp_path / "bin" / "gcc"), ["gcc", "-c", "conftest.c"], _SMPMAKE_REAL=true, **session
    )
    assert len(shim) <= _OF_THE_SHIM
    assert tool
