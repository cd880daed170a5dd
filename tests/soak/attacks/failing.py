"""Failing commands that smpmake has taken for good ones: the build must end as the plain one."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, makefile, recipes, script, text
from tests.soak.attacks.files import CALLING, PRINTING

CASES: Sequence[Case] = (
    Case(
        "ninja-command-fails",
        steps=(Step(("ninja", "-j1")),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "build.ninja": text(
                """
                rule cc
                 command = gcc -c $in -o chk.o && echo done > $out
                build p: cc bad.c
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j2",),
    ),
    Case(
        "failure-in-the-middle-keep-going",
        steps=(Step(("make", "-k")),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: a.o bad.o m.o
                %.o: %.c
                    gcc -c $< -o $@
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
        "failure-at-the-begin",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: bad.o a.o m.o
                %.o: %.c
                    gcc -c $< -o $@
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
        "failure-ignored-by-dash",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all:
                    -gcc -c bad.c -o bad.o
                    gcc -c m.c -o m.o
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
        "failure-ignored-by-true",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all:
                    gcc -c bad.c -o bad.o || true
                    gcc -c m.c -o m.o
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
        "failure-decides",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: p
                p:
                    if gcc -c bad.c -o bad.o; then echo yes > p; else echo no > p; fi
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
        "failure-decides-for-a-later-target",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: p q
                p:
                    if gcc -c bad.c -o bad.o; then echo yes > p; else echo no > p; fi
                q: p
                    cat p > q
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
        "failure-expected",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: p
                p:
                    ! gcc -c bad.c -o bad.o
                    echo no > p
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
        "failure-replaced-by-another-compile",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x = ;\n",
            "Makefile": recipes(
                """
                all: p
                p:
                    echo run >> count
                    gcc -c bad.c -o bad.o || gcc -c m.c -o p
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
    script(
        "trap-removes-an-object",
        """
        set -e
        trap 'rm -f m.o; echo bye > bye' EXIT
        gcc -c m.c -o m.o
        gcc m.o -o p
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "trap-removes-a-source",
        """
        set -e
        trap 'rm -f m.c' EXIT
        gcc -c m.c -o m.o
        gcc m.o -o p
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    makefile(
        "options-of-make",
        """
        all: a.o b.o bad.o c.o
        %.o: %.c ; gcc -c $< -o $@
        stamp: bad.o ; echo x > stamp
        """,
        steps=(
            Step(("make", "-k")),
            Step(("make", "-i", "all", "stamp")),
            Step(("make", "-k", "-w"), edit="rm *.o"),
            Step(("make", "-s", "-i"), edit="rm -f *.o"),
            Step(("make", "--trace", "-k"), edit="rm -f *.o"),
            Step(("make", "-q")),
            Step(("make", "-n")),
            Step(("make", "-t")),
            Step(
                edit="""
                rm -f *.o
                sed -i 1i.IGNORE: Makefile
                """
            ),
            Step(
                edit="""
                rm -f *.o
                sed -i 's/^.IGNORE:/MAKEFLAGS += -k/' Makefile
                """
            ),
            Step(("make", "-B", "a.o")),
            Step(("make", "-W", "a.c", "a.o")),
            Step(("make", "-o", "a.o", "-k")),
        ),
        before="""
        for i in a b c; do echo "int $i;" > $i.c; done
        echo 'int x = ;' > bad.c
        """,
    ),
    script(
        "trap-on-errors",
        """
        set -e
        trap 'echo err $? >> log; rm -f part' ERR
        trap 'echo exit $? >> log' EXIT
        echo p > part
        gcc -c a.c -o a.o
        gcc -c bad.c -o bad.o
        echo never > never
        """,
        files=PRINTING,
    ),
    script(
        "trap-cleans-up",
        """
        set -eu
        T=$(mktemp -d ./tmp.XXXX)
        trap 'rm -rf $T' EXIT
        gcc -c a.c -o $T/a.o
        gcc -c m.c -o $T/m.o
        gcc -o $T/p $T/a.o $T/m.o
        cp $T/p p
        gcc -c bad.c -o $T/bad.o
        cp $T/bad.o .
        """,
        files=PRINTING,
    ),
    script(
        "last-command-by-exec",
        """
        gcc -c a.c -o a.o
        gcc -c m.c -o m.o
        exec gcc -o p a.o m.o
        """,
        options=("-j2",),
        files=PRINTING,
    ),
    script(
        "last-command-by-exec-after-a-failure",
        """
        gcc -c a.c -o a.o
        gcc -c bad.c -o m.o
        exec gcc -o p a.o m.o
        """,
        options=("-j2",),
        files=PRINTING,
    ),
    makefile(
        "time-limit-in-a-makefile",
        """
        all: check
        big.o: m.c ; sleeper -o big.o 1.5
        p: m.c big.o ; gcc -c m.c -o p.o; gcc -o p p.o
        check: p ; timeout 1 ./p
        """,
        options=("-j1",),
        files={
            "a.c": "int f(void){return 1;}\n",
            "m.c": "int main(void){return 0;}",
        },
    ),
)
