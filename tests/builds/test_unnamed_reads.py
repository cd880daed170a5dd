"""What a compiler reads and its command line does not name: it finds that as it was at its call.

Each build is tried where its programs are known from earlier builds, and where nothing was ever
built.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.held import Held
from tests.support.needs import require
from tests.support.space import MAIN, Space
from tests.support.variants import often

SLOW = "".join(
    f"int s{n}(int x) {{ return x * {n} + s{n - 1}(x); }}\n"
    if n
    else "int s0(int x) { return x; }\n"
    for n in range(150)
)
FILES = {
    "slow.c": SLOW,
    "m.c": "int k(void); int main(void) { return k(); }\n",
    "k.c": "int k(void) { return K; }\n",
    "emb.S": '.data\n.incbin "page.gz"\n',
    "inside.c": '__asm__(".data\\n.incbin \\"page.gz\\"");\nint a;\n',
    "asks.c": '#if __has_include("opt.h")\nint v = 1;\n#else\nint v = 0;\n#endif\n',
    "wants.c": '#include "opt.h"\n',
    "two.c": "#include <v.h>\nint v = V;\n",
    "opt.in": "#define V 2\n",
    "far/v.h": "#define V 1\n",
    "near/none": "",
}
BEHIND = "gcc -O2 -c slow.c & "  # nobody waits for it

BUILDS = {
    "what an assembler includes": (
        "for p in a b c d; do echo $p | gzip -n9 > page.gz; gcc -c emb.S -o $p.o; done"
    ),
    "what an assembler within C includes": (
        "for p in a b c d; do echo $p | gzip -n9 > page.gz; gcc -c inside.c -o $p.o; done"
    ),
    "what as itself includes": (
        "for p in a b c d; do echo $p | gzip -n9 > page.gz; as emb.S -o $p.o; done"
    ),
    "objects by way of a thin archive": (
        "gcc -c m.c; for K in 1 2 3; do gcc -DK=$K -c k.c; rm -f t.a; ar rcT t.a k.o; "
        "gcc -o p$K m.o t.a; done"
    ),
    "objects by way of a linker script": (
        "gcc -c m.c; echo 'INPUT(k.o)' > libk.so; "
        "for K in 1 2 3; do gcc -DK=$K -c k.c; gcc -o p$K m.o -L. -lk; done"
    ),
    "libraries by way of a variable": (
        "gcc -c m.c; mkdir lib; export LIBRARY_PATH=lib; "
        "for K in 1 2 3; do gcc -DK=$K -c k.c -o k$K.o; ar rc new.a k$K.o; mv new.a lib/libk.a; "
        "gcc -o p$K m.o -lk; done"
    ),
    "a header that comes later": "gcc -c asks.c; cp opt.in opt.h",
    "a header that comes later, and is wanted": (
        "gcc -c wants.c 2> /dev/null || echo failed > st; cp opt.in opt.h"
    ),
    "a header that is made by a link's program": (
        "gcc -c asks.c; gcc -DK=0 m.c k.c -o p && ./p && echo > opt.h"
    ),
    "a header that hides another": "gcc -Inear -Ifar -c two.c; cp opt.in near/v.h",
    "a header of no name that headers have": (
        "echo '#include \"v.tab\"' > n.c; echo 'int v = 1;' > v.tab; "
        "gcc -c n.c; echo 'int v = 2;' > v.tab"
    ),
    "a header that goes": "cp opt.in opt.h; gcc -c asks.c; rm opt.h",
    "a profile": (
        "gcc -O2 -frandom-seed=1 -DK=1 -fprofile-generate -c k.c -o k.o; "
        "gcc -fprofile-arcs -frandom-seed=1 m.c k.o -o p; ./p; "
        "for f in *k.gcda; do cp $f k.sav; done; rm -f *.gcda; "
        "for i in 1 2 3; do cp k.sav k.gcda; "
        "gcc -O2 -frandom-seed=1 -DK=1 -fprofile-use -c k.c -o k.o; cp k.o k$i.o; : > k.gcda; done"
    ),
}
#: The others are tried with `-m chaos`.
SOME = ("what an assembler includes", "objects by way of a thin archive")


@pytest.fixture(params=["known", "never built"])
def anywhere(space: Space, request: pytest.FixtureRequest) -> Space:
    if request.param == "never built":
        space.forget_programs()
    return space


def commands_of(space: Space) -> list[dict[str, Any]]:
    """Those of the last build, as the report has them."""
    told: dict[str, Any] = json.loads(space.smpmake("report", "--json").out)
    commands: list[dict[str, Any]] = told["commands"]
    return commands


@pytest.mark.parametrize("name", often(SOME, BUILDS))
def test_what_no_command_line_names(anywhere: Space, name: str) -> None:
    anywhere.expect_same(FILES, ["sh", "-c", BEHIND + BUILDS[name] + "; wait"])


@pytest.mark.parametrize("name", ["a header that comes later", "what an assembler includes"])
def test_the_same_by_a_make(anywhere: Space, name: str) -> None:
    rules = {
        "a header that comes later": (
            "all: asks.o opt.h slow.o\nopt.h: opt.in\n\tcp opt.in opt.h\n"
            "asks.o: asks.c\n\tgcc -c asks.c\n"
        ),
        "what an assembler includes": (
            "all: a.o b.o c.o slow.o\n%.o: emb.S\n\techo $* | gzip -n9 > page.gz\n"
            "\tgcc -c emb.S -o $@\n"
        ),
    }
    slow = "slow.o: slow.c\n\tgcc -O2 -c slow.c\n"
    anywhere.expect_same({**FILES, "Makefile": rules[name] + slow}, ["make", "-r"])


#: A compiler that takes no guard: it copies what its source names, as .incbin does.
STATIC = """\
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char name[4096] = "";
    const char *source = NULL, *made = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0)
            made = argv[++i];
        else if (argv[i][0] != '-')
            source = argv[i];
    }
    FILE *in = source ? fopen(source, "r") : NULL;
    if (!in || !made || fscanf(in, "%4095s", name) != 1)
        return 1;
    FILE *out = fopen(made, "w");
    FILE *other = fopen(name, "r");
    for (volatile long n = 0; n < 40000000; n++)
        ;
    for (int c; other && (c = getc(other)) != EOF;)
        putc(c, out);
    return fclose(out) != 0;
}
"""


@pytest.fixture
def static(space: Space) -> str:
    """The path of such a compiler."""
    folder = space.root / "static"
    folder.mkdir()
    (folder / "cc.c").write_text(STATIC)
    (folder / "bin").mkdir()
    made = folder / "bin" / "gcc"
    space.ok("gcc", "-static", "-O1", str(folder / "cc.c"), "-o", str(made))
    return str(made)


@pytest.mark.parametrize(
    "build",
    [
        "for p in 1 2 3 4; do echo $p > x.{0}; {1} -c s.c -o $p.o; done",
        "for p in 1 2 3 4; do echo $p > n; mv n x.{0}; {1} -c s.c -o $p.o; done",
        "{1} -c s.c -o 1.o; echo 1 > x.{0}",
        "echo 1 > x.{0}; {1} -c s.c -o 1.o; rm x.{0}",
    ],
)
@pytest.mark.parametrize("suffix", ["o", "h", "gz"])
def test_of_a_static_compiler_nobody_knows_what_it_reads(
    space: Space, static: str, build: str, suffix: str
) -> None:
    files = {"s.c": f"x.{suffix}\n"}
    space.expect_same(files, ["sh", "-c", build.format(suffix, static)])


def test_compiles_by_a_static_compiler_run_side_by_side(space: Space, static: str) -> None:
    """None of them reads what another makes."""
    files = {"x": "x\n", "s.c": "x\n"}
    lines = "".join(f"{static} -c s.c -o {n}.o; " for n in range(6))
    space.expect_same(files, ["sh", "-c", lines], "-j4")
    assert [command["verdict"] for command in commands_of(space)] == ["deferred"] * 6
    assert "takes no guard" in space.smpmake("why", "0.o").out


#: An assembler that is another one than before, and takes no guard.
STATIC_AS = """\\
#include <unistd.h>
int main(int argc, char **argv)
{
    for (volatile long n = 0; n < 100000000; n++)
        ;
    argv[0] = "as";
    return execv("/usr/bin/as", argv);
}
"""
AGAIN = "cat a1.o > /dev/null; "


@pytest.mark.parametrize(
    "build",
    [
        "PATH=bin:$PATH gcc -c emb.S -o a1.o; {0}PATH=bin2:$PATH gcc -c emb.S -o a2.o; {1}",
        "gcc -Bbin -c emb.S -o a1.o; {0}gcc -Bbin2 -c emb.S -o a2.o; {1}",
        (
            "mkdir late; export PATH=$PWD/late:$PATH; "
            "gcc -c emb.S -o a1.o; {0}cp bin2/as late; gcc -c emb.S -o a2.o; {1}"
        ),
    ],
    ids=["by PATH", "by -B", "of a folder that had none"],
)
def test_programs_that_are_others_than_before(anywhere: Space, build: str) -> None:
    """What was seen of others of that name says nothing of them."""
    other = anywhere.root / "as.c"
    other.write_text(STATIC_AS)
    for folder in ("bin", "bin2"):
        (anywhere.folder / folder).mkdir()
    tools = {"bin2/as": ["-static"], "bin/as": []}
    for name, options in tools.items():
        anywhere.ok(
            "gcc", *options, "-w", str(other), "-o", str(anywhere.root / name.replace("/", "-"))
        )
    copies = "".join(f"cp {anywhere.root}/{n.replace('/', '-')} {n}; " for n in tools)
    script = (
        "mkdir -p bin bin2; "
        + copies
        + "echo old > page.gz; "
        + build.format(AGAIN, "echo new > page.gz")
    )
    anywhere.expect_same(FILES, ["sh", "-c", script])


def test_a_script_that_has_become_another_one_is_new(anywhere: Space) -> None:
    script = '#!/bin/sh\n{}exec /usr/bin/gcc "$@"\n'
    files = {"one": script.format(""), "two": script.format("echo called >> log\n"), "a.c": SLOW}
    run = "bin/gcc -c a.c -o a{}.o; "
    build = "mkdir bin; cp one bin/gcc; chmod 755 bin/gcc; " + run.format(1) + run.format(2)
    build += "sed '' two > new; chmod 755 new; mv new bin/gcc; " + run.format(3) + "cat log > copy"
    anywhere.expect_same(files, ["sh", "-c", build])


def test_a_cache_that_is_told_another_compiler(space: Space, static: str) -> None:
    require("ccache")
    files = {"x": "old\n", "s.c": "x\n", "a.c": MAIN}
    told = f"CCACHE_DISABLE=1 CCACHE_COMPILER={static} ccache gcc -c s.c -o s.o; echo new > x"
    space.expect_same(
        files, ["sh", "-c", f"CCACHE_DISABLE=1 ccache gcc -c a.c; cat a.o > b; {told}"]
    )


WRAPPER = """\
#!/bin/sh
echo "$@" >> log
exec /usr/bin/gcc "$@"
"""


def test_a_script_may_write_what_it_does_not_say(anywhere: Space) -> None:
    anywhere.fake("gcc", WRAPPER, is_script=True)
    files = {**FILES, "a.c": "int a;\n", "b.c": "int b;\n"}
    build = "gcc -O2 -c slow.c; cat log > seen; for n in a b; do gcc -c $n.c; cat log > $n; done"
    ended = anywhere.expect_same(files, ["sh", "-c", build])
    assert ended.status == 0


def test_nor_does_it_in_a_recipes_line(anywhere: Space) -> None:
    anywhere.fake("gcc", WRAPPER, is_script=True)
    rule = "%.o: %.c\n\tgcc -MD -MF $*.Tpo -c $< -o $@ && mv -f $*.Tpo $*.Po\n\tcat log > $*\n"
    files = {"a.c": MAIN, "b.c": SLOW, "c.c": MAIN, "Makefile": f"all: a.o b.o c.o\n{rule}"}
    anywhere.expect_same(files, ["make", "-r"], "-j1")


def test_a_script_that_writes_nothing_else_is_a_compiler(anywhere: Space) -> None:
    anywhere.fake("gcc", WRAPPER.replace('echo "$@" >> log\n', ""), is_script=True)
    files = {"a.c": MAIN, "b.c": "int b;\n", "c.c": "int c;\n"}
    anywhere.expect_same(files, ["sh", "-c", "for n in a b c; do gcc -c $n.c; done"])
    assert [command["reason"] for command in commands_of(anywhere)] == ["first-of-a-script", "", ""]


def test_a_tool_that_is_replaced(anywhere: Space) -> None:
    """What was called before is done by the one that was there then."""
    tools = anywhere.folder / "bin"
    one = '#!/bin/sh\nexec /usr/bin/gcc -DK=1 "$@"\n'
    build = (
        "mkdir bin; cp one bin/gcc; chmod 755 bin/gcc; "
        f"for n in 1 2 3 4; do {tools}/gcc -c k.c -o k$n.o; done; "
        "sed s/K=1/K=2/ one > two; cp two bin/gcc; "
        f"{tools}/gcc -c k.c -o k5.o"
    )
    anywhere.expect_same({**FILES, "one": one}, ["sh", "-c", build])


@pytest.mark.parametrize("behind", ["", BEHIND])
def test_both_ends_of_a_pipe(anywhere: Space, behind: str) -> None:
    """None of them waits for the other."""
    pipes = "gcc -E -DK=1 k.c | gcc -x cpp-output -c - -o k.o; cat m.c | gcc -x c -c - -o m.o; "
    pipes += "gcc -S -DK=2 k.c -o - | tee k.s | as -o k2.o"
    anywhere.expect_same(FILES, ["sh", "-c", f"{behind}{pipes}; wait"])


def test_what_was_seen_is_known_in_the_next_build(space: Space) -> None:
    space.forget_programs()
    files = {"a.c": MAIN}
    space.expect_same(files, ["sh", "-c", "gcc -c a.c; gcc a.o -o p"])
    lines = space.programs.read_text().splitlines()
    inodes = {line.split()[6] for line in lines}
    assert {str(os.stat(name).st_ino) for name in ("/usr/bin/gcc", "/usr/bin/as")} <= inodes


def test_nobody_who_makes_a_new_file_waits_for_a_machines_first_link(space: Space) -> None:
    """Of its linker the loader has said that it takes a guard, before the link has run."""
    held = Held(space)
    space.forget_programs()
    script = "gcc -c held.c\ngcc held.o -o p\necho > new.pc\necho > after\n"
    files = {"held.c": MAIN, "build.sh": script}
    status, expected = held.serial(files, ["sh", "build.sh"])
    ended, tree = held.parallel(files, ["sh", "build.sh"])
    assert (ended.status, tree) == (status, expected), ended.err
    assert json.loads(space.smpmake("report", "--json").out)["stalls"] == []


def test_what_is_no_folder_of_ours_is_done_without(space: Space) -> None:
    space.programs.unlink()
    space.programs.parent.rmdir()
    Path(space.root / "cache" / "smpmake").write_text("a file")
    space.expect_same({"a.c": MAIN}, ["sh", "-c", "gcc -c a.c; gcc a.o -o p"])
