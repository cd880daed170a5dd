"""Libraries that are made and loaded in one build."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, Step, again, makefile, script, text
from tests.soak.attacks.files import CALLING


def _tool(name: str, made: str, remade: str) -> Case:
    """A tool that a recipe runs with something pending, and that another recipe makes anew."""
    return makefile(
        name,
        f"""
all: c.out
clean: ; rm -rf *.out fg t libv.so
p.out: ; sleeper -o p.out
t: mf.c v1.c p.out ; {made}
a.out: t ; ./t > a.out
b.out: a.out ; mkdir fg; {remade}; ./t > b.out
c.out: b.out ; cat a.out b.out > c.out
""",
        files={
            "v1.c": "int v(void) { return 1; }\n",
            "v2.c": "int v(void) { return 2; }\n",
            "mf.c": "#include <stdio.h>\nint v(void);\n"
            'int main(void) { return printf("%d\\n", v()) < 0; }\n',
        },
        before="""
        mkdir o
        gcc -o o/t1 mf.c v1.c
        gcc -shared -fPIC -Wl,-soname,libv.so v1.c -o o/libv1.so
        """,
        steps=again("", ""),
        options=("-j1", "--memo=on"),
    )


CASES: Sequence[Case] = (
    script(
        "python-loads-a-library",
        """
        gcc -shared -fPIC -DV=5 v.c -o v.so
        python3 -c 'import ctypes;print(ctypes.CDLL("./v.so").f())' > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "python-loads-a-library-by-path",
        """
        gcc -shared -fPIC -DV=5 v.c -o libv.so
        LD_LIBRARY_PATH=. python3 -c 'import ctypes;print(ctypes.CDLL("libv.so").f())' > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "program-with-library-path",
        """
        gcc -shared -fPIC -DV=5 v.c -o libv.so
        gcc mf.c -L. -lv -o p
        LD_LIBRARY_PATH=. ./p
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "program-with-a-preloaded-library",
        """
        gcc -o p mf.c -DX -Wl,--unresolved-symbols=ignore-all
        gcc -shared -fPIC -DV=5 v.c -o libv.so
        LD_PRELOAD=$PWD/libv.so ./p
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-remade-before-a-run",
        """
        gcc -shared -fPIC -DV=4 v.c -o libv.so
        gcc mf.c -L. -lv -o p
        gcc -shared -fPIC -DV=5 v.c -o libv.so
        LD_LIBRARY_PATH=. ./p
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-by-rpath-remade",
        """
        mkdir l
        gcc -shared -fPIC -DV=4 v.c -o l/libv.so
        gcc mf.c -Ll -lv -Wl,-rpath,$PWD/l -o p
        ./p
        sleeper -o s3
        gcc -shared -fPIC -DV=5 v.c -o l/libv.so
        ./p
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "echo-with-a-preloaded-library",
        """
        gcc -shared -fPIC ov.c -o ov.so
        LD_PRELOAD=$PWD/ov.so /bin/echo > r 2>&1
        """,
        files={
            **CALLING,
            "ov.c": text(
                """
                #include <stdio.h>
                __attribute__((constructor)) static void c(void){puts("hooked");}
                """
            ),
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    Case(
        "library-of-an-older-tool-remade",
        steps=(Step(),),
        files=CALLING,
        before=text(
            r"""
            touch -d '1 hour ago' a.c a.h m.c mf.c v.c
            gcc -fPIC -c v.c -DV=1 -o v.o
            gcc -shared -o libv.so v.o
            gcc mf.c -L. -lv -Wl,-rpath,$PWD -o tool
            sleep 0.1
            printf 'int f(void){return 7;}\n' > v.c
            cat > Makefile <<'E'
            all: gen.txt
            v.o: v.c ; gcc -fPIC -c v.c -o v.o
            libv.so: v.o ; gcc -shared -o libv.so v.o
            tool: mf.c | libv.so ; gcc mf.c -L. -lv -Wl,-rpath,. -o tool
            gen.txt: libv.so tool ; ./tool; echo $$? > gen.txt
            E
            """
        ),
        options=("-j2",),
    ),
    script(
        "tool-whose-library-is-remade",
        """
        gcc -fPIC -shared -DV=9 v.c -o libv.so
        ./t
        echo $? > r
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -fPIC -shared -DV=1 v.c -o libv.so
        gcc mf.c -L. -lv -Wl,-rpath,$PWD -o t
        touch -d '1 hour ago' *
        """,
    ),
    script(
        "tool-whose-library-was-missing",
        """
        gcc -fPIC -shared -DV=9 v.c -o libv.so
        ./t
        echo $? > r
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc -fPIC -shared -DV=1 v.c -o libv.so
        gcc mf.c -L. -lv -Wl,-rpath,$PWD -o t
        rm libv.so
        touch -d '1 hour ago' *
        """,
    ),
    script(
        "preloaded-library-that-is-none",
        """
        gcc -shared -fPIC v.c -DV=1 -o ov.so
        LD_PRELOAD=./ov.so /bin/true 2> err
        wc -c < err > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "ldd-of-a-new-library",
        """
        gcc -fPIC -shared -DV=3 v.c -o libq.so
        LD_LIBRARY_PATH=. ldd ./libq.so | wc -l > r
        file libq.so | cut -c1-20 >> r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-staged-and-removed",
        """
        gcc -fPIC -shared -DV=1 v.c -o libv.so
        gcc mf.c -L. -lv -o t
        mkdir stage
        cp libv.so stage/libv.so
        rm -f libv.so
        LD_LIBRARY_PATH=stage ./t
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-staged-anew",
        """
        gcc -fPIC -shared -DV=1 v.c -o libv.so
        gcc mf.c -L. -lv -o t
        ./t
        sleeper -o s2
        gcc -fPIC -shared -DV=2 v.c -o libv2.so
        mkdir stage
        cp libv2.so stage/libv.so
        LD_LIBRARY_PATH=stage ./t
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "python-extension-library-remade",
        """
        gcc -fPIC -shared -DV=1 v.c -o libv.so
        printf 'int f(void);int g(void){return f();}' > e.c
        gcc -fPIC -shared e.c -L. -lv -Wl,-rpath,$PWD -o e.so
        python3 -c 'import ctypes;print(ctypes.CDLL("./e.so").g())' > r1
        sleeper -o s2
        gcc -fPIC -shared -DV=2 v.c -o libv.so
        python3 -c 'import ctypes;print(ctypes.CDLL("./e.so").g())' > r2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "python-library-by-path",
        """
        mkdir pl
        gcc -fPIC -shared -DV=2 v.c -o pl/libv.so
        LD_LIBRARY_PATH=pl python3 -c 'import ctypes;print(ctypes.CDLL("libv.so").f())' > r2
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "gcc-plugin-that-is-none",
        """
        gcc -fPIC -shared v.c -DV=1 -o pl.so
        gcc -fplugin=./pl.so -c m.c -o m.o 2>/dev/null
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "sanitized-program",
        """
        gcc -fsanitize=address m.c -o m && ./m
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "perl-library-by-path",
        """
        mkdir -p pl
        gcc -fPIC -shared -DV=2 v.c -o pl/libv.so
        LD_LIBRARY_PATH=$PWD/pl perl -e '
        require DynaLoader;
        print defined DynaLoader::dl_load_file("libv.so")?1:0;
        ' > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "dlopen-by-rpath",
        """
        mkdir -p pl
        gcc -fPIC -shared -DV=2 v.c -o pl/libv.so
        ./d
        echo $? > r
        """,
        files={
            **CALLING,
            "d.c": '#include <dlfcn.h>\nint main(){return dlopen("libv.so",2)?3:4;}',
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        gcc d.c -o d -Wl,-rpath,$PWD/pl
        """,
    ),
    script(
        "library-by-origin",
        """
        mkdir -p bin lib
        gcc -fPIC -shared -DV=2 v.c -o libv.so
        gcc mf.c -o bin/t -L. -lv -Wl,-rpath,'$ORIGIN/../lib'
        cp libv.so lib/libv.so
        bin/t
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "libraries-installed-and-run",
        """
        gcc -fPIC -shared -DV=2 v.c -Wl,-soname,libv.so.1 -o libv.so.1.0
        ln -sf libv.so.1.0 libv.so
        ln -sf libv.so.1.0 libv.so.1
        gcc mf.c -o t -L. -lv -Wl,-rpath,$PWD/dest/lib
        mkdir -p dest/lib dest/bin
        install -m 755 t dest/bin/t
        install -m 755 libv.so.1.0 dest/lib
        ln -sf libv.so.1.0 dest/lib/libv.so.1
        dest/bin/t
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-stripped-and-run",
        """
        gcc -fPIC -shared -DV=2 v.c -o libv.so
        gcc mf.c -o t -L. -lv -Wl,-rpath,$PWD
        strip libv.so
        ./t
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "library-link-made-late",
        """
        gcc -fPIC -shared -DV=2 v.c -Wl,-soname,libv.so.1 -o libv.so.1.0
        ln -sf libv.so.1.0 libv.so
        gcc mf.c -o t -L. -lv -Wl,-rpath,$PWD
        sleeper -o s9
        ln -sf libv.so.1.0 libv.so.1
        ./t
        echo $? > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "audit-library-that-is-none",
        """
        gcc -fPIC -shared -DV=2 v.c -o au.so
        LD_AUDIT=$PWD/au.so /bin/true 2> e
        wc -c < e > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    _tool(
        "tool-made-used-and-replaced", "gcc -o t mf.c v1.c", "gcc -o t.new mf.c v2.c; mv t.new t"
    ),
    _tool("tool-made-used-and-remade", "gcc -o t mf.c v1.c", "gcc -o t mf.c v2.c"),
    _tool("older-tool-used-and-remade", "cp -p o/t1 t", "gcc -o t mf.c v2.c"),
    _tool(
        "older-tool-used-and-its-library-remade",
        "cp -p o/libv1.so libv.so; gcc -o t mf.c -L. -lv -Wl,-rpath,$$PWD",
        "gcc -shared -fPIC v2.c -o libv.so",
    ),
)
