"""Recipes that go on after a failing command, and what they write then."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, recipes, text
from tests.soak.attacks.files import BAD, CALLING, SLOW

CASES: Sequence[Case] = (
    Case(
        "stamp-written-by-echo",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: stamp
                stamp:
                    gcc -c bad.c -o bad.o
                    echo ok > stamp
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j1",),
        after=NOTHING,
    ),
    Case(
        "stamp-moved-into-place",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: stamp
                stamp:
                    gcc -c bad.c -o bad.o
                    echo ok > stamp.tmp
                    mv stamp.tmp stamp
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j1",),
        after=NOTHING,
    ),
    Case(
        "stamp-truncated",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: stamp
                stamp:
                    gcc -c bad.c -o bad.o
                    : > stamp
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j1",),
        after=NOTHING,
    ),
    Case(
        "recipe-goes-on-after-a-slow-failure",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: p
                p: m.c
                    gcc -O3 -c slowbad.c -o chk.o
                    gcc -o p m.c
                """
            ),
            "slowbad.c": SLOW + BAD,
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j2",),
        after=NOTHING,
    ),
    Case(
        "recipe-goes-on-after-a-failure",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: p
                p: m.c
                    gcc -c bad.c -o chk.o
                    cat m.c > p
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j2",),
        after=NOTHING,
    ),
    Case(
        "recipe-script-goes-on-after-a-failure",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "b.sh": text(
                """
                #!/bin/sh
                set -e
                gcc -c bad.c -o chk.o
                echo done > p
                """
            ),
        },
        before=text(
            r"""
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            chmod +x b.sh
            printf 'all: p\np: m.c\n\t./b.sh\n' > Makefile
            """
        ),
        options=("-j2",),
    ),
    Case(
        "submake-fails",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
        },
        before=text(
            r"""
            mkdir -p sub
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            cp bad.c sub
            printf 'all:\n\tgcc -c bad.c -o bad.o\n' > sub/Makefile
            printf 'all: p\np: m.c\n\t$(MAKE) -C sub\n\techo done > p\n' > Makefile
            """
        ),
        options=("-j2",),
    ),
    Case(
        "thirty-ignored-failures",
        steps=(Step(),),
        files=CALLING,
        before=text(
            r"""
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            for i in $(seq 1 30); do echo "int x$i = ;" > b$i.c; done
            (
                echo 'all: m.o'
                for i in $(seq 1 30); do printf '\t-gcc -c b%d.c -o b%d.o\n' $i $i; done
                printf 'm.o: m.c\n\tgcc -c m.c -o m.o\n'
            ) > Makefile
            """
        ),
        options=("-j1",),
    ),
    Case(
        "stamp-after-a-failed-submake",
        steps=(Step(),),
        files={
            **CALLING,
            "s/bad.c": "int x=;\n",
            "s/Makefile": recipes(
                """
                all: bad.o
                bad.o: bad.c
                    gcc -c bad.c
                """
            ),
            "Makefile": recipes(
                """
                all: .built
                .built:
                    $(MAKE) -C s
                    date > .built
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j1",),
        after=NOTHING,
        ignored=(r".built",),
    ),
    Case(
        "failed-recipe-with-later-compiles",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x=;\n",
            "Makefile": recipes(
                """
                all: out.txt
                out.txt: m.c
                    gcc -c bad.c -o bad.o
                    gcc m.c -o p
                    ./p > out.txt
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j2",),
        after=NOTHING,
    ),
    Case(
        "full-obj",
        steps=(
            Step(
                "cd small/src; SMPMAKE make -k",
                edit="""
                mount -t tmpfs -o size=2m none small
                cp -a src small/
                """,
            ),
            Step("cd small/src; ls -l | cut -c1-10; df . | wc -l"),
            Step(
                "true",
                edit="""
                rm -rf keep
                cp -a small/src keep
                umount small
                """,
            ),
        ),
        before=text(
            r"""
            umount -l small 2>/dev/null
            mkdir -p small
            mkdir src
            printf '#include "a.h"\nint f(void){return A;}\n' > src/a.c
            echo '#define A 1' > src/a.h
            printf 'static char b[3000000]={1};char*g(void){return b;}' > src/big.c
            cat > src/Makefile <<'E'
            all: a.o big.o c.o
            %.o: %.c ; gcc -c $< -o $@
            c.o: a.c ; gcc -c a.c -o c.o
            E
            """
        ),
        needs=("root",),
    ),
    Case(
        "full-obj2",
        steps=(
            Step(
                "cd small/src; SMPMAKE make",
                edit="""
                mount -t tmpfs -o size=2m none small
                cp -a src small/
                """,
            ),
            Step("cd small/src; ls -l | cut -c1-10; df . | wc -l"),
            Step(
                "true",
                edit="""
                rm -rf keep
                cp -a small/src keep
                umount small
                """,
            ),
        ),
        before=text(
            r"""
            umount -l small 2>/dev/null
            mkdir -p small
            mkdir src
            printf '#include "a.h"\nint f(void){return A;}\n' > src/a.c
            echo '#define A 1' > src/a.h
            printf 'static char b[3000000]={1};char*g(void){return b;}' > src/big.c
            cat > src/Makefile <<'E'
            all: a.o big.o c.o
            %.o: %.c ; gcc -c $< -o $@
            c.o: a.c big.o ; gcc -c a.c -o c.o
            E
            """
        ),
        needs=("root",),
    ),
    Case(
        "full-journal",
        steps=(
            Step(
                "cd small/src; SMPMAKE sh b.sh",
                edit="""
                mount -t tmpfs -o size=4m none small
                cp -a src small/
                """,
            ),
            Step("cd small/src; ls -l | cut -c1-10; df . | wc -l"),
            Step(
                "true",
                edit="""
                rm -rf keep
                cp -a small/src keep
                umount small
                """,
            ),
        ),
        before=text(
            r"""
            umount -l small 2>/dev/null
            mkdir -p small
            mkdir src
            printf '#include "a.h"\nint f(void){return A;}\n' > src/a.c
            echo '#define A 1' > src/a.h
            printf 'static char b[3000000]={1};char*g(void){return b;}' > src/big.c
            seq 300000 > src/data
            cp src/data src/data2
            cat > src/b.sh <<'E'
            set -e
            sleeper -o slow.out 1
            gcc -c a.c -o a.o
            dd if=/dev/zero of=data bs=1k count=100 conv=notrunc status=none
            cat a.c > data2
            gcc -c a.c -o a2.o
            E
            """
        ),
        needs=("root",),
    ),
    Case(
        "full-journal-fail",
        steps=(
            Step(
                "cd small/src; SMPMAKE sh b.sh",
                edit="""
                mount -t tmpfs -o size=4m none small
                cp -a src small/
                """,
            ),
            Step("cd small/src; ls -l | cut -c1-10; df . | wc -l"),
            Step(
                "true",
                edit="""
                rm -rf keep
                cp -a small/src keep
                umount small
                """,
            ),
        ),
        before=text(
            r"""
            umount -l small 2>/dev/null
            mkdir -p small
            mkdir src
            printf '#include "a.h"\nint f(void){return A;}\n' > src/a.c
            echo '#define A 1' > src/a.h
            printf 'static char b[3000000]={1};char*g(void){return b;}' > src/big.c
            seq 300000 > src/data
            cp src/data src/data2
            sed -i 's/A 1/A ;;)/' src/a.h
            cat > src/b.sh <<'E'
            set -e
            sleeper -o slow.out 1
            gcc -c a.c -o a.o
            dd if=/dev/zero of=data bs=1k count=100 conv=notrunc status=none
            cat a.c > data2
            gcc -c a.c -o a2.o
            E
            """
        ),
        needs=("root",),
    ),
)
