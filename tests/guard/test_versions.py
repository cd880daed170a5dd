"""Files that are changed under pending compiles: each finds what it was issued for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.held import Held
from tests.support.space import MAIN, Space
from tests.support.variants import often

FILES = {
    "a.c": '#include "v.h"\nint a = VALUE;\n',
    "inc/v.h": "#define VALUE 1\n",
    "one/v.h": "#define VALUE 1\n",
    "two/v.h": "#define VALUE 2\n",
    "new.h": "#define VALUE 2\n",
    "blob.S": '.data\n.incbin "fw.bin"\n',
    "fw.bin": "old",
    "fw2.bin": "new",
    "map.c": '#include "t.map"\nint a = VALUE;\n',
    "t.map": "#define VALUE 1\n",
    "any.c": "#include SUFFIX\nint a = VALUE;\n",
    "has.c": '#if __has_include("late.h")\nint late;\n#endif\nint a;\n',
    "bare": "",
    "proof.c": "int proof;\n",
    "x.c": '#include "x.h"\n',
    "x.h": "int old;\n",
    "gen.c": "int gen;\n",
    "gen2.c": "int anew;\n",
    "data.c": 'char data[] = "data";\n',
    "xb.S": '.data\n.incbin "x.bin"\n',
    "x.bin": "old",
    "sub.c": '#if __has_include("sub/late.h")\nint late;\n#endif\nint a;\n',
    "proof.S": ".data\n.byte 1\n",
    "main.c": MAIN,
    "lib/f.c": "int f(void) { return 1; }\n",
    "use.c": "int f(void); int main(void) { return f(); }\n",
    "f2.c": "int f(void) { return 2; }\n",
    "in.c": '#include "x/y/v.h"\nint a = VALUE;\n',
    "x/y/v.h": "#define VALUE 1\n",
    "z/y/v.h": "#define VALUE 2\n",
}

#: A compiler is believed to ask for all that it reads when it has been seen to.
PROOF = (
    "gcc -c proof.c && gcc -c proof.S -o proofs.o && cksum proof.o proofs.o > seen; "
    "echo > started; "
)

WHILE_IT_IS_HELD = {
    "a header is overwritten": "gcc -Dheld -Iinc -c a.c; cp new.h inc/v.h",
    "appended to": "gcc -Dheld -Iinc -c a.c; echo '#undef VALUE' >> inc/v.h",
    "edited": "gcc -Dheld -Iinc -c a.c; sed -i s/1/3/ inc/v.h",
    "removed": "gcc -Dheld -Iinc -c a.c; rm inc/v.h",
    "removed and made again": "gcc -Dheld -Iinc -c a.c; rm inc/v.h; cp new.h inc/v.h",
    "removed, and made again as it was": (
        "gcc -Dheld -Iinc -c a.c; rm -f inc/v.h; echo '#define VALUE 1' > inc/v.h"
    ),
    "replaced": "gcc -Dheld -Iinc -c a.c; mv new.h inc/v.h",
    "moved away": "gcc -Dheld -Iinc -c a.c; mv inc/v.h inc/w.h",
    "exchanged": "gcc -Dheld -Ione -c a.c; mv one/v.h x.h; mv two/v.h one/v.h; mv x.h two/v.h",
    "changed twice": (
        "gcc -Dheld -Iinc -c a.c; cp new.h inc/v.h; gcc -Dheld -Iinc -c a.c -o b.o; "
        "echo '#define VALUE 3' > inc/v.h; gcc -Iinc -c a.c -o c.o"
    ),
    "a link to a header is replaced": (
        "ln -s ../one/v.h inc/l.h; gcc -Dheld -Iinc -DSUFFIX='\"l.h\"' -c any.c; "
        "ln -sf ../two/v.h inc/l.h"
    ),
    "what a link leads to is changed": (
        "ln -s ../one/v.h inc/l.h; gcc -Dheld -Iinc -DSUFFIX='\"l.h\"' -c any.c; cp new.h one/v.h"
    ),
    "what a hard link leads to is changed": (
        "ln one/v.h inc/l.h; gcc -Dheld -Iinc -DSUFFIX='\"l.h\"' -c any.c; cat new.h > one/v.h"
    ),
    "changed through a link": "ln -s v.h inc/l; gcc -Dheld -Iinc -c a.c; cat new.h > inc/l",
    "changed through a new link": "gcc -Dheld -Iinc -c a.c; ln -s v.h inc/l; cat new.h > inc/l",
    "a table of no header's name": "gcc -Dheld -c map.c; sed -i s/1/2/ t.map",
    "an assembler's contents": "gcc -Dheld -c blob.S; cp fw2.bin fw.bin",
    "a profile is removed": (
        "gcc -O2 --coverage -frandom-seed=1 -c f2.c -o f.o; gcc -c use.c; "
        "gcc --coverage f.o use.o -o t; ./t; "
        "gcc -Dheld -O2 -fprofile-use -Werror=missing-profile -c f2.c -o f.o; rm f.gcda"
    ),
    **{
        f"{name} hides another": (
            f"cp one/v.h two/{name}; gcc -Dheld -Iinc -Itwo -DSUFFIX='\"{name}\"' -c any.c; "
            f"{how} inc/{name}"
        )
        for name in ("t.c", "y.tab.c", "t.x", "bare", "late.h")
        for how in ("cp new.h", "mv new.h", "ln -s ../new.h", "ln new.h", "install -m 644 new.h")
    },
    **{  # Python takes longer than any clock's tick: the time tells nothing of an older file
        f"some time later, {how}": (
            f"cp one/v.h two/t.x; gcc -Dheld -Iinc -Itwo -DSUFFIX='\"t.x\"' -c any.c; "
            f"python3 -I -c pass; python3 -I -c pass; {how} inc/t.x"
        )
        for how in ("mv new.h", "ln -s ../new.h", "ln new.h", "cp new.h x; mv x")
    },
    "a header is looked for in vain": "gcc -Dheld -I. -c has.c; echo > late.h",
    "a precompiled header comes": (
        "gcc -Dheld -Iinc -c a.c; "
        "gcc -x c-header new.h -o inc/v.h.gch; echo > after; rm inc/v.h.gch"
    ),
    "made by one before, appended to by one behind": (
        "gcc -Dheld -E -P gen.c -o x.h; gcc -c x.c; echo 'int more;' >> x.h"
    ),
    "made by one before, by no header's name": (
        "gcc -Dheld -c data.c; objcopy -O binary -j .data data.o x.bin; gcc -c xb.S; "
        "echo more >> x.bin"
    ),
    "made by one before, replaced": (
        "echo 'int q;' > q.h; gcc -Dheld -E -P gen.c -o x.h; gcc -c x.c; mv -f q.h x.h"
    ),
    "made by one before, removed": ("gcc -Dheld -E -P gen.c -o x.h; gcc -c x.c; rm x.h"),
    "made by one before, made anew by one behind": (
        "gcc -Dheld -E -P gen.c -o x.h; gcc -Dheld -c x.c; gcc -E -P gen2.c -o x.h"
    ),
    "its folder is removed": "gcc -Dheld -Iinc -Itwo -c a.c; rm -rf inc",
    "a link in the middle is retargeted": (
        "ln -s ../one/v.h inc/m.h; ln -s m.h inc/l.h; "
        "gcc -Dheld -Iinc -DSUFFIX='\"l.h\"' -c any.c; ln -sf ../two/v.h inc/m.h"
    ),
    "what a link leads to becomes a link": (
        "cp one/v.h inc/m.h; ln -s m.h inc/l.h; "
        "gcc -Dheld -Iinc -DSUFFIX='\"l.h\"' -c any.c; ln -sf ../two/v.h inc/m.h"
    ),
    "a link to a folder appears": (
        "cp new.h two/late.h; gcc -Dheld -c sub.c; python3 -I -c pass; python3 -I -c pass; "
        "ln -s two sub"
    ),
    "changed under one name, replaced under another": (
        "ln one/v.h inc/l.h; gcc -Dheld -Iinc -DSUFFIX='\"l.h\"' -c any.c; "
        "cat new.h >> one/v.h; mv -f two/v.h inc/l.h"
    ),
    "a library of an older folder": (
        "gcc -c lib/f.c -o f.o; ar rc lib/libf.a f.o; gcc -c f2.c; ar rc two/libf.a f2.o; "
        "export LIBRARY_PATH=$PWD/lib; gcc -o t0 use.c -lf; ls t0 > started2; "
        "gcc -Dheld -o t use.c -lf; cp two/libf.a lib/libf.a"
    ),
    "a member of a thin archive": (
        "gcc -c lib/f.c -o f.o; ar rcT libt.a f.o; gcc -c f2.c; gcc -c use.c; "
        "gcc -o t0 use.o libt.a; ls t0 > started2; gcc -Dheld -o t use.o libt.a; cp f2.o f.o"
    ),
    "a member of a thin archive, whose folder is made anew": (
        "gcc -c lib/f.c -o one/f.o; ar rcT libt.a one/f.o; gcc -c f2.c; gcc -c use.c; "
        "gcc -o t0 use.o libt.a; ls t0 > started2; gcc -Dheld -o t use.o libt.a; "
        "rm -rf one; mkdir one; cp f2.o one/f.o"
    ),
    "a member of a thin archive, whose folder is exchanged": (
        "gcc -c lib/f.c -o one/f.o; ar rcT libt.a one/f.o; gcc -c f2.c -o two/f.o; gcc -c use.c; "
        "gcc -o t0 use.o libt.a; ls t0 > started2; gcc -Dheld -o t use.o libt.a; "
        "cp two/f.o one/f.o; mv one three; mv two one"
    ),
    "its folder is made anew, and is not searched": (
        "gcc -Dheld -c in.c; rm -rf x; mkdir -p x/y; cp new.h x/y/v.h; gcc -c in.c -o in2.o"
    ),
    "changed, then its folder is exchanged": (
        "gcc -Dheld -c in.c; cp new.h x/y/v.h; gcc -c in.c -o in2.o; mv x t; mv z x; "
        "gcc -c in.c -o in3.o; echo '#define VALUE 3' > x/y/v.h; gcc -c in.c -o in4.o; mv t z"
    ),
    "its folder goes and comes back": (
        "gcc -Dheld -c in.c; echo '#define VALUE 3' > x/y/v.h; mv x t; mv t x; gcc -c in.c -o in2.o"
    ),
    "its folder becomes a link": "gcc -Dheld -c in.c; mv x t; ln -s z x; gcc -c in.c -o in2.o",
    "a folder that a linker script searches": (
        "gcc -c lib/f.c -o one/f.o; ar rc one/libf.a one/f.o; gcc -c f2.c; ar rc two/libf.a f2.o; "
        "echo 'SEARCH_DIR(one) INPUT(-lf)' > libs.so; gcc -c use.c; "
        "gcc -o t0 use.o libs.so; ls t0 > started2; gcc -Dheld -o t use.o libs.so; "
        "rm -rf one; mv two one"
    ),
    "a member of a thin archive, by a hard link in another folder": (
        "gcc -c lib/f.c -o one/f.o; ln one/f.o two/f.o; ar rcT libt.a two/f.o; gcc -c f2.c; "
        "gcc -c use.c; gcc -o t0 use.o libt.a; ls t0 > started2; "
        "gcc -Dheld -o t use.o libt.a; cat f2.o > one/f.o"
    ),
    "what a linker script names": (
        "gcc -c lib/f.c -o f.o; echo 'INPUT(f.o)' > libs.so; gcc -c f2.c; gcc -c use.c; "
        "gcc -o t0 use.o libs.so; ls t0 > started2; gcc -Dheld -o t use.o libs.so; cp f2.o f.o"
    ),
    "a library by -B": (
        "gcc -c lib/f.c -o f.o; ar rc lib/libf.a f.o; gcc -c f2.c; ar rc two/libf.a f2.o; "
        "gcc -Blib/ -o t0 use.c -lf; ls t0 > started2; "
        "gcc -Dheld -o t use.c -Blib/ -lf; cp two/libf.a lib/libf.a"
    ),
}


#: Each kind of change and of what is read; the others are tried with `-m chaos`.
SOME = (
    *("a header is overwritten", "removed", "removed, and made again as it was", "replaced"),
    *("moved away", "exchanged", "changed twice", "a link to a header is replaced"),
    *("what a hard link leads to is changed", "changed through a new link", "a profile is removed"),
    *("an assembler's contents", "a header is looked for in vain", "a precompiled header comes"),
    *("made by one before, appended to by one behind", "made by one before, removed"),
    *("its folder is removed", "a link in the middle is retargeted", "a link to a folder appears"),
    *("a library of an older folder", "a member of a thin archive", "what a linker script names"),
)


@pytest.mark.parametrize("name", often(SOME, WHILE_IT_IS_HELD))
def test_a_pending_command_finds_what_it_was_issued_for(space: Space, name: str) -> None:
    held = Held(space)
    script = WHILE_IT_IS_HELD[name]
    since = "started2" if "started2" in script else "started"
    command = ["sh", "-c", f"{PROOF}{script}; echo > after"]
    status, expected = held.serial(FILES, command)
    ended, tree = held.parallel(FILES, command, since=since)
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()


#: What comes into a folder that a linker script has searched first, by jobs and by the driver.
LATE = {
    "ar": "ar rc two/libf.a f2.o",
    "a link": "gcc -shared -o two/libf.so f2.o",
    "cp": "cp other.a two/libf.a",
    "mv": "mv other.a two/libf.a",
    "a symbolic link": "ln -s ../other.a two/libf.a",
    # Python takes longer than any clock's tick: only its age tells of what it makes.
    "the driver": (
        "python3 -I -c pass; python3 -I -c pass; "
        'python3 -I -c \'import shutil; shutil.copy("other.a", "two/libf.a")\''
    ),
}


@pytest.mark.parametrize("how", often(("ar", "the driver"), LATE))
def test_p1_a_link_finds_no_library_that_comes_later(space: Space, how: str) -> None:
    """Nothing on its command line names it."""
    held = Held(space)
    script = (
        f"{PROOF}gcc -c lib/f.c -o f.o; ar rc lib/libf.a f.o; gcc -c f2.c; ar rc other.a f2.o; "
        "echo 'SEARCH_DIR(two) SEARCH_DIR(lib) INPUT(-lf)' > libs.so; gcc -c use.c; "
        "gcc -o t0 use.o libs.so; ls t0 > started2; "
        f"gcc -Dheld -o t use.o libs.so; {LATE[how]}; echo > after"
    )
    status, expected = held.serial(FILES, ["sh", "-c", script])
    ended, tree = held.parallel(FILES, ["sh", "-c", script], since="started2", alone=True)
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()


WRAPPERS = {
    "a folder of its own, renamed": """#!/bin/sh
d=$3.d; rm -rf $d $d.new; mkdir $d.new; echo 'int g;' > $d.new/g.c; mv $d.new $d
/usr/bin/gcc -c $d/g.c -o $3; r=$?; rm -rf $d; exit $r
""",
    "opened for what it starts": """#!/usr/bin/python3
import os, sys
name = sys.argv[3] + ".g.c"
how = [(os.POSIX_SPAWN_OPEN, 1, name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)]
os.waitpid(os.posix_spawn("/bin/echo", ["echo", "int g;"], os.environ, file_actions=how), 0)
os.execv("/usr/bin/gcc", ["/usr/bin/gcc", "-c", name, "-o", sys.argv[3]])
""",
}


def tool(space: Space, name: str, text: str = "") -> Path:
    """Where a tool of that name is found; written there if there is a script for it."""
    path = space.root / "tools" / name
    path.parent.mkdir(exist_ok=True)
    if not space.environment["PATH"].startswith(f"{path.parent}:"):
        space.environment["PATH"] = f"{path.parent}:{space.environment['PATH']}"
    if text:
        path.write_text(text)
        path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_command_finds_what_it_has_made_itself(space: Space, name: str) -> None:
    tool(space, "gcc", WRAPPERS[name])
    script = "gcc -c -o p.o a.c; cksum p.o > seen; gcc -c -o a.o a.c"
    ended = space.expect_same(FILES, ["sh", "-c", script])
    assert ended.status == 0


MAKER = """#!/bin/sh
cp "$3" "$2"
[ "$2" != last ] || : > made
"""


@pytest.mark.parametrize("more", ["", "maker -o later x.dat\n"], ids=["alone", "read by a third"])
def test_p1_a_job_makes_what_a_first_compile_looks_for_in_vain(space: Space, more: str) -> None:
    """That compile was begun when nobody had seen yet that all of gcc runs with a guard; now one
    has, on the other slot."""
    held = Held(space)
    tool(space, "maker", MAKER)
    script = (
        f"gcc -Dheld -c a.c -o a.o\ngcc -c z.c -o z.o\nmaker -o x.dat in\n{more}"
        "maker -o last in\nuntil [ -e made ]; do :; done\n: > after\n"
    )
    files = {
        ".smpmake.toml": '[tools.maker]\nkind = "compile"\noutput = ["-o"]\nheaders = false\n',
        "a.c": '#if __has_include("x.dat")\nint there;\n#else\nint absent;\n#endif\n',
        "z.c": "int z;\n",
        "in": "/* nothing */\n",
        "build.sh": script,
    }
    status, expected = held.serial(files, ["sh", "-e", "build.sh"])
    ended, tree = held.parallel(files, ["sh", "-e", "build.sh"], "-j2", witness="made")
    assert (ended.status, tree) == (status, expected), ended.err


#: Copies seen.h to its output; with an operand that is held, when the gate has been opened.
STATIC = r"""
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[100] = "";
	FILE *gate = strstr(argv[3], "held") ? fopen("GATE", "r") : NULL;
	if (gate != NULL)
		fgetc(gate);
	FILE *in = fopen("seen.h", "r"), *out = fopen(argv[2], "w");
	fgets(text, sizeof text, in);
	return argc != 4 || fputs(text, out) < 0 || fclose(out) != 0;
}
"""

#: Makes what it is told to; "late" one waits for the script, "again" tells `find` when it has.
WRITE = """#!/bin/sh
if [ "$3" = late ] && [ -p {late} ]; then read word < {late}; fi
cp "$3" "$2"
if [ "$3" = again ] && [ -p {again} ]; then echo > {again}; fi
"""
#: Looks at x.dat when that has been made again.
FIND = """#!/bin/sh
if [ "$3" = wait ] && [ -p {again} ]; then read word < {again}; fi
cat x.dat > "$2" 2> /dev/null || echo none > "$2"
"""


@pytest.mark.parametrize(
    "then",
    [
        "write -o x.dat again\n",
        "rm x.dat\nfind -o none in\nwrite -o x.dat again\n",
        "mv x.dat y.dat\nfind -o none in\nwrite -o x.dat again\n",
    ],
    ids=["overwritten", "removed and made anew", "moved and made anew"],
)
def test_p1_a_job_makes_anew_what_an_earlier_one_has_made(space: Space, then: str) -> None:
    """It is its own output, and who stands between the two is to find the other one."""
    late, again = space.root / "late", space.root / "again"
    for name, text in (("write", WRITE), ("find", FIND)):
        tool(space, name, text.format(late=late, again=again))
    known = '[tools.{}]\nkind = "compile"\noutput = ["-o"]\n'
    files = {
        ".smpmake.toml": known.format("write") + "headers = false\n" + known.format("find"),
        **{name: f"{name}\n" for name in ("in", "late", "again", "wait")},
        "build.sh": (
            "write -o p in\nfind -o q in\ncksum p q > seen\n"  # both are seen to have a guard
            f"write -o x.dat late\nfind -o found wait\n{then}[ ! -p {late} ] || echo > {late}\n"
        ),
    }
    ended = space.expect_same(files, ["sh", "-e", "build.sh"], "-j4", gates=(late, again))
    assert ended.status == 0, ended.err


def test_p1_a_static_tool_is_shown_nothing(space: Space) -> None:
    """Though nothing of its first run speaks against a guard: nothing of it was seen."""
    gate = space.root / "gate"
    space.write({"tool.c": STATIC.replace("GATE", str(gate))})
    space.ok("gcc", "-static", "tool.c", "-o", str(tool(space, "tool")))
    space.clear()
    files = {
        ".smpmake.toml": '[tools.tool]\nkind = "compile"\noutput = ["-o"]\n',
        "in": "",
        "in.held": "",
        "seen.h": "old\n",
        "build.sh": (
            "tool -o first in\ncat first > /dev/null\ntool -o second in.held\n"
            f"[ ! -p {gate} ] || echo > {gate} &\necho new > seen.h\n"
        ),
    }
    ended = space.expect_same(files, ["sh", "-e", "build.sh"], "-j2", gates=(gate,))
    assert ended.status == 0, ended.err
