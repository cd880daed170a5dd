"""The way to an output's folder: by the kernel's openat2, and by hand where there is none."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from smpmake import native

SOURCES = Path(native.__file__).parent
PROGRAM = """
#include "memo/output_path.c"
#include <stdio.h>
int memo_folder_of(const char *path, char room[PATH_MAX])
{
    (void)path;
    (void)room;
    return -1;
}
static void tell(int fd)
{
    struct stat info = {.st_ino = 0};
    int why = fd < 0 ? errno : fstat(fd, &info);
    printf("%s%lu ", fd >= 0 ? "" : why == ELOOP ? "link " : "none ", (unsigned long)info.st_ino);
    memo_close_way(fd);
}
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        tell(open_without_links(argv[i]));
        tell(step_by_step(argv[i]));
        puts("");
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ways")
    (folder / "ways.c").write_text(PROGRAM)
    files = [str(folder / "ways.c"), str(SOURCES / "base/util.c")]
    command = ["cc", "-D_GNU_SOURCE", f"-I{SOURCES}", "-o", str(folder / "ways"), *files]
    subprocess.run(command, check=True)
    return folder / "ways"


@pytest.mark.parametrize("seed", range(4))
def test_both_find_the_same(tmp_path: Path, program: Path, seed: int) -> None:
    chance = random.Random(seed)
    folders, links = [tmp_path], 0
    for number in range(30):
        path = chance.choice(folders) / f"n{number}"
        if chance.random() < 0.6:
            path.mkdir()
            folders.append(path)
        elif chance.random() < 0.8:
            target = chance.choice((str(chance.choice(folders)), "..", ".", "nowhere"))
            path.symlink_to(target)
            links += 1
        else:
            path.write_text("")
    names = [os.path.relpath(path, tmp_path) for path in tmp_path.rglob("*")]
    names += [f"{name}/{chance.choice(['.', 'n3', 'n3/n4', '', '/n5'])}" for name in names]
    names += [str(tmp_path / name) for name in names]
    asked = [str(program), *names]
    done = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = done.stdout.splitlines()
    assert len(found) == len(names)
    for name, line in zip(names, found, strict=True):
        first, second = line.rstrip(" ").replace("link ", "link").replace("none ", "none").split()
        assert first == second, name
    assert links
    assert any("link" in line for line in found)
