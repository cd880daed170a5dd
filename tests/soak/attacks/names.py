"""Names that are long or odd."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, Step, script, text
from tests.soak.attacks.files import CALLING, PRINTING

CASES: Sequence[Case] = (
    script(
        "odd-names-of-sources",
        r"""
        cp v.c $'n\nl.c'
        gcc -DV=1 -c $'n\nl.c' -o $'n\nl.o'
        cp v.c "q'\".c"
        gcc -DV=1 -c "q'\".c" -o "q'\".o"
        cp v.c $'b\xff\xfe.c'
        gcc -DV=2 -c $'b\xff\xfe.c' -o $'b\xff\xfe.o'
        cat $'b\xff\xfe.o' | wc -c > s
        cp v.c ' .c'
        gcc -DV=1 -c ' .c' -o ' .o'
        gcc -DV=1 -c v.c -o -x.o
        : > l  # or ls may look before the shell has made it
        ls | od -c | head -50 > l
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "names-at-path-max",
        """
        for i in $(seq 1 20); do d=$(printf 'd%.0s' $(seq 198)); mkdir $d && cd $d; done
        pwd | wc -c
        N=$(printf 'n%.0s' $(seq 100))
        printf 'int f=1;' > $N.c
        gcc -c $N.c -o $N.o
        wc -c < $N.o > sz
        gcc -c $N.c -o $N$N.o
        wc -c < $N$N.o > sz2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        admitted="Long paths, mounts and hard links",
        differs=("status", "output", r"/n+\.o$", r"/sz2?$"),
    ),
    script(
        "long-command-line",
        r"""
        gcc $(for i in $(seq 1 20000); do echo -DXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX$i; done) \
            -c a.c -o a.o
        wc -c < a.o > s
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "listing-behind-a-compile",
        """
        gcc -DV=1 -c v.c -o x.o
        ls > l
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "odd-names-of-objects",
        r"""
        gcc -c m.c -o 'sp ace.o'
        wc -c < 'sp ace.o' > r1
        gcc -c m.c -o $'n\nl.o'
        wc -c < $'n\nl.o' > r2
        gcc -c m.c -o "q'\".o"
        cat "q'\".o" | wc -c > r3
        gcc -c m.c -o ./-dash.o
        cat ./-dash.o | wc -c > r4
        gcc -c m.c -o $'b\xff\xfe.o'
        cat $'b\xff\xfe.o' | wc -c > r5
        L=$(printf 'x%.0s' $(seq 1 253)).o
        gcc -c m.c -o $L
        wc -c < $L > r6
        gcc -DQ -c a.c -o $L
        ar rc l.a $L
        ar t l.a | wc -c > r7
        gcc -c m.c -o 'Foo.o'
        gcc -c a.c -o 'foo.o'
        cmp Foo.o foo.o > r8
        wc -c < FOO.O > r9 2>/dev/null || echo no > r9
        gcc -c m.c -o '%s%n$HOME*.o'
        wc -c < '%s%n$HOME*.o' > r10
        gcc -c m.c -o 'ünï.o'
        wc -c < 'ünï.o' > r11
        gcc -c m.c -o '\.o'
        wc -c < '\.o' > r12
        gcc -c m.c -o './/sub/..//dd.o'
        wc -c < dd.o > r13
        gcc -c m.c -o "@at.o"
        wc -c < @at.o > r14
        gcc -c m.c -o 'a:b=c;d.o'
        wc -c < 'a:b=c;d.o' > r15
        """,
        files={
            **PRINTING,
            "foo.o": "old\n",
        },
        before="mkdir -p sub",
    ),
    script(
        "odd-names-without-a-guard",
        r"""
        L=$(printf 'x%.0s' $(seq 1 253)).o
        gcc -c m.c -o $L
        gcc -DQ -c a.c -o $L
        ar rc l.a $L
        ar t l.a | wc -c > r7
        gcc -c m.c -o $'n\nl.o'
        ar rc l.a $'n\nl.o'
        """,
        options=("--no-guard",),
        files=PRINTING,
        before=r"""
        L=$(printf 'x%.0s' $(seq 1 253)).o
        echo old > $L
        echo old > $'n\nl.o'
        """,
    ),
    Case(
        "odd-name-of-the-tree",
        steps=(
            Step("cd we*; SMPMAKE make"),
            Step(
                "cd we*; SMPMAKE make",
                edit="""
                cd we*
                rm *.o
                """,
            ),
            Step(
                "cd we*; SMPMAKE make",
                edit="""
                cd we*
                echo '#define A (' > a.h
                rm a.o
                """,
            ),
        ),
        before=text(
            r"""
            mkdir $'we ird%s\n\'"#$x'
            cd we*
            printf '#include "a.h"\nint f(void){return A;}\n' > a.c
            echo '#define A 1' > a.h
            echo 'int f(void);int main(void){return f()-1;}' > m.c
            cat > Makefile <<'E'
            all: p
            %.o: %.c ; gcc -MMD -c $< -o $@
            p: a.o m.o ; gcc -o p a.o m.o; ./p > r
            E
            """
        ),
    ),
)
