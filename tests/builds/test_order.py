"""Names and times of results are in the serial order, whatever order they were made in (P1)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.disk.ages import make_youngest, order_of_listing
from tests.support import without
from tests.support.held import Held
from tests.support.space import MAIN, Space

SHARED = Path("/dev/shm")
LISTED_BY_AGE = SHARED.is_dir() and order_of_listing(str(SHARED), str(SHARED)) != 0


@pytest.fixture
def young(tmp_path: Path) -> Iterator[Held]:
    """A held build in a folder that lists its names by age."""
    if not LISTED_BY_AGE:
        pytest.skip("no file system here lists names by age")
    root = Path(tempfile.mkdtemp(dir=SHARED))
    space = Space(root)
    try:
        yield Held(space)
    finally:
        space.close()
        shutil.rmtree(root)


FILES = {
    "bad.c": "int first;\n",
    **{f"{name}.c": f"int {name};\n" for name in "abc"},
    "m.c": MAIN,
    "sub/here": "",
}

#: What is listed has the names of jobs that end before the first, and of who makes them meanwhile.
SCRIPTS = {
    "objects": ["gcc -Dheld -c bad.c", "gcc -c a.c", "gcc -c b.c", ": > ../on"],
    "an object anew": ["gcc -Dheld -c bad.c", "gcc -c a.c", "gcc -c a.c", ": > ../on"],
    "dependencies": ["gcc -Dheld -c bad.c", "gcc -MD -c b.c", "gcc -MD -c a.c", ": > ../on"],
    "a file": ["gcc -Dheld -c bad.c", ": > ../on", "echo > stamp", "gcc -c a.c"],
    "a folder that is there": [
        *("gcc -Dheld -c bad.c", "mkdir sub 2> /dev/null || test -d sub", ": > ../on"),
        "gcc -c a.c",
    ],
    "a folder": ["gcc -Dheld -c bad.c", ": > ../on", "mkdir new", "gcc -c a.c"],
    "a link": ["gcc -Dheld -c bad.c", ": > ../on", "ln -s m.c link", "gcc -c a.c"],
    "renamed": ["gcc -Dheld -c bad.c", ": > ../on", "mv m.c n.c", "gcc -c a.c"],
    "in a script of its own": ["gcc -Dheld -c bad.c", ": > ../on", 'python3 -c \'open("p","w")\''],
}


#: Jobs that have ended before the first one does.
ENDED = {"objects": ("a.o", "b.o"), "an object anew": ("a.o",), "dependencies": ("a.o", "b.o")}


def listed(
    held: Held, *, by_smpmake: bool, change: str = "", ended: tuple[str, ...] = ()
) -> list[str]:
    """The names in the order of the folder, as the build itself has listed them."""
    space = held.space
    (space.root / "on").unlink(missing_ok=True)
    if by_smpmake:
        os.mkfifo(held.gate)
        process = without.start(space, change, ["sh", "build.sh"])
        witnesses = [space.root / "on", *(space.folder / name for name in ended)]
        while process.poll() is None and not all(each.exists() for each in witnesses):
            pass
        held.release(process)
        end = space.finish(process)
        assert end.status == 0, end.err
        space.expect_clean()
    else:
        assert space.run("sh", "build.sh").status == 0
    return (space.root / "list").read_text().split()


def both(held: Held, name: str, change: str = "") -> tuple[list[str], list[str]]:
    """What plain and smpmake list."""
    script = "\n".join(("set -e", *SCRIPTS[name], "ls -U > ../list", ""))
    found = []
    for by_smpmake in (False, True):
        held.space.clear()
        held.space.write({**FILES, "build.sh": script})
        ended = ENDED.get(name, ("stamp", "a.o") if change else ())
        found.append(listed(held, by_smpmake=by_smpmake, change=change, ended=ended))
    return found[0], found[1]


@pytest.mark.parametrize("name", SCRIPTS)
def test_p1_names_are_listed_in_the_serial_order(young: Held, name: str) -> None:
    plain, ours = both(young, name)
    assert ours == plain


@pytest.mark.parametrize("name", ["objects", "a file"])
def test_without_the_rule_they_are_not(young: Held, name: str) -> None:
    change = "import smpmake.guard.names_in_order as o; o.order_of_listing = lambda *_: 0"
    plain, ours = both(young, name, change)
    assert sorted(ours) == sorted(plain)
    assert ours != plain


def test_what_is_made_the_youngest_is_what_it_was() -> None:
    if not LISTED_BY_AGE:
        pytest.skip("no file system here lists names by age")
    with tempfile.TemporaryDirectory(dir=SHARED) as folder:
        one, two = Path(folder, "one"), Path(folder, "two")
        one.write_text("text")
        one.chmod(0o751)
        two.symlink_to("elsewhere")
        for path in (one, two):
            os.utime(path, (5, 6), follow_symlinks=False)
        os.utime(folder, (7, 8))
        before = os.listdir(folder)
        make_youngest(str(one))
        assert os.listdir(folder) == before[::-1]
        make_youngest(str(two))
        assert os.listdir(folder) == before
        assert (one.read_text(), oct(one.stat().st_mode)) == ("text", "0o100751")
        assert os.readlink(two) == "elsewhere"
        assert [path.lstat().st_mtime for path in (one, two, Path(folder))] == [6, 6, 8]


@pytest.mark.parametrize("memo", ["off", "on"])
def test_p1_results_are_younger_than_what_was_there_and_older_than_what_comes(
    space: Space, memo: str
) -> None:
    """Also where the file system gives all of them one time."""
    lines = [
        f"touch s{n}; gcc -c a.c -o a{n}.o; touch t{n}; "
        f"[ a{n}.o -nt s{n} ] || echo older {n}; [ t{n} -nt a{n}.o ] || echo younger {n}"
        for n in range(8)
    ]
    space.write({"a.c": "int a;\n", "build.sh": "\n".join(lines)})
    os.utime(space.folder / "a.c", (1000, 1000))
    for _ in range(3):
        ended = space.smpmake(f"--memo={memo}", "--", "sh", "build.sh")
        assert (ended.status, ended.out) == (0, ""), ended.err
        for path in space.folder.glob("*[0-9]*"):
            path.unlink()
