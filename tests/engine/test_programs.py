"""Which programs a command will run, as its driver says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from smpmake import native
from smpmake.commands.compilers import driver_programs
from smpmake.commands.families import analyse
from smpmake.commands.model import Invocation
from smpmake.disk.paths import FolderFiles, Paths
from smpmake.engine.environment import Environment
from smpmake.engine.programs import UNKNOWN, Programs
from tests.support.needs import require

PATH = "/usr/bin:/bin"


class Drivers:
    """Asks the real ones, and counts."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[list[str]] = []
        self.pending: set[str] = set()
        self._cwd = str(folder)
        self._programs = Programs(folder / "own", Paths(), self.pending.__contains__, self._ask)

    def _ask(self, question: list[str], folder: str, environment: bytes) -> bytes:
        from smpmake.engine import programs

        self.asked.append(question)
        return programs._asked(question, folder, environment)

    def of(self, line: str, *variables: str, path: str = PATH) -> list[str] | None:
        """The names of the files that a command line runs."""
        found = self.files(line, *variables, path=path)
        return sorted(map(os.path.basename, found)) if found is not None else None

    def files(self, line: str, *variables: str, path: str = PATH) -> tuple[str, ...] | None:
        blob = b"".join(each.encode() + b"\0" for each in (f"PATH={path}", *variables))
        environment = Environment(blob)
        words = tuple(line.split())
        inv = Invocation(words, self._cwd, environment.get, FolderFiles(self._cwd))
        meaning = analyse(inv)
        assert meaning.undeclared, meaning
        assert meaning.programs is not None
        real = words[0] if "/" in words[0] else shutil.which(words[0], path=path)
        assert real is not None
        self._programs.take_command()
        return self._programs.programs_of(real, meaning.programs, self._cwd, environment)

    def loaded_with(self, library: str, programs: list[str]) -> list[str]:
        """Those into which the real loader would load a library."""
        environment = Environment(b"PATH=" + PATH.encode() + b"\0")
        return self._programs.loaded_with(library, environment, programs)


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    return Drivers(tmp_path)


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("gcc -c a.c", ["as", "cc1", "gcc"]),
        ("gcc -O2 -DX=1 -Iinc -MD -MF d -c a.c -o b.o", ["as", "cc1", "gcc"]),
        ("gcc -c a.S", ["as", "cc1", "gcc"]),
        ("gcc -c a.s", ["as", "gcc"]),
        ("gcc -S a.c", ["cc1", "gcc"]),
        ("gcc -E a.c -o a.i", ["cc1", "gcc"]),
        ("gcc -x c++ -c a.c", ["as", "cc1plus", "gcc"]),
        ("g++ -c a.cc", ["as", "cc1plus", "g++"]),
        ("gcc a.o -lm -o p", ["collect2", "gcc", "ld"]),
        ("gcc a.c b.o -o p", ["as", "cc1", "collect2", "gcc", "ld"]),
        ("gcc -fuse-ld=gold a.o -o p", ["collect2", "gcc", "ld.gold"]),
        ("gcc -flto a.o -o p", ["as", "collect2", "gcc", "ld", "lto-wrapper", "lto1", "make"]),
        ("as a.s -o a.o", ["as"]),
        ("ld a.o -o p", ["ld"]),
    ],
)
def test_what_gcc_runs(drivers: Drivers, line: str, programs: list[str]) -> None:
    assert drivers.of(line) == programs


def test_what_clang_runs(drivers: Drivers) -> None:
    require("clang")
    assert drivers.of("clang -c a.c") == ["clang", "clang"]  # by its name on PATH, and itself
    found = drivers.of("clang a.o -o p")
    assert found is not None
    assert "ld" in found


def test_a_shape_is_asked_about_once(drivers: Drivers) -> None:
    for name in ("a", "b", "x/c"):
        drivers.of(f"gcc -O2 -D{name} -I{name} -MD -MF {name}.d -c {name}.c -o {name}.o")
    assert len(drivers.asked) == 1
    drivers.of("gcc -O3 -c a.c")
    assert len(drivers.asked) == 2


def test_the_assembler_is_the_one_on_path(drivers: Drivers, tmp_path: Path) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    shutil.copy("/bin/true", own / "as")
    found = drivers.files("gcc -c a.c", path=f"{own}:{PATH}")
    assert found is not None
    assert str(own / "as") in found


def test_a_folder_that_leads_to_programs_is_looked_at_each_time(
    drivers: Drivers, tmp_path: Path
) -> None:
    own = tmp_path / "parts"
    own.mkdir()
    assert drivers.of(f"gcc -B{own}/ -c a.c") == ["as", "cc1", "gcc"]
    shutil.copy("/bin/true", own / "cc1")
    for found in (
        drivers.files(f"gcc -B{own}/ -c a.c"),
        drivers.files("gcc -c a.c", f"COMPILER_PATH={own}"),
    ):
        assert found is not None
        assert str(own / "cc1") in found


def test_of_a_script_nobody_can_tell(drivers: Drivers, tmp_path: Path) -> None:
    script = tmp_path / "gcc"
    script.write_text('#!/bin/sh\nexec /usr/bin/gcc "$@"\n')
    script.chmod(0o755)
    assert drivers.of(f"{script} -c a.c") is None
    assert drivers.asked == []  # it may do more than to answer
    wrapped = tmp_path / "as"
    wrapped.write_text('#!/bin/sh\nexec /usr/bin/as "$@"\n')
    wrapped.chmod(0o755)
    found = drivers.files("gcc -c a.c", path=f"{tmp_path}:{PATH}")
    assert found is None or str(wrapped) in found  # it has never been seen as a program


def test_what_is_no_driver_is_not_believed(drivers: Drivers, tmp_path: Path) -> None:
    silent = tmp_path / "gcc"
    shutil.copy("/bin/true", silent)
    assert drivers.files(f"{silent} -c a.c") == UNKNOWN


def test_a_program_that_is_still_to_be_made_is_unknown(drivers: Drivers) -> None:
    found = drivers.files("gcc -c a.c")
    assert found is not None
    drivers.pending.add(found[-1])
    assert drivers.files("gcc -c a.c") == UNKNOWN


@pytest.mark.parametrize("variable", ["CCACHE_COMPILER=/bin/cc", "CCACHE_PATH=/opt/bin"])
def test_a_cache_that_is_told_what_to_run_is_unknown(drivers: Drivers, variable: str) -> None:
    require("ccache")
    assert drivers.files("ccache gcc -c a.c", variable) == UNKNOWN


def test_what_a_relative_name_leads_to_is_unknown(drivers: Drivers) -> None:
    assert drivers.files("/usr/bin/gcc -c a.c", path=f"bin:{PATH}") == UNKNOWN


def test_behind_a_launcher_is_the_compiler(drivers: Drivers, tmp_path: Path) -> None:
    require("ccache")
    assert drivers.of("ccache gcc -c a.c") == ["as", "cc1", "ccache", "gcc"]
    (tmp_path / "gcc").symlink_to("/usr/bin/ccache")
    found = drivers.files("gcc -c a.c", path=f"{tmp_path}:{PATH}")
    assert found is not None
    assert {str(tmp_path / "gcc"), "/usr/bin/gcc"} < set(found)


def test_a_line_runs_what_its_commands_run(drivers: Drivers, tmp_path: Path) -> None:
    blob = b"PATH=" + PATH.encode() + b"\0"
    environment = Environment(blob)
    words = ("sh", "-c", "gcc -c a.c -MD -MF a.Tpo && mv -f a.Tpo a.Po")
    meaning = analyse(Invocation(words, str(tmp_path), environment.get, FolderFiles(str(tmp_path))))
    assert meaning.programs is not None
    assert meaning.makes_objects
    programs = Programs(tmp_path / "own", Paths(), lambda path: False)
    found = programs.programs_of("/bin/sh", meaning.programs, str(tmp_path), environment)
    assert found is not None
    assert [os.path.basename(each) for each in found] == ["gcc", "cc1", "as"]


def test_which_programs_would_be_loaded_with_a_guard(drivers: Drivers, tmp_path: Path) -> None:
    """None of them runs: what they would do is not done."""
    source = tmp_path / "writes.c"
    source.write_text('#include <stdio.h>\nint main(void) { return !fopen("it-ran", "w"); }\n')
    static = tmp_path / "static.c"
    static.write_text("void _start(void) { __builtin_trap(); }\n")
    writes, alone = str(tmp_path / "wri tes"), str(tmp_path / "alone")
    subprocess.run(["gcc", source, "-o", writes], check=True)
    subprocess.run(["gcc", "-static", "-nostdlib", static, "-o", alone], check=True)
    asked = [writes, "/usr/bin/ld", alone, str(tmp_path / "none")]
    assert drivers.loaded_with(native.guard(), asked) == [writes, "/usr/bin/ld"]
    assert drivers.loaded_with(f"{tmp_path}/none.so", asked) == []
    assert list(tmp_path.rglob("it-ran")) == []


def test_what_a_driver_prints() -> None:
    answer = driver_programs.read(
        "clang version 14\n (in-process)\n"
        ' "/opt/my clang/bin/clang" "-cc1" "-D" "a\\"b" "x.c"\n as --64 -o a.o it\'s.s\n'
        "COMPILER_PATH=/usr/lib/gcc/:/usr/lib/:/usr/lib/gcc/\n"
    )
    assert answer == (("/opt/my clang/bin/clang", "as"), ("/usr/lib/gcc", "/usr/lib"), "")


@pytest.mark.parametrize("text", ["", "gcc: fatal error\n", ' "open\n', " \n", " as\n '' x\n"])
def test_what_is_no_answer(text: str) -> None:
    assert driver_programs.read(text) is None


def test_what_stands_behind_a_name_is_looked_up_anew_when_it_is_another_file(
    drivers: Drivers, tmp_path: Path
) -> None:
    for name in ("ccache", "plain"):
        shutil.copy("/usr/bin/gcc", tmp_path / name)
    path = f"{tmp_path}:{PATH}"
    (tmp_path / "gcc").symlink_to("plain")
    for target, behind in (("plain", False), ("ccache", True), ("plain", False)):
        (tmp_path / "gcc").unlink()
        (tmp_path / "gcc").symlink_to(target)
        found = drivers.files("gcc -c a.c", path=path)
        assert found is not None
        assert ("/usr/bin/gcc" in found) == behind
