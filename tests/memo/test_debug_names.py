"""An object's debug information in another folder, beside what compilers write there."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support import needs
from tests.support.renamer import renamer

FOLDERS: Final = ("bb", "work/tree-2", "x y", "zq9", "\u00fc", 'q"t', "n" * 180)
C: Final = """\
#include <stdio.h>
#include "head.h"
struct pair { int one; struct pair *other; };
static int twice(int x) { return TIMES * x; }
int NAME(struct pair *pair) { printf("%d", twice(pair->one)); return pair->other != 0; }
"""
CC: Final = """\
#include <string>
#include <vector>
template <class T> T add(T a, T b) { return a + b; }
namespace { struct inner { std::string text; }; }
std::vector<std::string> NAME(std::string s) { return {add(s, s), inner{s}.text}; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return renamer(tmp_path_factory.mktemp("debug_names"), "debug_names", "memo_renamed")


def renamed(program: Path, data: bytes, before: Path, now: Path) -> bytes | None:
    """The object for another folder; None where it is not known."""
    words = [os.fspath(program), os.fspath(before), os.fspath(now)]
    done = subprocess.run(words, input=data, capture_output=True, check=False)
    assert done.returncode in (0, 3)
    return done.stdout if done.returncode == 0 else None


def compile_in(folder: Path, compiler: str, flags: Sequence[str], name: str, text: str) -> bytes:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text.replace("NAME", f"f{len(name)}"))
    (folder / "head.h").write_text("#define TIMES 2\n")
    command = [compiler, *flags, "-c", name, "-o", "made.o"]
    environment = {**os.environ, "PWD": os.fspath(folder)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return (folder / "made.o").read_bytes()


def names(count: int, end: str) -> list[str]:
    """Names of sources: which string comes first depends on each letter."""
    draw = random.Random(count)
    return [f"{draw.getrandbits(draw.choice((8, 20, 60))):x}{end}" for _ in range(count)]


def compare(
    program: Path, root: Path, compiler: str, flags: str, found: Sequence[str], text: str
) -> None:
    """All that is made of the first folder's objects is what the compiler makes in the others."""
    for name in found:
        first = compile_in(root / "a", compiler, flags.split(), name, text)
        assert renamed(program, first, root / "a", root / "a") == first
        for folder in FOLDERS:
            plain = compile_in(root / folder, compiler, flags.split(), name, text)
            assert renamed(program, first, root / "a", root / folder) == plain, (folder, name)


#: By compiler and flags; of gcc each name asks anew which string comes first.
EXACT: Final = [
    *(("gcc", flags) for flags in ("-g", "-g3 -O2 -ffunction-sections", "-ggdb -Os -fPIC -pg")),
    *(("clang", flags) for flags in ("-g", "-g -O2 -gdwarf-4", "-g3 -O1 -gsplit-dwarf")),
]


@pytest.mark.parametrize(("compiler", "flags"), EXACT)
def test_it_is_what_the_compiler_writes(
    program: Path, tmp_path: Path, compiler: str, flags: str
) -> None:
    needs.require(compiler)
    compare(program, tmp_path, compiler, flags, names(2, ".c"), C)


#: What is there beside the usual one.
GCCS: Final = [
    name for name in ("gcc", *(f"gcc-{number}" for number in range(11, 20))) if shutil.which(name)
]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", GCCS)
def test_each_gcc_orders_its_strings_so(program: Path, tmp_path: Path, compiler: str) -> None:
    needs.require(compiler)
    compare(program, tmp_path, compiler, "-g", names(100, ".c"), "int NAME;\n")


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_of_cxx(program: Path, tmp_path: Path, compiler: str) -> None:
    needs.require(compiler)
    compare(program, tmp_path, compiler, "-g -O1", names(2, ".cc"), CC)


@pytest.mark.parametrize(
    "flags",
    ["-g -gdwarf-4", "-g -gz", "-g -gsplit-dwarf", "-O2", "-g -fdebug-prefix-map=/=x", "-g -m32"],
)
def test_what_is_not_known_is_refused(program: Path, tmp_path: Path, flags: str) -> None:
    text = "int NAME;\n"
    try:
        made = compile_in(tmp_path, "gcc", flags.split(), "x.c", text)
    except subprocess.CalledProcessError:
        pytest.skip("this gcc does not compile so")
    assert renamed(program, made, tmp_path, Path("/another")) is None


def test_a_name_that_is_there_already(program: Path, tmp_path: Path) -> None:
    """The assembler writes a folder one time: so it would have one string less there."""
    (tmp_path / "b").mkdir()
    other = tmp_path / "b"
    text = f'int NAME;\n# 1 "{other}/more.h"\nint more;\n'
    made = compile_in(tmp_path / "a", "gcc", ["-g"], "x.c", text)
    assert renamed(program, made, tmp_path / "a", other) is None


def test_objects_that_are_linked_into_one(program: Path, tmp_path: Path) -> None:
    for name in ("x.c", "y.c"):
        made = compile_in(tmp_path, "gcc", ["-g"], name, f"int {name[0]};\n")
        (tmp_path / f"{name}.o").write_bytes(made)
    command = ["ld", "-r", "-o", "both.o", "x.c.o", "y.c.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    both = (tmp_path / "both.o").read_bytes()
    assert renamed(program, both, tmp_path, Path("/another")) is None
