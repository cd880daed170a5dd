"""Folders that come, go, move or are linked elsewhere around pending commands."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script, text
from tests.soak.attacks.files import CALLING, SLOW

SEARCHED = {
    "a.c": "int f(void){return 1;}\n",
    "m.c": "int main(void){return 0;}",
    "inc/a.h": "#define A 1\n",
    "b.c": "#include <a.h>\nint b=A;",
}

CASES: Sequence[Case] = (
    script(
        "folder-of-a-compile-removed",
        """
        R=$PWD
        mkdir w
        cd w
        gcc -c $R/a.c -o $R/a.o
        cd ..
        rmdir w
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "folder-of-a-compile-moved",
        """
        R=$PWD
        mkdir w
        cd w
        gcc -c $R/a.c -o $R/a.o
        cd ..
        mv w w2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "tmpdir-of-long-compiles-removed",
        """
        T=$PWD/tt
        mkdir tt
        export TMPDIR=$T
        for i in 1 2 3; do gcc -O2 -c slow.c -o s$i.o; done
        rm -rf tt
        """,
        busy="",
        options=("-j2",),
        files={
            **CALLING,
            "slow.c": SLOW,
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        seconds=200.0,
    ),
    script(
        "include-folder-moved",
        """
        gcc -Iinc -c a.c -o a1.o
        mv inc inc.old
        mv inc2 inc
        gcc -Iinc -c a.c -o a2.o
        """,
        files={
            "inc/q.h": "#define A 1\n",
            "inc2/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include "q.h"
                int f=A;
                """
            ),
        },
        before="find . -exec touch -d '1 hour ago' {} +",
    ),
    script(
        "include-folders-exchanged",
        """
        gcc -Iinc -c a.c -o a1.o
        python3 -c 'import os;os.rename("inc","t");os.rename("inc2","inc");os.rename("t","inc2")'
        gcc -Iinc -c a.c -o a2.o
        """,
        files={
            "inc/q.h": "#define A 1\n",
            "inc2/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include "q.h"
                int f=A;
                """
            ),
        },
        before="find . -exec touch -d '1 hour ago' {} +",
    ),
    script(
        "source-and-object-folders-renamed",
        """
        gcc -DV=1 -c src/v.c -o obj/v.o
        mv src src.old
        mkdir src
        echo 'int g=V;' > src/v.c
        gcc -DV=2 -c src/v.c -o obj/v2.o
        mv obj obj.old
        mkdir obj
        gcc -DV=3 -c src/v.c -o obj/v.o
        """,
        files={
            "src/v.c": "int f=V;\n",
        },
        before="""
        mkdir -p obj
        touch -d '1 hour ago' src/v.c
        """,
    ),
    script(
        "tmpdir-removed-at-once",
        """
        export TMPDIR=$PWD/tt
        mkdir tt
        gcc -O2 -c v.c -DV=1 -o v.o
        gcc -c m.c -o m.o
        rm -rf tt
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "tmpdir-removed-meanwhile",
        """
        export TMPDIR=$PWD/tt
        mkdir tt
        gcc -O1 -c slow.c -o s.o
        sleep 0.7
        rm -rf tt
        """,
        busy="",
        options=("-j2",),
        files={
            **CALLING,
            "slow.c": SLOW,
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "compile-in-a-temporary-folder",
        """
        R=$PWD
        T=$(mktemp -d)
        cp a.c a.h $T
        (cd $T && gcc -c a.c -o $R/a.o)
        rm -rf $T
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "compile-from-a-temporary-folder",
        """
        R=$PWD
        T=$(mktemp -d)
        (cd $T && gcc -I$R -c $R/a.c -o $R/a.o)
        rm -rf $T
        rmdir $T 2>/dev/null
        true
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "archive-from-a-folder-that-goes",
        """
        R=$PWD
        mkdir -p bld
        (cd bld && gcc -c ../a.c -o ../a.o && ar rc ../l.a ../a.o)
        rmdir bld
        ls > /dev/null
        cat l.a > c.a
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "include-parent-moved",
        """
        gcc -It/inc -c a.c -o a1.o
        mv t t.old
        mv n t
        gcc -It/inc -c a.c -o a2.o
        """,
        files={
            "t/inc/q.h": "#define A 1\n",
            "n/inc/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include "q.h"
                int f=A;
                """
            ),
        },
        before="find . -exec touch -h -d '1 hour ago' {} +",
    ),
    script(
        "include-package-replaced",
        """
        gcc -Idep/include -c a.c -o a1.o
        rm -rf dep
        cp -a dep-2.0 dep
        gcc -Idep/include -c a.c -o a2.o
        """,
        files={
            "dep-1.0/include/q.h": "#define A 1\n",
            "dep-2.0/include/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include "q.h"
                int f=A;
                """
            ),
        },
        before="""
        cp -a dep-1.0 dep
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "missing-dir-made-cold",
        """
        gcc -Wmissing-include-dirs -Werror -Inewd -c a.c -o a.o || echo failed > st
        mkdir newd
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "missing-dir-gone-cold",
        """
        gcc -Wmissing-include-dirs -Werror -Iinc -c a.c -o a.o
        rm -rf inc
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "lib-dir-made-cold",
        """
        gcc -c m.c -o m.o
        gcc -o p m.o -Lnewd -lv 2>/dev/null || echo failed > st
        mkdir newd
        ar rc newd/libv.a w.o
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "out-dir-made-cold",
        """
        gcc -c a.c -o newd/a.o 2>/dev/null || echo failed > st
        mkdir -p newd
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "cp-to-dir-cold",
        """
        gcc -c a.c -o a.o
        cp a.o dest
        mkdir dest 2>/dev/null || echo no > st
        mv dest d2
        mkdir dest
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "mv-to-dir-cold",
        """
        gcc -c a.c -o a.o
        mv a.o dest
        ls dest > l
        mkdir dd
        gcc -c a.c -o b.o
        cp b.o dd
        rmdir dd 2>/dev/null || echo full > st
        install b.o ee
        rm -f ee
        mkdir ee
        gcc -c a.c -o c.o
        mv c.o ee
        ls ee > l2
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "has-include-dir-cold",
        """
        gcc -c h.c -o h.o
        mkdir sub
        echo > sub/x.h
        gcc -c h.c -o h2.o
        rm -rf sub
        gcc -c h.c -o h3.o
        """,
        files={
            **SEARCHED,
            "h.c": text(
                """
                #if __has_include("sub/x.h")
                int yes;
                #endif
                int z;
                """
            ),
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "specs-dir-cold",
        r"""
        gcc -Bbb/ -c a.c -o a.o
        mkdir bb
        printf '#!/bin/sh\nexit 1\n' > bb/as
        chmod +x bb/as
        gcc -c m.c -o m.o
        rm -r bb
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "sysroot-cold",
        """
        gcc --sysroot=$PWD/sr -isysroot $PWD/sr -c a.c -o a.o
        mkdir -p sr/usr/include
        echo '#error no' > sr/usr/include/a.h
        gcc -c b.c -Iinc -o b.o
        gcc -idirafter inc -c b.c -o b2.o
        mv inc inc2
        mkdir inc
        echo '#define A 3' > inc/a.h
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
        cold=True,
    ),
    script(
        "missing-dir-made-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -Wmissing-include-dirs -Werror -Inewd -c a.c -o a.o || echo failed > st
        mkdir newd
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "missing-dir-gone-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -Wmissing-include-dirs -Werror -Iinc -c a.c -o a.o
        rm -rf inc
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "lib-dir-made-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -c m.c -o m.o
        gcc -o p m.o -Lnewd -lv 2>/dev/null || echo failed > st
        mkdir newd
        ar rc newd/libv.a w.o
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "out-dir-made-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -c a.c -o newd/a.o 2>/dev/null || echo failed > st
        mkdir -p newd
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "cp-to-dir-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -c a.c -o a.o
        cp a.o dest
        mkdir dest 2>/dev/null || echo no > st
        mv dest d2
        mkdir dest
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "mv-to-dir-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -c a.c -o a.o
        mv a.o dest
        ls dest > l
        mkdir dd
        gcc -c a.c -o b.o
        cp b.o dd
        rmdir dd 2>/dev/null || echo full > st
        install b.o ee
        rm -f ee
        mkdir ee
        gcc -c a.c -o c.o
        mv c.o ee
        ls ee > l2
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "has-include-dir-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -c h.c -o h.o
        mkdir sub
        echo > sub/x.h
        gcc -c h.c -o h2.o
        rm -rf sub
        gcc -c h.c -o h3.o
        """,
        files={
            **SEARCHED,
            "h.c": text(
                """
                #if __has_include("sub/x.h")
                int yes;
                #endif
                int z;
                """
            ),
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "specs-dir-warm",
        r"""
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc -Bbb/ -c a.c -o a.o
        mkdir bb
        printf '#!/bin/sh\nexit 1\n' > bb/as
        chmod +x bb/as
        gcc -c m.c -o m.o
        rm -r bb
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
    script(
        "sysroot-warm",
        """
        gcc -c m.c -o w.o
        gcc -o w m.c
        ./w
        wc -c w.o > /dev/null
        sleeper -o s9
        gcc --sysroot=$PWD/sr -isysroot $PWD/sr -c a.c -o a.o
        mkdir -p sr/usr/include
        echo '#error no' > sr/usr/include/a.h
        gcc -c b.c -Iinc -o b.o
        gcc -idirafter inc -c b.c -o b2.o
        mv inc inc2
        mkdir inc
        echo '#define A 3' > inc/a.h
        """,
        files={
            **SEARCHED,
        },
        before="touch -d '1 hour ago' inc inc/a.h",
    ),
)
