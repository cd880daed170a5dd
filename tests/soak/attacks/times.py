"""The order of times."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, makefile, recipes, script
from tests.soak.attacks.files import CALLING, PRINTING

CASES: Sequence[Case] = (
    script(
        "objects-compared-by-time",
        """
        gcc -c a.c -o a.o
        gcc -c m.c -o m.o
        [ m.o -nt a.o ] && echo newer > r || echo notnewer > r
        touch st
        find . -newer a.o -name '*.o' | sort > l
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "found-newer-than-a-stamp",
        """
        touch st
        sleep 0.05
        gcc -c a.c -o a.o
        find . -newer st -name '*.o' > l
        touch st2
        [ st2 -nt a.o ] && echo y > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "object-touched-by-reference",
        """
        gcc -c a.c -o a.o
        touch -r m.c a.o
        stat -c %Y a.o m.c | uniq | wc -l > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "make-question-touch-and-what-if",
        """
        make
        make -q
        echo $? > q
        make -n > n
        make -t
        make -q
        echo $? >> q
        make -B
        make -W a.c -n > w
        """,
        files={
            **CALLING,
            "Makefile": recipes(
                """
                all: a.o m.o
                %.o: %.c
                    gcc -c $< -o $@
                """
            ),
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        after=NOTHING,
    ),
    makefile(
        "debug-output-of-make",
        """
        all: p
        a.o: a.c a.h ; gcc -c a.c -o a.o
        m.o: m.c ; gcc -c m.c -o m.o
        p: a.o m.o ; gcc -o p a.o m.o
        """,
        steps=(
            Step(("make", "--debug=b")),
            Step(
                ("make", "--debug=v"),
                edit="""
                sleep 0.1
                touch a.h
                """,
            ),
            Step(("make", "--debug=b"), edit="touch -d '+2 hours' a.c"),
        ),
        files=PRINTING,
        before="touch -d '1 hour ago' a.c a.h m.c",
        ignored=("stderr",),
    ),
    makefile(
        "skew",
        """
        all: p
        a.o: a.c a.h ; gcc -c a.c -o a.o
        m.o: m.c ; gcc -c m.c -o m.o
        p: a.o m.o ; gcc -o p a.o m.o
        """,
        steps=(
            Step(),
            Step(),
        ),
        files=PRINTING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c
        touch -d '+1 hour' a.h
        """,
        ignored=("stderr",),
    ),
    makefile(
        "again-old-time",
        """
        all: x.o y.txt
        gen.h: gen.in ; sleep 0.1; cat gen.in > gen.h; touch -d 2001-01-01 gen.h
        x.o: x.c gen.h ; gcc -c x.c -o x.o
        y.txt: ; sleep 0.1; echo y > y.txt
        """,
        steps=(
            Step(),
            Step(edit="touch gen.in"),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                rm y.txt
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                rm y.txt
                """
            ),
        ),
        files={
            "gen.in": "#define G 1\n",
            "x.c": '#include "gen.h"\nint x=G;',
        },
        before="touch -d '1 hour ago' gen.in x.c",
    ),
    makefile(
        "again-cp-p",
        """
        all: x.o y.txt
        gen.h: gen.in ; sleep 0.1; cp -p ref.h gen.h; : $$(date)
        x.o: x.c gen.h ; gcc -c x.c -o x.o
        y.txt: ; sleep 0.1; echo y > y.txt
        """,
        steps=(
            Step(),
            Step(edit="touch gen.in"),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                rm y.txt
                """
            ),
            Step(
                edit="""
                sleep 0.1
                touch gen.in
                rm y.txt
                """
            ),
        ),
        files={
            "ref.h": "#define G 1\n",
            "gen.in": "\n",
            "x.c": '#include "gen.h"\nint x=G;',
        },
        before="""
        touch -d '1 hour ago' gen.in ref.h x.c
        touch -d '2 hours ago' ref.h
        """,
    ),
    makefile(
        "compile-touch-old",
        """
        all: p q
        a.o: a.c ; gcc -c a.c -o a.o; touch -d 2001-01-01 a.o
        p: a.o m.o ; gcc -o p a.o m.o
        m.o: m.c ; gcc -c m.c -o m.o
        q: a.o ; cp -p a.o q; touch -r m.c q2
        """,
        steps=(
            Step(),
            Step(),
            Step(edit="touch a.c"),
        ),
        files={
            "a.c": "int a;\n",
            "m.c": "int main(void){return 0;}\n",
        },
        before="touch -d '1 hour ago' a.c m.c",
    ),
    script(
        "ar-update-with-pauses",
        """
        gcc -c m.c -o m.o
        ar rcU l.a m.o
        sleep 1.1
        gcc -DQ=1 -c m.c -o m.o
        ar ruvU l.a m.o > v
        ar ruvU l.a m.o > v2
        """,
        files={
            "m.c": "int main(void){return 0;}\n",
        },
    ),
)
