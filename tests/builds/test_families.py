"""Builds with other compilers than gcc and clang: the serial result, whatever order they run in."""

from __future__ import annotations

import json

import pytest

from tests.support import needs
from tests.support.held import Held
from tests.support.space import Space

CHAOS = (None, 1)


def arguments(seed: int | None) -> list[str]:
    return [] if seed is None else ["--chaos", str(seed)]


#: Each module needs the one before; in the makefile's order, which is not the alphabet's.
FORTRAN = {
    **{
        f"m{n}.f90": (
            f"module Mod{n}\n{f'  use mod{n - 1}, only : value{n - 1}' if n else ''}\n"
            f"  implicit none\ncontains\n  integer function value{n}()\n"
            f"    value{n} = {n}{f' + value{n - 1}()' if n else ''}\n  end function\nend module\n"
        )
        for n in range(5)
    },
    "parts.f90": (
        "module parts; interface; module integer function half(x); integer, value :: x\n"
        "end function; end interface; end module\n"
    ),
    "half.f90": (
        "submodule (parts) halves\ncontains\n  module procedure half\n    half = x / 2\n"
        "  end procedure\nend submodule\n"
    ),
    "main.F90": (
        "#define LAST value4\nprogram main\n  use mod4\n  use parts\n"
        "  print *, LAST(), half(8)\nend program\n"
    ),
    "Makefile": (
        "FC = gfortran\nOBJECTS = m0.o m1.o m2.o m3.o m4.o parts.o half.o main.o\n"
        "prog: $(OBJECTS)\n\t$(FC) -o $@ $^\n"
        "mods:\n\tmkdir -p mods\n"
        "%.o: %.f90 | mods\n\t$(FC) -O1 -Jmods -c $< -o $@\n"
        "%.o: %.F90 | mods\n\t$(FC) -O1 -Jmods -c $< -o $@\n"
        "run: prog\n\t./prog > result\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", CHAOS)
def test_p1_fortran_modules(space: Space, seed: int | None) -> None:
    needs.require("gfortran")
    ended = space.expect_same(FORTRAN, ["make", "prog", "run"], *arguments(seed))
    assert "9 in parallel" in ended.err  # eight compiles and the link


@pytest.mark.slow
def test_independent_modules_do_not_wait_for_each_other(space: Space) -> None:
    needs.require("gfortran")
    names = ("a", "b", "c")
    space.write({f"{name}.f90": f"module {name}\nend module\n" for name in names})
    script = "; ".join(f"gfortran -c {name}.f90" for name in names)
    assert space.smpmake("-j3", "sh", "-c", script).status == 0
    commands = json.loads(space.smpmake("report", "--json").out)["commands"]
    assert [command["waited_for"] for command in commands] == [-1, -1, -1]


@pytest.mark.slow
def test_a_module_that_stays_the_same_keeps_its_time(space: Space) -> None:
    """As make needs it: what uses the module is not compiled again."""
    needs.require("gfortran")
    files = {
        **FORTRAN,
        "Makefile": (
            "all: b.o\na.mod: a.f90\n\tgfortran -c a.f90\nb.o: b.f90 a.mod\n\tgfortran -c b.f90\n"
        ),
        "a.f90": "module a\ncontains\nsubroutine s()\nprint *, 1\nend subroutine\nend module\n",
        "b.f90": "subroutine t()\nuse a\ncall s()\nend subroutine\n",
    }
    space.write(files)
    assert space.smpmake("make").status == 0
    before = (space.folder / "a.mod").stat().st_mtime_ns
    (space.folder / "a.f90").write_text(files["a.f90"].replace("1", "2"))
    ended = space.smpmake("make")
    assert ended.status == 0
    assert "gfortran -c b.f90" not in ended.out
    assert (space.folder / "a.mod").stat().st_mtime_ns == before


def test_a_source_that_is_still_to_be_made(space: Space) -> None:
    """Its modules cannot be known before it is there; what stands there now is not to be read."""
    needs.require("gfortran")
    script = "gcc -Dheld -E -P new.c -o x.f90\ngfortran -c x.f90\ngfortran -c y.f90\n"
    files = {
        "new.c": "module fresh\ninteger n\nend module\n",
        "x.f90": "module stale\ninteger n\nend module\n",
        "y.f90": "subroutine y()\nuse fresh\nn = 1\nend subroutine\n",
        "build.sh": script,
    }
    held, command = Held(space), ["sh", "build.sh"]
    status, expected = held.serial(files, command)
    ended, tree = held.parallel(files, command, command_waits=True)
    assert (ended.status, tree) == (status, expected), ended.err
    assert "1 pending-answer" in ended.err
    assert "without making" not in ended.err
    assert (space.folder / "fresh.mod").exists()


def test_a_response_file_that_is_still_to_be_made(space: Space) -> None:
    files = {
        "rsp.c": "-c one.c -o right.o\n",
        "old.rsp": "-c one.c -o wrong.o\n",
        "one.c": "int one;\n",
        "build.sh": "gcc -E -P rsp.c -o old.rsp\ngcc @old.rsp\n",
    }
    ended = space.expect_same(files, ["sh", "build.sh"])
    assert "surprises" not in ended.err
    assert (space.folder / "right.o").exists()


PACKER = """#!/bin/sh
# Puts files into one, and says so in another.
[ "$1" = -o ] || exit 2
out=$2
shift 2
cat "$@" > "$out" && echo "$@" > "$out.log"
"""


def packer(space: Space) -> dict[str, str]:
    """Puts such a tool on PATH; a project that uses it."""
    tool = space.root / "bin" / "packer"
    tool.parent.mkdir()
    tool.write_text(PACKER)
    tool.chmod(0o755)
    space.environment["PATH"] = f"{tool.parent}:{space.environment['PATH']}"
    return {
        ".smpmake.toml": '[tools.packer]\noutput = ["-o"]\nalso = ["{output}.log"]\n',
        **{f"f{n}.c": f"int f{n};\n" for n in range(3)},
        "Makefile": (
            "all.pk: a.pk b.pk\n\tpacker -o $@ a.pk b.pk\n"
            "a.pk: f0.o f1.o\n\tpacker -o $@ f0.o f1.o\n"
            "b.pk: f1.o f2.o\n\tpacker -o $@ f1.o f2.o\n"
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", CHAOS)
def test_p1_a_tool_of_the_users_own(space: Space, seed: int | None) -> None:
    """Described in the project's configuration, nothing else."""
    ended = space.expect_same(packer(space), ["make"], *arguments(seed))
    assert "6 in parallel" in ended.err


@pytest.mark.slow
def test_a_tool_is_known_as_soon_as_it_is_described(space: Space) -> None:
    """Although the folder of shims for this PATH has been made before."""
    files = packer(space)
    described = files.pop(".smpmake.toml")
    space.write(files)
    assert "3 in parallel" in space.smpmake("make").err
    space.clear()
    space.write({**files, ".smpmake.toml": described})
    assert "6 in parallel" in space.smpmake("make").err


#: Writes its environment down, in an order that says nothing.
SURROUNDED = r"""
#include <stdio.h>
const char *banner = "Open Watcom C x86 32-bit Optimizing Compiler";
#include <stdlib.h>
#include <string.h>
extern char **environ;
static int compare(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}
int main(int argc, char **argv)
{
	FILE *out = fopen(argv[1] + 4, "w");
	size_t count = 0;
	while (environ[count] != NULL)
		count++;
	qsort(environ, count, sizeof *environ, compare);
	for (char **variable = environ; *variable != NULL; variable++)
		fprintf(out, "%s\n", *variable);
	return argc != 3 || banner == NULL || fclose(out) != 0;
}
"""


@pytest.mark.parametrize("preload", ["", "libm.so.6"])
def test_p1_a_static_tool_has_the_serial_environment(space: Space, preload: str) -> None:
    """Some compilers generate other code where the environment is larger."""
    needs.require("gcc", "-static")
    tool = space.root / "tools" / "wcc386"
    tool.parent.mkdir()
    space.write({"tool.c": SURROUNDED})
    space.ok("gcc", "-static", "tool.c", "-o", str(tool))
    space.clear()
    space.environment["PATH"] = f"{tool.parent}:{space.environment['PATH']}"
    space.environment["SMPMAKE_JOBS"] = "2"
    if preload:
        space.environment["LD_PRELOAD"] = preload
    files = {"a.c": "", "makefile": "a.obj: a.c\n\twcc386 -fo=a.obj a.c\n"}
    ended = space.expect_same(files, ["make"], "-v")
    assert "1 in parallel" in ended.err, ended.err


#: An ar that stands before the real one, and adds to the archive what no command line names.
WRAPPER = r"""
#include <unistd.h>
int main(int argc, char **argv)
{
	char *words[64];
	for (int i = 0; i < argc; i++)
		words[i] = argv[i];
	words[argc] = "version.o";
	words[argc + 1] = NULL;
	execv("/usr/bin/ar", words);
	return 9;
}
"""


@pytest.mark.parametrize("static", [True, False])
def test_p1_a_wrapper_named_as_a_tool(space: Space, static: bool) -> None:
    """What it starts is guarded, whatever it is itself."""
    needs.require("gcc", "-static")
    tool = space.root / "tools" / "ar"
    tool.parent.mkdir()
    space.write({"tool.c": WRAPPER})
    space.ok("gcc", *(["-static"] if static else []), "tool.c", "-o", str(tool))
    space.clear()
    space.environment["PATH"] = f"{tool.parent}:{space.environment['PATH']}"
    functions = "".join(f"int v{n}(int a) {{ return a * {n} + 1; }}\n" for n in range(200))
    old = "cc -c old.c -o version.o && touch -d '1 hour ago' version.o"
    files = {
        "a.c": "int a;\n",
        "old.c": "int old;\n",
        "version.c": functions,
        "build.sh": f"{old} && make",
        "makefile": "CFLAGS = -O2\nall: a.o version.o l.a\nl.a: a.o\n\tar rcD $@ a.o\n",
    }
    space.expect_same(files, ["sh", "-e", "build.sh"])
