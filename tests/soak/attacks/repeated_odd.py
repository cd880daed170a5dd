"""Repeated builds with locks, shells, descriptors, signals and failures of their own."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, again, makefile, script, text

CASES: Sequence[Case] = (
    makefile(
        "again-mkdirlock",
        r"""
        T=a b c d e f
        all: $(T:%=%.out)
        clean: ; rm -rf *.out lock log
        %.out:
            while ! mkdir lock 2>/dev/null; do sleep 0.05; done; echo $* >> log.out; \
                sleep 0.1; echo $* > $@; rmdir lock
        """,
        steps=again("", ""),
    ),
    makefile(
        "again-env",
        """
        all: a.out b.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; echo $$FLAVOUR > a.out; test -z "$$EXTRA" || echo > extra.out
        b.out: ; sleep 0.1; cat a.out > b.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean >/dev/null 2>&1"),
            Step("FLAVOUR=x SMPMAKE make", edit="make -s clean >/dev/null 2>&1"),
            Step("FLAVOUR=y EXTRA=1 SMPMAKE make", edit="make -s clean >/dev/null 2>&1"),
            Step("FLAVOUR=x SMPMAKE make", edit="make -s clean >/dev/null 2>&1"),
        ),
    ),
    makefile(
        "again-umask",
        """
        all: a.out b.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; echo $$(umask) > a.out
        b.out: ; sleep 0.1; cat a.out > b.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean >/dev/null 2>&1"),
            Step("umask 077; SMPMAKE make", edit="make -s clean >/dev/null 2>&1"),
            Step("umask 022; ulimit -f 2000; SMPMAKE make", edit="make -s clean >/dev/null 2>&1"),
        ),
    ),
    makefile(
        "again-fail2",
        """
        all: a.out b.out c.out d.out
        clean: ; rm -f *.out
        a.out: src ; sleep 0.1; echo working; python3 gen.py src > a.out
        b.out: ; sleep 0.1; echo b > b.out
        c.out: a.out ; sleep 0.1; wc -c < a.out > c.out; echo c made
        d.out: ; sleep 0.1; echo d > d.out
        """,
        steps=again("", "echo 'raise SystemExit(3)' > gen.py", "echo 'print(5)' > gen.py"),
        files={
            "gen.py": 'print(open("src").read())\n',
            "src": "1\n",
        },
    ),
    makefile(
        "again-fail2-k",
        """
        all: a.out b.out c.out d.out
        clean: ; rm -f *.out
        a.out: src ; sleep 0.1; echo working; python3 gen.py src > a.out
        b.out: ; sleep 0.1; echo b > b.out
        c.out: a.out ; sleep 0.1; wc -c < a.out > c.out; echo c made
        d.out: ; sleep 0.1; echo d > d.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean >/dev/null 2>&1"),
            Step(
                ("make", "-k"),
                edit="""
                make -s clean >/dev/null 2>&1
                echo 'raise SystemExit(3)' > gen.py
                """,
            ),
            Step(("make", "-i"), edit="make -s clean >/dev/null 2>&1"),
            Step(
                ("make", "-k"),
                edit="""
                make -s clean >/dev/null 2>&1
                echo 'print(5)' > gen.py
                """,
            ),
        ),
        files={
            "gen.py": 'print(open("src").read())\n',
            "src": "1\n",
        },
    ),
    makefile(
        "again-fail2-doe",
        """
        .DELETE_ON_ERROR:
        all: a.out b.out c.out d.out
        clean: ; rm -f *.out
        a.out: src ; @sleep 0.1; echo working; python3 gen.py src > a.out
        b.out: ; -sleep 0.1; echo b > b.out; test ! -f failb
        c.out: a.out ; sleep 0.1; wc -c < a.out > c.out; echo c made
        d.out: ; sleep 0.1; echo d > d.out
        """,
        steps=again(
            "",
            "touch failb",
            "echo 'print(7);raise SystemExit(3)' > gen.py",
            """
            echo 'print(5)' > gen.py
            rm failb
            """,
        ),
        files={
            "gen.py": 'print(open("src").read())\n',
            "src": "1\n",
        },
    ),
    makefile(
        "again-fd3",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; echo making a >&3; echo a > a.out
        b.out: ; sleep 0.1; echo making b >&3 2>/dev/null || true; echo b > b.out
        c.out: ; sleep 0.1; cat a.out b.out > c.out; echo c >&3
        """,
        steps=(
            Step("SMPMAKE make 3>log0.out"),
            Step("SMPMAKE make 3>log3.out", edit="make -s clean >/dev/null 2>&1"),
            Step("SMPMAKE make 3>>log3b.out", edit="make -s clean >/dev/null 2>&1"),
        ),
    ),
    makefile(
        "again-stdin",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; read x; echo $$x > a.out
        b.out: ; sleep 0.1; read x; echo $$x > b.out
        c.out: ; sleep 0.1; cat a.out b.out > c.out; cat >> c.out
        """,
        steps=(
            Step("SMPMAKE make < answers"),
            Step("SMPMAKE make < answers", edit="make -s clean >/dev/null 2>&1"),
            Step("cat answers | SMPMAKE make", edit="make -s clean >/dev/null 2>&1"),
            Step("SMPMAKE make < answers", edit="make -s clean >/dev/null 2>&1"),
        ),
        files={
            "answers": text(
                """
                one
                two
                three
                four
                """
            ),
        },
    ),
    makefile(
        "again-flock",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out lk
        z.out: ; sleep 0.3; echo z > z.out
        a.out: z.out ; flock lk sh -c 'sleep 0.1; cat z.out > a.out'
        b.out: ; flock lk sh -c 'sleep 0.11; cat a.out > b.out'
        c.out: b.out ; sleep 0.1; cat b.out > c.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean >/dev/null 2>&1"),
            Step(
                edit="""
                make -s clean >/dev/null 2>&1
                sed -i 's/sleep 0.11/sleep 0.21/' Makefile
                """
            ),
            Step(
                edit="""
                make -s clean >/dev/null 2>&1
                sed -i 's/sleep 0.21/sleep 0.31/' Makefile
                """,
                options=("-j1",),
            ),
            Step(
                edit="""
                make -s clean >/dev/null 2>&1
                sed -i 's/sleep 0.31/sleep 0.41/' Makefile
                """,
                options=("-j3",),
            ),
        ),
    ),
    makefile(
        "again-flock-script",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out lk
        a.out: ; sleep 0.3; flock lk sh -c 'sleep 0.1; echo a > a.out'
        b.out: ; @exec 9>lk; flock 9; cat a.out > b.out
        c.out: b.out ; sleep 0.1; cat b.out > c.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean >/dev/null 2>&1"),
            Step(
                edit="""
                make -s clean >/dev/null 2>&1
                sed -i 's/exec 9/true; exec 9/' Makefile
                """
            ),
            Step(
                edit="""
                make -s clean >/dev/null 2>&1
                sed -i 's/true; exec 9/true; true; exec 9/' Makefile
                """,
                options=("-j1",),
            ),
        ),
    ),
    makefile(
        "again-times",
        r"""
        all: a.out b.out c.out d.out
        clean: ; rm -f *.out ref
        a.out: ; sleep 0.1; echo a > a.out; touch -r Makefile ref.out
        b.out: a.out
            sleep 0.1; cp -p ref.out b2.out; touch -d 2001-01-01 old.out; \
                stat -c %Y old.out ref.out > /dev/null; echo b > b.out
        c.out: b.out
            sleep 0.1; if [ a.out -nt b.out ]; then echo wrong > c.out; \
                else echo right > c.out; fi; find . -newer a.out -name '*.out' | sort > found
        d.out: c.out ; cat c.out found > d.out
        """,
        steps=again("", "touch a.out"),
    ),
    makefile(
        "again-signal2",
        """
        all: a.out b.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; sh act; echo a > a.out
        b.out: a.out; sleep 0.1; cat a.out > b.out
        """,
        steps=again(
            "",
            "echo 'kill -TERM $$' > act",
            "echo 'kill -SEGV $$' > act",
            "echo 'kill -INT $PPID' > act",
            "echo '(sleep 0.5; echo late > late.out) & ' > act",
            "echo 'exit 0' > act",
        ),
        files={
            "act": "exit 0\n",
        },
        settle=0.8,
    ),
    makefile(
        "again-voices",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; echo one; echo two >&2; echo three; cat msg; echo a > a.out
        b.out: ; @sleep 0.1; echo four; echo five 1>&2; echo b > b.out
        c.out: a.out b.out ; -sleep 0.1; cat a.out b.out > c.out; false
        """,
        steps=again("", "echo changed > msg", "rm msg"),
        files={
            "msg": "msg\n",
        },
    ),
    makefile(
        "again-pyshell",
        """
        .ONESHELL:
        SHELL=/usr/bin/python3
        all: a.out b.out c.out
        clean:
            import os,glob
            for f in glob.glob("*.out"): os.remove(f)
        a.out:
            import time
            time.sleep(0.3)
            open("a.out","w").write("a")
            import os
            if os.path.exists("flag"): open("z.out","w").write("z")
        b.out: a.out
            import subprocess,time
            time.sleep(0.2)
            open("b.out","w").write(open("a.out").read()+subprocess.check_output(["cat","a.out"],text=True))
        c.out: b.out
            import shutil
            shutil.copy("b.out","c.out")
        """,
        steps=again("", "touch flag"),
    ),
    makefile(
        "again-oneshell",
        """
        .ONESHELL:
        .SHELLFLAGS=-ec
        SHELL=/bin/bash
        all: a.out b.out c.out
        clean: ; rm -f *.out
        a.out:
            sleep 0.1
            x=5
            cat <<E > a.out
            value $$x
            E
            [ ! -f bad ]
        b.out: a.out
            set -o pipefail
            sleep 0.1
            cat a.out | tee b1.out | sort > b.out
            diff <(cat a.out) <(cat b1.out)
        c.out: b.out
            trap 'echo trapped >> c.out' EXIT
            sleep 0.1
            (cat b.out; echo) > c.out
        """,
        steps=again("", "touch bad", "rm bad"),
    ),
    makefile(
        "feedback",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; cat last > a.out
        b.out: ; echo $(N) > last; echo b > b.out
        c.out: ; sleep 0.1; cat last a.out > c.out
        """,
        steps=(
            Step(("make", "N=1")),
            Step(("make", "N=1"), edit="make -s clean >/dev/null 2>&1"),
            Step(("make", "N=1"), edit="make -s clean >/dev/null 2>&1"),
            Step(("make", "N=2"), edit="make -s clean >/dev/null 2>&1"),
            Step(("make", "N=2"), edit="make -s clean >/dev/null 2>&1"),
            Step(
                ("make", "N=2"),
                edit="""
                make -s clean >/dev/null 2>&1
                echo user > last
                """,
            ),
        ),
        files={
            "last": "zero\n",
        },
        after=NOTHING,
    ),
    makefile(
        "feedback2",
        """
        all: a.out b.out c.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; cat last > a.out; cat st 2>/dev/null >> a.out; cp a.out st
        b.out: ; sleep 0.1; sed -i s/.$$/x/ last; echo b > b.out
        c.out: ; sleep 0.1; mv last last2; (cat last2; cat b.out) > last; rm last2; cp last c.out
        """,
        steps=again(
            "",
            "",
            """
            echo user > last
            rm st
            """,
        ),
        files={
            "last": "zero\n",
        },
        after=NOTHING,
    ),
    makefile(
        "again-descriptor",
        """
        all: a.out b.out
        clean: ; rm -f *.out
        a.out: ; sleep 0.1; echo made a >&3; echo a > a.out
        b.out: ; sleep 0.1; echo made b >&3; echo b > b.out
        """,
        steps=(
            Step("SMPMAKE make 3>log"),
            Step("SMPMAKE make 3>log", edit="make -s clean"),
            Step("SMPMAKE make 3>log", edit="make -s clean"),
        ),
        after=NOTHING,
    ),
    makefile(
        "again-lock-and-folder",
        """
        all: a.out b.out
        clean: ; rm -rf *.out dest
        a.out: ; sleep 0.1; flock src sh -c 'sleep 0.1; echo a > a.out'
        b.out: ; flock src sh -c 'mkdir dest; wc -c < a.out > dest/n; cp dest/n b.out'
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
        ),
        before="mkdir -p src",
        after=NOTHING,
    ),
    script(
        "last-command-after-a-failure",
        """
        gcc -c bad.c -o b.o
        gcc -o p b.o
        """,
        busy="",
        files={
            "bad.c": "int x = ;\n",
        },
    ),
    script(
        "mounted-and-unmounted",
        """
        mount -t tmpfs none m
        gcc m.c -o m/p
        m/p
        cp m/p .
        umount m
        echo $? > r
        umount -l m 2>/dev/null
        """,
        busy="",
        files={
            "a.c": "int f(void){return 1;}\n",
            "m.c": "int main(void){return 0;}",
        },
        before="mkdir -p m",
        needs=("root",),
    ),
    script(
        "include-folder-bound",
        """
        mount --bind i2 i1
        gcc -Ii1 -c b.c -o b.o
        umount i1
        """,
        files={
            "i1/a.h": "#define A 1\n",
            "i2/a.h": "#define A 2\n",
            "b.c": "#include <a.h>\nint b=A;",
        },
        before="touch -d '1 hour ago' i1/a.h i2/a.h",
        needs=("root",),
    ),
    makefile(
        "again-package-modes",
        """
        all: pkg.tar done
        pkg.tar: prog.sh
            mkdir pkg; cp prog.sh pkg; chmod 755 pkg/prog.sh
            sleep 0.1; tar cf pkg.tar --mtime=@0 pkg/prog.sh
            rm -rf pkg; mkdir pkg; rmdir pkg
        done: pkg.tar ; sleep 0.1; tar tvf pkg.tar > done
        clean: ; rm -rf pkg pkg.tar done
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
            Step(edit="make -s clean"),
        ),
        files={
            "prog.sh": "#!/bin/sh\n",
        },
        before="touch -d 2020-01-01 prog.sh",
    ),
    makefile(
        "again-exec-bit",
        """
        all: a.out b.out
        clean: ; rm -rf *.out fg; chmod 755 f
        a.out: ; sleep 0.1; if [ -x f ]; then echo x; else echo no; fi > a.out
        b.out: ; mkdir fg; touch f; echo > b.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
            Step(edit="make -s clean"),
        ),
        files={
            "f": "\n",
        },
        before="""
        chmod 755 f
        touch -d 2020-01-01 f
        """,
    ),
    makefile(
        "again-folder-made",
        """
        all: a.out b.out
        clean: ; rm -rf *.out dist
        a.out: ; sleep 0.1; if [ -d dist ]; then echo again; else echo first; fi > a.out
        b.out: ; mkdir -p dist; cp f dist; echo > b.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
            Step(edit="make -s clean"),
        ),
        files={
            "f": "\n",
        },
    ),
    makefile(
        "again-folder-gone",
        """
        all: a.out b.out
        clean: ; rm -rf *.out; mkdir -p work fg; rmdir fg
        a.out: ; sleep 0.1; if [ -d work ]; then echo yes; else echo no; fi > a.out
        b.out: ; rm -rf work; mkdir fg; echo > b.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
            Step(edit="make -s clean"),
        ),
        before="mkdir -p work",
    ),
    makefile(
        "again-pattern",
        r"""
        all: a.out b.out
        clean:
            rm -rf *.out v?; mkdir -p v1 v2; touch v1/f v2/f; \
                touch -d 2020-01-01 v1/f v2/f v1 v2
        a.out: ; sleep 0.1; echo v*/f > a.out
        b.out: ; mv v2 v3; mv v3 v2; mkdir v4; echo > b.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
            Step(edit="make -s clean"),
        ),
        files={
            "v1/f": "",
            "v2/f": "",
        },
    ),
    makefile(
        "again-library-of-a-tool",
        """
        all: c.out
        clean: ; rm -rf *.out fg libv.so t
        libv.so: v.c ; gcc -DV=1 -shared -fPIC v.c -o libv.so
        t: libv.so ; gcc -o t mf.c libv.so -Wl,-rpath,$$PWD
        a.out: t ; sleep 0.1; ./t > a.out
        b.out: a.out ; mkdir fg; gcc -DV=2 -shared -fPIC v.c -o libv.so; ./t > b.out
        c.out: b.out ; cat a.out b.out > c.out
        """,
        steps=(
            Step(),
            Step(edit="make -s clean"),
            Step(edit="make -s clean"),
        ),
        files={
            "v.c": "int v(void){return V;}",
            "mf.c": text(
                r"""
                #include <stdio.h>
                int v(void);int main(void){return printf("%d\n",v())<0;}
                """
            ),
        },
        before="""
        mkdir -p o
        for i in 1 2
        do
            gcc -DV=$i -o o/t$i mf.c v.c
            gcc -DV=$i -shared -fPIC -o o/libv$i.so v.c
        done
        cp o/libv1.so libv.so
        gcc -o td mf.c libv.so -Wl,-rpath,$PWD
        cp o/t1 t
        touch -d 2020-01-01 t td libv.so
        rm libv.so t td
        """,
    ),
)
