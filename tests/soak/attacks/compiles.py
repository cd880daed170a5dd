"""Compiles that read or write files without naming them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import SCRIPT, Case, Step, makefile, script, text
from tests.soak.attacks.files import CALLING, PRINTING

PROGRAM_OF_CXX = {
    "m.cc": text(
        """
                export module m;
                export int f(){return 1;}
                """
    ),
    "main.cc": text(
        r"""
                #include <cstdio>
                import m;
                int main(){std::printf("%d\n",f());}
                """
    ),
}

CASES: Sequence[Case] = (
    script(
        "profile-made-and-used",
        """
        gcc -O2 -fprofile-generate -c g.c -o g.o
        gcc -fprofile-generate g.o -o g
        ./g
        gcc -O2 -fprofile-use -c g.c -o g.o
        rm -f *.gcda
        gcc g.o -o g2
        """,
        busy="",
        files={
            "g.c": text(
                """
                #include "a.h"
                int main(int c, char **v) {
                    int s = 0;
                    for (int i = 0; i < 1000; i++)
                        if (i % 7 == 3)
                            s += i;
                        else
                            s ^= i;
                    return s == 1;
                }
                """
            ),
            "a.h": "\n",
        },
        before="touch -d '1 hour ago' a.h g.c",
    ),
    script(
        "profile-removed",
        """
        gcc -O2 -fprofile-use -c g.c -o g.o
        rm -f g.gcda
        """,
        files={
            "g.c": text(
                """
                #include "a.h"
                int main(int c, char **v) {
                    int s = 0;
                    for (int i = 0; i < 1000; i++)
                        if (i % 7 == 3)
                            s += i;
                        else
                            s ^= i;
                    return s == 1;
                }
                """
            ),
            "a.h": "\n",
        },
        before="""
        touch -d '1 hour ago' a.h g.c
        gcc -O2 -fprofile-generate -c g.c -o g.o
        gcc -fprofile-generate g.o -o g
        ./g
        rm -f g g.o
        cp g.gcda keep
        """,
    ),
    script(
        "included-text-changed",
        """
        gcc -c e.c -o e1.o
        echo 2 > val.txt
        gcc -c e.c -o e2.o
        mv val.txt val2.txt
        echo 3 > val.txt
        gcc -c e.c -o e3.o
        rm val.txt
        echo 4 > val.txt
        gcc -c e.c -o e4.o
        """,
        files={
            **CALLING,
            "e.c": text(
                """
                int q=
                #include "val.txt"
                ;
                """
            ),
            "val.txt": "1\n",
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        touch -d '1 hour ago' a.c a.h e.c m.c mf.c v.c val.txt
        """,
    ),
    script(
        "precompiled-header-removed",
        """
        gcc -x c-header a.h -o a.h.gch
        gcc -c a.c -o a1.o
        rm a.h.gch
        echo '#define A 5' > a.h
        gcc -c a.c -o a2.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    makefile(
        "modules",
        """
        all: p
        m.o: m.cc ; g++ -std=c++20 -fmodules-ts -c m.cc -o m.o
        main.o: main.cc m.o ; g++ -std=c++20 -fmodules-ts -c main.cc -o main.o
        p: m.o main.o ; g++ -o p m.o main.o
            ./p > r; cat r
        """,
        steps=(
            Step(),
            Step(edit="sed -i 's/return 1/return 2/' m.cc"),
            Step(
                edit="""
                sed -i 's/return 2/return 3/' m.cc
                touch main.cc
                """,
                options=("-j1",),
            ),
        ),
        files={
            **PROGRAM_OF_CXX,
        },
        ignored=(r"\.gcm$",),
        needs=("g++",),
    ),
    script(
        "modules-script",
        """
        g++ -std=c++20 -fmodules-ts -c m.cc -o m.o
        g++ -std=c++20 -fmodules-ts -c main.cc -o main.o
        g++ -o p m.o main.o
        ./p > r
        """,
        options=("-j2",),
        steps=(
            Step(SCRIPT),
            Step(SCRIPT, edit="sed -i 's/return 1/return 2/' m.cc"),
        ),
        files={
            **PROGRAM_OF_CXX,
        },
        ignored=(r"\.gcm$",),
        needs=("g++",),
    ),
    script(
        "modules-fail",
        """
        g++ -std=c++20 -fmodules-ts -c main.cc -o main.o || echo no > first
        g++ -std=c++20 -fmodules-ts -c m.cc -o m.o
        g++ -std=c++20 -fmodules-ts -c main.cc -o main.o
        g++ -o p m.o main.o
        ./p > r
        """,
        options=("-j2",),
        files={
            **PROGRAM_OF_CXX,
        },
        ignored=(r"\.gcm$",),
        needs=("g++",),
    ),
    makefile(
        "pch-edit",
        """
        all: p
        pre.h.gch: pre.h ; gcc -c pre.h -o pre.h.gch
        x.o: x.c pre.h.gch ; gcc -Winvalid-pch -include pre.h -c x.c -o x.o
        y.o: y.c pre.h.gch ; gcc -include pre.h -c y.c -o y.o
        p: x.o y.o ; gcc -o p x.o y.o
            ./p; echo $$? > r
        """,
        steps=(
            Step(),
            Step(edit="echo '#define G 4' > pre.h"),
            Step(edit="touch x.c"),
        ),
        files={
            "pre.h": "#define G 1\n",
            "x.c": "int y(void);int main(void){return G+y();}\n",
            "y.c": "int y(void){return G;}\n",
        },
        ignored=(r"gch$",),
    ),
    makefile(
        "gsplit",
        """
        all: p
        a.o: a.c ; gcc -g -gsplit-dwarf -c a.c -o a.o
            wc -c < a.dwo > w
        m.o: m.c ; gcc -g -gsplit-dwarf -c m.c -o m.o
        p: a.o m.o ; gcc -gsplit-dwarf -o p a.o m.o
            dwp -e p -o p.dwp || true
            objcopy --only-keep-debug p p.debug
            strip -p p
            objcopy --add-gnu-debuglink=p.debug p
            readelf -S p | grep -c debuglink > r
        """,
        steps=(
            Step(),
            Step(
                edit="""
                echo '#define A 2' > a.h
                touch a.c
                """
            ),
        ),
        files=PRINTING,
    ),
    makefile(
        "coverage",
        """
        all: p r
        a.o: a.c a.h ; gcc --coverage -c a.c -o a.o
        m.o: m.c ; gcc --coverage -c m.c -o m.o
        p: a.o m.o ; gcc --coverage -o p a.o m.o
        r: p ; ./p > r; ./p >> r; gcov -t a.c m.c >> r
        """,
        steps=(
            Step(),
            Step(edit="echo '#define A 2' > a.h"),
        ),
        files=PRINTING,
        ignored=(r"gcda$",),
    ),
    script(
        "profile-of-two-sources",
        """
        gcc -O2 -fprofile-generate -c a.c -o a.o
        gcc -O2 -fprofile-generate -c m.c -o m.o
        gcc -fprofile-generate -o p a.o m.o
        ./p
        ./p > r
        gcc -O2 -fprofile-use -c a.c -o a.o
        gcc -O2 -fprofile-use -c m.c -o m.o
        gcc -o p a.o m.o
        rm *.gcda
        ./p
        """,
        options=("-j2",),
        files=PRINTING,
        ignored=(r"gcda",),
    ),
)
