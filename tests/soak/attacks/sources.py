"""Sources that change while a compile of them is pending."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script
from tests.soak.attacks.files import CALLING

CASES: Sequence[Case] = (
    script(
        "source-edited-five-ways",
        r"""
        gcc -c a.c -o a1.o
        printf '#include "a.h"\nint g=A;\n' > a.c
        gcc -c a.c -o a2.o
        perl -pi -e 's/g=A/h=A+1/' a.c
        gcc -c a.c -o a3.o
        sed -i s/h=/k=/ a.c
        gcc -c a.c -o a4.o
        printf ',s/k=/l=/\nw\nq\n' | ed -s a.c
        gcc -c a.c -o a5.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        needs=("ed",),
    ),
    script(
        "header-edited-six-ways",
        """
        gcc -c a.c -o a1.o
        echo '#define A 2' > a.h
        gcc -c a.c -o a2.o
        install -m 644 /dev/null a.h
        echo '#define A 3' >> a.h
        gcc -c a.c -o a3.o
        cp a.h b.h
        sed -i s/3/4/ b.h
        mv b.h a.h
        gcc -c a.c -o a4.o
        ln -f a.h c.h
        echo '#define A 5' > c.h
        gcc -c a.c -o a5.o
        cp -l a.h z.h
        sed -i s/5/6/ z.h
        ln -sf z.h a.h
        gcc -c a.c -o a6.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "header-edited-by-python-six-ways",
        r"""
        gcc -c a.c -o a1.o
        python3 - <<'X'
        import os
        open('t','w').write('#define A 22\n'); os.replace('t','a.h')
        X
        gcc -c a.c -o a2.o
        python3 - <<'X'
        import os,mmap
        f=os.open('a.h',os.O_RDWR); m=mmap.mmap(f,0); m[10:12]=b'33'; m.flush()
        X
        gcc -c a.c -o a3.o
        python3 - <<'X'
        import os,ctypes
        d=os.open('.',os.O_TMPFILE|os.O_RDWR,0o644)
        os.write(d,b'#define A 44\n')
        os.unlink('a.h')
        ctypes.CDLL(None).linkat(-100,b'/proc/self/fd/%d'%d,-100,b'a.h',0x400)
        X
        gcc -c a.c -o a4.o
        python3 - <<'X'
        import os,ctypes
        open('b.h','w').write('#define A 55\n')
        l=ctypes.CDLL(None)
        print(l.renameat2(-100,b'a.h',-100,b'b.h',2))
        X
        gcc -c a.c -o a5.o
        python3 - <<'X'
        import os
        open('c.h','w').write('#define A 66\n')
        s=os.open('c.h',0)
        d=os.open('a.h',os.O_WRONLY)
        os.copy_file_range(s,d,100)
        X
        gcc -c a.c -o a6.o
        python3 - <<'X'
        import os
        open('c.h','w').write('#define A 77\n')
        s=os.open('c.h',0)
        d=os.open('a.h',os.O_WRONLY|os.O_TRUNC)
        os.sendfile(d,s,0,100)
        X
        gcc -c a.c -o a7.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "header-from-tar-and-patch",
        """
        gcc -c a.c -o a1.o
        tar xf x.tar
        gcc -c a.c -o a2.o
        patch -R -s a.h p.diff
        gcc -c a.c -o a3.o
        """,
        files={
            **CALLING,
            "t/a.h": "#define A 8\n",
        },
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        tar cf x.tar --mtime=2020-01-01 -C t a.h
        diff -u a.h t/a.h > p.diff
        """,
    ),
    script(
        "header-from-git",
        """
        gcc -c a.c -o a1.o
        git checkout -q two -- a.h
        gcc -c a.c -o a2.o
        git stash -q
        gcc -c a.c -o a3.o
        """,
        files=CALLING,
        before="""
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        git init -q .
        git config user.email a@b
        git config user.name n
        git add -A
        git commit -qm 1
        git checkout -qb two
        echo '#define A 9' > a.h
        git commit -qam 2
        git checkout -q master 2>/dev/null || git checkout -q main
        """,
        ignored=(r".git",),
        needs=("git",),
    ),
    script(
        "header-appended-by-descriptor",
        r"""
        gcc -c a.c -o a1.o
        python3 -c '
        import os
        f=os.open("a.h",os.O_RDWR|os.O_APPEND)
        os.write(f,b"#undef A\n#define A 7\n")
        '
        gcc -c a.c -o a2.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "source-from-a-list-of-symbols",
        """
        gcc -c a.c -o a.o
        nm a.o | sed 's/.* //' > list
        (echo 'const char*n[]={'; sed 's/.*/"&",/' list; echo '0};') > list.c
        gcc -c list.c -o list.o
        objdump -d list.o > dis
        readelf -a list.o | grep -c rel > rr
        size a.o > sz
        md5sum *.o > md
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "header-written-through-an-old-mapping",
        """
        python3 - <<'X'
        import os,mmap,subprocess
        f=os.open('a.h',os.O_RDWR); m=mmap.mmap(f,0)
        subprocess.check_call(['gcc','-c','a.c','-o','a1.o'])
        m[10:11]=b'7'; m.flush()
        subprocess.check_call(['gcc','-c','a.c','-o','a2.o'])
        X
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        admitted="Sources that change while a compile is pending",
        differs=(r"^a[12]\.o$",),
    ),
    script(
        "source-written-through-an-old-descriptor",
        r"""
        exec 3<>v.c
        gcc -DV=1 -c v.c -o v1.o
        printf 'int g(void){return V;}\n' >&3
        gcc -DV=1 -c v.c -o v2.o
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        admitted="Sources that change while a compile is pending",
        differs=(r"^v[12]\.o$",),
    ),
)
