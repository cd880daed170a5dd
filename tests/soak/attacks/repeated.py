"""Builds that are repeated after a clean, each time with something changed."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import SCRIPT, Case, Step, again, makefile, script, text

GENERATOR = text(
    r"""
    import os
    import sys

    o = sys.argv[1]
    s = "".join(open(x).read() for x in sys.argv[2:])
    open(o, "w").write(s + o + "\n")
    """
)


def _script(name: str, lines: str, *edits: str, ordered: bool = True) -> Case:
    """A script with generators, and compiles that keep the only slot; once more after each edit."""
    clean = "rm -rf *.out work\nmkdir work\necho w > work/w\n"
    return script(
        name,
        f"gcc -c one.c -o one.o\n{text(lines)}\n",
        files={
            "gen.py": GENERATOR,
            "one.c": "int one;\n",
            "one": "one\n",
            "two": "two\n",
            "work/w": "w\n",
        },
        steps=(Step(SCRIPT), *(Step(SCRIPT, edit=clean + text(edit)) for edit in edits)),
        options=("-j1", "--memo=on"),
        ordered=ordered,
    )


CASES: Sequence[Case] = (
    makefile(
        "again-exists",
        """
        all: a.out b.out c.out d.out
        clean: ; rm -rf *.out *.extra
        a.out: ; sleep 0.1; echo a > a.out; if [ -f flag ]; then echo x > a.extra; fi
        b.out: ; sleep 0.1; echo b > b.out; cat a.extra >> b.out 2>/dev/null || true
        c.out: ; sleep 0.1; cat b.out > c.out; ls *.extra 2>/dev/null >> c.out || true
        d.out: ; cat a.out c.out > d.out
        """,
        steps=again("", "", "touch flag", "rm flag"),
    ),
    makefile(
        "again-list",
        """
        all: stamp.out sum.out
        clean: ; rm -rf *.out gen
        gen/.d.out: ; mkdir -p gen; touch gen/.d.out
        stamp.out: list gen/.d.out
            sleep 0.1; for i in `cat list`; do echo $$i > gen/$$i.txt; done; touch stamp.out
        sum.out: stamp.out ; sleep 0.1; cat gen/*.txt > sum.out; wc -l sum.out > n.out
        """,
        steps=again("", "echo 'a b c d' > list", "echo 'x' > list"),
        files={
            "list": "a b\n",
        },
    ),
    makefile(
        "again-tmpname",
        """
        T=a b c d e f
        all: $(T:%=%.out)
        clean: ; rm -f *.out tmp
        %.out: ; sleep 0.1; echo $* > tmp; sleep 0.1; cat tmp tmp > $@; rm -f tmp
        """,
        steps=again("", ""),
    ),
    makefile(
        "again-tmpname-mv",
        """
        T=a b c d e f
        all: $(T:%=%.out)
        clean: ; rm -f *.out tmp
        %.out: ; sleep 0.1; (echo $*; sleep 0.1; echo $*) > tmp && mv tmp $@
        """,
        steps=again("", ""),
    ),
    makefile(
        "again-tmpname-out",
        r"""
        T=a b c d e f
        all: $(T:%=%.out)
        clean: ; rm -f *.out $$TMPDIR/shared
        %.out:
            sleep 0.1; (echo $*; sleep 0.1; \
                echo $*) > $$TMPDIR/shared && cp $$TMPDIR/shared $@
        """,
        steps=again("", ""),
    ),
    makefile(
        "again-counter",
        """
        T=a b c d e f
        all: $(T:%=%.out)
        clean: ; rm -f *.out; echo 0 > cnt
        %.out: ; sleep 0.1; n=`cat cnt`; n=$$((n+1)); sleep 0.1; echo $$n > cnt; echo $$n > $@
        """,
        steps=again("", ""),
        files={
            "cnt": "0\n",
        },
    ),
    makefile(
        "again-append",
        """
        T=a b c d e f
        all: $(T:%=%.out)
        clean: ; rm -f *.out
        %.out: ; sleep 0.$(words $(wildcard *.out))1; echo $* >> log.out; sleep 0.1; echo $* > $@
        """,
        steps=again("", ""),
    ),
    makefile(
        "again-moved",
        """
        all: a.out b.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; pwd > /dev/null; cat in > a.out; test ! -f x || cat x > a.x.out
        b.out: ; sleep 0.1; cat a.out > b.out
        """,
        steps=again(
            "",
            """
            cd ..
            mv t t.old
            cp -r t.old t
            rm -rf t.old
            cd t
            echo 2 > in
            echo 3 > x
            """,
        ),
        files={
            "in": "1\n",
        },
    ),
    makefile(
        "again-included",
        r"""
        -include gen.mk
        all: $(EXTRA) b.out
        clean: ; rm -f *.out gen.mk
        gen.mk: conf
            sleep 0.1; echo making; (for i in `cat conf`; do echo "EXTRA += $$i.out"; \
                echo "$$i.out: ; sleep 0.1; echo $$i > $$i.out"; done) > gen.mk
        b.out: $(EXTRA) ; sleep 0.1; cat $(EXTRA) > b.out
        """,
        steps=again("", "echo 'x y z' > conf", "echo q > conf"),
        files={
            "conf": "x y\n",
        },
    ),
    makefile(
        "again-folders",
        r"""
        all: a.out b.out c.out
        clean: ; rm -rf *.out dest
        a.out:
            sleep 0.1; mkdir -p dest/x; echo a > dest/x/a; ln -sf a dest/x/l; \
                ln -f dest/x/a dest/x/h; touch a.out
        b.out: a.out
            sleep 0.1; cp -r dest dest2.out; rm -rf dest2.out/x; mkdir tmpd; \
                echo x > tmpd/x; rm -rf tmpd; echo b > b.out
        c.out: b.out; ls dest/x > c.out
        """,
        steps=again(
            "",
            "mkdir -p dest/x",
            """
            mkdir -p dest/x dest/y
            echo q > dest/x/q
            """,
        ),
    ),
    makefile(
        "again-headers",
        """
        CC=gcc
        all: p
        clean: ; rm -f *.o p *.d gen.h tab.c
        gen.h: gen.py ; sleep 0.1; python3 gen.py > gen.h
        tab.c: tab.py gen.h ; sleep 0.1; python3 tab.py > tab.c
        %.o: %.c gen.h ; $(CC) -MMD -c $< -o $@
        p: m.o a.o tab.o ; $(CC) -o p m.o a.o tab.o
            ./p > out.txt
        -include *.d
        """,
        steps=again(
            "",
            """echo 'print("#define G 9")' > gen.py""",
            """echo 'print("#define G oops;;")' > gen.py""",
            """echo 'print("#define G 8")' > gen.py""",
        ),
        files={
            "gen.py": 'print("#define G 1")\n',
            "tab.py": 'print("#include \\"gen.h\\"\\nint t[]={G,G};")\n',
            "m.c": text(
                r"""
                #include <stdio.h>
                #include "gen.h"
                int a(void);extern int t[];int main(void){printf("%d %d %d\n",G,a(),t[1]);return 0;}
                """
            ),
            "a.c": '#include "gen.h"\nint a(void){return G+1;}',
        },
    ),
    makefile(
        "again-multi-target",
        """
        all: a.c a.h z
        clean: ; rm -f a.c a.h z *.out
        a.%: a.y ; sleep 0.1; echo "run" >> runs.out; cp a.y a.c; cp a.y a.h
        z y.out &: a.c a.h ; sleep 0.1; cat a.c a.h > z; cat z > y.out
        """,
        steps=again("", "echo changed > a.y"),
        files={
            "a.y": "y\n",
        },
    ),
    _script(
        "script-again-plain",
        """
        set -e
        python3 gen.py a.out one
        python3 gen.py b.out two a.out
        cat a.out b.out > c.out
        [ -s c.out ] && echo yes > d.out
        for i in 1 2 3; do python3 gen.py l$i.out one; done
        cat l*.out | wc -l > n.out
        """,
        "",
        "echo three > one",
        """
        echo 'if os.path.exists("two"): open("x.out", "w").write("x")' >> gen.py
        """,
    ),
    _script(
        "script-again-status",
        """
        python3 gen.py a.out one
        python3 gen.py b.out two
        echo $? > s.out
        if python3 gen.py c.out one two; then echo ok > t.out; else echo bad > t.out; fi
        python3 gen.py e.out nosuch || echo failed > f.out
        x=$(python3 gen.py g.out one; echo $?)
        echo $x > h.out
        """,
        "",
        "rm one",
        "echo new > one",
    ),
    _script(
        "script-again-variables",
        """
        N=$(cat one)
        python3 gen.py $N.out one
        ls *.out > list.txt
        mv list.txt l.out
        while read x; do python3 gen.py $x.q.out two; done < one
        exec 3> log.out
        python3 -c 'import os; os.write(3, b"hi")'
        echo done >&3
        """,
        "",
        """
        printf 'b\\nc\\n' > one
        """,
    ),
    _script(
        "script-again-background",
        """
        python3 gen.py a.out one &
        python3 gen.py b.out two &
        wait
        cat a.out b.out > c.out
        (python3 gen.py d.out a.out; python3 gen.py e.out d.out) > log.out 2>&1
        python3 gen.py f.out e.out | tee g.out
        python3 -c 'print(open("work/w").read())' > h.out
        rm -rf work
        mkdir work
        echo changed > work/w
        python3 gen.py i.out work/w
        """,
        "",
        ordered=False,
    ),
    _script(
        "script-again-folders",
        """
        python3 -c 'import os; open("a.out", "w").write(str(os.path.isdir("work")))'
        rm -rf work
        python3 -c 'import os; open("b.out", "w").write(str(os.path.isdir("work")))'
        mkdir work
        cp one work/
        cat a.out b.out > c.out
        """,
        "",
    ),
)
