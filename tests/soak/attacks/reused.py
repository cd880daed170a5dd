"""Results that are used again after an undo: what the script changes then must count.

A slow command fails, after smpmake has said that it is well, and what comes after it is done by
then.  All is undone, the script hears the truth, goes another way, and calls the same command.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, Step, makefile, script, text
from tests.soak.attacks.files import LATE

FILES = {
    "a.c": '#include "a.h"\nint f(void) { int u; return A; }\n',
    "inc/a.h": "#define A 1\n",
    "i2/a.h": "#define A 2\n",
    "m.c": '#include <stdio.h>\nint f(void);\nint main(void) { printf("%d\\n", f()); return 0; }\n',
    "bad.c": "int x = ;\n",
    "late": LATE,
}
BEFORE = """
mkdir o
find . -exec touch -h -d '1 hour ago' {} +
chmod +x late
"""
COMPILE = "gcc -Wall -Iinc -Ii2 -c a.c -o a.o"


def _reused(
    name: str,
    way: str,
    *,
    then: str = COMPILE,
    before: str = "",
    ignored: Sequence[str] = (),
    needs: Sequence[str] = (),
    admitted: str = "",
    differs: Sequence[str] = (),
) -> Case:
    """way: what the script does after the failure; then: what it does in any case."""
    return script(
        name,
        f"""
gcc -wrapper ./late -c bad.c -o b.o || {{
{text(way).strip()}
}}
{text(then).strip()}
pause
pause
ls -l a.o > /dev/null 2>&1
echo end
""",
        files=FILES,
        before=f"{text(before)}\n{BEFORE}",
        busy="",
        options=("-j2",),
        ignored=ignored,
        needs=needs,
        admitted=admitted,
        differs=differs,
    )


CASES: Sequence[Case] = (
    _reused(
        "reuse-umask",
        "umask 077",
    ),
    _reused(
        "reuse-cpath",
        "export CPATH=$PWD/i3",
        before="mkdir i3; echo '#define B' > i3/b.h;",
    ),
    _reused(
        "reuse-cpath2",
        "export C_INCLUDE_PATH=i2; unset X",
        then="gcc -Wall -c q.c -o a.o",
        before=r"printf '#include <a.h>\nint f(void){return A;}\n' > q.c; cp i2/a.h /dev/null;",
    ),
    _reused(
        "reuse-sed",
        "sed -i s/1/7/ inc/a.h",
    ),
    _reused(
        "reuse-touch",
        "touch inc/a.h",
    ),
    _reused(
        "reuse-rm",
        "rm inc/a.h",
    ),
    _reused(
        "reuse-newfile",
        "cp i2/a.h a.h",
    ),
    _reused(
        "reuse-mvdir",
        "mv inc inc.old; mv i2 inc",
    ),
    _reused(
        "reuse-lnfile",
        "ln -sf ../i2/a.h inc/a.h",
    ),
    _reused(
        "reuse-source",
        "echo 'int more;' >> a.c",
    ),
    _reused(
        "reuse-samebytes",
        "cp inc/a.h x; cp x inc/a.h",
    ),
    _reused(
        "reuse-cd",
        "mkdir k; cp -r a.c inc i2 k; echo '#define A 9' > k/inc/a.h; cd k",
    ),
    _reused(
        "reuse-locale",
        "export LC_ALL=de_DE.UTF-8 LANGUAGE=de",
    ),
    _reused(
        "reuse-exec2",
        "exec 2> log",
        admitted="Output in another order",
        differs=("^log$",),
    ),
    _reused(
        "reuse-exec-serial",
        "exec > log 2>&1",
        admitted="Output in another order",
        differs=("^log$",),
    ),
    _reused(
        "reuse-outexists",
        "echo old > a.o; chmod 600 a.o",
    ),
    _reused(
        "reuse-outlink",
        "echo old > tgt; ln -s tgt a.o",
    ),
    _reused(
        "reuse-outhard",
        "echo old > tgt; ln tgt a.o",
    ),
    _reused(
        "reuse-outdir",
        "mkdir a.o",
    ),
    _reused(
        "reuse-outdirlink",
        "rmdir o; mkdir oo; ln -s oo o",
        then="gcc -Wall -Iinc -c a.c -o o/a.o",
    ),
    _reused(
        "reuse-flags",
        "F=-DQ",
        then="gcc -Wall $F -Iinc -c a.c -o a.o",
    ),
    _reused(
        "reuse-sde",
        "export SOURCE_DATE_EPOCH=1000000",
        then="gcc -Wall -c d.c -o a.o",
        before="echo 'const char*d=__DATE__ __TIME__;' > d.c;",
    ),
    _reused(
        "reuse-tool",
        r"""
        mkdir b
        printf '#!/bin/sh\nexec /usr/bin/gcc -DZ -O2 "$@"\n' > b/gcc
        chmod +x b/gcc
        PATH=$PWD/b:$PATH
        """,
    ),
    _reused(
        "reuse-as-by-B",
        r"""
        mkdir b
        printf '#!/bin/sh\necho as called >&2\nexec /usr/bin/as "$@"\n' > b/as
        chmod +x b/as
        export COMPILER_PATH=$PWD/b
        """,
    ),
    _reused(
        "reuse-specs",
        """
        echo '*cc1_options:' > specs
        echo '+ -DSPEC' >> specs
        export GCC_EXEC_PREFIX=$PWD/x
        """,
    ),
    _reused(
        "reuse-tmpdir",
        "mkdir tt; export TMPDIR=$PWD/tt",
        then="""
        gcc -Wall -Iinc -c a.c -o a.o
        ls tt > l
        ls /tmp/cc*.s 2>/dev/null | wc -l > /dev/null
        """,
    ),
    _reused(
        "reuse-ulimit",
        "ulimit -f 1",
        then="gcc -g -Wall -Iinc -c a.c -o a.o; gcc -g3 -Wall -Iinc -c m.c -o mm.o",
    ),
    _reused(
        "reuse-group",
        "chgrp 1000 o; chmod 2775 o",
        then="gcc -Wall -Iinc -c a.c -o o/a.o",
        needs=("root",),
    ),
    _reused(
        "reuse-ar",
        "echo q > q.txt; ar rc l.a q.txt",
        then="gcc -Iinc -c a.c -o a.o; ar rc l.a a.o; ar t l.a > t",
    ),
    _reused(
        "reuse-ar2",
        "rm -f l.a",
        then="gcc -Iinc -c a.c -o a.o; ar rc l.a a.o; ar t l.a > t",
        before="echo q > q.txt; ar rc l.a q.txt;",
    ),
    _reused(
        "reuse-strip",
        "cp q.so s.so",
        then="strip s.so; wc -c s.so > t",
        before="gcc -g -shared -o s.so -Iinc a.c; gcc -g3 -O0 -shared -o q.so m.c;",
    ),
    _reused(
        "reuse-lib",
        "cp l2.a l.a",
        then="gcc -o p m.o l.a; ./p > t",
        before="""
        gcc -Iinc -c a.c
        ar rc l.a a.o
        gcc -Ii2 -c a.c
        ar rc l2.a a.o
        rm a.o
        gcc -c m.c
        """,
    ),
    _reused(
        "reuse-libdir",
        "mkdir lx; cp l2.a lx/libl.a",
        then="gcc -o p m.o -Llx -Lly -ll; ./p > t",
        before="""
        mkdir ly
        gcc -Iinc -c a.c
        ar rc ly/libl.a a.o
        gcc -Ii2 -c a.c
        ar rc l2.a a.o
        rm a.o
        gcc -c m.c
        """,
    ),
    _reused(
        "reuse-linkscript",
        "echo 'INPUT(l2.a)' > ly/libl.so",
        then="gcc -o p m.o -Lly -ll; ./p > t",
        before="""
        mkdir ly
        gcc -Iinc -c a.c
        ar rc ly/libl.a a.o
        gcc -Ii2 -c a.c
        ar rc l2.a a.o
        rm a.o
        gcc -c m.c
        """,
    ),
    _reused(
        "reuse-incbin",
        "echo bbb > fw.bin",
        then="gcc -c blob.S -o a.o",
        before="""echo aaa > fw.bin; echo '.incbin "fw.bin"' > blob.S;""",
    ),
    _reused(
        "reuse-pch",
        "echo '#define A 5' > pp.h; gcc pp.h; echo '#define A 6' > pp.h",
        then="gcc -include pp.h -c pq.c -o a.o",
        before="echo '#define A 4' > pp.h; echo 'int z=A;' > pq.c;",
        ignored=("gch",),
    ),
    _reused(
        "reuse-gcda",
        "rm -f *.gcda",
        then="gcc -O2 -fprofile-use -Wno-missing-profile -c g.c -o a.o",
        before="""
        cat > g.c <<'E'
        int main(void) {
            int s = 0;
            for (int i = 0; i < 1000; i++)
                if (i % 7 == 3) s += i; else s ^= i;
            return s == 1;
        }
        E
        gcc -O2 -fprofile-generate -c g.c -o a.o
        gcc -fprofile-generate -o g a.o
        ./g
        rm -f a.o
        ls *.gcda
        """,
    ),
    _reused(
        "reuse-timestamp",
        "touch -d '2001-01-01' a2.c",
        then="gcc -c a2.c -o a.o",
        before="echo 'const char*t=__TIMESTAMP__;' > a2.c; touch -d '2010-01-01' a2.c;",
    ),
    _reused(
        "reuse-hasinc",
        "touch x.dat",
        then="gcc -c h.c -o a.o",
        before=r"""
        printf '#if __has_include("x.dat")\nint yes;\n#else\nint no;\n#endif\n' > h.c
        """,
    ),
    _reused(
        "reuse-objcopy",
        "echo 2 > sec.txt",
        then="objcopy --add-section .q=sec.txt m.o a.o",
        before="gcc -c m.c; echo 1 > sec.txt;",
    ),
    _reused(
        "reuse-cp",
        "chmod 600 m.o; touch -d 2001-01-01 m.o",
        then="""
        gcc -Iinc -c a.c -o a.o
        cp -p m.o mm.o
        cp m.o m3.o
        install m.o m4.o
        ln -f m.o m5.o
        """,
        before="gcc -c m.c;",
    ),
    script(
        "reuse-all",
        """
        set -e
        gcc --coverage -save-temps=obj -fstack-usage -MD -Iinc -c a.c -o o/a.o
        gcc -g -gsplit-dwarf -c m.c -o o/m.o -Wa,-al=o/m.lst
        sleep 0.1
        ar rcU o/l.a o/a.o o/m.o
        cp -p o/m.o o/m2.o
        touch -d 2001-02-03 o/m2.o
        gcc -o o/p o/m.o o/a.o --coverage -Wl,-Map=o/map
        cp o/p o/q
        strip o/q
        objcopy --only-keep-debug o/p o/p.dbg
        objcopy --add-gnu-debuglink=o/p.dbg o/q
        ld -r -o o/r.o o/m.o o/a.o
        install -m 700 o/p o/inst
        ln -sf p o/sl
        ln -f o/p o/hl
        mv o/r.o o/rr.o
        echo text > o/t
        o/p > o/out
        chmod 711 o/q
        gcc -shared -fPIC -o o/s.so -Iinc a.c
        ln -sf s.so o/s.so.1
        gcc -wrapper ./late -c bad.c -o b.o
        gcc -Ii2 -c a.c -o o/a.o
        rm -rf o/l.a o/q
        echo later >> o/t
        ln -f o/t o/hl
        ./o/p > o/out
        ar r o/l.a m.c
        """,
        busy="",
        options=("-j2",),
        files=FILES,
        before=BEFORE,
        ignored=(r"gcda",),
    ),
    makefile(
        "reuse-make",
        """
        all: o/p o/x
        o/%.o: %.c ; gcc --coverage -MMD -Iinc -c $< -o $@
        o/l.a: o/a.o ; ar rcU $@ o/a.o
        o/p: o/m.o o/l.a ; gcc --coverage -o $@ o/m.o o/l.a
            cp $@ $@.full; strip $@
            touch o/.stamp; echo built >> log
        o/x: bad.c ; gcc -wrapper ./late -c bad.c -o b.o
            echo x > o/x
        """,
        steps=(
            Step(),
            Step(("make", "-k")),
            Step(
                edit="""
                sed -i 's/exit 1/exec "$@"/' late
                echo 'int good;' > bad.c
                """
            ),
        ),
        files=FILES,
        before=BEFORE,
    ),
)
