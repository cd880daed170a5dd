"""Rights, owners, namespaces, mounts and terminals of commands."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, SCRIPT, Case, Step, makefile, recipes, script, text
from tests.soak.attacks.files import CALLING, PRINTING

AS_NOBODY = (
    "HOME=$PWD/../home XDG_CACHE_HOME=$PWD/../cache"
    " setpriv --reuid=65534 --regid=65534 --clear-groups"
)

CASES: Sequence[Case] = (
    script(
        "static-program-in-a-chroot",
        """
        gcc -static hi.c -o root/hi
        chroot root /hi > hi.txt
        """,
        files={
            **CALLING,
            "hi.c": '#include <stdio.h>\nint main(){puts("hi");}',
        },
        before="""
        mkdir -p root
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        """,
        needs=("root",),
    ),
    script(
        "namespace-with-another-run",
        """
        gcc -c a.c -o a.o
        unshare -m sh -c 'mount -t tmpfs x /run; cat a.o > copy.o'
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        needs=("root",),
    ),
    script(
        "namespace-with-a-bound-include-folder",
        """
        unshare -m sh -c 'mount --bind i2 i1; gcc -Ii1 -c q.c -o q.o'
        """,
        files={
            **CALLING,
            "i1/q.h": "#define A 1\n",
            "i2/q.h": "#define A 2\n",
            "q.c": text(
                """
                #include "q.h"
                int a=A;
                """
            ),
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        touch -d '1 hour ago' a.c a.h i1 i2 m.c mf.c q.c v.c
        """,
        needs=("root",),
    ),
    script(
        "reader-of-another-user",
        """
        gcc -c a.c -o a.o
        setpriv --reuid=65534 --clear-groups cat a.o > copy.o
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        chmod 755 .
        """,
        needs=("root", "guard"),
    ),
    script(
        "copy-by-another-user",
        """
        gcc -c a.c -o a.o
        su -s /bin/sh nobody -c 'cp a.o copy.o'
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        chmod 777 .
        """,
        needs=("root", "guard"),
    ),
    script(
        "namespace-without-our-folders",
        """
        gcc -c a.c -o a.o
        unshare -m sh -c '
        mount -t tmpfs x $TMPDIR
        mount -t tmpfs y /run
        mount -t tmpfs y /dev/shm
        cat a.o > copy.o
        '
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        needs=("root",),
    ),
    script(
        "fakeroot-in",
        """
        fakeroot sh -c '
        gcc -c a.c -o a.o
        chown 5:6 a.o
        install -o 7 -g 8 -m 640 a.o b.o
        cp -p a.o c.o
        mkdir dd
        mknod dd/null c 1 3
        tar cf t.tar --mtime=@0 a.o b.o c.o dd
        tar tvf t.tar
        ' > r
        """,
        files=PRINTING,
        ignored=(r"^t.tar",),
        needs=(
            "fakeroot",
            "root",
        ),
    ),
    makefile(
        "fakeroot-make",
        """
        all: t.lst
        a.o: a.c ; gcc -c a.c -o a.o; chown 5:6 a.o
        b.o: a.o ; cp -p a.o b.o; install -o 7 -g 8 -m 640 a.o c.o
        t.lst: a.o b.o ; tar cf t.tar --mtime=@0 a.o b.o c.o; tar tvf t.tar > t.lst
        """,
        steps=(
            Step("SMPMAKE fakeroot make"),
            Step("SMPMAKE fakeroot make", edit="rm -f *.o *.tar"),
            Step("fakeroot SMPMAKE make", edit="rm -f *.o *.tar"),
        ),
        files=PRINTING,
        ignored=(r"t.tar",),
        needs=(
            "fakeroot",
            "root",
        ),
    ),
    script(
        "setuid-prog",
        """
        gcc -c a.c -o a.o
        setpriv --reuid=65534 --regid=65534 --clear-groups ./su_cat a.o > r
        echo $? >> r
        """,
        files={
            **PRINTING,
            "su.c": text(
                """
                #include <unistd.h>
                #include <fcntl.h>
                int main(int c, char **v) {
                    char b[4];
                    int f = open(v[1], 0);
                    if (f < 0)
                        return 3;
                    read(f, b, 4);
                    write(1, b + 1, 3);
                    return 0;
                }
                """
            ),
        },
        before="""
        chmod 755 . ..
        gcc su.c -o su_cat
        chmod 4755 su_cat
        """,
        needs=("root", "guard"),
    ),
    script(
        "unshare-user",
        """
        unshare -Ur make -f - <<'E'
        all: a.o ; wc -c < a.o > r
        a.o: a.c ; gcc -c a.c -o a.o
        E
        echo $? > st
        """,
        options=("-j2",),
        files=PRINTING,
        needs=("root",),
    ),
    script(
        "unshare-pid",
        """
        unshare -p -f --mount-proc sh -c '
        gcc -c a.c -o a.o
        gcc -c m.c -o m.o
        gcc -o p a.o m.o
        ./p
        ' > r
        echo $? > st
        """,
        options=("-j2",),
        files=PRINTING,
        needs=("root",),
    ),
    script(
        "chroot-build",
        """
        gcc -c a.c -o a.o
        chroot / sh -c "cd $PWD; gcc -c m.c -o m.o; gcc -o p a.o m.o; ./p > r"
        """,
        options=("-j2",),
        files=PRINTING,
        needs=("root",),
    ),
    Case(
        "folder-that-cannot-be-written",
        steps=(
            Step(f"{AS_NOBODY} SMPMAKE make"),
            Step(f"""
                {AS_NOBODY} SMPMAKE sh -c '
                gcc -c a.c -o a.o
                touch ro/x || echo cannot
                gcc -c m.c -o ro/m.o || echo told
                cp a.o ro/
                echo $?
                '
                """),
        ),
        files={
            **PRINTING,
            "ro/keep": "",
            "Makefile": recipes(
                """
                all: ro/a.o
                ro/a.o: a.c
                    gcc -c a.c -o ro/a.o
                """
            ),
        },
        before=text(
            """
            chmod 555 ro
            chmod 755 ..
            chmod 777 $TMPDIR
            chown -R 65534 . ../home ../cache
            """
        ),
        after=NOTHING,
        needs=("root", "others"),
    ),
    Case(
        "mount-cross",
        steps=(
            Step(edit="mount -t tmpfs none mnt"),
            Step(
                edit="""
                sed -i 's/A 1/A ;/' a.h
                touch a.c
                echo keep > mnt/keep
                """
            ),
            Step(
                edit="""
                sed -i 's/A ;/A 5/' a.h
                touch a.c
                """
            ),
            Step(
                "true",
                edit="""
                cp -a mnt keep
                umount mnt
                """,
            ),
        ),
        files={
            **PRINTING,
            "Makefile": recipes(
                """
                all: mnt/p
                mnt/a.o: a.c
                    gcc -c a.c -o mnt/a.o
                mnt/m.o: m.c
                    gcc -c m.c -o mnt/m.o
                mnt/p: mnt/a.o mnt/m.o
                    gcc -o p mnt/a.o mnt/m.o; mv p mnt/p; ln -f mnt/p mnt/p2
                    cp -a mnt/p2 q; ./q > r
                """
            ),
        },
        before=text(
            """
            mkdir -p mnt
            """
        ),
        after=NOTHING,
        needs=("root",),
    ),
    Case(
        "overlay",
        steps=(
            Step(
                "cd mnt; SMPMAKE make",
                edit="""
                mount -t tmpfs none wk
                mkdir wk/u wk/w
                mount -t overlay -o lowerdir=lo,upperdir=wk/u,workdir=wk/w none mnt
                """,
            ),
            Step(
                "cd mnt; SMPMAKE make",
                edit="""
                cd mnt
                echo '#define A (' > a.h
                """,
            ),
            Step(
                "cd mnt; SMPMAKE make",
                edit="""
                cd mnt
                echo '#define A 7' > a.h
                """,
            ),
            Step(
                "true",
                edit="""
                rm -rf keep
                cp -a mnt keep
                umount mnt wk
                """,
            ),
        ),
        files=PRINTING,
        before=text(
            r"""
            mkdir -p lo up wk mnt
            cp a.c a.h m.c lo
            cat > lo/Makefile <<'E'
            all: p
            a.o: a.c a.h ; gcc -c a.c -o a.o
            m.o: m.c ; gcc -c m.c -o m.o
            p: a.o m.o ; gcc -o p a.o m.o; ./p > r; sed -i s/int/long/ m.c; mv a.h b.h; cp b.h a.h
            E
            """
        ),
        needs=("root",),
    ),
    Case(
        "bind-alias",
        steps=(
            Step(
                SCRIPT,
                edit="""
                mount --bind i1 i2
                touch -d '1 hour ago' i1/a.h
                """,
            ),
            Step("true", edit="umount i2"),
        ),
        files=PRINTING,
        before=text(
            r"""
            mkdir -p i1 i2
            cp a.h i1
            cat > build.sh <<'E'
            gcc -c m.c -o w.o; gcc -o w a.c m.c; ./w >/dev/null; sleeper -o s 1.5
            gcc -Ii1 -c a2.c -o a1.o
            echo '#define A 2' > i2/a.h
            gcc -Ii1 -c a2.c -o a2.o
            E
            printf '#include <a.h>\nint f(void){return A;}\n' > a2.c
            """
        ),
        options=("-j1",),
        needs=("root",),
    ),
    script(
        "umount-after",
        """
        mount -t tmpfs none m
        gcc -c a.c -o m/a.o
        umount m
        echo $? > st
        ls m > l
        """,
        files=PRINTING,
        before="mkdir -p m",
        needs=("root",),
    ),
    script(
        "umount-after2",
        """
        mount -t tmpfs none m
        gcc -c a.c -o m/a.o
        cp m/a.o m/b.o
        strip m/b.o
        umount m || { echo busy > st; sleep 5; umount -l m; }
        ls m > l
        """,
        files=PRINTING,
        before="mkdir -p m",
        needs=("root",),
    ),
    script(
        "mount-over",
        """
        gcc -Iinc -c a.c -o a1.o
        mount --bind inc2 inc
        gcc -Iinc -c a.c -o a2.o
        umount inc
        """,
        files={
            "inc/q.h": "#define A 1\n",
            "inc2/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include <q.h>
                int f(void){return A;}
                """
            ),
        },
        before="touch -d '1 hour ago' inc/q.h inc2/q.h",
        needs=("root",),
    ),
    script(
        "mount-over-warm",
        """
        gcc -Iinc -c w.c -o w.o
        wc -c w.o
        sleeper -o s2
        gcc -Iinc -c a.c -o a1.o
        mount --bind inc2 inc
        gcc -Iinc -c a.c -o a2.o
        umount inc
        """,
        files={
            "w.c": "int w;\n",
            "inc/q.h": "#define A 1\n",
            "inc2/q.h": "#define A 2\n",
            "a.c": text(
                """
                #include <q.h>
                int f(void){return A;}
                """
            ),
        },
        before="touch -d '1 hour ago' inc/q.h inc2/q.h",
        needs=("root",),
    ),
)
