"""Builds that were made to break the serial result, and recipes found in the wild that did."""

from __future__ import annotations

import pytest

from tests.support.space import MAIN, Space

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
        for n in range(1500)
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


@pytest.mark.parametrize("name", LOADED)
def test_a_program_is_run_with_the_libraries_that_are_to_come(space: Space, name: str) -> None:
    space.expect_same(FILES, ["bash", "-c", LOADED[name]], "-j1")
