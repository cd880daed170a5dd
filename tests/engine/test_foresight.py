"""What an analysis is told of the disk while a name is pending: each question, each kind of writer.

The oracle is the serial build: the same commands, run one after the other in a twin folder.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from smpmake.commands.model import Files
from smpmake.commands.pending_files import PendingAnswerError
from smpmake.disk.paths import FolderFiles
from tests.support.bench import RULES, Bench

MAKE = "gcc -E -P -o y.c a.c"


class Writers(NamedTuple):
    """Commands that leave something pending on x.c; `sure`: what comes of it can be told."""

    commands: list[str]
    sure: bool = True


WRITERS = {
    "a job that makes it": Writers(["gcc -E -P -o x.c a.c"]),
    "a job that removes it": Writers(["gcc -E -P -o x.c a.c", "rm x.c"]),
    "removed and made anew": Writers(["gcc -E -P -o x.c a.c", "rm -f x.c", "cp a.c x.c"]),
    "moved here": Writers([MAKE, "mv -f y.c x.c"]),
    "moved away": Writers(["gcc -E -P -o x.c a.c", "mv x.c y.c"]),
    "copied here": Writers([MAKE, "cp y.c x.c"]),
    "copied here, its time kept": Writers([MAKE, "cp -p y.c x.c"]),
    "installed": Writers([MAKE, "install -m 644 y.c x.c"]),
    "a hard link": Writers([MAKE, "ln -f y.c x.c"]),
    "a symbolic link": Writers([MAKE, "ln -sf y.c x.c"]),
    "a symbolic link in its place": Writers([MAKE, "gcc -E -P -o x.c a.c", "ln -sf y.c x.c"]),
    "a symbolic link that is left": Writers(
        [MAKE, "gcc -E -P -o x.c a.c", "ln -sf y.c x.c", "rm y.c"]
    ),
    "a symbolic link that is moved": Writers(
        [MAKE, "gcc -E -P -o l a.c", "ln -sf y.c l", "mv -f l x.c"], sure=False
    ),
    "a link of cp's": Writers([MAKE, "gcc -E -P -o x.c a.c", "cp -s --remove-destination y.c x.c"]),
    "touched": Writers(["gcc -E -P -o x.c a.c", "touch x.c"]),
    "touched if it is there": Writers(["gcc -E -P -o x.c a.c", "rm x.c", "touch -c x.c"], False),
    "a side output": Writers(["gcc -MMD -MF x.c -c a.c"]),
    "a line": Writers(["sh|-c|gcc -MMD -MF x.T -c a.c -o a.o && mv -f x.T x.c"]),
    "a line that removes it": Writers(["sh|-c|rm -f x.c && gcc -c a.c -o a.o && mv -f a.o b.o"]),
    "a Fortran module": Writers(["gfortran -c m.f90"]),
    "a Fortran module that may come": Writers(["gfortran -cpp -c c.f90"], sure=False),
}
#: What is there before.
BEFORE: dict[str, Callable[[Path], None]] = {
    "nothing": lambda folder: None,
    "an older file": lambda folder: write(folder / "x.c", "older\n"),
    "a link elsewhere": lambda folder: (folder / "x.c").symlink_to("older.c"),
    "a link to nothing": lambda folder: (folder / "x.c").symlink_to("none.c"),
}
#: Names by which it is asked for.
NAMES = ["x.c", "./x.c", "sub/../x.c", "link/x.c", "sub/to", "x.c/", "older.c", "y.c", "a.c"]


def write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (10**9, 10**9))


def lay(folder: Path, before: str) -> None:
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/to").symlink_to("../x.c")
    (folder / "link").symlink_to(".")
    write(folder / "a.c", "int a;\n")
    write(folder / "older.c", "int older;\n")
    write(folder / "m.f90", "module X\nend module\n")
    write(folder / "c.f90", "#ifdef NO\nmodule X\nend module\n#endif\n")
    BEFORE[before](folder)


def argv(command: str) -> list[str]:
    return command.split("|") if "|" in command else command.split()


def answer(question: str, files: Files, name: str) -> object:
    try:
        return getattr(files, question)(name)
    except PendingAnswerError:
        return "pending"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.build = made.begin("b", RULES._replace(recipes="understood"))
    yield made
    while made.workers.running:
        for number in list(made.workers.running.values()):
            made.workers.end(number)
    assert made.close() == []


#: cp writes through no link to nothing.
FAIL = {("copied here", "a link to nothing"), ("copied here, its time kept", "a link to nothing")}
CASES = [case for case in itertools.product(WRITERS, BEFORE) if case not in FAIL]


@pytest.mark.parametrize(("name", "before"), CASES)
def test_a_question_is_answered_as_the_serial_build_would(
    bench: Bench, tmp_path: Path, name: str, before: str
) -> None:
    writers, twin = WRITERS[name], tmp_path / "twin"
    if "gfortran" in writers.commands[0] and not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    names = [each.replace("x.c", "x.mod") if "Fortran" in name else each for each in NAMES]
    lay(twin, before)
    shutil.rmtree(bench.folder)
    lay(bench.folder, before)
    for command in writers.commands:
        subprocess.run(argv(command), cwd=twin, check=True)
        shim = bench.run(argv(command))
        if shim.became is not None:  # in place, and at once
            subprocess.run(argv(command), cwd=bench.folder, check=True)
        elif shim.status is None:
            assert "link" in f"{name} {before}", command
            return  # in place, when what is pending has ended: its driver asks nothing before
    told, true = bench.foreseen(), FolderFiles(str(twin))
    sure = writers.sure and "link" not in before  # an output's link leads to what may come
    for path in names:
        for question in ("exists", "is_dir"):
            found = answer(question, told, path)
            wanted = answer(question, true, path)
            assert found == wanted or (found == "pending" and not sure), (question, path)
        text = answer("read_text", told, path)
        assert text in ("pending", answer("read_text", true, path)), path
    assert answer("read_text", told, "a.c") == "int a;\n"
