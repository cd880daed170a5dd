"""Names that lead elsewhere: links as outputs, sources and folders."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script, text
from tests.soak.attacks.files import CALLING

CASES: Sequence[Case] = (
    script(
        "output-folder-link-retargeted",
        """
        cp v0.o out1/x.o
        cp v0.o out2/x.o
        gcc -c v.c -DV=1 -o v.o
        objcopy v.o o1.o
        objcopy o1.o o2.o
        objcopy o2.o o3.o
        objcopy o3.o out/x.o
        ln -sfn out2 out
        """,
        files=CALLING,
        before="""
        mkdir -p out1 out2
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        ln -s out1 out
        touch -h -d '1 hour ago' out
        gcc -c v.c -DV=1 -o v0.o
        """,
    ),
    script(
        "archive-folder-link-remade",
        """
        gcc -c v.c -DV=1 -o v.o
        sleeper -o s2
        ar rc out/lib.a v.o
        rm out
        ln -s out2 out
        ar rc out/lib.a v.o
        """,
        files=CALLING,
        before="""
        mkdir -p out1 out2
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        ln -s out1 out
        """,
    ),
    script(
        "archive-folder-link-retargeted",
        """
        ar rc out/lib.a v.o
        ln -sfn out2 out
        """,
        files=CALLING,
        before="""
        mkdir -p out1 out2
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        ln -s out1 out
        gcc -c v.c -DV=1 -o v.o
        """,
    ),
    script(
        "source-folder-link-retargeted",
        """
        gcc -c s/q.c -o q1.o
        ln -sfn s2 s
        gcc -c s/q.c -o q2.o
        """,
        files={
            **CALLING,
            "s1/q.c": "int a=1;\n",
            "s2/q.c": "int a=2;\n",
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        ln -s s1 s
        """,
    ),
    script(
        "object-folder-link-retargeted",
        """
        ar rc l1.a s/q.o
        ln -sfn s2 s
        ar rc l2.a s/q.o
        """,
        files=CALLING,
        before="""
        mkdir -p s1 s2
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o s1/q.o
        gcc -c v.c -DV=2 -o s2/q.o
        ln -s s1 s
        """,
    ),
    script(
        "object-link-retargeted",
        """
        ar rc l1.a q.o
        ln -sfn q2.o q.o
        ar rc l2.a q.o
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -c v.c -DV=1 -o q1.o
        gcc -c v.c -DV=2 -o q2.o
        ln -s q1.o q.o
        """,
    ),
    script(
        "include-link-retargeted",
        """
        gcc -Icfg -c a.c -o a1.o
        ln -sfn c2 cfg
        gcc -Icfg -c a.c -o a2.o
        rm cfg
        ln -s c1 cfg
        gcc -Icfg -c a.c -o a3.o
        """,
        files={
            "c1/q.h": "#define A 1\n",
            "c2/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include "q.h"
                int f=A;
                """
            ),
        },
        before="""
        ln -s c1 cfg
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "program-with-two-names-relinked",
        """
        gcc m.c -o p
        ln p q
        gcc -DX m.c -o p
        ls -l p q | awk '{print $2}' > n
        cmp p q && echo same > s
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "object-through-a-link",
        """
        mkdir d
        ln -s d/real.o l.o
        gcc -c a.c -o l.o
        ls d > ld
        cat l.o | wc -c > s
        cat d/real.o | wc -c > s2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "dependencies-through-a-link",
        """
        mkdir d
        ln -s d/real.d l.d
        gcc -MD -MF l.d -c a.c -o x.o
        ls d > ld
        cat d/real.d | wc -c > s2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "preprocessed-through-a-link",
        """
        mkdir d
        ln -s d/real.i l.i
        gcc -E a.c -o l.i
        cat d/real.i | wc -c > s2
        ln -s d/zz q.i
        gcc -E a.c -o q.i
        test -e d/zz && echo y > y
        test -L q.i && echo l > lk
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "ln-dir-cold",
        """
        gcc -c a.c -o a.o
        ln -s a.o lnk
        cp lnk copy
        ln -sfn inc lnk
        ls lnk > l
        gcc -c a.c -o b.o
        ln -f b.o hard
        cp b.o hard 2>/dev/null || echo same > st
        stat -c %h hard > l2
        """,
        files={
            "a.c": "int f(void){return 1;}\n",
            "m.c": "int main(void){return 0;}",
            "inc/a.h": "#define A 1\n",
            "b.c": "#include <a.h>\nint b=A;",
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "ln-dir-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -c a.c -o a.o
        ln -s a.o lnk
        cp lnk copy
        ln -sfn inc lnk
        ls lnk > l
        gcc -c a.c -o b.o
        ln -f b.o hard
        cp b.o hard 2>/dev/null || echo same > st
        stat -c %h hard > l2
        """,
        files={
            "a.c": "int f(void){return 1;}\n",
            "m.c": "int main(void){return 0;}",
            "inc/a.h": "#define A 1\n",
            "b.c": "#include <a.h>\nint b=A;",
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
)
