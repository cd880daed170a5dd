"""Whole builds, the plain driver as oracle: same files, same bytes, same status (P1, P7, P9)."""

from __future__ import annotations

import os
import re

import pytest

from tests.support import needs
from tests.support.space import MAIN, SMPMAKE, Ended, Space, objects
from tests.support.variants import often

pytestmark = pytest.mark.slow

FLAT = """
CC = gcc
OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
prog: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)
%.o: %.c
\t$(CC) -O1 -MMD -c -o $@ $<
-include $(OBJECTS:.o=.d)
"""


def deferred(ended: Ended) -> int:
    """How many commands the summary says ran in parallel."""
    found = re.search(r"(\d+) in parallel", ended.err)
    assert found is not None, ended.err
    return int(found[1])


def test_p1_flat_makefile(space: Space) -> None:
    ended = space.expect_same({**objects(6), "main.c": MAIN, "Makefile": FLAT}, ["make"])
    assert "8 in parallel, 0 in place" in ended.err


def test_p7_afterwards_make_finds_nothing_to_do(space: Space) -> None:
    space.write({**objects(4), "main.c": MAIN, "Makefile": FLAT})
    assert space.smpmake("make").status == 0
    assert space.run("make", "-q").status == 0
    again = space.smpmake("make")
    assert "up to date" in again.out


def test_p7_objects_carry_the_time_of_issue_in_serial_order(space: Space) -> None:
    space.write({**objects(4), "main.c": MAIN, "Makefile": FLAT})
    assert space.smpmake("make").status == 0
    times = [(space.folder / f"f{n}.o").stat().st_mtime_ns for n in range(4)]
    assert times == sorted(times)
    assert (space.folder / "prog").stat().st_mtime_ns >= times[-1]


def test_touch_one_source_and_rebuild(space: Space) -> None:
    space.write({**objects(4), "main.c": MAIN, "Makefile": FLAT})
    assert space.smpmake("make").status == 0
    before = {p.name: p.stat().st_mtime_ns for p in space.folder.iterdir()}
    space.write({"f2.c": "int f2(int x) { return x * 2; }\n"})
    assert space.smpmake("make").status == 0
    after = {p.name: p.stat().st_mtime_ns for p in space.folder.iterdir()}
    assert {n for n in after if after[n] != before.get(n)} == {"f2.c", "f2.o", "f2.d", "prog"}
    assert space.run("make", "-q").status == 0
    space.expect_clean()


@pytest.mark.parametrize("options", [(), ("--no-guard",)], ids=["guard", "none"])
def test_p1_recursive_make_with_archives(space: Space, options: tuple[str, ...]) -> None:
    files = {
        "Makefile": "all:\n\t$(MAKE) -C lib\n\t$(MAKE) -C app\n",
        "lib/Makefile": (
            "liball.a: f0.o f1.o f2.o\n\tar rcs $@ $^\n\tranlib $@\n%.o: %.c\n\tgcc -c $<\n"
        ),
        "app/Makefile": (
            "app: main.o ../lib/liball.a\n\tgcc -o $@ main.o -L../lib -lall\n"
            "main.o: main.c\n\tgcc -c -o $@ $<\n../lib/liball.a: ;\n"
        ),
        "app/main.c": "int f1(int);\nint main(void) { return f1(-1); }\n",
        **{f"lib/{name}": text for name, text in objects(3).items()},
    }
    ended = space.expect_same(files, ["make"], *options)
    # ranlib of an archive that is there already updates it in place, in the foreground.
    assert deferred(ended) == 4 if options else deferred(ended) >= 6


def test_p1_serial_shell_script(space: Space) -> None:
    script = """#!/bin/sh
set -e
mkdir -p out
for f in *.c; do
    gcc -O1 -c -o "out/${f%.c}.o" "$f"
done
ar rc out/all.a out/f0.o out/f1.o out/f2.o out/f3.o out/f4.o
gcc -o prog out/main.o out/all.a
mv prog out/prog
cp out/prog final
ln -s final link
touch done
"""
    files = {**objects(5), "main.c": MAIN, "build.sh": script}
    space.expect_same(files, ["sh", "build.sh"])


@pytest.mark.parametrize("options", [(), ("--no-guard",)], ids=["guard", "none"])
def test_p1_generated_sources(space: Space, options: tuple[str, ...]) -> None:
    files = {
        "Makefile": (
            "prog: main.o gen.o\n\tgcc -o $@ $^\n"
            "gen.o: gen.c gen.h\n\tgcc -c gen.c\n"
            "main.o: main.c gen.h\n\tgcc -c main.c\n"
            "gen.h: gen.in\n\tgcc -E -P -x c -o gen.h.tmp gen.in\n\tmv -f gen.h.tmp gen.h\n"
            "gen.c: tool gen.h\n\t./tool > gen.c\n"
            "tool: tool.o\n\tgcc -o $@ $^\n"
        ),
        "gen.in": "#define SIX 6\nint value(void);\nenum { seven = SIX + 1 };\n",
        "main.c": '#include "gen.h"\nint main(void) { return value() != seven; }\n',
        "tool.c": '#include <stdio.h>\nint main(void) { puts("#include \\"gen.h\\"\\n'
        'int value(void) { return 7; }"); return 0; }\n',
    }
    space.expect_same(files, ["make"], *options)
    space.ok("./prog")


def test_p1_many_sources_in_one_command(space: Space) -> None:
    files = {
        **objects(4),
        "main.c": MAIN,
        "Makefile": "all:\n\tgcc -O1 -o prog *.c\n\tgcc -c f*.c\n",
    }
    ended = space.expect_same(files, ["make"])
    assert "10 in parallel, 0 in place" in ended.err


def test_p1_two_rules_write_the_same_object(space: Space) -> None:
    files = {
        "x.c": "int x = X;\n",
        "build.sh": (
            "gcc -DX=1 -c -o x.o x.c\ngcc -DX=2 -c -o x.o x.c\ncp x.o first.o\n"
            "gcc -DX=3 -O3 -c -o x.o x.c\n"
        ),
    }
    space.expect_same(files, ["sh", "-e", "build.sh"])


@pytest.mark.parametrize(
    "name", ["a b", "größe", "it's", 'quo"te', "tab\there", "$dollar", "-dash"]
)
def test_p1_odd_names(space: Space, name: str) -> None:
    files = {
        f"{name}/{name}.c": "int odd(void) { return 1; }\n",
        "main.c": "int odd(void);\nint main(void) { return odd() - 1; }\n",
        "build.sh": (
            'gcc -c -o "./$1/$1.o" "./$1/$1.c"\ngcc -c main.c\ngcc -o prog main.o "./$1/$1.o"\n'
        ),
    }
    space.expect_same(files, ["sh", "-e", "build.sh", name])


def test_p1_a_very_long_command_line(space: Space) -> None:
    # Quoted by gcc for its parts it must stay below what one variable may hold (128 KiB).
    flags = " ".join(f"-DA_RATHER_LONG_NAME_{n}={n}" for n in range(3500))
    script = f"gcc {flags} -c -o a.o a.c\ngcc @flags -c -o b.o a.c\ngcc -o prog a.o main.c\n"
    files = {
        "a.c": "int a = A_RATHER_LONG_NAME_3499;\n",
        "main.c": MAIN,
        "build.sh": script,
        "flags": flags,
    }
    assert len(script) > 100_000
    ended = space.expect_same(files, ["sh", "-e", "build.sh"])
    assert ended.status == 0
    assert "3 in parallel" in ended.err


def test_p1_two_outputs_that_were_one_file(space: Space) -> None:
    script = "echo old > a.o; ln a.o a.d; gcc -MD -MF a.d -c a.c -o a.o; cat a.d > deps\n"
    space.expect_same({"a.c": "int a;\n", "build.sh": script}, ["sh", "-e", "build.sh"])


def test_p1_automake_moves_dependency_files(space: Space) -> None:
    files = {
        **objects(5),
        "main.c": MAIN,
        "Makefile": (
            "OBJECTS = f0.o f1.o f2.o f3.o f4.o main.o\n"
            "prog: $(OBJECTS)\n\tgcc -o $@ $^\n"
            "%.o: %.c\n\tmkdir -p .deps\n"
            "\tgcc -MT $@ -MD -MP -MF .deps/$*.Tpo -c -o $@ $< && mv -f .deps/$*.Tpo .deps/$*.Po\n"
        ),
    }
    ended = space.expect_same(files, ["make"])
    # A mv that comes when its compile is done already has nothing to wait for.
    assert 7 <= deferred(ended) <= 13


def test_p1_libtool_discards_its_second_output(space: Space) -> None:
    files = {
        **objects(3),
        "libtool": "mkdir -p .libs\ngcc -fPIC -DPIC -c $1.c -o .libs/$1.o\n"
        "gcc -c $1.c -o $1.o >/dev/null 2>&1\n",
        "Makefile": "all:\n" + "".join(f"\tsh ./libtool f{n}\n" for n in range(3)),
    }
    ended = space.expect_same(files, ["make"])
    assert "6 in parallel" in ended.err


def test_p1_bmake(space: Space) -> None:
    needs.require("bmake")
    files = {
        **objects(5),
        "main.c": MAIN,
        "Makefile": (
            "OBJECTS = f0.o f1.o f2.o f3.o f4.o main.o\n"
            "prog: ${OBJECTS}\n\tgcc -o prog ${OBJECTS}\n"
            ".SUFFIXES: .c .o\n.c.o:\n\tgcc -O1 -c -o ${.TARGET} ${.IMPSRC}\n"
        ),
    }
    ended = space.expect_same(files, ["bmake"])
    assert "7 in parallel" in ended.err
    assert "up to date" in space.run("bmake").out


@pytest.mark.parametrize("jobs", ["1", "2", "7"])
def test_p1_make_j4_in_front_of_us(space: Space, jobs: str) -> None:
    files = {**objects(8), "main.c": MAIN, "Makefile": FLAT}
    space.expect_same(files, ["make", "-j4"], "-j", jobs)


def test_p1_stale_objects_do_not_fool_make(space: Space) -> None:
    """Without the guard make must not take a stale target for the result of a deferred command."""
    files = {**objects(3), "main.c": MAIN, "Makefile": FLAT, "x.h": "#define X 1\n"}
    space.write(files)
    space.ok("make")
    os.utime(space.folder / "f1.o", (1, 1))
    os.utime(space.folder / "f2.o", (1, 1))
    space.ok(SMPMAKE, "make")
    assert space.run("make", "-q").status == 0
    newest = (space.folder / "prog").stat().st_mtime_ns
    assert newest >= (space.folder / "f2.o").stat().st_mtime_ns
    space.expect_clean()


def test_p1_configure_like_probes_see_the_truth(space: Space) -> None:
    script = """
echo 'int main(void) { return 0 }' > conftest.c
if gcc -c conftest.c 2>/dev/null; then echo yes > semicolon; else echo no > semicolon; fi
echo 'int main(void) { return 0; }' > try.c
if gcc -o try try.c; then echo yes > links; fi
if gcc -c -o /dev/null broken.c > log 2>&1; then echo yes > broken; else echo no > broken; fi
gcc -dumpversion > version
ls conftest.o > listing 2>&1 || true
rm -f conftest* try.c try
gcc -c good.c
"""
    files = {"probe.sh": script, "broken.c": "int 1;\n", "good.c": "int good;\n"}
    ended = space.expect_same(files, ["sh", "-e", "probe.sh"])
    assert "1 in parallel" in ended.err


def test_p1_a_header_changed_while_compiles_are_pending(space: Space) -> None:
    """Write after undeclared read: mv over a header waits for the compiles that may include it."""
    lines = [f"gcc -O2 -c -o a{n}.o a.c" for n in range(6)]
    script = "\n".join([*lines, "mv new.h x.h", *(line.replace("-o a", "-o b") for line in lines)])
    files = {
        "a.c": '#include "x.h"\nint a = X;\n',
        "x.h": "#define X 1\n",
        "new.h": "#define X 2\n",
        "build.sh": script,
    }
    space.expect_same(files, ["sh", "-e", "build.sh"])


def test_p1_a_header_preprocessed_anew_while_compiles_are_pending(space: Space) -> None:
    """The old header must not go aside before those who may include it have ended."""
    lines = [f"gcc -O2 -c -o a{n}.o a.c" for n in range(6)]
    again = [line.replace("-o a", "-o b") for line in lines]
    script = "\n".join([*lines, "gcc -E -P -x c -o x.h new.in", *again])
    files = {
        "a.c": '#include "x.h"\nint a = X;\n',
        "x.h": "enum { X = 1 };\n",
        "new.in": "enum { X = 2 };\n",
        "build.sh": script,
    }
    space.expect_same(files, ["sh", "-e", "build.sh"])


def test_p1_removing_a_source_waits_for_its_compile(space: Space) -> None:
    script = "".join(f"cp a.c t{n}.c\ngcc -O2 -c t{n}.c\nrm t{n}.c\n" for n in range(5))
    space.expect_same({"a.c": "int a;\n", "build.sh": script}, ["sh", "-e", "build.sh"])


def test_p1_launchers_are_part_of_the_command(space: Space) -> None:
    """ccache in front of a compiler must not meet our shim for the object it waits for."""
    launcher = '#!/bin/sh\n"$@" || exit\nfor last; do :; done\ntest -s "$last" || exit 9\n'
    space.write({"bin/ccache": launcher})
    (space.folder / "bin/ccache").chmod(0o755)
    os.rename(space.folder / "bin", space.root / "bin")
    space.environment["PATH"] = f"{space.root}/bin:{space.environment['PATH']}"
    script = "ccache gcc -c a.c -o a.o\nccache gcc -c b.c -o b.o\ngcc -o prog a.o b.o\n"
    files = {"a.c": MAIN, "b.c": "int b;\n", "build.sh": script}
    ended = space.expect_same(files, ["sh", "-e", "build.sh"])
    assert "2 in parallel, 1 in place (1 first-of-a-script)" in ended.err


def test_p1_a_build_inside_a_build_shares_the_server(space: Space) -> None:
    files = {
        **objects(3),
        "build.sh": f"gcc -c f0.c\n{SMPMAKE} -q make -f inner.mk\ngcc -c f1.c\n",
        "inner.mk": "f2.o: f2.c\n\tgcc -c f2.c\n",
    }
    space.write(files)
    ended = space.smpmake("sh", "-e", "build.sh")
    assert ended.status == 0, ended.err
    assert {"f0.o", "f1.o", "f2.o"} <= set(space.tree())
    assert "3 in parallel" in ended.err
    assert "nothing in parallel" not in ended.err
    space.expect_clean()


def test_output_directories_that_do_not_exist_fail_as_they_do_serially(space: Space) -> None:
    files = {"a.c": "int a;\n", "Makefile": "all:\n\tgcc -c -o nowhere/a.o a.c\n"}
    space.write(files)
    plain = space.run("make")
    ended = space.smpmake("make")
    assert plain.status != 0
    assert ended.status != 0
    assert "nowhere/a.o" in ended.err


@pytest.mark.parametrize("options", [["-j1"], ["-j2"]])
def test_p1_both_ends_of_a_pipe_need_no_slot_of_each_other(
    space: Space, options: list[str]
) -> None:
    """More than a pipe holds: the first compiler must not keep the second from starting."""
    text = "".join(f"int a_long_name_of_function_number_{n}(int);\n" for n in range(4000))
    rule = "%.o: %.c\n\tgcc -E $< | gcc -x c -c - -o $@\n"
    files = {"a.c": text, "b.c": text, "Makefile": f"all: a.o b.o\n{rule}"}
    space.expect_same(files, ["make", "-j4"], *options)


INCLUDED = {
    "named": "gcc -MM -MF $@ -MT $*.o $<",
    "as the output": "gcc -MM -MT $*.o -o $@ $<",
    "printed": "gcc -MM -MT $*.o $< > $@",
    "through a pipe": "gcc -MM $< | sed 's,^,,' > $@",
    "in steps": "gcc -M -o $@.t $<; sed 's,x,x,g' < $@.t > $@; rm -f $@.t",
}


@pytest.mark.parametrize("option", often(["-q"], ["-q", "--no-guard", "--chaos=4"]))
@pytest.mark.parametrize("name", INCLUDED)
def test_p1_dependency_files_that_make_includes(space: Space, name: str, option: str) -> None:
    """Made by `gcc -MM`, read by make the moment they are there."""
    files = {
        "Makefile": (
            f"p: a.o main.o\n\tgcc -o $@ $^\n%.d: %.c\n\t{INCLUDED[name]}\n-include a.d main.d\n"
        ),
        "a.c": '#include "h.h"\nint a = H;\n',
        "main.c": MAIN,
        "h.h": "#define H 1\n",
    }
    space.expect_same(files, ["make"], option)
    space.ok("sh", "-c", "rm *.d; echo '#define H 2' > h.h")
    assert "a.c" in space.smpmake("make").out
    assert space.run("make", "-q").status == 0


@pytest.mark.parametrize("option", often(["-q"], ["-q", "--no-guard", "--chaos=4"]))
@pytest.mark.parametrize("include", ["-include", "include"])
def test_p2_dependency_files_that_cannot_be_made_yet(
    space: Space, include: str, option: str
) -> None:
    """A header is still to be generated: what -include names may fail."""
    files = {
        "Makefile": (
            "p: a.o main.o\n\tgcc -o $@ $^\na.o: gen.h\ngen.h:\n\techo '#define H 1' > $@\n"
            f"%.d: %.c\n\tgcc -MM -MF $@ -MT $*.o $<\n{include} main.d a.d\n"
        ),
        "a.c": '#include "gen.h"\nint a = H;\n',
        "main.c": MAIN,
    }
    space.expect_same(files, ["make"], option)


def test_dependency_files_are_made_beside_others(space: Space) -> None:
    names = [f"f{number}" for number in range(6)]
    files = {
        "Makefile": (
            f"all: {' '.join(f'{name}.o' for name in names)}\n"
            f"%.d: %.c\n\tgcc -MM -MF $@ $<\n-include {' '.join(f'{n}.d' for n in names)}\n"
        ),
        **{f"{name}.c": f"int {name};\n" for name in names},
    }
    assert "12 in parallel, 0 in place" in space.expect_same(files, ["make"]).err
