"""What a makefile changes after a command has read it, in a build and its repetition.

The command reads something pending, too, so that it may be a job.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, again, makefile, text

FRESH = """
rm -rf work work2 v? newd fg fifo cur f g l in big tmp tmp2 flag x.tar
mkdir -p work/sub v1 v2
echo w > work/w
echo f1 > work/f1
echo g > work/sub/g
echo one > v1/f
echo two > v2/f
echo echo tool > v1/mytool
chmod 755 v1/mytool
ln -sfn v1 cur
echo input > in
echo f > f
ln f g
ln -s f l
chmod 751 f
head -c 2000000 /dev/zero > big
chmod 751 big
"""
AGED = """
find work v1 v2 in f big -exec touch -h -d 2020-01-01 {} +
"""


def _behind(
    name: str, reads: str, changes: str, *, before: str = "", needs: Sequence[str] = ()
) -> Case:
    return makefile(
        name,
        f"""
all: p.out a.out b.out c.out
clean: ; rm -f *.out; sh ./fresh
p.out: ; sleeper -o p.out
a.out: p.out ; ({reads}; cat p.out) > a.out
b.out: ; mkdir fg; {changes}; echo b > b.out
c.out: a.out ; cat a.out > c.out
""",
        files={"fresh": FRESH + text(before) + AGED},
        before="sh ./fresh",
        steps=again(""),
        options=("-j1", "--memo=on"),
        after=NOTHING,
        needs=needs,
    )


PROGRAMS = text(
    r"""
    printf 'int v(void) { return V; }' > v.c
    echo '#include <stdio.h>' > mf.c
    echo 'int v(void); int main(void) { return printf("%d\n", v()) < 0; }' >> mf.c
    mkdir o
    for i in 1 2; do
        gcc -DV=$i -shared -fPIC -Wl,-soname,libv.so v.c -o o/libv$i.so
        gcc -DV=$i -o o/t$i mf.c v.c
    done
    cp o/libv1.so libv.so
    gcc -o o/td mf.c -L. -lv -Wl,-rpath,$PWD
    """
)


def _behind_program(name: str, runs: str, changes: str) -> Case:
    """What runs is a program or loads a library, which is replaced then."""
    return makefile(
        name,
        f"""
all: p.out a.out b.out c.out
clean: ; rm -rf *.out fg tmp; sh ./fresh
p.out: ; sleeper -o p.out
a.out: p.out ; ({runs}; cat p.out) > a.out
b.out: ; mkdir fg; {changes}; echo b > b.out
c.out: a.out ; cat a.out > c.out
""",
        files={
            "fresh": text(
                """
                cp o/libv1.so libv.so
                cp o/t1 t
                cp o/td td
                touch -d 2020-01-01 libv.so t td
                """
            )
        },
        before=f"{PROGRAMS}\nsh ./fresh",
        steps=again(""),
        options=("-j1", "--memo=on"),
        after=NOTHING,
    )


CASES: Sequence[Case] = (
    _behind(
        "behind-rmdir-new",
        "cat work/f1 work/sub/g; ls work",
        "rm -rf work; mkdir work; echo new > work/f1; mkdir work/sub; echo new > work/sub/g",
    ),
    _behind(
        "behind-rm-only",
        "cat work/f1 work/sub/g; ls -R work",
        "rm -rf work",
    ),
    _behind(
        "behind-tar",
        "tar cf - --mtime=@0 --owner=0 --group=0 work | tar tvf -",
        "rm -rf work; mkdir work; echo newer > work/n",
    ),
    _behind(
        "behind-find",
        "find work -type f | sort | xargs cat",
        "rm -rf work/sub; echo more > work/more",
    ),
    _behind(
        "behind-mv-dir",
        "cat work/f1; ls work",
        "mv work work2; mkdir work; echo x > work/f1; rm -rf work2",
    ),
    _behind(
        "behind-mv-dir-away",
        "cat work/f1; ls work",
        "mv work fg/work2",
    ),
    _behind(
        "behind-cd",
        "(cd work; sleep 0.1; cat f1; cat sub/g; pwd | sed s,.*/,,)",
        "rm -rf work; mkdir -p work/sub; echo new > work/f1; echo new > work/sub/g",
    ),
    _behind(
        "behind-link",
        "cat cur/f; readlink cur",
        "ln -sfn v2 cur",
    ),
    _behind(
        "behind-link-file",
        "cat v1/l",
        "ln -sf ../v2/f v1/l",
        before="ln -sf f v1/l",
    ),
    _behind(
        "behind-stat",
        "stat -c '%Y %a %s' in",
        "touch in; chmod 600 in; echo more >> in",
    ),
    _behind(
        "behind-stat-touch",
        "stat -c '%Y' in",
        "touch -d 2001-01-01 in",
    ),
    _behind(
        "behind-chmod",
        "stat -c '%a' in; test -x in && echo exe || echo not",
        "chmod 755 in",
    ),
    _behind(
        "behind-exists",
        "(test -e flag && echo yes || echo no; test -d work && echo dir || echo nodir)",
        "echo > flag; rm -rf work",
    ),
    _behind(
        "behind-exists-dir",
        "(test -d newd && echo yes || echo no; ls)",
        "mkdir newd; rmdir newd; mkdir -p fg/newd",
    ),
    _behind(
        "behind-exists-mv",
        "(test -e flag && echo yes || echo no; cat flag 2>/dev/null)",
        "mv v1/f flag",
    ),
    _behind(
        "behind-newer",
        "(test in -nt v1/f && echo newer || echo not)",
        "touch in",
    ),
    _behind(
        "behind-size",
        "wc -c < in; du -b in",
        "echo more >> in; truncate -s 100 v1/f",
    ),
    _behind(
        "behind-glob",
        "echo work/* v*/f",
        "rm work/f1; touch work/f2; mv v2 v3; mv v3 v2",
    ),
    _behind(
        "behind-hard",
        "stat -c %h in",
        "ln in fg/in2",
    ),
    _behind(
        "behind-big",
        "md5sum < in",
        "echo more >> in",
        before="head -c 3000000 /dev/zero > in",
    ),
    _behind(
        "behind-big2",
        "(sleep 0.1; md5sum) < in",
        "dd if=/proc/self/exe of=in bs=1000 count=1 conv=notrunc status=none",
        before="head -c 3000000 /dev/zero > in",
    ),
    _behind(
        "behind-exec",
        "./tool.sh 2>/dev/null; sh tool.sh",
        r"printf 'echo newtool\n' > tool.sh",
        before=r"printf '#!/bin/sh\necho tool\n' > tool.sh; chmod +x tool.sh",
    ),
    _behind(
        "behind-pathtool",
        "PATH=$$PWD/v1:$$PATH mytool",
        r"printf '#!/bin/sh\necho new\n' > v1/mytool; rm -f v1/mytool",
        before=r"printf '#!/bin/sh\necho tool\n' > v1/mytool; chmod +x v1/mytool",
    ),
    _behind(
        "behind-pyimport",
        "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=work python3 -c 'import pm; print(pm.x)'",
        "echo 'x=2' > work/pm.py",
        before="echo 'x=1' > work/pm.py",
    ),
    _behind(
        "behind-pyc",
        (
            """python3 -c 'import sys;sys.path.insert(0,"work");import pm;print(pm.x)'; """
            "rm -rf work/__pycache__"
        ),
        "echo 'x=2' > work/pm.py",
        before="echo 'x=1' > work/pm.py",
    ),
    _behind(
        "behind-exchange",
        "cat v1/f",
        (
            "python3 -c 'import ctypes; "
            """print(ctypes.CDLL(None).renameat2(-100, b"v1", -100, b"v2", 2))'"""
        ),
    ),
    _behind(
        "behind-procfd",
        "cat in",
        "exec 3<in; echo changed > /dev/fd/3",
    ),
    _behind(
        "behind-env-file",
        "cat $$(cat in) 2>/dev/null || echo none",
        "echo v2/f > in",
        before="echo v1/f > in",
    ),
    _behind(
        "behind-mmapw",
        "cat in",
        """python3 -c 'import mmap;f=open("in","r+b");m=mmap.mmap(f.fileno(),0);m[0:2]=b"XX"'""",
    ),
    _behind(
        "behind-glob-rm",
        "echo work/*",
        "rm work/w",
    ),
    _behind(
        "behind-glob-add",
        "echo work/*",
        "touch work/x",
    ),
    _behind(
        "behind-glob-swap",
        "echo work/*",
        "rm work/w; touch work/x",
    ),
    _behind(
        "behind-glob-mvdir",
        "echo v*/f",
        "mv v2 v3",
    ),
    _behind(
        "behind-glob-mvback",
        "echo v*/f",
        "mv v2 v3; mv v3 v2",
    ),
    _behind(
        "behind-glob-newdir",
        "echo v*/",
        "mkdir v3",
    ),
    _behind(
        "behind-glob-rmdir",
        "echo */f",
        "rm -rf v2",
    ),
    _behind(
        "behind-tool-rm",
        "PATH=$$PWD/v1:$$PATH; mytool 2>/dev/null || echo none",
        "rm v1/mytool",
    ),
    _behind(
        "behind-tool-replace",
        "PATH=$$PWD/v1:$$PATH; mytool 2>/dev/null || echo none",
        "rm v1/mytool; echo echo new > v1/mytool; chmod +x v1/mytool",
    ),
    _behind(
        "behind-tool-inplace",
        "PATH=$$PWD/v1:$$PATH; mytool 2>/dev/null || echo none",
        "echo echo new > v1/mytool",
    ),
    _behind(
        "behind-tool-abs",
        "$$PWD/v1/mytool 2>/dev/null || echo none",
        "rm v1/mytool; echo echo new > v1/mytool; chmod +x v1/mytool",
    ),
    _behind(
        "behind-tool-hide",
        "PATH=$$PWD/v2:$$PWD/v1:$$PATH; mytool 2>/dev/null || echo none",
        "echo echo new > v2/mytool; chmod +x v2/mytool",
    ),
    _behind(
        "behind-dirmode",
        "stat -c %a work",
        "chmod 700 work",
    ),
    _behind(
        "behind-dirtime",
        "stat -c %Y work",
        "touch work/x",
    ),
    _behind(
        "behind-dirlinks",
        "stat -c %h work",
        "mkdir work/sub",
    ),
    _behind(
        "behind-filemode",
        "stat -c %a f",
        "chmod 700 f",
    ),
    _behind(
        "behind-filex",
        "[ -x f ] && echo x || echo no",
        "chmod 755 f",
    ),
    _behind(
        "behind-filelinks",
        "stat -c %h f",
        "ln f newd",
    ),
    _behind(
        "behind-cdtest",
        "cd newd 2>/dev/null && echo in || echo no",
        "mkdir newd",
    ),
    _behind(
        "behind-cdtest2",
        "cd work 2>/dev/null && echo in || echo no",
        "rm -rf work",
    ),
    _behind(
        "behind-probe",
        "touch work/probe 2>/dev/null && echo ok || echo no; rm -f work/probe",
        "rm -rf work",
    ),
    _behind(
        "behind-realpath",
        "realpath work/w | sed s,.*/jj/,,",
        "mv work newd; mkdir work; ln -s ../newd/w work/w",
    ),
    _behind(
        "behind-two-later",
        "if [ -d newd ]; then echo again; else echo first; fi",
        "mkdir -p newd; cp f newd",
    ),
    _behind_program(
        "behind-program-exec-mv",
        "./t",
        "cp o/t2 t.new; mv t.new t",
    ),
    _behind_program(
        "behind-program-exec-rm",
        "./t || echo none",
        "rm t",
    ),
    _behind_program(
        "behind-program-exec-inplace",
        "./t",
        "cp --remove-destination o/t2 t",
    ),
    _behind_program(
        "behind-program-exec-abs",
        "$$PWD/t",
        "cp o/t2 t.new; mv t.new t",
    ),
    _behind_program(
        "behind-program-lib-mv",
        "./td",
        "cp o/libv2.so libv.new; mv libv.new libv.so",
    ),
    _behind_program(
        "behind-program-lib-rm",
        "./td || echo none",
        "rm libv.so",
    ),
    _behind_program(
        "behind-program-lib-cp",
        "./td",
        "cp o/libv2.so libv.so",
    ),
    _behind_program(
        "behind-program-dlopen",
        r'python3 -c "import ctypes;print(ctypes.CDLL(\"./libv.so\").v())"',
        "cp o/libv2.so libv.new; mv libv.new libv.so",
    ),
    _behind_program(
        "behind-program-preload",
        'LD_PRELOAD=$$PWD/libv.so python3 -c "import ctypes;print(ctypes.CDLL(None).v())"',
        "cp o/libv2.so libv.new; mv libv.new libv.so",
    ),
    _behind_program(
        "behind-program-rmfuture",
        "rm -f tmp; echo done",
        "echo x > tmp",
    ),
    _behind_program(
        "behind-program-mvfuture",
        "mv tmp tmp2 2>/dev/null && echo moved || echo no",
        "echo x > tmp",
    ),
    _behind_program(
        "behind-program-appendfuture",
        "echo mine >> tmp; cat tmp",
        "test -f tmp || echo fresh > tmp",
    ),
    _behind(
        "behind-mode-append",
        "stat -c %a:%u:%g:%Y:%s f",
        "echo more >> f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-mode-chmod",
        "stat -c %a:%u:%g:%Y:%s f",
        "chmod 600 f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-mode-chown",
        "stat -c %a:%u:%g:%Y:%s f",
        "chown 1:1 f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-mode-touch",
        "stat -c %a:%u:%g:%Y:%s f",
        "touch f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-mode-rm",
        "stat -c %a:%u:%g:%Y:%s f",
        "rm f; echo n > f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-mode-sed",
        "stat -c %a:%u:%g:%Y:%s f",
        "sed -i s/f/g/ f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-cp-p",
        "cp -p f f.out; stat -c %a:%u:%g:%Y:%s f.out",
        "echo more >> f",
        needs=("root",),
        before="chown 7:8 f",
    ),
    _behind(
        "behind-links-rm",
        "tar cf x.tar --mtime=@0 f g; tar tvf x.tar | cut -c1-10,48-",
        "rm f g",
    ),
    _behind(
        "behind-nlink",
        "stat -c %h f",
        "rm g",
    ),
    _behind(
        "behind-same",
        "if [ f -ef g ]; then echo same; else echo two; fi",
        "rm f g",
    ),
    _behind(
        "behind-xattr",
        'python3 -c "import os;print(os.listxattr("f"))"',
        "rm f",
        before="setfattr -n user.k -v 1 f",
    ),
    _behind(
        "behind-xattr-touch",
        'python3 -c "import os;print(os.listxattr("f"))"',
        "touch f",
        before="setfattr -n user.k -v 1 f",
    ),
    _behind(
        "behind-realpath-2",
        "realpath f | sed s,.*/,,; readlink -f l | sed s,.*/,,",
        "rm f",
    ),
    _behind(
        "behind-procfd-2",
        "readlink /proc/self/fd/0 < f | sed s,.*/,,",
        "rm f",
    ),
    _behind(
        "behind-big-rm",
        "stat -c %a:%s big; md5sum big",
        "rm big",
    ),
    _behind(
        "behind-big-chmod",
        "stat -c %a:%s big",
        "chmod 600 big",
    ),
    _behind(
        "behind-big-touch",
        "stat -c %a:%Y big",
        "touch big",
    ),
    _behind(
        "behind-link-rm",
        "readlink l; cat l; [ -L l ] && echo link",
        "rm l f",
    ),
    _behind(
        "behind-tar-one",
        "tar cf x.tar --mtime=@0 f; tar tvf x.tar | cut -c1-10",
        "rm f",
    ),
    _behind(
        "behind-cp-mode",
        "cp f a2.out; stat -c %a a2.out",
        "rm f",
    ),
    _behind(
        "behind-install-p",
        "install -p -m 755 f a3.out; stat -c %a:%Y a3.out",
        "touch f",
    ),
    _behind(
        "behind-dlopen",
        'python3 -c "print(open("f").read())"',
        "echo zz > f",
    ),
)
