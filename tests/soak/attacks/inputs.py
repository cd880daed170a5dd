"""Compiles whose input or output is a descriptor, a FIFO or a process, not a file."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script
from tests.soak.attacks.files import CALLING

CASES: Sequence[Case] = (
    script(
        "source-from-dev-stdin",
        """
        echo 'int q=5;' | gcc -x c -c /dev/stdin -o q.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "source-from-a-substituted-process",
        """
        gcc -x c -c <(echo 'int q=5;') -o q.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "version-script-from-stdin",
        """
        gcc -fPIC -c v.c -DV=1 -o v.o
        gcc -shared -o v.so v.o -Wl,--version-script=/dev/stdin <<'X'
        { global: f; local: *; };
        X
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "dependencies-into-a-substituted-process",
        """
        gcc -MD -MF >(sed s/a.h/b.h/ > a.d) -c a.c -o a.o
        sleep 0.5
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "dependencies-into-a-fifo",
        """
        mkfifo dd
        sed s/a.h/b.h/ < dd > a.d &
        gcc -MD -MF dd -c a.c -o a.o
        wait
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "preprocessed-into-a-fifo",
        """
        mkfifo dd
        gcc -E a.c -o dd &
        cat dd > a.i
        wait
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "header-written-through-an-old-descriptor",
        """
        exec 3>>a.h
        gcc -c a.c -o a.o
        echo '#undef A' >&3
        echo '#define A 9' >&3
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        admitted="Sources that change while a compile is pending",
        differs=(r"^a\.o$",),
    ),
    script(
        "preprocessed-into-a-fifo-by-a-subshell",
        """
        mkfifo dd
        (gcc -E a.c -o dd)&
        sleep 0.3
        sed s/A/B/ dd > a.i
        wait
        """,
        busy="",
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "dependencies-into-a-fifo-read-later",
        """
        mkfifo dd
        gcc -MD -MF dd -c a.c -o a.o &
        sleep 0.6
        cat dd > a.i
        wait
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "source-from-a-fifo",
        """
        mkfifo dd
        (sleep 0.3; echo 'int x;') > dd &
        gcc -x c -c dd -o a.o
        wait
        rm dd
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "linker-script-from-stdin",
        """
        ld -r -o w.o v.o -T /dev/stdin <<'X'
        SECTIONS { .text : { *(.text) } .q : { LONG(7) } }
        X
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o v.o
        """,
    ),
    script(
        "symbols-from-stdin",
        """
        objcopy --redefine-syms=/dev/stdin v.o w.o <<'X'
        f g
        X
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o v.o
        """,
    ),
    script(
        "include-from-a-descriptor",
        """
        gcc -include /dev/fd/4 -c a.c -o a.o 4<<< '#define ZZ 1'
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "macros-from-stdin",
        r"""
        printf '#define V 42\n' | gcc -imacros /dev/stdin -c v.c -o v.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "assembler-from-dev-stdin",
        r"""
        printf '.globl q\nq: .long 7\n' | as -o q.o /dev/stdin
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "assembler-from-stdin",
        r"""
        printf '.globl q\nq: .long 7\n' | as -o q.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "assembler-from-stdin-by-dashes",
        r"""
        printf '.globl q\nq: .long 7\n' | as -o q.o --
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "source-from-proc-self-fd",
        """
        exec 5< v.c
        gcc -DV=3 -x c -c /proc/self/fd/5 -o q.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "archive-from-proc-self-fd",
        """
        exec 5< v.o
        ar rc l.a /proc/self/fd/5
        exec 5<&-
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o v.o
        """,
    ),
    script(
        "names-by-proc-self-cwd",
        """
        gcc -DV=3 -c /proc/self/cwd/v.c -o /proc/self/cwd/q.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "object-from-a-substituted-process",
        """
        gcc -o p mf.o <(cat v.o)
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c mf.c -o mf.o
        gcc -c v.c -DV=1 -o v.o
        """,
    ),
)
