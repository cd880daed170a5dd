"""Archives, links and what they read."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, makefile, script, text
from tests.soak.attacks.files import CALLING, PRINTING

CASES: Sequence[Case] = (
    script(
        "thin-archive-remade",
        """
        gcc -c mf.c -o mf.o
        gcc -c v.c -DV=1 -o v.o
        ar rcT lib.a v.o
        gcc -o p1 mf.o lib.a
        gcc -c v.c -DV=2 -o v.o
        ar rcT lib.a v.o
        gcc -o p2 mf.o lib.a
        """,
        options=("-j2",),
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "thin-archive-with-one-slot",
        """
        gcc -c mf.c -o mf.o
        gcc -c v.c -DV=1 -o v.o
        ar rcT lib.a v.o
        sleeper -o slow2
        gcc -o p1 mf.o lib.a
        gcc -c v.c -DV=2 -o v.o
        gcc -o p2 mf.o lib.a
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-path-library-remade",
        """
        gcc -c v.c -DV=1 -o v.o
        ar rc lib/libv.a v.o
        gcc -c mf.c -o mf.o
        export LIBRARY_PATH=$PWD/lib
        sleeper -o s2
        gcc -o p1 mf.o -lv
        gcc -c v.c -DV=2 -o v.o
        ar rc lib/libv.a v.o
        gcc -o p2 mf.o -lv
        """,
        files=CALLING,
        before="""
        mkdir -p lib
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        """,
    ),
    script(
        "library-path-library-copied",
        """
        gcc -c mf.c -o mf.o
        export LIBRARY_PATH=$PWD/lib
        gcc -o p1 mf.o -lv
        cp libv2.a lib/libv.a
        gcc -o p2 mf.o -lv
        """,
        files=CALLING,
        before="""
        mkdir -p lib
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o v1.o
        gcc -c v.c -DV=2 -o v2.o
        ar rc lib/libv.a v1.o
        ar rc libv2.a v2.o
        touch -d '1 hour ago' lib/*
        """,
    ),
    script(
        "linker-script-object-changed",
        """
        gcc -c mf.c -o mf.o
        gcc -o p1 mf.o libv.so
        cp v2.o v.o
        gcc -o p2 mf.o libv.so
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o v1.o
        gcc -c v.c -DV=2 -o v2.o
        cp v1.o v.o
        echo 'INPUT(v.o)' > libv.so
        touch -d '1 hour ago' *
        """,
    ),
    script(
        "library-by-B-changed",
        """
        gcc -c mf.c -o mf.o
        gcc -o p1 mf.o -Br/lib/ -lv || gcc -o p1 mf.o -L r/lib -lv
        cp libv2.a r/lib/libv.a
        gcc -o p2 mf.o -Br/lib/ -lv
        """,
        files=CALLING,
        before="""
        mkdir -p r/lib
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o v1.o
        gcc -c v.c -DV=2 -o v2.o
        ar rc r/lib/libv.a v1.o
        ar rc libv2.a v2.o
        touch -d '1 hour ago' r/lib/*
        """,
    ),
    script(
        "lto-link",
        """
        gcc -flto -O2 -c v.c -DV=1 -o v.o
        gcc -flto -O2 -c mf.c -o mf.o
        gcc -flto=2 -O2 v.o mf.o -o p
        ./p
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "lto-archive",
        """
        gcc -flto -c v.c -DV=1 -o v.o
        gcc-ar rc l.a v.o
        gcc -flto mf.c l.a -o p
        ./p
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "relocatable-links",
        """
        gcc -c v.c -DV=1 -o v.o
        gcc -c mf.c -o mf.o
        ld -r v.o mf.o -o r1.o
        objcopy --localize-symbol=f r1.o
        nm r1.o > sym
        strip -g r1.o
        ld -r r1.o -o r2.o
        gcc r2.o -o p
        ./p
        echo $? > r
        stat -c %s r2.o > sz
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "archive-of-moved-objects",
        """
        gcc -c v.c -DV=1 -o v.o
        mv v.o t.o
        ar rc l.a t.o
        rm t.o
        gcc -c v.c -DV=2 -o v.o
        mv v.o t.o
        ar rc l.a t.o
        ranlib l.a
        gcc mf.c l.a -o p
        ./p
        echo $?>r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "archive-by-script",
        r"""
        gcc -c v.c -DV=1 -o v.o
        printf 'CREATE l.a\nADDMOD v.o\nSAVE\nEND\n' | ar -M
        nm l.a > n
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "section-updated-from-a-text",
        """
        gcc -c v.c -DV=1 -o v.o
        echo hello > s.txt
        objcopy --add-section .foo=s.txt v.o
        echo bye > s.txt
        objcopy --update-section .foo=s.txt v.o w.o
        echo zzz > s.txt
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "section-added-from-a-binary",
        """
        gcc -c v.c -DV=1 -o v.o
        echo hello > s.bin
        objcopy --add-section .foo=s.bin v.o
        echo bye > s.bin
        objcopy --update-section .foo=s.bin v.o w.o
        python3 -c 'open("s.bin","r+b").write(b"qqq")'
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "install-stripped",
        """
        gcc -o p m.c
        install -s -m 750 p d
        ./d
        stat -c %a d > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "compiler-program-made-by-the-build",
        """
        mkdir b
        gcc w.c -o b/cc
        b/cc -c m.c -o m.o
        PATH=$PWD/b:$PATH cc -c a.c -o a.o
        wc -c a.o m.o > r
        """,
        files={
            **CALLING,
            "w.c": text(
                """
                #include <unistd.h>
                int main(int c,char**v){v[0]="/usr/bin/gcc";execv(v[0],v);return 1;}
                """
            ),
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    makefile(
        "library-prerequisite",
        """
        all: p
        p: m.c -la ; gcc -o p m.c liba.a
        vpath %.a lib
        lib/liba.a: a.o ; mkdir -p lib; ar rc $@ a.o; cp lib/liba.a liba.a
        -la: lib/liba.a
        a.o: a.c ; gcc -c a.c -o a.o
        """,
        files=PRINTING,
    ),
)
