"""Rules of well-known build systems."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, Step, makefile, text
from tests.soak.attacks.files import PRINTING

CASES: Sequence[Case] = (
    makefile(
        "move-if-change",
        r"""
        all: p
        gen.h: stamp ; @true
        stamp: gen.in
            sleep 0.1; sed 's/X/1/' gen.in > gen.h.tmp; if cmp -s gen.h.tmp gen.h; \
                then rm -f gen.h.tmp; else mv gen.h.tmp gen.h; fi; touch stamp
        x.o: x.c gen.h ; gcc -c x.c -o x.o
        y.txt: gen.in ; sleep 0.1; cat gen.in gen.h > y.txt
        p: x.o y.txt ; gcc -o p x.o; ./p; echo $$? > r
        """,
        steps=(
            Step(),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                """
            ),
            Step(
                edit="""
                sleep 0.1
                echo '#define H X' >> gen.in
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                rm x.o
                """
            ),
            Step(
                edit="""
                sleep 0.1
                echo '#define I X' >> gen.in
                """
            ),
        ),
        files={
            "gen.in": "#define G X\n",
            "x.c": '#include "gen.h"\nint main(void){return G;}',
        },
        before="touch -d '1 hour ago' gen.in x.c",
    ),
    makefile(
        "forced-checks",
        r"""
        all: p
        FORCE:
        ver.h: FORCE
            @sleep 0.1; (echo "#define V \"`cat version`\""; echo '#define W 1') > ver.tmp; \
                if [ -r ver.h ] && cmp -s ver.h ver.tmp; then rm -f ver.tmp; \
                else echo '  UPD ver.h'; mv -f ver.tmp ver.h; fi
        %.o: %.c ver.h FORCE
            @set -e; if [ ! -e $@ ] || [ ver.h -nt $@ ] || [ $< -nt $@ ]; \
                then echo '  CC $@'; gcc -c $< -o $@; \
                echo "cmd_$@ := gcc -c $< -o $@" > .$@.cmd; fi
        p: m.o n.o
            @sleep 0.1; if [ ! -e p ] || [ m.o -nt p ] || [ n.o -nt p ]; then echo '  LD p'; \
                gcc -o p m.o n.o; fi; ./p > r
        .PHONY: FORCE
        """,
        steps=(
            Step(),
            Step(),
            Step(),
            Step(edit="echo 1.1 > version"),
            Step(),
            Step(edit="echo 'int extra;' >> n.c"),
            Step(
                edit="""
                echo 1.2 > version
                echo oops >> n.c
                """
            ),
            Step(edit="sed -i '$d' n.c"),
        ),
        files={
            "version": "1.0\n",
            "m.c": text(
                """
                #include "ver.h"
                #include <stdio.h>
                int n(void);int main(void){puts(V);return n();}
                """
            ),
            "n.c": '#include "ver.h"\nint n(void){return W-1;}',
        },
        before="touch -d '1 hour ago' m.c n.c version",
    ),
    makefile(
        "incremental-builds",
        """
        all: o3
        o1: i1 ; sleep 0.1; cat i1 > o1; [ ! -s i1x ] || cp i1x o1x
        o2: i2 ; sleep 0.1; cat i2 > o2; cat o1 >> o2
        o3: o1 o2 ; sleep 0.1; cat o1 o2 > o3
        """,
        steps=(
            Step(),
            Step(
                edit="""
                sleep 0.1
                echo 11 > i1
                """
            ),
            Step(
                edit="""
                sleep 0.1
                echo 22 > i2
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch i1 i2
                """
            ),
            Step(
                edit="""
                sleep 0.1
                echo x > i1x
                touch i1
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch i1 i2
                echo 3 > i1
                """
            ),
            Step(edit="rm o2"),
            Step(
                edit="""
                rm o1
                rm i1x
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch o3
                touch i2
                """
            ),
        ),
        files={
            "i1": "1\n",
            "i2": "2\n",
        },
        before="touch -d '1 hour ago' i1 i2",
    ),
    makefile(
        "libtool-recipes",
        r"""
        .SUFFIXES: .c .o .lo
        all: lib.la app
        .c.lo:
            @mkdir -p .libs; gcc -fPIC -c $< -o .libs/$*.o && gcc -c $< -o $*.o >/dev/null \
                2>&1; printf "pic_object='.libs/$*.o'\nnon_pic_object='$*.o'\n" > $@T; \
                mv -f $@T $@
        lib.la: a.lo
            gcc -shared .libs/a.o -Wl,-soname -Wl,lib.so.0 -o .libs/lib.so.0.0; \
                (cd .libs && rm -f lib.so && ln -s lib.so.0.0 lib.so && rm -f lib.so.0 && ln -s \
                lib.so.0.0 lib.so.0); ar cr .libs/lib.a a.o; ranlib .libs/lib.a; \
                (cd .libs && rm -f lib.la && ln -s ../lib.la lib.la); echo la > lib.la
        app: m.lo lib.la
            gcc m.o .libs/lib.so -Wl,-rpath -Wl,$$PWD/.libs -o .libs/app; \
                printf '#!/bin/sh\nexec .libs/app "$$@"\n' > app; chmod +x app; ./app > r
        install: all
            mkdir -p d/lib d/bin; gcc -shared .libs/a.o -Wl,-soname -Wl,lib.so.0 -o \
                .libs/lib.so.0.0T; install -c .libs/lib.so.0.0T d/lib/lib.so.0.0; \
                (cd d/lib && { ln -s -f lib.so.0.0 lib.so || { rm -f lib.so && ln -s lib.so.0.0 \
                lib.so; }; }); install -c .libs/lib.a d/lib/lib.a; chmod 644 d/lib/lib.a; \
                ranlib d/lib/lib.a; gcc m.o -Ld/lib d/lib/lib.so -Wl,-rpath -Wl,$$PWD/d/lib -o \
                .libs/appT; install -c .libs/appT d/bin/app; ln -sf lib.so.0.0 d/lib/lib.so.0; \
                d/bin/app > r2
        clean: ; rm -rf .libs *.lo *.o *.la app d r r2
        """,
        steps=(
            Step(("make", "install")),
            Step(("make", "install"), edit="make -s clean"),
            Step(
                ("make", "install"),
                edit="""
                echo '#define A 4' > a.h
                touch a.c
                """,
            ),
            Step(
                ("make", "install"),
                edit="""
                echo '#define A )' > a.h
                touch a.c
                """,
            ),
        ),
        files=PRINTING,
    ),
    makefile(
        "thin-archives-of-archives",
        r"""
        all: p
        d/%.o: %.c | d ; gcc -c $< -o $@
        d: ; mkdir -p d
        built-in.a: d/a.o d/b.o ; rm -f $@; ar cDPrST $@ $^
        top.a: built-in.a ; rm -f $@; printf "built-in.a " | xargs ar cDPrST $@; sleep 0.1
        p: m.c top.a
            gcc -o p m.c -Wl,--whole-archive top.a -Wl,--no-whole-archive; ./p > r; \
                nm -n p | grep -c ' [TD] ' > syms; nm p | grep -v '\(__\|_e\)' | sort > map
        """,
        steps=(
            Step(),
            Step(edit="echo 'int c;' >> b.c"),
            Step(edit="rm -rf d top.a"),
        ),
        files={
            **PRINTING,
            "b.c": "int b;\n",
        },
        ignored=(r"map",),
    ),
)
