"""Signals, daemons, background commands, limits."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, SCRIPT, Case, Step, makefile, script, text
from tests.soak.attacks.files import CALLING, PRINTING

#: A server that tells the size of a file, and its client.
SERVER = {
    "srv.py": text(
        """
        import os
        import socket
        import sys

        if sys.argv[1] == "u":
            s = socket.socket(socket.AF_UNIX)
            s.bind("srv.sock")
            port = "u"
        else:
            s = socket.create_server(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
        s.listen()
        open("port.new", "w").write(port)
        os.rename("port.new", "port")
        s.settimeout(60)
        while True:
            c, _ = s.accept()
            n = c.recv(100).decode().strip()
            if n == "quit":
                break
            try:
                c.send(str(os.stat(n).st_size).encode())
            except OSError as e:
                c.send(str(e).encode())
            c.close()
        """
    ),
    "cli.py": text(
        """
        import socket
        import sys

        p = open("port").read()
        s = socket.socket(socket.AF_UNIX if p == "u" else socket.AF_INET)
        s.connect("srv.sock" if p == "u" else ("127.0.0.1", int(p)))
        s.send(sys.argv[1].encode())
        print(s.recv(100).decode())
        """
    ),
}

CASES: Sequence[Case] = (
    script(
        "compiles-without-an-environment",
        """
        env -i /usr/bin/gcc -c a.c -o a.o
        env -i /bin/cat a.o > b.o
        env -i PATH=/usr/bin sh -c 'gcc -c m.c -o m.o; wc -c < m.o > s'
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "compiles-in-the-background-of-all-kinds",
        r"""
        for i in 1 2 3 4 5 6; do gcc -DV=$i -c v.c -o v$i.o & done
        wait
        cat v*.o | sha1sum > s
        ls | xargs -P4 -n1 -I{} sh -c 'echo {} > /dev/null'
        printf '%s\n' 7 8 9 | xargs -P3 -I{} gcc -DV={} -c v.c -o v{}.o
        sha1sum v7.o v8.o v9.o > s2
        (setsid nohup sh -c 'gcc -c m.c -o m.o; cat m.o > m2.o' >/dev/null 2>&1 &)
        sleep 0.5
        flock lk gcc -c a.c -o a.o
        timeout 5 cat a.o > a2.o
        sleep 0.5
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        ordered=False,
    ),
    script(
        "daemon-compiles-later",
        """
        setsid sh -c 'sleep 0.3; gcc -c a.c -o late.o; cat late.o > late2.o' >/dev/null 2>&1 &
        gcc -c m.c -o m.o
        """,
        busy="",
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        settle=1.0,
    ),
    script(
        "script-reads-its-input",
        """
        read x
        echo "$x" > f
        cat > g
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "readers-without-our-variables",
        """
        gcc -c a.c -o a.o
        env -u LD_PRELOAD -u SMPMAKE_SOCKET cat a.o > b.o
        LD_PRELOAD= cat a.o | wc -c > s
        python3 -c 'import os;os.environ.clear();os.execv("/bin/cp",["cp","a.o","c.o"])'
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    makefile(
        "kill-ppid",
        """
        all: a.o b
        a.o: a.c ; gcc -c a.c -o a.o
        b: ; kill -TERM $$PPID; sleep 0.3; echo b > b
        """,
        files=PRINTING,
        after=NOTHING,
    ),
    makefile(
        "kill-ppid-int",
        """
        all: a.o b
        a.o: a.c ; gcc -c a.c -o a.o
        b: ; echo half > b; kill -INT $$PPID; sleep 0.3; echo b > b
        """,
        files=PRINTING,
        after=NOTHING,
    ),
    script(
        "kill-zero",
        """
        gcc -c a.c -o a.o
        trap '' TERM
        kill -TERM 0
        trap - TERM
        gcc -c m.c -o m.o
        echo on > on
        """,
        options=("-j2",),
        steps=(Step("setsid -w bash -c 'SMPMAKE bash ./build.sh'"),),
        files=PRINTING,
    ),
    script(
        "compiles-in-the-background",
        """
        gcc -c a.c -o a.o &
        p1=$!
        gcc -c bad.c -o b.o &
        p2=$!
        gcc -c m.c -o m.o &
        p3=$!
        wait $p1
        echo a $? >> log
        wait $p2
        echo b $? >> log
        wait $p3
        echo m $? >> log
        wait -n
        jobs
        gcc -o p a.o m.o && ./p >> log
        """,
        options=("-j2",),
        files=PRINTING,
        ordered=False,
    ),
    makefile(
        "daemon-holds-the-output",
        """
        all: a.o pid
        a.o: a.c ; gcc -c a.c -o a.o
        pid: ; (setsid sleep 20 & echo started) ; touch pid
        """,
        files=PRINTING,
    ),
    script(
        "coproc",
        """
        coproc { while read l
        do gcc -c $l.c -o $l.o
        echo $?
        done
        }
        echo a >&${COPROC[1]}
        read r <&${COPROC[0]}
        echo $r > r1
        echo bad >&${COPROC[1]}
        read r <&${COPROC[0]}
        echo $r > r2
        wc -c < a.o > r3
        exec {COPROC[1]}>&-
        wait
        """,
        options=("-j2",),
        files=PRINTING,
    ),
    script(
        "pipeline-while",
        r"""
        set -o pipefail
        printf 'a\nm\nbad\n' | while read f; do gcc -c $f.c -o $f.o; done | tee log
        echo ${PIPESTATUS[@]} > r
        find . -name '[am].c' | sort | xargs -P2 -I{} gcc -c {} -o {}.o
        ls > l
        find . -name '[am].c' -exec gcc -c {} -o {}.x \;
        find . -name '*.x' -exec wc -c {} + | tail -1 > r3
        paste <(nm a.o) <(nm m.o) > r4
        cat <(gcc -c a.c -o /dev/stdout | wc -c) > r5 || true
        """,
        options=("-j2",),
        files=PRINTING,
    ),
    Case(
        "stdin-script",
        steps=(
            Step("SMPMAKE bash < build.sh"),
            Step("cat build.sh | SMPMAKE bash", edit="rm -f *.o"),
            Step("SMPMAKE bash -s arg < build.sh", edit="rm -f *.o"),
        ),
        files={
            **PRINTING,
            "build.sh": text(
                """
                gcc -c a.c -o a.o
                gcc -c bad.c -o b.o || echo told > told
                gcc -c m.c -o m.o
                cat a.o m.o > both
                read x
                literal line
                echo $x > x
                """
            ),
        },
        options=("-j1",),
    ),
    script(
        "server-on-a-unix-socket",
        """
        gcc -c a.c -o a.o
        python3 cli.py a.o > r
        python3 cli.py quit >/dev/null
        """,
        steps=(
            Step(
                SCRIPT,
                edit="""
                (setsid python3 srv.py u >/dev/null 2>&1 &)
                while [ ! -f port ]; do sleep 0.05; done
                """,
            ),
        ),
        files={
            **PRINTING,
            **SERVER,
        },
        ignored=(r"^port$",),
    ),
    script(
        "server-on-a-port",
        """
        gcc -c a.c -o a.o
        python3 cli.py a.o > r
        python3 cli.py quit >/dev/null
        """,
        steps=(
            Step(
                SCRIPT,
                edit="""
                (setsid python3 srv.py i >/dev/null 2>&1 &)
                while [ ! -f port ]; do sleep 0.05; done
                """,
            ),
        ),
        files={
            **PRINTING,
            **SERVER,
        },
        ignored=(r"^port$",),
    ),
    script(
        "daemon-behind-fifos",
        """
        gcc -c a.c -o a.o
        echo a.o > req
        read x < rep
        echo $x > r
        """,
        steps=(
            Step(
                SCRIPT,
                edit="""
                mkfifo req rep
                (setsid sh -c 'read n < req; (wc -c < $n || echo none) > rep' > /dev/null 2>&1 &)
                """,
            ),
        ),
        files=PRINTING,
    ),
    script(
        "stdin-compile",
        """
        gcc -x c -c - -o a.o < q.c
        echo 'int other;' > q.c
        gcc -x c -c -o b.o - <<E
        int heredoc;
        E
        echo 'int p;' | gcc -xc -c -o c.o -
        gcc -E - < q.c > e.i
        gcc -x c - -o pp <<< 'int main(void){return 3;}'
        ./pp
        echo $? > r
        cat q.c | as -o z.o - 2>/dev/null
        printf 'VERSION' | ld -r -o y.o a.o b.o
        ar rc l.a a.o b.o
        ar -M <<E
        create k.a
        addmod a.o
        addlib l.a
        save
        end
        E
        ar t k.a > r2
        """,
        files={
            **PRINTING,
            "q.c": "int q;\n",
        },
    ),
    script(
        "python-captures-compiles",
        """
        python3 drv.py > log 2>&1
        python3 drv.py q >> log 2>&1
        """,
        busy="",
        options=("-j2",),
        steps=(
            Step(("python3", "drv.py")),
            Step(("python3", "drv.py")),
            Step(("python3", "drv.py"), edit="echo '#define A ({int unused;1;})' > a.h"),
            Step(("python3", "drv.py"), edit="echo '#define A (' > a.h"),
            Step(("python3", "drv.py"), edit="echo '#define A 1' > a.h"),
            Step(("python3", "drv.py"), edit="rm -f *.failed"),
            Step(("python3", "drv.py"), edit="echo '#warning hi' >> a.h"),
        ),
        files={
            **PRINTING,
            "drv.py": text(
                """
                import subprocess,sys
                for s in "a","m","w":
                    argv=["gcc","-Wall","-c",s+".c","-o",s+".o"]
                    pipes=dict(stdout=subprocess.PIPE,stderr=subprocess.STDOUT)
                    p=subprocess.run(argv,text=True,**pipes)
                    print(s,p.returncode,p.stdout,flush=True)
                    if p.returncode: open(s+".failed","w").write("x")
                p=subprocess.run(["gcc","-o","p","a.o","m.o"],capture_output=True,text=True)
                print(p.returncode,p.stderr,flush=True)
                """
            ),
            "w.c": '#include "a.h"\nint w(void){return A;}',
        },
        admitted="Captured output, configure and scripts",
        differs=("output",),
    ),
    script(
        "compiler-script-takes-a-lock",
        """
        export PATH=$PWD/b:$PATH
        sleeper -o c.h 2
        gcc -E -P -include c.h x.c -o gen.inc
        gcc -c a2.c -o a2.o
        """,
        busy="",
        options=("-j3",),
        files=PRINTING,
        before=r"""
        mkdir -p b lk
        printf '#!/bin/sh\nexec flock %s /usr/bin/gcc "$@"\n' $PWD/lk > b/gcc
        chmod +x b/gcc
        echo 'int g;' > x.c
        echo 'int slept;' > c.h
        printf '#include "gen.inc"\nint h;' > a2.c
        printf '#!/bin/sh\nsleep $3; echo "int slept;" > $2\n' > b/sleeper
        chmod +x b/sleeper
        """,
    ),
    script(
        "compile-killed-in-the-background",
        """
        sleeper -o x 1 &
        p=$!
        sleep 0.3
        kill $p
        wait $p
        echo $? > st
        sleep 1
        ls
        """,
        busy="",
        options=("-j2",),
        files=PRINTING,
    ),
    script(
        "compiles-with-limits",
        """
        prlimit --fsize=100 gcc -c a.c -o a.o || echo small > r1
        (ulimit -t 1; sleeper -o x 1; gcc -c a.c -o a2.o) || echo t > r2
        prlimit --nofile=5 gcc -c a.c -o a3.o 2>/dev/null || echo nf > r3
        (ulimit -v 20000; gcc -c a.c -o a4.o 2>/dev/null || echo mem > r4)
        """,
        busy="",
        options=("-j2",),
        files=PRINTING,
    ),
)
