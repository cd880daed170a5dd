"""Builds that were made to break the serial result, and recipes found in the wild that did."""

from __future__ import annotations

import os

import pytest

from tests.support.space import MAIN, SMPMAKE, Space
from tests.support.variants import often

FILES = {
    "a.c": "int a;\n",
    "v.c": "int v(void) { return V; }\n",
    "w.c": "int v(void); int w(void) { return v(); }\n",
    "t.c": "int v(void); int main(void) { return v(); }\n",
    "tw.c": "int w(void); int main(void) { return w(); }\n",
    "m.c": MAIN,
    "names": "",
    # As long as it takes: what comes behind is not even started.
    "slow.c": "".join(
        f"int s{n}(int x) {{ return x * {n} + s{n - 1}(x); }}\n"
        if n
        else "int s0(int x) { return x; }\n"
        for n in range(150)
    ),
}
SLOW = "gcc -O2 -c slow.c; "
LIBV = "gcc -fPIC -shared -DV={} v.c -o {}; "

OF_THE_CALLER = {
    "source from a pipe": "echo 'int q = 5;' | gcc -x c -c /dev/stdin -o q.o",
    "assembler": "printf '.globl q\\nq: .long 7\\n' | as -o q.o /dev/stdin",
    "objcopy": "gcc -c a.c; objcopy --redefine-syms=/dev/stdin a.o w.o <<< 'a z'",
    "linker script": (
        "gcc -c a.c; ld -r -o w.o a.o -T /dev/stdin <<< 'SECTIONS { .x : { *(.bss) *(COMMON) } }'"
    ),
    "version script": (
        "gcc -fPIC -c -DV=1 v.c; "
        "gcc -shared -o v.so v.o -Wl,--version-script=/dev/stdin <<< '{ global: v; local: *; };'"
    ),
    "substituted source": "gcc -x c -c <(echo 'int q = 5;') -o q.o",
    "substituted output": (
        "gcc -MD -MF >(sed s/a/b/ > a.d) -c a.c -o a.o; while ! test -s a.d; do :; done"
    ),
    "dependencies": "gcc -MD -MF /dev/fd/3 -c a.c -o a.o 3> a.d",
    "by a link": "ln -s /dev/fd/3 l; gcc -MD -MF l -c a.c -o a.o 3> a.d",
    "macros": "printf '#define V 42\\n' | gcc -imacros /dev/stdin -c v.c",
    "an included one": "gcc -include /dev/fd/4 -c v.c 4<<< '#define V 3'",
    "by its process": "exec 5< a.c; gcc -x c -c /proc/self/fd/5 -o q.o",
    "a member": (
        "gcc -c a.c; exec 5< a.o; ar rc l.a /proc/self/fd/5; ar t l.a | sed s/[0-9]// > names"
    ),
    "in a response file": "echo '-x c /dev/stdin' > o.rsp; echo 'int q;' | gcc @o.rsp -c -o q.o",
}


@pytest.mark.parametrize("name", OF_THE_CALLER)
def test_files_that_only_the_caller_has_open(space: Space, name: str) -> None:
    space.expect_same(FILES, ["bash", "-c", OF_THE_CALLER[name]])


LOADED = {
    "by its name": LIBV.format(1, "libv.so")
    + "gcc t.c -o t ./libv.so; ls t > names; "
    + SLOW
    + LIBV.format(9, "libv.so")
    + "./t; echo $? > r",
    "for the first time": SLOW
    + LIBV.format(2, "libv.so")
    + "gcc t.c -o t ./libv.so; ./t; echo $? > r",
    "by a copy, and ORIGIN": (
        SLOW
        + "mkdir lib bin; "
        + LIBV.format(2, "libv.so")
        + "gcc t.c -o bin/t -L. -lv -Wl,-rpath,'$ORIGIN/../lib'; cp libv.so lib/libv.so; "
        "bin/t; echo $? > r"
    ),
    "staged": (
        SLOW + "mkdir stage; " + LIBV.format(2, "libv.so") + "gcc t.c -o t -L. -lv; "
        "cp libv.so stage/; LD_LIBRARY_PATH=stage ./t; echo $? > r"
    ),
    "by the link of its soname": (
        SLOW + "gcc -fPIC -shared -DV=4 -Wl,-soname,libv.so.1 v.c -o libv.so.1.0; "
        "ln -s libv.so.1.0 libv.so; gcc t.c -o t -L. -lv -Wl,-rpath,$PWD; "
        "ln -sf libv.so.1.0 libv.so.1; ./t; echo $? > r"
    ),
    "installed": (
        SLOW + "mkdir -p dest/lib dest/bin; gcc -fPIC -shared -DV=4 -Wl,-soname,libv.so.1 v.c "
        "-o libv.so.1.0; ln -s libv.so.1.0 libv.so; "
        "gcc t.c -o dest/bin/t -L. -lv -Wl,-rpath,'$ORIGIN/../lib'; "
        "install -m 755 libv.so.1.0 dest/lib; ln -sf libv.so.1.0 dest/lib/libv.so.1; "
        "dest/bin/t; echo $? > r"
    ),
    "by another library": (
        LIBV.format(1, "libv.so") + "gcc -fPIC -shared w.c -o libw.so ./libv.so; "
        "gcc tw.c -o tw ./libw.so ./libv.so; ls tw > names; "
        + SLOW
        + LIBV.format(9, "libv.so")
        + "./tw; echo $? > r"
    ),
    "preloaded": SLOW + LIBV.format(9, "libv.so") + "LD_PRELOAD=$PWD/libv.so /bin/echo > r 2> e",
    "audited": (
        "echo 'unsigned la_version(unsigned v) { return v; }' > au.c; "
        + SLOW
        + "gcc -fPIC -shared au.c -o au.so; LD_AUDIT=$PWD/au.so /bin/echo x > r 2> e"
    ),
    "opened by a bare name": (
        SLOW + "mkdir pl; " + LIBV.format(2, "pl/libv.so") + "export LD_LIBRARY_PATH=pl; "
        "python3 -I -c 'import ctypes; print(ctypes.CDLL(\"libv.so\").v())' > r"
    ),
    "opened by its path, with another": (
        SLOW + LIBV.format(2, "libv.so") + "gcc -fPIC -shared w.c -o libw.so ./libv.so; "
        "python3 -I -c 'import ctypes; print(ctypes.CDLL(\"./libw.so\").w())' > r"
    ),
}


#: Each way in which a loader finds a library; the others are tried with `-m chaos`.
SOME_LOADED = ("by a copy, and ORIGIN", "opened by a bare name")


@pytest.mark.parametrize("name", often(SOME_LOADED, LOADED))
def test_a_program_is_run_with_the_libraries_that_are_to_come(space: Space, name: str) -> None:
    space.expect_same(FILES, ["bash", "-c", LOADED[name]], "-j1")


LINKED = {
    "an older link of another name": (
        "all: prog\nprog: m.o foo.lnk\n\tgcc -o $@ m.o foo.lnk\n"
        "foo-1.o: v.c\n\tgcc -DV=1 -c v.c -o $@\n"
        "foo.lnk: foo-1.o\n\ttest -h $@ || ln -s foo-1.o $@\nm.o: m.c\n\tgcc -c m.c\n"
    ),
    "a library and its links": (
        "all: t\nlibv.so.1.0: v.c\n\tgcc -fPIC -shared -DV=1 -Wl,-soname,libv.so.1 v.c -o $@\n"
        "libv.so.1: libv.so.1.0\n\tln -sf libv.so.1.0 $@\n"
        "libv.so: libv.so.1\n\tln -sf libv.so.1 $@\n"
        "t: t.c libv.so\n\tgcc t.c -o $@ -L. -lv -Wl,-rpath,.\n"
    ),
    "a program of two names": (
        "all: prog-add prog-del\nprog: m.c\n\tgcc -o $@ m.c\n"
        "prog-add prog-del: prog\n\tln -f prog $@\n"
    ),
}


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("touched", often(["v.c"], ["", "v.c", "m.c"]))
def test_links_to_what_is_pending(space: Space, name: str, touched: str) -> None:
    """Built anew, then after an edit, then there is nothing to do: as with plain make."""
    files = {**FILES, "Makefile": LINKED[name]}
    again = f"sed -i s/V=1/V=2/ Makefile; touch {touched}; " if touched else ""
    script = f"make && cp -a Makefile n && {again}make && make > names"
    ended = space.expect_same(files, ["sh", "-c", script])
    assert ended.status == 0


FOLDERS = {
    "an archive of what is made in it": (
        "all: x.tar\nd/a.o: a.c\n\tgcc -c a.c -o d/a.o\n"
        "x.tar: d/a.o\n\ttar --mtime=@0 --sort=name -cf $@ d\n"
    ),
    "a folder that is a prerequisite": (
        "all: list\nd/a.o: a.c\n\tgcc -c a.c -o d/a.o\nd: d/a.o\n"
        "list: d\n\tls d > $@; echo x >> count\n"
    ),
    "a program behind a folder": (
        "all: prog\nprog: m.o d\n\tgcc -o $@ m.o; echo x >> count\nd: d/a.o\nd/a.o: a.c\n"
        "\tgcc -c a.c -o d/a.o\nm.o: m.c\n\tgcc -c m.c\n"
    ),
    "which is newer": (
        "all: d/a.o\n\ttouch -d @1100000000 ref; touch -d @1000000000 d; "
        "gcc -c a.c -o d/b.o; if test d -nt ref; then echo newer; "
        "else echo older; fi > names\nd/a.o: a.c\n\tgcc -c a.c -o d/a.o\n"
    ),
    "a copy of it": (
        "all: d/a.o\n\trm -rf e; cp -a d e; test e -nt d || test d -nt e || echo same > names\n"
        "d/a.o: a.c\n\tgcc -c a.c -o d/a.o\n"
    ),
}


SOME_FOLDERS = ("an archive of what is made in it", "a program behind a folder")


@pytest.mark.parametrize("name", often(SOME_FOLDERS, FOLDERS))
def test_folders_that_are_looked_at(space: Space, name: str) -> None:
    files = {**FILES, "Makefile": FOLDERS[name], "d/file": ""}
    slow = "gcc -O2 -c slow.c -o s.o"
    script = f"{slow}; make && make && make && rm -f x.tar && make"
    space.expect_same(files, ["sh", "-c", script], "-j1")


GONE = {
    "where it works": (
        "mkdir bld; (cd bld && gcc -c ../a.c -o ../a.o && ar rc ../l.a ../a.o); rmdir bld"
    ),
    "a temporary folder": (
        "T=$(mktemp -d); R=$PWD; (cd $T && gcc -I$R -c $R/a.c -o $R/a.o); rm -rf $T"
    ),
    "what is renamed": "mkdir w; R=$PWD; cd w; gcc -c $R/a.c -o $R/a.o; cd ..; mv w w2",
    "for temporary files": "export TMPDIR=$PWD/tt; mkdir tt; gcc -O1 -c slow.c -o s.o; rm -rf tt",
    "those that are there already": (
        "gcc -O1 -c slow.c -o s.o; for n in $(seq 200); do rm -f $TMPDIR/cc*; done"
    ),
    "those of a compiler that looks further": (
        "unset TMPDIR; export TMP=$PWD/tt; mkdir tt; gcc -O1 -c slow.c -o s.o; "
        "for n in $(seq 200); do rm -f tt/cc*; done; rm -r tt"
    ),
    "for those of a script": (
        "tmp=$(mktemp -d); export TMPDIR=$tmp; trap 'rm -rf $tmp' EXIT; gcc -O1 -c slow.c -o s.o"
    ),
}


SOME_GONE = ("where it works", "what is renamed", "for those of a script")


@pytest.mark.parametrize("name", often(SOME_GONE, GONE))
@pytest.mark.parametrize("jobs", often(["-j1"], ["-j1", "-j2"]))
def test_folders_that_go(space: Space, name: str, jobs: str) -> None:
    ended = space.expect_same(FILES, ["sh", "-c", SLOW + GONE[name]], jobs)
    assert ended.status == 0
    assert "undone" not in ended.err


TOO_LATE = {
    "of an object": "gcc -c a.c -o d/a.o; mkdir d",
    "of a dependency file": "gcc -MD -MF d/a.d -c a.c -o a.o; mkdir d",
    "of a program": "gcc -c m.c; gcc m.o -o d/p; mkdir d",
    "of an archive": "gcc -c a.c; ar rc d/l.a a.o; mkdir d",
    "of a copy": "gcc -c a.c; cp a.o d/a.o; mkdir d",
    "of a copy into it": "gcc -c a.c; cp a.o d/; mkdir d",
    "of a link's target": "ln -s d l; gcc -c a.c -o l/a.o; mkdir d",
    "of what a link leads to": "ln -s d/a.o a.o; gcc -c a.c; mkdir d",
    "by another name": "mkdir e; gcc -c a.c -o d/a.o; mv e d",
    "by an archive": "mkdir d; tar cf x.tar d; rmdir d; gcc -c a.c -o d/a.o; tar xf x.tar; rm x*",
    "of a line": (
        "printf 'all:\\n\\t-gcc -c a.c -o d/a.o && touch d/x\\n\\tmkdir d\\n' > M; make -f M"
    ),
}
SOME_TOO_LATE = ("of an object", "of a copy", "of a link's target", "of a line")


@pytest.mark.parametrize("name", often(SOME_TOO_LATE, TOO_LATE))
def test_a_folder_that_is_made_too_late(space: Space, name: str) -> None:
    """What fails because of it fails, although nobody looks at that."""
    space.expect_same(FILES, ["sh", "-c", f"{SLOW} {TOO_LATE[name]}; true"], "-j1")


@pytest.mark.parametrize("jobs", often(["-j1"], ["-j1", "-j2"]))
def test_a_folder_whose_time_is_set_back(space: Space, jobs: str) -> None:
    """Though a pending compile reads something in it, and an earlier one has made something."""
    files = {**FILES, "obj/y.c": "int y;\n", "out/keep": ""}
    script = (
        SLOW + "gcc -O2 -c slow.c -o slow2.o; "
        "gcc -c obj/y.c -o out/y.o; gcc -c obj/y.c -o obj/y.o; cat obj/y.o > /dev/null; "
        "touch -d 2001-01-01 obj; stat -c %Y obj > seen; "
        "[ obj -nt a.c ] && echo newer > newer; true"
    )
    space.expect_same(files, ["sh", "-c", script], jobs)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has mounts of its own without more ado")
def test_mounts_of_a_process_of_its_own(space: Space) -> None:
    files = {**FILES, "q.c": '#include "q.h"\n', "i1/q.h": "int one;\n", "i2/q.h": "int two;\n"}
    space.write(files)
    if space.run("unshare", "-m", "true").status != 0:
        pytest.skip("no namespaces here")
    script = "gcc -c a.c; unshare -m sh -c 'mount --bind i2 i1; gcc -Ii1 -c q.c'"
    space.expect_same(files, ["sh", "-c", script])


LOCALES: list[dict[str, str]] = [
    {},
    {"LANG": "C"},
    {"LC_CTYPE": "C"},
    {"LC_CTYPE": "C.UTF-8"},
    {"LC_ALL": "C"},
    {"LANG": "C.UTF-8"},
]


@pytest.mark.parametrize("locale", LOCALES, ids=str)
@pytest.mark.parametrize("options", [(), ("-j2",)], ids=str)
def test_the_locale(space: Space, locale: dict[str, str], options: tuple[str, ...]) -> None:
    """Python coerces C to UTF-8 for itself: not for the build."""
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        space.environment.pop(name, None)
    space.environment.update(locale)
    script = "env | grep -e ^LC_ -e ^LANG > seen; printf 'h\\303\\251llo' | wc -m >> seen"
    space.expect_same({}, ["sh", "-c", script], *options)


THROUGH = {
    "a compile": "gcc -c s.c -o y",
    "a copy": "cp s.o y",
    "dependencies": "gcc -MM s.c -o y",
    "an archive": "ar rc y s.o",
}


@pytest.mark.parametrize("older", [None, "what was there\n"])
@pytest.mark.parametrize("name", often(["a compile", "a copy"], THROUGH))
def test_p7_what_is_written_through_an_older_link(
    space: Space, name: str, older: str | None
) -> None:
    """What it leads to gets the time that make was told."""
    makefile = f"all: z\ns.o: s.c\n\tgcc -c s.c\ny: s.o\n\t{THROUGH[name]}\nz: y\n\tcat y > z\n"
    files = {"Makefile": makefile, "s.c": "int s;\n", **({"e": older} if older else {})}
    found = []
    for command in (["make"], [SMPMAKE, "-q", "make"]):
        space.clear()
        space.write(files)
        space.ok("sh", "-c", "ln -s e y; touch -h -d '1 hour ago' *")
        ended = space.run(*command)
        found.append((ended.status, space.tree(), space.run("make", "-q").status))
    assert found[0] == found[1]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_command_with_a_closed_stream(space: Space, closed: str) -> None:
    """cc1's assembly takes the number of a closed stderr, and gets the warning: as fails."""
    source = {"w.c": "int f(void) { int unused; return 0; }\n"}
    found = []
    for ours in ("", f"{SMPMAKE} "):
        space.clear()
        space.write(source)
        script = f"{ours}sh -c 'gcc -Wall -c w.c {closed}; echo $? > status' > /dev/null 2>&1"
        found.append((space.run("sh", "-c", script).status, space.tree()))
    assert found[0] == found[1]


@pytest.mark.parametrize("where", ["2> said", "> said 2>&1", "> out 2> said"])
def test_messages_for_a_file_go_there(space: Space, where: str) -> None:
    files = {"w.c": "#warning hello\nint w;\n", "build.sh": f"gcc -c w.c {where}\necho done\n"}
    ended = space.expect_same(files, ["sh", "build.sh"], "--output-sync=serial")
    assert "hello" in (space.folder / "said").read_text()
    assert ended.out == "done\n"
