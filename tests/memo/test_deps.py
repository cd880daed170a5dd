"""A dependency file in another tree, beside the one that compilers write there."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support import needs
from tests.support.renamer import renamer

#: Headers of names so long that lines end at each place.
HEADERS: Final = [f"{'h' * (1 + number % 23)}{number}.h" for number in range(24)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return renamer(tmp_path_factory.mktemp("deps"), "deps", "memo_renamed_deps")


def written(tree: Path, compiler: str, flags: str) -> bytes:
    """The dependency file of a source with some headers, all of absolute names."""
    (tree / "inc").mkdir(parents=True)
    for header in HEADERS:
        (tree / "inc" / header).touch()
    dice = random.Random(7)
    chosen = dice.sample(HEADERS, 20)
    (tree / "x.c").write_text("".join(f'#include "{header}"\n' for header in chosen))
    words = [word.replace("TREE", os.fspath(tree)) for word in flags.split()]
    command = [compiler, "-c", f"-I{tree}/inc", *words, "-MF", "x.d", f"{tree}/x.c"]
    subprocess.run(command, cwd=tree, check=True)
    return (tree / "x.d").read_bytes()


@pytest.mark.parametrize("flags", ["-MD", "-MMD -MP", "-MD -MT TREE/x.o -MQ y.z", "-MD -MP -o y.o"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_is_what_the_compiler_writes(
    program: Path, tmp_path: Path, compiler: str, flags: str
) -> None:
    needs.require(compiler)
    first = tmp_path / "first"
    data = written(first, compiler, flags)
    for length in (1, 4, 5, 6, 17, 60, 180):
        other = tmp_path / ("n" * length)
        words = [os.fspath(program), os.fspath(first), os.fspath(other)]
        made = subprocess.run(words, input=data, capture_output=True, check=True).stdout
        assert made == written(other, compiler, flags)


TEXTS: Final = ("", "no rule", "a: b", "a:  b\n", "a: \\\n b\n", ": b\n", "a b: c d \\\n", "a:b\n")


@pytest.mark.parametrize("text", [*TEXTS, "a: b\\ c\n", "a: b$$c\n"])
def test_another_text_is_refused(program: Path, text: str) -> None:
    words = [os.fspath(program), "/first", "/other"]
    assert subprocess.run(words, input=text.encode(), check=False).returncode == 3


@pytest.mark.parametrize("names", [("/a b", "/c"), ("/a", "/b$"), ("/a#", "/b"), ("/a", "/\u00fc")])
def test_names_that_make_takes_otherwise_are_refused(program: Path, names: tuple[str, str]) -> None:
    words = [os.fspath(program), *names]
    assert subprocess.run(words, input=b"a: b\n", check=False).returncode == 3
