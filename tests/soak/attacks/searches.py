"""Headers and libraries that are found by searching: hidden, moved, changed under other names."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script, text
from tests.soak.attacks.files import CALLING, SMALL

SPARE = {
    "a.c": text(
        """
                #include "x.h"
                int f=A;
                """
    ),
    "a.h": "#define A 1\n",
    "m.c": "int main(void){return 0;}",
    "s/x.h": "#define A 1\n",
    "spare/x.h": "#define A 2\n",
}

CASES: Sequence[Case] = (
    script(
        "incbin-changed",
        """
        gcc -c blob.S -o b1.o
        cp fw2.bin fw.bin
        gcc -c blob.S -o b2.o
        """,
        files={
            "fw1.bin": "AAAA\n",
            "fw2.bin": "BBBB\n",
        },
        before="""
        cp fw1.bin fw.bin
        echo '.incbin "fw.bin"' > blob.S
        touch -d '1 hour ago' *
        """,
    ),
    script(
        "include-of-a-py-file",
        """
        gcc -c a.c -o b1.o
        echo '"B"' > t.py
        gcc -c a.c -o b2.o
        """,
        files={
            "t.py": '"A"\n',
            "a.c": text(
                """
                const char*s=
                #include "t.py"
                ;
                """
            ),
        },
        before="touch -d '1 hour ago' a.c t.py",
    ),
    script(
        "include-of-a-map-file",
        """
        gcc -c a.c -o b1.o
        sed -i s/A/B/ t.map
        gcc -c a.c -o b2.o
        """,
        files={
            "t.map": '"A"\n',
            "a.c": text(
                """
                const char*s=
                #include "t.map"
                ;
                """
            ),
        },
        before="touch -d '1 hour ago' a.c t.map",
    ),
    script(
        "include-of-an-err-file",
        """
        gcc -c a.c -o b1.o
        sed -i s/A/B/ t.err
        gcc -c a.c -o b2.o
        """,
        files={
            "t.err": '"A"\n',
            "a.c": text(
                """
                const char*s=
                #include "t.err"
                ;
                """
            ),
        },
        before="touch -d '1 hour ago' a.c t.err",
    ),
    script(
        "source-hidden-by-an-earlier-folder",
        """
        gcc -Ig -Is -c a.c -o a.o
        echo 'int a=2;' > g/t.c
        """,
        files={
            "s/t.c": "int a=1;\n",
            "a.c": '#include "t.c"\n',
        },
        before="""
        mkdir -p g
        touch -d '1 hour ago' a.c g s
        """,
    ),
    script(
        "header-hidden-by-an-earlier-folder",
        """
        gcc -Ig -Is -c a.c -o a.o
        echo '#define A 2' > g/t.h
        """,
        files={
            "s/t.h": "#define A 1\n",
            "a.c": text(
                """
                #include "t.h"
                int a=A;
                """
            ),
        },
        before="""
        mkdir -p g
        touch -d '1 hour ago' a.c g s
        """,
    ),
    script(
        "header-in-cpath-changed",
        """
        CPATH=g gcc -c a.c -o a.o
        echo '#define A 2' > g/t.h
        """,
        files={
            "g/t.h": "#define A 1\n",
            "a.c": text(
                """
                #include "t.h"
                int a=A;
                """
            ),
        },
        before="""
        mkdir -p s
        touch -d '1 hour ago' a.c g s g/t.h
        """,
    ),
    script(
        "include-next-changed",
        """
        gcc -Ix -Iy -c n.c -o n1.o
        echo '#define N 2' > y/n.h
        gcc -Ix -Iy -c n.c -o n2.o
        CPATH=y gcc -Ix -c n.c -o n3.o
        echo '#define N 3' > y/n.h
        C_INCLUDE_PATH=y gcc -iquote x -c n.c -o n4.o
        echo '#define N 4' > y/n.h
        """,
        files={
            "x/n.h": "#include_next <n.h>\n",
            "y/n.h": "#define N 1\n",
            "n.c": text(
                """
                #include <n.h>
                int n=N;
                """
            ),
        },
        before="touch -d '1 hour ago' n.c x y x/n.h y/n.h",
    ),
    script(
        "incbin-of-as-changed",
        """
        as s.s -o s1.o
        echo 2 > d.dat
        as s.s -o s2.o
        """,
        files={
            **CALLING,
            "d.dat": "1\n",
            "s.s": '.incbin "d.dat"\n',
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        touch -d '1 hour ago' a.c a.h d.dat m.c mf.c s.s v.c
        """,
    ),
    script(
        "header-with-a-second-name",
        """
        gcc -c a.c -o a1.o
        echo '#define A 2' > b.h
        gcc -c a.c -o a2.o
        """,
        files=SMALL,
        before="""
        ln a.h b.h
        touch -d '1 hour ago' a.h
        """,
    ),
    script(
        "header-with-a-name-elsewhere",
        """
        gcc -c a.c -o a1.o
        printf '#define A 2' > o/zz
        gcc -c a.c -o a2.o
        """,
        files=SMALL,
        before="""
        mkdir -p o
        ln a.h o/zz
        touch -d '1 hour ago' a.h
        """,
    ),
    script(
        "header-with-a-link",
        """
        gcc -c a.c -o a1.o
        echo '#define A 2' > b.h
        gcc -c a.c -o a2.o
        """,
        files=SMALL,
        before="""
        ln -s a.h b.h
        touch -d '1 hour ago' a.h
        """,
    ),
    script(
        "header-by-proc-self-fd",
        """
        exec 3<a.h
        gcc -c a.c -o a1.o
        echo '#define A 2' > /proc/self/fd/3
        gcc -c a.c -o a2.o
        echo '#define A 3' > /dev/fd/3
        gcc -c a.c -o a3.o
        (echo '#define A 4' > /dev/stdin) < a.h
        gcc -c a.c -o a4.o
        """,
        files=SMALL,
        before="touch -d '1 hour ago' a.h",
    ),
    script(
        "header-with-a-second-name-cold",
        """
        gcc -c a.c -o a1.o
        echo '#define A 2' > b.h
        gcc -c a.c -o a2.o
        """,
        files=SMALL,
        before="""
        ln a.h b.h
        touch -d '1 hour ago' a.h
        """,
        cold=True,
    ),
    script(
        "hidden-by-a-moved-header",
        """
        gcc -Ig -Is -c a.c -o a1.o
        mv spare/x.h g/x.h
        gcc -Ig -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "hidden-by-a-linked-header",
        """
        gcc -Ig -Is -c a.c -o a1.o
        ln spare/x.h g/x.h
        gcc -Ig -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "hidden-by-a-moved-folder",
        """
        gcc -Ig -Is -c a.c -o a1.o
        mv spare g
        gcc -Ig -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        rmdir g
        """,
    ),
    script(
        "hidden-by-a-moved-parent",
        """
        gcc -Itop/g -Is -c a.c -o a1.o
        mv other top
        gcc -Itop/g -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        mkdir -p other
        mv spare other/g
        """,
    ),
    script(
        "hidden-by-a-linked-folder",
        """
        gcc -Ig -Is -c a.c -o a1.o
        ln -s spare g
        gcc -Ig -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        rmdir g
        """,
    ),
    script(
        "hidden-by-a-linked-folder-cold",
        """
        gcc -Ig -Is -c a.c -o a1.o
        ln -s spare g
        gcc -Ig -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        rmdir g
        """,
        cold=True,
    ),
    script(
        "hidden-by-a-moved-folder-cold",
        """
        gcc -Ig -Is -c a.c -o a1.o
        mv spare g
        gcc -Ig -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        rmdir g
        """,
        cold=True,
    ),
    script(
        "include-folder-exchanged",
        """
        gcc -Is -c a.c -o a1.o
        python3 -c 'import ctypes;print(ctypes.CDLL(None).renameat2(-100,b"s",-100,b"spare",2))'
        gcc -Is -c a.c -o a2.o
        """,
        files={
            **SPARE,
        },
        before="""
        mkdir -p g
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "hidden-by-a-moved-library",
        """
        gcc -o p1 mf.o -Lla -Llb -lv
        mv sp/libv.a la/
        gcc -o p2 mf.o -Lla -Llb -lv
        """,
        files={
            **SMALL,
            "v.c": "int v(void){return V;}",
            "mf.c": "int v(void);int main(void){return v();}",
        },
        before="""
        mkdir -p la lb sp
        for i in 1 2; do gcc -DV=$i -c v.c -o v$i.o; done
        ar rc lb/libv.a v1.o
        ar rc sp/libv.a v2.o
        gcc -c mf.c
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "hidden-by-a-copied-library",
        """
        gcc -o p1 mf.o -Lla -Llb -lv
        cp sp/libv.a la/
        gcc -o p2 mf.o -Lla -Llb -lv
        """,
        files={
            **SMALL,
            "v.c": "int v(void){return V;}",
            "mf.c": "int v(void);int main(void){return v();}",
        },
        before="""
        mkdir -p la lb sp
        for i in 1 2; do gcc -DV=$i -c v.c -o v$i.o; done
        ar rc lb/libv.a v1.o
        ar rc sp/libv.a v2.o
        gcc -c mf.c
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
    script(
        "hidden-by-a-shared-library",
        """
        gcc -o p1 mf.o -Llb -lv
        gcc -shared -o lb/libv.so v2.o
        gcc -o p2 mf.o -Llb -lv
        """,
        files={
            **SMALL,
            "v.c": "int v(void){return V;}",
            "mf.c": "int v(void);int main(void){return v();}",
        },
        before="""
        mkdir -p la lb sp
        for i in 1 2; do gcc -DV=$i -c v.c -o v$i.o; done
        ar rc lb/libv.a v1.o
        ar rc sp/libv.a v2.o
        gcc -c mf.c
        find . -exec touch -h -d '1 hour ago' {} +
        """,
    ),
)
