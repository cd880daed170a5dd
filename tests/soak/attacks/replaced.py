"""Compilers, wrappers and plugins that are replaced while compiles are pending."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, recipes, script, text
from tests.soak.attacks.files import CALLING, PRINTING

CASES: Sequence[Case] = (
    script(
        "compiler-made-by-the-build",
        """
        gcc mycc.c -o ./cc
        ./cc -c a.c -o a.o
        PATH=.:$PATH cc -c m.c -o m.o
        wc -c a.o m.o > r
        """,
        files={
            **CALLING,
            "mycc.c": '#include <unistd.h>\nint main(int c,char**v){execv("/usr/bin/gcc",v);}',
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    Case(
        "build-number",
        steps=(Step(),),
        files={
            **CALLING,
            "bad.c": "int x=;\n",
            "Makefile": recipes(
                """
                all: no m.o
                no:
                    echo $$(( $$(cat n 2>/dev/null || echo 0) + 1 )) > n
                    -gcc -c bad.c -o bad.o
                m.o: m.c no
                    gcc -DN=$$(cat n) -c m.c -o m.o
                .PHONY: no all
                """
            ),
        },
        before=text(
            """
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            """
        ),
        options=("-j1",),
        after=NOTHING,
    ),
    script(
        "archiver-script-replaced",
        r"""
        export PATH=$PWD/b:$PATH
        ar rc l.a v.o
        printf '#!/bin/sh\nshift 2; exec /usr/bin/ar rc l.a m.o\n' > b/ar
        """,
        files={
            **CALLING,
            "b/ar": text(
                """
                #!/bin/sh
                exec /usr/bin/ar "$@"
                """
            ),
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        chmod +x b/ar
        gcc -c v.c -DV=1 -o v.o
        gcc -c m.c -o m.o
        touch -d '1 hour ago' b/ar
        """,
    ),
    script(
        "options-file-of-a-compiler-script",
        """
        export PATH=$PWD/b:$PATH
        gcc -c v.c -o v1.o
        echo -DV=2 > b/flags.sh
        gcc -c v.c -o v2.o
        """,
        files={
            **CALLING,
            "b/flags.sh": "-DV=1\n",
        },
        before=r"""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        printf '#!/bin/sh\nexec /usr/bin/gcc $(cat %s/b/flags.sh) "$@"\n' $PWD > b/gcc
        chmod +x b/gcc
        touch -d '1 hour ago' b/*
        """,
    ),
    script(
        "clang-compiles-and-links",
        """
        clang -c a.c -o a.o
        clang -MMD -c m.c -o m.o
        cat m.d > d
        clang m.o -o p
        ./p
        echo $? > r
        clang -save-temps -c m.c -o mm.o
        ls > l2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        needs=("clang",),
    ),
    script(
        "fortran-module-changed",
        """
        gfortran -c q.f90
        gfortran -c p.f90
        gfortran q.o p.o -o p
        ./p > r
        sed -i s/z=1/z=2/ q.f90
        gfortran -c q.f90
        gfortran q.o p.o -o p2
        ./p2 > r2
        """,
        files={
            "q.f90": text(
                """
                module q
                 integer::z=1
                end module
                """
            ),
            "p.f90": text(
                """
                program p
                 use q
                 print *,z
                end
                """
            ),
        },
        ignored=(r".mod",),
        needs=("gfortran",),
    ),
    script(
        "compiler-script-removed",
        r"""
        PATH=$PWD/b:$PATH
        gcc -c a.c -o a.o
        rm b/gcc
        gcc -c m.c -o m.o
        printf '#!/bin/sh\nexec /usr/bin/gcc -DQ "$@"\n' > b/cc
        chmod +x b/cc
        cc -c a.c -o a2.o
        mv b b2
        gcc -c a.c -o a3.o
        """,
        files={
            **PRINTING,
            "b/gcc": text(
                """
                #!/bin/sh
                exec /usr/bin/gcc -g "$@"
                """
            ),
        },
        before="chmod +x b/gcc",
    ),
    script(
        "plugin-replaced",
        """
        gcc -c m.c -o w.o
        wc -c w.o
        sleeper -o s9
        gcc -fplugin=./plug.so -c m.c -o m1.o
        cp p2.so plug.new
        mv plug.new plug.so
        gcc -fplugin=./plug.so -c m.c -o m2.o
        """,
        files={
            "m.c": "int main(void){return 0;}\n",
            "pl.c": text(
                """
                int plugin_is_GPL_compatible;
                int plugin_init(void *a, void *b) {
                    __builtin_printf(V);
                    return 0;
                }
                """
            ),
        },
        before=r"""
        gcc -fno-builtin -DV='"one\n"' -shared -fPIC -include stdio.h pl.c -o plug.so
        gcc -DV='"two\n"' -include stdio.h -shared -fPIC pl.c -o p2.so
        touch -d '1 hour ago' *.so
        """,
    ),
    script(
        "compile-inherits-lib-replaced",
        """
        ./cc -c m.c -o w.o
        wc -c w.o
        sleeper -o s9
        ./cc -c m.c -o m1.o
        cp p2.so lib.new
        mv lib.new libcfg.so
        ./cc -c m.c -o m2.o
        nm m1.o > n1
        nm m2.o > n2
        """,
        files={
            "m.c": "int X;int main(void){return 0;}\n",
            "l.c": "const char*flag(void){return V;}\n",
        },
        before=r"""
        gcc -DV='"-DX=one"' -shared -fPIC l.c -o libcfg.so
        gcc -DV='"-DX=two"' -shared -fPIC l.c -o p2.so
        cat > cc.c <<'E'
        #include <unistd.h>
        const char *flag(void);
        int main(int c, char **v) {
            char *a[99];
            a[0] = "gcc";
            a[1] = (char *)flag();
            for (int i = 1; i <= c; i++)
                a[i + 1] = v[i];
            execv("/usr/bin/gcc", a);
            return 1;
        }
        E
        gcc -o cc cc.c -L. -lcfg -Wl,-rpath,$PWD
        touch -d '1 hour ago' *.so
        """,
    ),
    script(
        "wrapper-replaced",
        r"""
        PATH=$PWD/b:$PATH
        gcc -c m.c -o w.o
        wc -c w.o
        sleeper -o s9
        gcc -c m.c -o m1.o
        printf '#!/bin/sh\nexec /usr/bin/gcc -DX=two "$@"\n' > b/n
        chmod +x b/n
        mv b/n b/gcc
        gcc -c m.c -o m2.o
        nm m1.o > n1
        nm m2.o > n2
        """,
        files={
            "m.c": "int X;int main(void){return 0;}\n",
            "b/gcc": text(
                """
                #!/bin/sh
                exec /usr/bin/gcc -DX=one "$@"
                """
            ),
        },
        before="""
        chmod +x b/gcc
        touch -d '1 hour ago' b/gcc
        """,
    ),
)
