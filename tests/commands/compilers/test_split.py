"""A split command leaves the same bytes and the same messages as the whole one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.disk import FakeFiles, RealFiles, fill, meaning, run
from tests.support import needs

SPLIT = """
    gcc -c a.c b.c
    gcc -g -O2 -c a.c sub/s.c low.s
    gcc -MMD -g -c a.c b.c
    gcc -S a.c b.c
    clang -g -c a.c b.c
    g++ -O1 -g -MD -c c.cpp d.cc
    ccache gcc -c a.c b.c
    gcc -o prog a.c b.c
    gcc a.c b.c
    gcc -g -o prog a.c b.c low.o -lm
    gcc -O2 -Wall -Wextra -DINC=4 -Isub -o out/prog a.c b.c s.o -Wl,--as-needed -lm
    gcc -g3 -shared -fPIC -o l.so a.c sub/s.c -Wl,-soname,l.so -Wl,--version-script=script.map
    gcc -static -g -o prog a.c b.c
    gcc -s -pie -fPIE a.c b.c -oprog
    gcc -no-pie -pthread -fopenmp a.c b.c -L. -lold
    gcc -Wl,-Bsymbolic -Wl,-z,now,--build-id=sha1 -rdynamic -Xlinker -O1 a.c b.c
    gcc -O3 -ffunction-sections -fdata-sections -Wl,--gc-sections a.c b.c -o prog
    gcc -fstack-protector-strong -D_FORTIFY_SOURCE=2 -O2 -grecord-gcc-switches a.c b.c
    gcc @two.rsp
    g++ -o prog c.cpp d.cc
    g++ -g -O2 -std=c++17 -o prog c.cpp d.cc
    g++ -shared -fPIC -g -o l.so a.c d.cc
    g++ -g -O2 c.cpp d.cc -lm -O1 -o prog
    g++ -g -O2 c.cpp d.cc -l m -O1 -lstdc++ -lm -fPIC -o prog
    g++ -g -nodefaultlibs -shared -fPIC -o l.so c.cpp d.cc
    gcc -g -c a.c b.c -lm
    gcc -g -shared -fPIC -o l.so a.c b.c -L. -lold -l stdc++
    g++ -static -o prog c.cpp d.cc
    g++ -fno-plt -static-libgcc -static-libstdc++ c.cpp d.cc s.o
"""

WHOLE = """
    gcc -c a.c
    gcc -o prog a.c b.o
    gcc a.o b.o
    gcc -c -MD -MF f.d a.c b.c
    gcc -c -aux-info f a.c b.c
    gcc -save-temps a.c b.c
    gcc --coverage a.c b.c
    gcc -fprofile-arcs a.c b.c
    gcc -MMD -o prog a.c b.c
    gcc -flto a.c b.c
    gcc -gsplit-dwarf a.c b.c
    gcc -x c a.c b.c
    gcc -pg a.c b.c
    gcc -v a.c b.c
    gcc -H a.c b.c
    gcc -Wl,-Map=f a.c b.c
    gcc -Wl,--trace a.c b.c
    gcc -T s.ld a.c b.c
    gcc -Wa,-L a.c b.c
    gcc -fstack-usage a.c b.c
    gcc -r a.c b.c -o x.o
    gcc crtend.c b.c
    gcc a.c b.c low.s
    gcc -E a.c b.c
    gcc -fsyntax-only a.c b.c
    clang a.c b.c
    cc a.c b.c
    gcc a.c b.c -fnever-heard-of
    gcc conftest.c b.c
    gcc -frecord-gcc-switches a.c b.c
"""


def lines(text: str) -> list[str]:
    """The rows of a table."""
    return [line.strip() for line in text.strip().splitlines()]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the rows need."""
    folder = tmp_path_factory.mktemp("split") / "src"
    folder.mkdir()
    fill(folder)
    (folder / "two.rsp").write_text("-g -o prog a.c b.c '-DA=\"x y\"'\n")
    run(["gcc", "-g", "-fPIC", "-c", "sub/s.c"], folder)
    run(["gcc", "-c", "low.s", "-Wa,--noexecstack"], folder)
    run(["ar", "rcs", "libold.a", "s.o"], folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("line", lines(SPLIT))
def test_split_leaves_the_same_bytes(
    line: str, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    argv = line.split()
    needs.require_for(argv)
    # One folder, twice: debug information names it.
    folder = tmp_path / "src"
    shutil.copytree(sources, folder)
    found = meaning(line, RealFiles(folder), cwd=str(folder))
    assert found.refusal is None and found.split is not None
    whole = run(argv, folder)
    assert whole.returncode == 0, whole.stderr.decode()
    expected = contents(folder)
    shutil.rmtree(folder)
    shutil.copytree(sources, folder)
    temporary = tmp_path / "parts"
    temporary.mkdir()
    messages = b""
    for part in found.split(str(temporary)):
        assert part.analysis.refusal is None, part
        assert part.argv[0] == argv[0]
        done = run(part.argv, folder)
        assert done.returncode == 0, (part.argv, done.stderr.decode())
        messages += done.stderr
        for write in part.analysis.writes:
            assert (folder / write.path).exists(), (part.argv, write.path)
    assert contents(folder) == expected
    assert messages == whole.stderr


@pytest.mark.parametrize("line", lines(WHOLE))
def test_not_split(line: str) -> None:
    assert meaning(line, FakeFiles({"a.o": ""})).split is None


def test_parts_of_a_link() -> None:
    found = meaning("gcc -Wall -o prog a.c x.o b.c -lm -Wl,-O1")
    assert found.split is not None
    first, second, link = found.split("tmp")
    assert first.argv == ("gcc", "-Wall", "a.c", "-lm", "-c", "-o", "tmp/0-a.o")
    assert second.argv == ("gcc", "-Wall", "b.c", "-lm", "-c", "-o", "tmp/1-b.o")
    assert link.argv == (
        "gcc",
        "-Wall",
        "-o",
        "prog",
        "tmp/0-a.o",
        "x.o",
        "tmp/1-b.o",
        "-lm",
        "-Wl,-O1",
    )
    assert first.analysis.reads == ("a.c",)
    assert [(w.path, w.target) for w in first.analysis.writes] == [("tmp/0-a.o", False)]
    assert link.analysis.reads == ("tmp/0-a.o", "x.o", "tmp/1-b.o")
    assert [(w.path, w.target) for w in link.analysis.writes] == [("prog", True)]


def test_parts_know_the_libraries_of_the_link() -> None:
    """Debug information has some of them."""
    found = meaning("g++ -g a.cc -lx -L. b.cc -Wl,-ly -o prog")
    assert found.split is not None
    first, second, _ = found.split("tmp")
    assert first.argv == ("g++", "-g", "a.cc", "-lx", "-lstdc++", "-lm", "-c", "-o", "tmp/0-a.o")
    assert second.argv == ("g++", "-g", "-lx", "b.cc", "-lstdc++", "-lm", "-c", "-o", "tmp/1-b.o")


def test_parts_behind_a_launcher() -> None:
    found = meaning("ccache gcc -c a.c b.c")
    assert found.split is not None
    assert [part.argv for part in found.split("tmp")] == [
        ("ccache", "gcc", "-c", "a.c"),
        ("ccache", "gcc", "-c", "b.c"),
    ]
