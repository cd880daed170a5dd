"""What a script did after a failure that it had not heard of: all of it has to be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.soak.attacks.case import Case, script, text
from tests.soak.attacks.files import SMALL

FILES = {
    **SMALL,
    "bad.c": "int x = ;\n",
    "d/f1": "1\n",
    "d/f2": "2\n",
    "d/f3": "3\n",
    "d/e/g": "deep\n",
    "old": "old\n",
}
BEFORE = """
ln -s f1 d/l
ln d/f2 d/hard
chmod 640 d/f3
seq 400000 > big
touch -d '2 hours ago' d/* d big old
"""
FAILING = """
set -e
sleeper -o slow.out
gcc -c m.c -o m.o
gcc -c bad.c -o bad.o
"""


def _undone(
    name: str,
    lines: str,
    *,
    before: str = "",
    options: Sequence[str] = ("-j1",),
    needs: Sequence[str] = (),
    settle: float = 0.0,
    ignored: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    admitted: str = "",
    differs: Sequence[str] = (),
) -> Case:
    """A script that does something after a failure, with the only slot still taken."""
    return script(
        name,
        FAILING + text(lines),
        files=FILES,
        before=BEFORE + text(before),
        busy="",
        options=options,
        needs=needs,
        settle=settle,
        ignored=ignored,
        environment=environment or {},
        admitted=admitted,
        differs=differs,
    )


CASES: Sequence[Case] = (
    _undone(
        "undo-sockets",
        """
        python3 -c 'import socket;s=socket.socket(socket.AF_UNIX);s.bind("sock")'
        mkfifo ff
        mknod nn p
        """,
        needs=("root",),
    ),
    _undone(
        "undo-modes",
        """
        chmod 755 old
        chmod 4711 d/f1
        chown 1000:1000 d/f2
        chown -h 1000 d/l
        chmod 700 d
        touch -d 2001-01-01 old
        touch -h d/l
        touch d
        """,
        needs=("root",),
    ),
    _undone(
        "undo-rmrf",
        "rm -rf d; mkdir d; echo new > d/f1; ln -s x d/e",
    ),
    _undone(
        "undo-rename-dirs",
        """
        mv d d2
        mkdir d
        mv d2/e d/e2
        mv d2 d/inner
        python3 -c 'import os; os.rename("big","old")'
        """,
    ),
    _undone(
        "undo-exchange",
        """
        python3 -c 'import ctypes;l=ctypes.CDLL(None);print(l.renameat2(-100,b"d",-100,b"old",2))'
        mv d dd
        echo x > d
        """,
    ),
    _undone(
        "undo-inplace",
        """
        python3 - <<'P'
        import os,mmap
        f=open('big','r+b'); m=mmap.mmap(f.fileno(),0); m[5:10]=b'ABCDE'; m.flush()
        fd=os.open('old',os.O_RDWR); os.pwrite(fd,b'ZZ',1); os.ftruncate(fd,100)
        os.truncate('d/f1',0)
        P
        dd if=/dev/zero of=big bs=4k seek=3 count=2 conv=notrunc status=none
        sed -i s/old/new/ old
        perl -pi -e 's/2/9/' d/f2
        fallocate -p -o 4096 -l 4096 big || true
        """,
    ),
    _undone(
        "undo-links",
        """
        ln -f old d/f3
        ln -sfn e d/l
        ln big big2
        echo more >> big2
        cp -l d/f1 ff1
        echo q >> ff1
        cp --remove-destination old d/f2
        """,
    ),
    _undone(
        "undo-tmpfile-link",
        """
        python3 - <<'P'
        import os
        fd=os.open('d',os.O_TMPFILE|os.O_RDWR,0o644)
        os.write(fd,b'hi')
        import ctypes
        l=ctypes.CDLL(None)
        print(l.linkat(-100,b'/proc/self/fd/%d'%fd,-100,b'd/tmpf',0x400))
        fd=os.open('.',os.O_TMPFILE|os.O_RDWR,0o600)
        print(l.linkat(fd,b'',-100,b'viaempty',0x1000))
        P
        """,
    ),
    _undone(
        "undo-spawn-open",
        """
        python3 - <<'P'
        import os
        os.waitpid(os.posix_spawn('/bin/echo',['echo','hello'],os.environ,file_actions=[(os.POSIX_SPAWN_OPEN,1,'spawned',os.O_WRONLY|os.O_CREAT|os.O_TRUNC,0o644)]),0)
        os.waitpid(os.posix_spawn('/bin/echo',['echo','hello'],os.environ,file_actions=[(os.POSIX_SPAWN_OPEN,1,'old',os.O_WRONLY|os.O_TRUNC,0o644)]),0)
        P
        """,
    ),
    _undone(
        "undo-daemon-late",
        """
        (setsid sh -c 'sleep 1; echo late > late.txt; echo late >> old' > /dev/null 2>&1 &)
        echo x > x
        """,
        settle=1.5,
    ),
    _undone(
        "undo-daemon-env",
        """
        (env -i setsid sh -c 'sleep 1; echo late > late.txt' > /dev/null 2>&1 &)
        nohup python3 -c 'import os,time
        if os.fork(): os._exit(0)
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(1); open("late2","w")' > /dev/null 2>&1 &
        echo x > x
        """,
        settle=1.5,
    ),
    _undone(
        "undo-many",
        "for i in $(seq 1 800); do echo $i > many$i; done; mkdir mm; mv many1* mm; rm many2*",
    ),
    _undone(
        "undo-outside",
        """
        echo x >> ../outside
        mkdir -p ../outdir/a
        echo q > ../outdir/a/b
        cp big /dev/shm/attack-$$
        echo y > $HOME/file
        rm -f /dev/shm/attack-*
        """,
    ),
    _undone(
        "undo-dirtimes",
        "touch d/new; rm d/new; echo z > d/e/zz; mv d/e/zz d/zz; rm d/zz",
    ),
    _undone(
        "undo-sqlite",
        """
        python3 -c '
        import sqlite3
        c=sqlite3.connect("db")
        c.execute("create table t(a)")
        c.execute("insert into t values(1)")
        c.commit()
        '
        python3 -c '
        import sqlite3
        c=sqlite3.connect("pre.db")
        c.execute("pragma journal_mode=wal")
        c.execute("insert into t values(2)")
        c.commit()
        '
        """,
        before="""
        python3 -c '
        import sqlite3
        c=sqlite3.connect("pre.db")
        c.execute("create table t(a)")
        c.commit()
        '
        """,
    ),
    _undone(
        "undo-tar-cp",
        """
        tar cf t.tar d old big
        cp -a d dcopy
        mkdir x
        tar xf t.tar -C x
        tar xf t.tar --overwrite
        touch d/f1
        """,
    ),
    _undone(
        "undo-sparse",
        """
        cp --sparse=always sp sp2
        dd if=/proc/self/exe of=sp bs=1 seek=5000000 count=10 conv=notrunc status=none
        truncate -s 10M sp
        """,
        before="truncate -s 50M sp; echo x >> sp;",
    ),
    _undone(
        "undo-bigbudget",
        """
        cp old hugeX
        dd if=/dev/zero of=huge bs=1M count=2 conv=notrunc status=none
        echo x > after
        """,
        before="truncate -s 2G huge; echo end >> huge;",
    ),
    _undone(
        "undo-selfmod",
        """
        echo 'echo more' >> build.sh
        rm -f build.sh
        echo 'echo other' > build.sh
        echo x > x
        """,
    ),
    _undone(
        "undo-umask",
        "umask 077; mkdir u; echo q > u/q; umask 0; echo r > old; rm -f d/f3; echo new > d/f3",
    ),
    _undone(
        "undo-names",
        r"""
        python3 - <<'P'
        import os
        for n in ["a\nb","sp ace","quo'te\"","ünï","-dash","x"*255,"%s%n","$HOME","*","\\"]:
            open(n,"w").write("1")
            os.rename(n,n[:254]+"~")
            open(n,"w").write("2")
            os.makedirs("dd/"+n[:200]+"/"+n[:200])
        for b in [b"\xff\xfe",b"\x01\x02"]: open(b,"wb").write(b"x")
        os.rename("old","y"*255); os.remove("y"*255)
        P
        """,
    ),
    _undone(
        "undo-xattr-acl",
        """
        python3 - <<'P'
        import os
        os.setxattr('m.c',b'user.x',b'1')
        P
        cp m.c m2.c
        mv m2.c m.c
        """,
    ),
    _undone(
        "undo-immutable",
        "chattr +a old 2>/dev/null || true; echo more >> old; chattr -a old || true",
    ),
    _undone(
        "undo-trunc-by-redirect",
        ": > big; : > d/f2; echo hi > d/l; cat m.c >| old",
    ),
    _undone(
        "undo-symlink-write",
        """
        echo thru > d/l
        ln -s nothing dang
        echo made > dang
        ln -sf ../old d/l
        echo x >> d/l
        """,
    ),
    _undone(
        "undo-own-folder-removed",
        """
        mkdir w
        cd w
        rmdir ../w
        echo x > y || true
        cd ..
        cd d
        mv ../d ../dm
        echo inside > inside
        """,
    ),
    _undone(
        "undo-background",
        "(sleep 0.2; echo bg > bg) & (gcc -c a.c -o bgobj.o; echo done > bgdone) & wait",
    ),
    _undone(
        "undo-copyrange",
        """
        python3 - <<'P'
        import os
        a=os.open('big',os.O_RDONLY)
        b=os.open('old',os.O_WRONLY)
        os.copy_file_range(a,b,4096)
        os.sendfile(b,a,0,100)
        c=os.open('newf',os.O_WRONLY|os.O_CREAT); os.posix_fallocate(c,0,8192); os.splice
        P
        """,
    ),
    _undone(
        "undo-capture",
        """
        x=$(gcc -c a.c -o a.o 2>&1; echo $?)
        echo "$x" > cap
        python3 -c '
        import subprocess
        open("cap2","w").write(subprocess.run(["gcc","-c","a.c","-o","a2.o"],capture_output=True,text=True).stderr+"!")
        '
        """,
    ),
    _undone(
        "undo-stdout-only",
        "echo said; echo err >&2; printf 'no newline'",
    ),
    _undone(
        "undo-stdout-serial",
        "echo said; echo err >&2; printf 'no newline'",
        options=("-j1", "--output-sync=serial"),
        admitted="Output in another order",
        differs=("output",),
    ),
    _undone(
        "undo-git",
        """
        git commit -qm two -a
        git tag v2
        git gc -q
        git checkout -q -b other
        """,
        before="""
        git init -q .
        git add -A
        git commit -qm one
        echo more >> old
        """,
        environment={
            **{
                f"GIT_{who}_{what}": "x"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            **{f"GIT_{who}_DATE": "2020-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
        },
        needs=("git",),
        ignored=(r"\.git/index$",),
    ),
)
