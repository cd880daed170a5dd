"""Options that name outputs in unusual ways."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script
from tests.soak.attacks.files import CALLING, PRINTING, SMALL

CASES: Sequence[Case] = (
    script(
        "dependencies-into-a-descriptor",
        """
        gcc -MD -MF /dev/fd/3 -c a.c -o a.o 3> a.d
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "map-named-in-a-response-file",
        """
        gcc -c m.c -o m.o
        echo '-Map=p.map' > o.rsp
        gcc -o p m.o -Wl,@o.rsp
        head -c 40 p.map > copy
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "plugin-missing",
        """
        gcc -c m.c -o m.o -fplugin=./nope.so || echo no > no
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "assembler-by-B-logs",
        """
        gcc -Bb/ -c a.c -o a.o
        cp as.log as2.log
        """,
        files=CALLING,
        before=r"""
        mkdir -p b
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        printf '#!/bin/sh\necho as >> %s/as.log\nexec /usr/bin/as "$@"\n' $PWD > b/as
        chmod +x b/as
        """,
        admitted="Compilers that are scripts",
        differs=("output", "status", r"^as2?\.log$"),
    ),
    script(
        "save-temps",
        """
        gcc -save-temps=obj -c a.c -o a.o
        cat a.i > b.i
        cat a.s > b.s
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "coverage-notes",
        """
        gcc --coverage -c a.c -o sub.o
        cp sub.gcno b.gcno
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "coverage-notes-of-a-link",
        """
        gcc --coverage a.c m.c -o p
        ls *.gcno > l
        ./p
        ls *.gcda >> l
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "coverage-folder",
        """
        mkdir o
        gcc --coverage -fprofile-dir=o -c a.c -o o/a.o
        ls o > l
        cat o/a.gcno > c
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "split-debug-dumpdir",
        """
        gcc -dumpdir x- -c -g -gsplit-dwarf a.c -o a.o
        ls > l
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "listing-by-the-assembler",
        """
        gcc -c m.c -o m.o -Wa,-ahl=m.lst
        head -1 m.lst > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "map-named-in-a-response-file-by-xlinker",
        """
        gcc -c m.c -o m.o
        echo '-Map=p.map' > o.rsp
        gcc -o p m.o -Xlinker @o.rsp
        head -c 40 p.map > copy
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "listing-named-in-a-response-file",
        """
        echo '-ahl=m.lst' > o.rsp
        gcc -c m.c -o m.o -Wa,@o.rsp
        head -1 m.lst > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "dumps-of-the-compiler",
        """
        gcc -c m.c -o m.o -fdump-tree-optimized
        ls m.c.* > r
        gcc -c m.c -o m.o -fstack-usage
        cat m.su > r2
        gcc -c m.c -o m.o -fopt-info-all=oi
        wc -l < oi > r3
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "output-into-dev-stdout",
        """
        gcc -E a.c -o /dev/stdout > r
        gcc -S a.c -o - > r2
        gcc -c a.c -o /proc/self/fd/4 4> r4.o
        wc -c < r4.o > r5
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "output-into-a-descriptor",
        """
        gcc -S a.c -o /dev/fd/4 4> r4.s
        wc -c < r4.s > r5
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "gcc-long-options-for-outputs",
        """
        gcc --compile --output=x.o a.c
        wc -c < x.o > r1
        gcc --compile --output y.o a.c
        wc -c < y.o > r2
        gcc --assemble a.c --output=z.s
        wc -l < z.s > r3
        gcc --preprocess a.c --output=z.i
        wc -l < z.i >r4
        """,
        files={
            **SMALL,
            "x.o": "old\n",
            "y.o": "old\n",
            "z.s": "old\n",
        },
    ),
    script(
        "gcc-long-options-for-dependencies",
        """
        gcc -c a.c -o a.o --write-dependencies --output=b.o
        ls > l
        gcc --write-user-dependencies -c a.c -o c.o
        cat c.d > r
        """,
        files=SMALL,
    ),
    script(
        "ld-long-options-for-outputs",
        """
        gcc -c m.c -o m.o
        ld -r --output=x.o m.o
        wc -c < x.o > r1
        ld -r --output y.o m.o
        wc -c < y.o > r2
        ld -r -output=zz.o m.o
        wc -c < zz.o > r3
        ld -r m.o -oq.o
        wc -c < q.o > r4
        ld -r --outp=u.o m.o
        wc -c < u.o > r5
        """,
        files=SMALL,
        before="for i in x y zz q u; do echo old > $i.o; done",
    ),
    script(
        "ld-maps",
        """
        gcc -c m.c -o m.o
        ld -r -o x.o m.o -Map m1
        wc -l < m1 > r1
        ld -r -o x.o m.o -Map=m2
        wc -l < m2 > r2
        ld -r -o x.o m.o --Map m3
        wc -l <m3 > r3
        ld -r -o x.o m.o --dependency-file=m4
        cat m4 > r4
        gcc -o p m.o -Wl,--dependency-file=m5
        cat m5 > r5
        gcc -o p m.o -Xlinker -Map -Xlinker m6
        wc -l < m6 > r6
        gcc -o p m.o -Wl,-Map -Wl,m7
        wc -l < m7 > r7
        """,
        files=SMALL,
        before="for i in 1 2 3 4 5 6 7; do echo old > m$i; done",
    ),
    script(
        "as-outputs",
        """
        gcc -S m.c
        as m.s -om1.o
        wc -c < m1.o > r1
        as m.s -o m2.o --MD m2.d
        cat m2.d > r2
        as m.s -o m3.o -al=m3.l
        wc -l < m3.l > r3
        as m.s -o m4.o -aln=m4.l
        wc -l < m4.l > r4
        gcc -c m.c -o m5.o -Xassembler -al=m5.l
        wc -l < m5.l > r5
        as --MD=m6.d m.s -o m6.o
        cat m6.d > r6
        gcc -c m.c -o m7.o -Wa,-al=m7.l
        wc -l <m7.l >r7
        """,
        files=SMALL,
        before="for i in 1 2 3 4 5 6 7; do echo old > m$i.l; echo old > m$i.d; done",
    ),
    script(
        "binutils-outputs",
        """
        gcc -g -c m.c -o m.o
        gcc -g -o p m.c
        objcopy --dump-section .text=t.bin p /dev/null
        wc -c < t.bin > r1
        objcopy --dump-section .text=t2.bin m.o
        wc -c < t2.bin > r2
        strip --output-file=s1 p
        wc -c < s1 > r3
        strip --output-file s2 p
        strip -os3 p
        wc -c < s2 > r4
        wc -c < s3 > r5
        objcopy --only-keep-debug p p.dbg
        strip p
        objcopy --add-gnu-debuglink=p.dbg p
        readelf -p .gnu_debuglink p > r6
        objcopy --extract-symbol p p.sym
        wc -c < p.sym > r7
        strip --strip-all --outp=s4 p
        wc -c < s4 > r8
        objcopy --split-dwo=m.dwo m.o
        ls > r9
        """,
        files=SMALL,
        before="for i in t.bin t2.bin s1 s2 s3 s4 p.dbg p.sym m.dwo; do echo old > $i; done",
    ),
    script(
        "ar-forms",
        """
        gcc -c m.c -o m.o
        gcc -c a.c -o a.o
        cp a.o b.o
        cp a.o c.o
        ar rc l.a m.o
        ar rb m.o l.a a.o
        ar -ra m.o l.a b.o
        ar t l.a > r1
        mkdir x
        cd x
        ar x ../l.a
        ls > ../r2
        cd ..
        mkdir y
        ar x --output=y l.a
        ls y > r3
        ar p l.a a.o > pa.o
        wc -c < pa.o > r4
        ar d l.a a.o
        ar m l.a m.o
        ar t l.a > r5
        ar q l.a c.o
        ar rcsT thin.a m.o a.o
        ar t thin.a > r6
        ar --thin -rc thin2.a m.o
        ar rcN 1 l2.a m.o 2>/dev/null
        ar -rcs -- l3.a m.o
        ar t l3.a > r7
        rm -f m.o
        ar x l.a m.o
        wc -c < m.o > r8
        """,
        files=SMALL,
    ),
    script(
        "dependencies-by-variables",
        """
        export DEPENDENCIES_OUTPUT='deps.mk all'
        gcc -c a.c -o a.o
        gcc -c m.c -o m.o
        cat deps.mk > r
        export SUNPRO_DEPENDENCIES=sun.mk
        unset DEPENDENCIES_OUTPUT
        gcc -c a.c -o a.o
        gcc -c m.c -o m.o
        cat sun.mk > r2
        ls > r3
        """,
        options=("-j2",),
        files=PRINTING,
    ),
    script(
        "dependency-options",
        """
        gcc -Wp,-MD,a1.d -c a.c -o a1.o
        cat a1.d > r1
        gcc -Wp,-MMD,a2.d,-MT,zz -c a.c -o a2.o
        cat a2.d > r2
        gcc -Xpreprocessor -MD -Xpreprocessor a3.d -c a.c -o a3.o
        cat a3.d > r3
        gcc -MD -MFa4.d -c a.c -oa4.o
        cat a4.d > r4
        gcc -c a.c -o a5.o -aux-info a5.aux
        cat a5.aux > r5
        gcc -c a.c -o a6.o -fcallgraph-info -fstack-usage
        cat a6.ci a6.su > r6
        gcc -c a.c -o a7.o -fsave-optimization-record
        ls a* > r7
        gcc -c a.c -o a8.o -dumpbase qq -dumpdir dd- -save-temps
        ls > r8
        gcc -c a.c -o a9.o -fdump-final-insns=a9.fin
        cat a9.fin > r9
        gcc -O1 -c a.c -o a10.o -fdump-tree-all=one.dump
        cat one.dump | head -3 > r10
        gcc -O1 -c a.c -o a11.o -fdump-rtl-expand-slim=stdout > r11
        gcc -c a.c -o a12.o -fcompare-debug -gdwarf
        ls > r12
        """,
        files=PRINTING,
        before="""
        for i in 1 2 3 4; do echo old > a$i.d; done
        echo old > a5.aux
        """,
        ignored=(
            r"\.gz$",
            r"^r9",
            r"a9.fin",
        ),
    ),
    script(
        "backups-by-variables",
        """
        gcc -c a.c -o a.o
        export VERSION_CONTROL=numbered SIMPLE_BACKUP_SUFFIX=.sav
        cp -b a.o z.o
        install -b -m 644 a.o z.o
        mv -b z.o y.o
        ln -b a.o y.o
        ls > r
        mv -u a.o y.o
        mv -n m.c y.o
        touch -c nonexist
        touch -t 200101010000 y.o
        touch -a y.o
        ls -l --time-style=+%Y y.o | cut -d' ' -f6 > r2
        """,
        options=("-j2",),
        files={
            **PRINTING,
            "z.o": "old\n",
            "y.o": "older\n",
        },
        before="touch -d '1 hour ago' a.c a.h m.c y.o z.o",
    ),
)
