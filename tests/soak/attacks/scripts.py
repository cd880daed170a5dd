"""What scripts do with objects and with themselves."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import SCRIPT, Case, Step, makefile, script, text
from tests.soak.attacks.files import BAD, CALLING, LATE, PRINTING

CASES: Sequence[Case] = (
    script(
        "dash-tests-an-object",
        """
        dash -c 'gcc -c a.c -o a.o && test -s a.o && echo y > r; for f in *.o; do echo $f; done > l'
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "compiles-in-pipes",
        """
        set -o pipefail
        gcc -c a.c -o a.o 2>&1 | cat
        gcc -c m.c -o m.o | tee log
        cat a.o m.o | sha1sum > s
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "compiles-in-subshells",
        """
        (gcc -c a.c -o a.o; cp a.o b.o)
        { gcc -c m.c -o m.o; }
        x=$(gcc -c m.c -o m2.o && wc -c < m2.o)
        echo $x > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "objects-removed-renamed-and-linked",
        """
        gcc -c a.c -o a.o
        rm -f a.o
        gcc -c m.c -o a.o
        rm -f a.o
        test -e a.o && echo y > y
        gcc -c m.c -o x.o
        mv x.o y.o
        mv y.o z.o
        cp z.o w.o
        ln w.o v.o
        ln -s v.o u.o
        strip u.o
        rm z.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "umasks",
        """
        umask 077
        gcc -c a.c -o a.o
        umask 0
        gcc m.c -o p
        install -m 4711 p q
        cp -p a.o b.o
        stat -c '%a %n' * > st
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "sources-and-options-from-here-documents",
        """
        cat > g.c <<'X'
        int g=1;
        X
        gcc -c g.c -o g1.o
        cat > g.c <<'X'
        int g=2;
        X
        gcc -c g.c -o g2.o
        cat > rs <<'X'
        -DV=3 -c v.c -o v3.o
        X
        gcc @rs
        echo '-DV=4 -c v.c -o v4.o' > rs
        gcc @rs
        echo '@rs' > rs2
        gcc @rs2
        rm rs rs2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    makefile(
        "many-files",
        """
        N=$(shell seq 1 150)
        all: l.a
        %.o: %.s ; @as $< -o $@
        l.a: $(N:%=d/f%.o) ; @ar rcs $@ $^
        clean: ; rm -f d/*.o l.a
        """,
        steps=(
            Step(),
            Step(edit="rm -f d/f1*.o"),
        ),
        before="""
        mkdir -p d
        for i in $(seq 1 150); do echo ".globl q$i; q$i: nop" > d/f$i.s; done
        """,
        seconds=300.0,
    ),
    script(
        "files-10k",
        """
        for i in $(seq 1 2000); do : > d/x$i; done
        for i in $(seq 1 2000); do echo $i > d/y$i; done
        gcc -c m.c -o d/m.o
        ls d | wc -l > n
        rm -f d/x*
        gcc -c bad.c -o b.o || echo bad > st
        ls d | md5sum > n2
        tar cf t.tar --mtime=@0 d
        rm d/y*
        """,
        files=PRINTING,
        before="mkdir -p d",
        ignored=(r"t.tar",),
        seconds=200.0,
    ),
    script(
        "large-outputs",
        """
        gcc -c m.c -o m.o
        ld -r -b binary -o huge.o hole
        stat -c %s huge.o > r
        objcopy -O binary huge.o huge.bin
        stat -c %s huge.bin >> r
        cp --sparse=always huge.bin h2
        cmp -n 5000 huge.bin h2 && echo same >> r
        rm huge.o huge.bin
        gcc -c bad.c || echo b > b
        """,
        files=PRINTING,
        before="""
        truncate -s 150M hole
        echo end >> hole
        """,
    ),
    Case(
        "script-appends-to-itself",
        steps=(Step(SCRIPT),),
        files={
            **PRINTING,
            "build.sh": text(
                """
                gcc -c a.c -o a.o
                cat >> build.sh <<'X'
                gcc -c m.c -o m.o
                echo appended > app
                X
                gcc -c bad.c -o bad.o || echo no > no
                """
            ),
        },
        options=("-j2",),
    ),
    script(
        "objects-changed-and-looked-at",
        """
        gcc -c a.c -o a.o
        du -b a.o > r1
        df --output=target a.o > r2
        gcc -c a.c -o b.o
        truncate -s +10 b.o
        gcc -c a.c -o c.o
        dd if=/dev/null of=c.o seek=20 bs=1 count=0 conv=notrunc status=none
        gcc -c a.c -o d.o
        printf x | dd of=d.o conv=notrunc oflag=append status=none
        gcc -c a.c -o e.o
        mv e.o sub/
        gcc -c a.c -o f.o
        ln f.o f2.o
        gcc -c a.c -o g.o
        tee g.o < a.c > /dev/null
        gcc -c a.c -o h.o
        sed -i s/GCC/XXX/ h.o
        gcc -c a.c -o i.o
        perl -pi -e s/GCC/YYY/ i.o
        gcc -c a.c -o j.o
        python3 -c '
        import os
        os.setxattr("j.o","user.k",b"1")
        print(os.getxattr("j.o","user.k"))
        ' > r3
        gcc -c a.c -o k.o
        chmod 600 k.o
        gcc -c a.c -o l.o
        touch -d 2001-01-01 l.o
        gcc -c a.c -o n.o
        chown 5:6 n.o
        gcc -c a.c -o o.o
        install -D -m 600 o.o dd/ee/o.o
        find . -newer a.c -name '*.o' | sort > r4
        find . -size +1k -name '*.o' -exec md5sum {} + | sort > r5
        od -c a.o | head -1 > r6
        sum=$(md5sum < f2.o)
        echo $sum > r7
        shuf -n1 -e a > r8
        mapfile -t X < f.o 2>/dev/null
        echo ${#X[@]} > r9
        [[ -s a.o ]] && echo s > r10
        test a.o -ef a.o && echo ef > r11
        stat -c '%s %a %h' f.o > r12
        file -b a.o | cut -c1-10 > r13
        cpio -o < <(echo a.o) 2>/dev/null | wc -c > r14
        sort -o srt a.o
        split -b 400 a.o sp.
        csplit -s a.c 1
        nl a.o | wc -l > r15
        """,
        files=PRINTING,
        before="""
        mkdir -p sub
        touch -d '1 hour ago' a.c
        """,
        ignored=(r"r5",),
        needs=("root",),
    ),
    Case(
        "two-builds-one-output-folder",
        steps=(
            Step("""
                (cd A; SMPMAKE bash ./build.sh) > la 2>&1 &
                p=$!
                (cd B; SMPMAKE bash ./build.sh) > lb 2>&1
                echo B $?
                wait $p
                echo A $?
                """),
        ),
        files={
            "A/bad.c": BAD,
            "A/late": LATE,
            "A/build.sh": text(
                """
                set -e
                mkdir -p ../out
                echo A begins > ../out/log
                gcc -wrapper ./late -c bad.c -o bad.o
                mkdir -p ../out/sub
                echo a > ../out/a
                echo A goes on >> ../out/log
                echo a > ../out/sub/a
                touch ../going
                pause
                pause
                """
            ),
            "B/b.c": "int b;\n",
            "B/build.sh": text(
                """
                set -e
                pause
                mkdir -p ../out/sub
                echo B begins > ../out/log.b
                gcc -c b.c -o ../out/b.o
                echo b > ../out/b
                echo b > ../out/sub/b
                ls ../out > /dev/null
                pause
                pause
                pause
                echo B ends >> ../out/log.b
                echo b > ../out/b2
                """
            ),
        },
        before="chmod +x A/late",
        ignored=(r"^la$", r"^lb$"),
    ),
    script(
        "own-folder-renamed",
        """
        mkdir w
        cd w
        cat /dev/null
        read x < ../a.h
        mv ../w ../w2
        gcc -c ../a.c -o a.o
        while read -r l; do echo got; break; done < a.o > ../r
        [ -s a.o ] && echo s >> ../r
        mv ../w2 ../w3
        gcc -c ../m.c -o m.o
        wc -c < m.o >> ../r
        """,
        files=PRINTING,
    ),
    script(
        "own-folder-renamed-under-python",
        """
        mkdir w
        cd w
        python3 - <<'P'
        import os,subprocess
        open('z','w').close(); os.stat('z')
        subprocess.run(['mv','../w','../w2'])
        subprocess.run(['gcc','-c','../a.c','-o','a.o'])
        print(os.path.getsize('a.o'),len(open('a.o','rb').read()),file=open('../r','w'))
        os.rename('a.o','b.o')
        subprocess.run(['gcc','-c','../m.c','-o','m.o'])
        os.rename('../w2','../w4'); print(os.path.exists('m.o'),file=open('../r2','w'))
        P
        """,
        files=PRINTING,
    ),
)
