"""The jobs of a build with --memo: compiles, links and archives that are given back."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from smpmake.protocol import layout
from tests.builds.test_colours import WARNS, on_terminal
from tests.memo.test_changes import listed
from tests.support import needs
from tests.support.held import Held
from tests.support.remembered import counts, settle
from tests.support.space import SMPMAKE, Ended, Space

MAKEFILE = """\
CFLAGS = -O1 -MD -Ifirst -Isecond
all: one two
one: one.o a.o b.o libx.a
	gcc -o $@ one.o a.o b.o -L. -lx
two: two.o libx.a
	gcc -o $@ two.o libx.a
libx.a: c.o d.o e.o
	ar rc $@ $^
	ranlib $@
%.o: %.c
	gcc $(CFLAGS) -c -o $@ $<
gen.h: gen.in
	sed 's/@/1/' $< > $@
a.o b.o one.o two.o: gen.h
clean:
	rm -f *.o *.d one two libx.a gen.h
"""
FILES = {
    "Makefile": MAKEFILE,
    "gen.in": "#define GEN @\n",
    "first/unused.h": "",
    "second/x.h": "#define X 1\n",
    **{f"{n}.c": f'#include "x.h"\nint {n}(void) {{ return X; }}\n' for n in "cde"},
    **{
        f"{n}.c": f'#include "gen.h"\n#include "x.h"\nint {n}(void) {{ return X + GEN; }}\n'
        for n in "ab"
    },
    "one.c": '#include "gen.h"\nint a(void), c(void);\n'
    "int main(void) { return a() + c() != 2 + GEN; }\n",
    "two.c": '#include "gen.h"\nint c(void);\nint main(void) { return c() != GEN; }\n',
}
COMMANDS = 7 + 2 + 2  # compiles, of the archive, links


def serial(space: Space, *command: str) -> dict[str, str]:
    """What a plain build leaves of the tree as it lies there; then it is as before."""
    kept = space.root / "kept"
    shutil.copytree(space.folder, kept, symlinks=True)
    space.run(*command)
    expected = space.tree()
    space.clear()
    shutil.copytree(kept, space.folder, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(kept)
    settle(space.folder)
    return expected


def build(space: Space, *options: str, hits: int, command: tuple[str, ...] = ("make",)) -> Ended:
    """Builds what lies there as plain make would, with that many results given back."""
    expected = serial(space, *command)
    ended = space.smpmake("--memo=on", *options, "--", *command)
    assert space.tree() == expected, ended.err
    space.expect_clean()
    assert counts(space)["hits"] == hits, (counts(space), ended)
    return ended


@pytest.fixture
def warm(space: Space) -> Space:
    """A project whose results are remembered, and which has been cleaned."""
    space.write(FILES)
    build(space, hits=0)
    space.ok("make", "clean")
    return space


def test_a_second_build_gets_all_of_its_results_back(warm: Space) -> None:
    ended = build(warm, hits=COMMANDS)
    assert counts(warm)["misses"] == {}
    assert f"smpmake gave {COMMANDS} remembered results back and saved" in ended.err
    for name in ("a.o", "libx.a", "one"):
        assert "smpmake gave its remembered result back" in warm.smpmake("why", name).out
    assert "Nothing to be done" in warm.ok("make").out
    assert warm.run("./one").status == warm.run("./two").status == 0


USUAL = """\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
/* once, and only once */
#define PUSH _Pragma("GCC diagnostic push")
#define JOIN(x, y) x##y
PUSH
int JOIN(a, b)(void) { return puts("called once"); } // once
"""


@pytest.mark.parametrize("name", ["a.c", "a.cc"])
def test_a_tree_that_was_checked_out_again(space: Space, name: str) -> None:
    """Contents count, and no times: not for what usual sources and the system's headers say."""
    more = "#include <mutex>\n#include <string>\n" if name == "a.cc" else ""
    space.write({name: more + USUAL, "Makefile": f"all:\n\tgcc -c {name}\n"})
    build(space, hits=0)
    os.utime(space.folder / name, (1, 1))
    (space.folder / "a.o").unlink()
    build(space, hits=1)


READS = "a.o:\n\tgcc -c a.c -Iy\n"


def test_what_is_not_as_it_was_is_named(space: Space) -> None:
    space.write({"a.c": '#include "x.h"\n', "y/x.h": "", "Makefile": READS})
    build(space, hits=0)
    space.ok("rm", "a.o")
    space.write({"x.h": ""})
    build(space, hits=0)
    assert "a file is there now that was not (x.h)\n" in space.smpmake("memo").out
    space.ok("rm", "a.o", "x.h")
    space.environment["CPATH"] = "z"
    build(space, hits=0)
    assert "(CPATH)\n" in space.smpmake("memo").out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Makefile": "all:\n\tgcc -c -O1 a.c -o a.o\n"}, "-O1"),
        ({"Makefile": "all:\n\tgcc -c a.c -o a.o -g\n"}, "-g"),
        ({"a.c": "int other;\n"}, "a.c"),
        ({"Makefile": "all:\n\tLC_ALL=POSIX gcc -c a.c -o a.o\n"}, "its environment"),
        ({"Makefile": "all:\n\tgcc -c a.c -o b.o\n"}, ""),
    ],
)
def test_a_word_that_is_another_is_named(space: Space, change: dict[str, str], told: str) -> None:
    """Beside the last command that made the same output from the same files."""
    space.write({"a.c": "int a;\n", "Makefile": "all:\n\tgcc -c a.c -o a.o\n"})
    build(space, hits=0)
    space.write(change)
    settle(space.folder)
    build(space, hits=0)
    shown = space.smpmake("memo").out
    end = f" (different now: {told})\n" if told else "\n"
    assert f"no result of this command was remembered yet{end}" in shown


@pytest.mark.parametrize("name", ["a.c", "a.cc"])
def test_a_tree_of_headers_that_are_included_once(space: Space, name: str) -> None:
    """Of two names a compiler asks for times if their content is the same; here none is."""
    space.write({name: '#include "x.h"\n#include "y.h"\n#include "x.h"\nint a = X + Y;\n'})
    space.write({"x.h": "#pragma once\n#define X 1\n", "y.h": "#pragma once\n#define Y 1\n"})
    space.write({"Makefile": f"all:\n\tgcc -c {name}\n"})
    build(space, hits=0)
    for each in (name, "x.h", "y.h"):
        os.utime(space.folder / each, (1, 1))
    (space.folder / "a.o").unlink()
    build(space, hits=1)


def test_an_archive_of_many_objects(space: Space) -> None:
    objects = " ".join(f"{number}.o" for number in range(200))
    space.write({"a.c": "int a;\n", "Makefile": f"l.a:\n\tar rcs $@ {objects}\n"})
    space.ok("sh", "-c", f"gcc -c a.c; for each in {objects}; do cp a.o $each; done")
    for hits in (0, 1):
        (space.folder / "l.a").unlink(missing_ok=True)
        build(space, hits=hits)


def test_a_folder_that_is_called_as_an_open_files_number_is(space: Space) -> None:
    files = {
        "7/a.c": "int a;\n",
        "7/b.c": "int b;\n",
        "7/Makefile": "CFLAGS = -MMD\nall: a.o b.o\n",
    }
    for hits in (0, 2):
        space.clear()
        space.write(files)
        build(space, hits=hits, command=("sh", "-c", "cd 7; exec make"))


def test_a_header_has_changed(warm: Space) -> None:
    warm.write({"second/x.h": "#define X 2\n"})
    build(warm, hits=2)  # of one.c and two.c
    assert "a file that it reads has changed (second/x.h)\n" in warm.smpmake("memo").out
    warm.ok("make", "clean")
    build(warm, hits=COMMANDS)
    warm.ok("make", "clean")
    warm.write({"second/x.h": "#define X 1\n"})
    build(warm, hits=COMMANDS)


def test_a_header_appears_in_an_earlier_folder(warm: Space) -> None:
    warm.write({"first/x.h": "#define X 7\n"})
    build(warm, hits=2)
    assert counts(warm)["misses"][str(layout.MEMO_APPEARED)] == 5


def test_the_generated_header_is_another(warm: Space) -> None:
    warm.write({"gen.in": "#define GEN @+2\n"})
    build(warm, hits=3 + 2)  # those of the library


# ---------------------------------------------------------------------- beside what is pending

#: A job that takes the one slot until somebody waits, or the script is at its end.
SLOW = "gcc -Dheld -c slow.c; echo > started; "
PENDING = {
    "x.h": "#define X 1\n",
    "other.h": "#define X 2\n",
    "a.c": '#include "x.h"\nint a = X;\n',
    "b.c": '#if __has_include("y.h")\n#include "y.h"\n#endif\nint b;\n',
    "slow.c": "int slow;\n",
}
#: What is remembered while nothing else is pending; then, what is done while a job holds up all
#: others, and how many results are given back all the same.
MEANWHILE = {
    "nothing": ("cc -c a.c", "cc -c a.c", 1),
    "its header is written over": ("cc -c a.c", "cc -c a.c; cp other.h x.h", 1),
    "its header is removed": ("cc -c a.c", "cc -c a.c; rm x.h", 1),
    "its header is replaced": ("cc -c a.c", "cc -c a.c; mv other.h x.h", 1),
    "its header was another": ("cc -c a.c", "cp other.h x.h; cc -c a.c", 0),
    "a header comes": ("cc -c b.c", "cc -c b.c; echo 'int y;' > y.h", 1),
    "a header has come": ("cc -c b.c", "echo 'int y;' > y.h; cc -c b.c", 0),
    "each sees another header": (
        'for k in 1 2 3; do echo "#define X $k" > x.h; cc -c a.c -o a$k.o; cksum a$k.o; done',
        'for k in 1 2 3; do echo "#define X $k" > x.h; cc -c a.c -o a$k.o; done',
        3,
    ),
    "a job makes its header": (
        "cc -c b.c; cksum b.o; cc -E -P -dM -o y.h x.h",
        "cc -E -P -dM -o y.h x.h; cc -c b.c",
        1,
    ),
    "the same job makes another header": (
        "cc -E -P -dM -o y.h x.h; cksum y.h; cc -c b.c; cksum b.o; rm y.h",
        "mv other.h x.h; cc -E -P -dM -o y.h x.h; cc -c b.c",
        0,
    ),
    "an object is written over": ("cc -c a.c; rm a.o", "cc -c a.c; cc -DX=5 -c b.c -o a.o", 1),
    "what it makes is renamed": ("cc -c a.c", "cc -c a.c; mv a.o z.o", 1),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_result_is_that_of_its_place(space: Space, name: str) -> None:
    """A command gets the result that fits to what it was to find, however late it is looked up."""
    before, meanwhile, hits = MEANWHILE[name]
    held = Held(space)
    space.write(PENDING)
    settle(space.folder)
    assert space.smpmake("--memo=on", "sh", "-c", before).status == 0
    assert counts(space)["hits"] == 0
    assert counts(space)["unkept"] == {}
    files = {**PENDING, "do": f"{SLOW}{meanwhile}; echo > after\n"}
    expected = held.serial(files, ["sh", "./do"])
    for _ in range(2):
        space.clear()
        space.write(files)
        process = held.start("-j1", "--memo=on", "--", "sh", "./do")
        held.let_go_when_stuck(process)
        ended = space.finish(process)
        assert (ended.status, held.tree()) == expected, ended
        space.expect_clean()
        assert counts(space)["hits"] >= hits, counts(space)


# ---------------------------------------------------------------------- over older files


def test_objects_are_written_over(warm: Space) -> None:
    """Whatever the older ones were."""
    build(warm, hits=COMMANDS)
    for header, hits in (("2", None), ("1", None), ("2", COMMANDS), ("1", COMMANDS)):
        warm.write({"second/x.h": f"#define X {header}\n"})
        settle(warm.folder)
        for name in ("a", "b", "c", "d", "e", "one", "two"):
            os.utime(warm.folder / f"{name}.c")
        if hits is None:
            assert warm.smpmake("--memo=on", "make").status == 0
        else:
            build(warm, hits=hits)


OLDER = {
    "a plain file": ("echo old > a.o", 1),
    "one of another mode": ("echo old > a.o; chmod 600 a.o", 0),
    "one of two names": ("echo old > a.o; ln a.o other", 0),  # it is no job any more
    "a link": ("echo old > other; ln -s other a.o", 0),
    "its own source": ("ln a.c a.o", 0),
    "an empty file": (": > a.o", 0),
    "an empty file of two names": (": > a.o; ln a.o other", 0),
    "none": ("rm -f a.o", 1),
}


@pytest.mark.parametrize("name", OLDER)
def test_what_lay_in_the_place_of_an_object(space: Space, name: str) -> None:
    """It is remembered over a plain file; then that, or something else, lies there."""
    how, hits = OLDER[name]
    files = {"a.c": "int a;\n", "Makefile": "all:\n\tsh ./before\n\tgcc -c a.c\n"}
    space.write({**files, "before": "echo older > a.o"})
    settle(space.folder)
    assert space.smpmake("--memo=on", "make").status == 0
    space.clear()
    space.write({**files, "before": how})
    build(space, hits=hits)


def test_an_empty_file_keeps_its_mode(space: Space) -> None:
    """The assembler writes over an empty file; any other goes, and its mode with it."""
    files = {"a.c": "int a;\n", "Makefile": "all:\n\tsh ./before\n\tgcc -c a.c\n"}
    modes = []
    for older in (": > a.o", "echo older > a.o"):
        space.clear()
        space.write({**files, "before": f"{older}; chmod 755 a.o"})
        build(space, hits=0)
        modes.append((space.folder / "a.o").stat().st_mode & 0o777)
    assert modes == [0o755, 0o644]


def test_the_folder_gets_a_list_of_rights(space: Space) -> None:
    """By that new files get their mode, and not by the umask."""
    space.write({"a.c": "int a;\n", "Makefile": "all:\n\tgcc -c a.c\n"})
    settle(space.folder)
    assert space.smpmake("--memo=on", "make").status == 0
    listed(space.folder)
    for command in (("make",), (SMPMAKE, "--memo=on", "make")):
        (space.folder / "a.o").unlink()
        space.ok(*command)
        assert (space.folder / "a.o").stat().st_mode & 0o777 == 0o660
    assert counts(space)["misses"] == {str(layout.MEMO_UNDO): 1}


def test_a_file_that_the_compiler_writes_to_stays_itself(space: Space) -> None:
    """gcc -S writes over what it finds: so does who gives back, but never by another name."""
    files = {"a.c": "int a;\n", "Makefile": "all:\n\tgcc -S a.c\n", "a.s": "older"}
    space.write(files)
    settle(space.folder)
    for hits in (0, 1):
        (space.folder / "a.s").write_text(f"older {hits}")
        before = (space.folder / "a.s").stat()
        assert space.smpmake("--memo=on", "make").status == 0
        assert counts(space)["hits"] == hits, counts(space)
        assert (space.folder / "a.s").stat().st_ino == before.st_ino
        assert ".ident" in (space.folder / "a.s").read_text()
    os.link(space.folder / "a.s", space.folder / "other")
    assert space.smpmake("--memo=on", "make").status == 0
    assert counts(space)["hits"] == 0


@pytest.mark.parametrize("command", ["gcc -MD -c a.c", "gcc -S a.c", "gcc -MD -o p a.c"])
def test_where_there_was_an_older_file_there_may_be_none(space: Space, command: str) -> None:
    """What was remembered over older files is given back behind a clean."""
    files = {"a.c": "int main(void) { return 0; }\n", "Makefile": f"all:\n\t{command}\n"}
    space.write({**files, **dict.fromkeys(("a.o", "a.d", "a.s", "p", "p.d"), "older")})
    settle(space.folder)
    assert space.smpmake("--memo=on", "make").status == 0
    space.clear()
    space.write(files)
    build(space, hits=1)


#: What a name tells that is also an output's: a header, a part of an object, an older text.
ALSO_READ = {
    "a header": ("gcc -c a.c -MD -MF x.h", '#if __has_include("x.h")\nint y;\n#endif\n', "x.h"),
    "one found first": ("gcc -c a.c -Ii -Ij -MD -MF i/x.h", '#include "x.h"\n', "i/x.h"),
    "a listing": ("as a.c -o a.o -a=q.lst", '.incbin "q.lst"\n', "q.lst"),
    "what is added to": (
        "gcc -O3 -c a.c -fopt-info-all=d.txt",
        "void f(int *a, int n) { for (int i = 0; i < n; i++) a[i] = i; }\n",
        "d.txt",
    ),
}


@pytest.mark.parametrize("name", ALSO_READ)
def test_an_output_that_is_also_read(space: Space, name: str) -> None:
    command, source, output = ALSO_READ[name]
    files = {"a.c": source, "i/z": "", "j/x.h": "", "Makefile": f"all:\n\t-{command}\n"}
    for older in ({}, {output: "/* older */\n"}, {}):
        space.clear()
        space.write({**files, **older})
        expected = serial(space, "make")
        assert space.smpmake("--memo=on", "make").status == 0
        assert space.tree() == expected


#: Linkers to which their own older output is of effect: lld finds a library of -l so.
LINKER = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    const char *path = argv[2];
    HOW
    return argc < 3;
}
"""
FINDS = """
    int found = access(path, F_OK) == 0;
    unlink(path);
    FILE *file = fopen(path, "w");
    fputs(found ? "again" : "for the first time", file);
    fclose(file);
"""
KEEPS = 'write(open(path, O_WRONLY | O_CREAT, 0666), "x", 1);'
ADDS = 'FILE *file = fopen(path, "a"); fputs("more", file); fclose(file);'


@pytest.mark.parametrize("is_clean_first", [True, False])
@pytest.mark.parametrize("how", [FINDS, KEEPS, ADDS], ids=["finds", "keeps", "adds"])
def test_older_files_that_are_of_effect(space: Space, how: str, *, is_clean_first: bool) -> None:
    tools = space.root / "tools"
    tools.mkdir()
    (tools / "ld.c").write_text(LINKER.replace("HOW", how))
    space.run("gcc", "-o", f"{tools}/ld", f"{tools}/ld.c")
    space.environment["PATH"] = f"{tools}:{space.environment['PATH']}"
    files = {"a.o": "object\n", "Makefile": "all:\n\tld -o p a.o\n"}
    is_remembered = is_clean_first or how is FINDS  # what is added to, never
    for is_clean, hits in (
        (is_clean_first, 0),
        (not is_clean_first, 0),
        (is_clean_first, int(is_remembered)),
    ):
        space.clear()
        space.write({**files, **({} if is_clean else {"p": "older"})})
        build(space, hits=hits)


def test_an_older_file_with_a_list_of_rights_is_no_plain_one(space: Space) -> None:
    files = {"a.c": "int a;\n", "Makefile": "all:\n\tgcc -c a.c\n"}
    space.write(files)
    settle(space.folder)
    assert space.smpmake("--memo=on", "make").status == 0
    os.setxattr(space.folder / "a.o", "user.note", b"kept")
    assert space.smpmake("--memo=on", "make").status == 0
    assert counts(space)["hits"] == 0


# ---------------------------------------------------------------------- when it goes wrong


def test_a_failure_is_told_by_the_compiler_itself(space: Space) -> None:
    """Behind a failure all is undone and run again, with what was given back."""
    files = {
        "Makefile": "all:\n\tgcc -c a.c\n\tgcc -c b.c\n\tgcc -o p a.o b.o\n\tcp a.o copy.o\n",
        "a.c": "int a;\n",
        "b.c": "int b = c;\n",
    }
    space.write(files)
    for _ in range(3):
        ended = build(space, hits=0 if _ == 0 else 1)
        assert ended.status == 2
        assert ended.err.count("undeclared here") == 1, ended.err
        space.clear()
        space.write(files)
    assert counts(space)["misses"][str(layout.MEMO_BAD_NEWS)] >= 1


def test_what_was_given_back_is_taken_back(space: Space) -> None:
    """The object that is given back replaces an older one, which the second run finds again."""
    makefile = "all:\n\tsh ./do\n\tgcc -c {bad}\n\techo never > never\n"
    script = "cksum a.o >> seen\ngcc -c a.c\ncksum a.o >> seen\n"
    for turn in range(2):
        bad = f"bad{turn}.c"  # that it fails is not known before
        files = {"Makefile": makefile.format(bad=bad), "do": script, "a.c": "int a;\n"}
        space.clear()
        ended = space.expect_same(
            {**files, bad: "int bad(\n", "a.o": "older"}, ["make"], "--memo=on"
        )
        assert "make ran a second time" in ended.err, ended.err
        assert counts(space)["hits"] >= turn


def test_a_check_finds_nothing(warm: Space) -> None:
    ended = warm.smpmake("--memo=check", "make")
    assert "--memo=check" not in ended.err, ended.err
    assert counts(warm)["hits"] == 0
    assert counts(warm)["misses"] == {str(layout.MEMO_ONLY_CHECKED): COMMANDS}


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(6))
def test_under_chaos(warm: Space, seed: int) -> None:
    build(warm, "--chaos", str(seed), "-j3", hits=COMMANDS)
    warm.ok("make", "clean")
    warm.write({"second/x.h": f"#define X {seed + 2}\n"})
    build(warm, "--chaos", str(seed), "-j3", hits=2)
    ended = warm.smpmake("--memo=check", "--chaos", str(seed), "-j3", "make", "-B")
    assert "--memo=check" not in ended.err, ended.err


FULL = """
mount -t tmpfs -o size=400k none small || exit 77
cd small; cp ../s.o ../big.o .
for room in 300 40; do
    rm -f l.a; ar rc l.a s.o; cp l.a ../before
    free=$(df -k --output=avail . | tail -n 1)
    head -c $((free - room))k /dev/zero > full
    rm -rf "$XDG_STATE_HOME"  # or smpmake knows that ar prints nothing
    "$0" --memo=on sh -c 'ar r l.a big.o | cat'
    cmp l.a ../before && echo unchanged || echo changed
    rm full
done
"""


def test_a_full_disk_does_not_cut_an_archive(space: Space) -> None:
    """There is no room for the result, nor for what ar would make: the archive is as it was."""
    needs.require_mounts()
    space.write({"s.c": "int s;\n", "big.c": "char big[60000] = {1};\n"})
    (space.folder / "small").mkdir()
    space.ok("gcc", "-c", "s.c", "big.c")
    ended = space.run("unshare", "-m", "sh", "-c", FULL, SMPMAKE)
    assert ended.out.splitlines()[-1] == "unchanged", ended
    assert "changed" in ended.out.splitlines(), ended
    assert ended.err.count("No space left on device") == 1, ended
    assert counts(space)["misses"] == {str(layout.MEMO_UNDO): 1}, ended


def test_a_stream_that_is_closed(space: Space) -> None:
    """No file of smpmake's gets its number: the compiler fails, as it does by itself."""
    files = {"a.c": "int a;\n", "do": "gcc -E a.c >&-; echo $? > status\n"}
    for _ in range(2):
        space.clear()
        space.expect_same(files, ["sh", "do"], "--memo=on")
        assert (space.folder / "status").read_text() == "1\n"
        assert counts(space)["misses"] == {str(layout.MEMO_STREAMS): 1}


# ---------------------------------------------------------------------- on a terminal


def test_messages_on_a_terminal(space: Space) -> None:
    """They come back in colours and as wide as they were; for another width they are made anew."""
    space.write({"Makefile": "all:\n\tgcc -Wall -c a.c\n", "a.c": WARNS})
    plain, _ = on_terminal(space, "make")
    messages = plain.partition(b"\n")[2]
    assert b"\x1b[" in messages
    for hits in (0, 1):
        (space.folder / "a.o").unlink()
        settle(space.folder)
        seen, status = on_terminal(space, SMPMAKE, "--memo=on", "make")
        assert status == 0
        assert messages in seen, seen
        assert counts(space)["hits"] == hits, counts(space)
    for hits in (0, 1):
        (space.folder / "a.o").unlink()
        assert b"\x1b[" not in space.smpmake("--memo=on", "make").err.encode()
        assert counts(space)["hits"] == hits
    (space.folder / "a.o").unlink()
    assert messages in on_terminal(space, SMPMAKE, "--memo=on", "make")[0]
    assert counts(space)["hits"] == 1


def test_why_tells_what_is_different(warm: Space) -> None:
    """Of the very command, by the report, too."""
    build(warm, hits=COMMANDS)
    warm.ok("make", "clean")
    warm.write({"second/x.h": "#define X 2\n", "a.c": f"{FILES['a.c']}int more;\n"})
    settle(warm.folder)
    assert warm.smpmake("--memo=on", "make").status == 0
    told = {name: warm.smpmake("why", f"{name}.o").out for name in "ab"}
    begin = "smpmake gave no remembered result back because"
    known = layout.MEMO_WHY_SENTENCES
    assert f"{begin} {known[layout.MEMO_FILE]} (second/x.h)" in told["b"]
    assert f"{begin} {known[layout.MEMO_UNKNOWN]} (a.c)" in told["a"]
    document = json.loads(warm.smpmake("report", "--json").out)
    missed = {c["missed"] for c in document["commands"] if c["kind"] == "compile"}
    assert len(missed) == 3
    assert "" in missed  # those that were given back
