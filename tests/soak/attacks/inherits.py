"""What commands inherit from the one that calls them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, makefile, script
from tests.soak.attacks.files import PRINTING

CLEAN = "make -s clean >/dev/null 2>&1"


def _inherits(name: str, prints: str, build: str, *, needs: Sequence[str] = ()) -> Case:
    """A command that prints what it has inherited, with something pending."""
    return makefile(
        name,
        f"""
all: p.out a.out b.out c.out
clean: ; rm -f *.out
p.out: ; sleeper -o p.out
a.out: ; {{ {prints}; }} > a.out
b.out: ; {{ {prints}; }} > b.out
c.out: a.out b.out ; cat a.out b.out > c.out
""",
        files=PRINTING,
        steps=(Step(build), Step(build, edit=CLEAN)),
        options=("-j1",),
        after=NOTHING,
        needs=needs,
    )


def _compile_inherits(name: str, build: str) -> Case:
    """Compiles into a folder of its own."""
    return makefile(
        name,
        """
all: o/a.o o/m.o p
o/%.o: %.c ; gcc -c $< -o $@
p: o/a.o o/m.o ; gcc -o p o/a.o o/m.o
""",
        files=PRINTING,
        before="mkdir o",
        steps=(Step(build),),
        after=NOTHING,
        needs=("root",),
    )


def _without_rights(name: str, lines: str) -> Case:
    """A user's script that takes rights away while a compile is pending."""
    home = "HOME=$PWD/../home XDG_CACHE_HOME=$PWD/../cache"
    user = "setpriv --reuid=1000 --regid=1000 --clear-groups"
    return script(
        name,
        lines,
        files={**PRINTING, "inc/a.h": "#define A 1\n"},
        before="mkdir out",
        steps=(
            Step(
                f"{home} {user} SMPMAKE bash ./build.sh",
                edit="""
                chmod 755 ..
                chmod 777 $TMPDIR
                chown -R 1000:1000 . ../home ../cache
                """,
            ),
        ),
        needs=("root", "others"),
    )


CASES: Sequence[Case] = (
    _inherits(
        "inherits-personality-of-another-machine",
        "uname -m",
        "SMPMAKE setarch i686 make",
    ),
    _inherits(
        "inherits-personality",
        "setarch --help >/dev/null; cat /proc/self/personality",
        "SMPMAKE setarch -R make",
    ),
    _inherits(
        "inherits-affinity",
        "nproc",
        "SMPMAKE taskset -c 0 make",
    ),
    _inherits(
        "inherits-nice",
        "nice",
        "SMPMAKE nice -n 7 make",
    ),
    _inherits(
        "inherits-ionice",
        "ionice",
        "SMPMAKE ionice -c 3 make",
    ),
    _inherits(
        "inherits-groups",
        "id -g; id -G; echo x > g.$@; stat -c %g g.$@",
        "SMPMAKE setpriv --regid=1000 --clear-groups make",
        needs=("root",),
    ),
    _inherits(
        "inherits-host-name",
        "hostname",
        "SMPMAKE unshare -u sh -c 'hostname inner; make'",
        needs=("root",),
    ),
    _inherits(
        "inherits-capabilities",
        ("grep Cap /proc/self/status; sh -c 'echo x > ro/x 2>/dev/null && echo wrote || echo not'"),
        """
        mkdir -p ro
        chown 1000 ro
        chmod 555 ro
        SMPMAKE setpriv --bounding-set=-all --inh-caps=-all make
        """,
        needs=("root",),
    ),
    _inherits(
        "inherits-no-new-privileges",
        "grep NoNew /proc/self/status",
        "SMPMAKE setpriv --no-new-privs make",
        needs=("root",),
    ),
    _inherits(
        "inherits-oom-score",
        "cat /proc/self/oom_score_adj",
        "SMPMAKE choom -n 500 -- make",
    ),
    _inherits(
        "inherits-limits",
        "ulimit -Sa; ulimit -Ha",
        "SMPMAKE sh -c 'ulimit -Sn 300; ulimit -c 0; ulimit -s 4096; make'",
    ),
    _inherits(
        "inherits-ignored-signals",
        "grep Sig /proc/self/status | grep -v SigQ",
        """SMPMAKE sh -c 'trap "" USR1 HUP; make'""",
    ),
    _inherits(
        "inherits-folder-by-a-link",
        "pwd -L; pwd -P",
        "ln -sfn t ../link; cd ../link; SMPMAKE make",
    ),
    _inherits(
        "inherits-session",
        "python3 -c 'import os;print(os.getpgid(0)==os.getpid(), os.isatty(0))'",
        "SMPMAKE make",
    ),
    _inherits(
        "inherits-stdin-file",
        (
            "if [ -t 0 ]; then echo tty; elif [ -p /dev/stdin ]; then echo pipe; "
            "elif [ -f /dev/stdin ]; then echo file; else echo other; fi"
        ),
        "SMPMAKE make < Makefile",
    ),
    _inherits(
        "inherits-stdin-pipe",
        (
            "if [ -t 0 ]; then echo tty; elif [ -p /dev/stdin ]; then echo pipe; "
            "elif [ -f /dev/stdin ]; then echo file; else echo other; fi"
        ),
        "true | SMPMAKE make",
    ),
    _inherits(
        "inherits-stdout-pipe",
        (
            "if [ -t 1 ]; then echo tty; elif [ -p /dev/stderr ]; then echo pipe; "
            "elif [ -f /dev/stderr ]; then echo file; else echo other; fi"
        ),
        "SMPMAKE make 2>&1 | cat",
    ),
    _inherits(
        "inherits-terminal",
        "if [ -t 0 ]; then echo tty; else echo no; fi",
        "TERM=xterm script -qec 'SMPMAKE make' /dev/null > /dev/null",
        needs=("script",),
    ),
    _inherits(
        "inherits-size-of-the-terminal",
        "stty size 2>&1; tput cols; tty; [ -t 2 ] && echo err",
        "TERM=xterm script -qec 'stty cols 111 rows 33; SMPMAKE make' /dev/null > /dev/null",
        needs=("script",),
    ),
    _inherits(
        "inherits-size-of-the-terminal-in-python",
        ("[ -t 1 ] && echo tty1 >&2; python3 -c 'import shutil;print(shutil.get_terminal_size())'"),
        "TERM=xterm script -qec 'stty cols 111 rows 33; SMPMAKE make' /dev/null > /dev/null",
        needs=("script",),
    ),
    _compile_inherits(
        "compile-inherits-group",
        "SMPMAKE setpriv --regid=1000 --clear-groups make",
    ),
    _compile_inherits(
        "compile-inherits-perl-group",
        """SMPMAKE perl -e '$(=1000;$)="1000 1000";exec "make"'""",
    ),
    _compile_inherits(
        "compile-inherits-sg",
        "SMPMAKE sg daemon -c make",
    ),
    _compile_inherits(
        "compile-inherits-caps",
        "chown 1000 o; chmod 555 o; SMPMAKE setpriv --bounding-set=-all --inh-caps=-all make",
    ),
    _compile_inherits(
        "compile-inherits-umask",
        "SMPMAKE sh -c 'umask 027; make'",
    ),
    _compile_inherits(
        "compile-inherits-acl",
        """
        setfacl -d -m u::rwx,u:1000:rw,g::r-x,m::rwx,o::--- o
        SMPMAKE make
        getfacl -n o/a.o > acl
        """,
    ),
    _compile_inherits(
        "compile-inherits-sgid",
        "chgrp 1000 o; chmod 2775 o; SMPMAKE make",
    ),
    _without_rights(
        "rights-source",
        """
        gcc -c a.c -o a.o
        chmod 0 a.c
        gcc -c m.c -o m.o
        """,
    ),
    _without_rights(
        "rights-header",
        """
        gcc -c a.c -o a.o
        chmod 0 a.h
        """,
    ),
    _without_rights(
        "rights-outdir",
        """
        gcc -c a.c -o out/a.o
        chmod a-w out
        """,
    ),
    _without_rights(
        "rights-outdir-x",
        """
        gcc -c a.c -o out/a.o
        chmod 0 out
        """,
    ),
    _without_rights(
        "rights-incdir",
        """
        gcc -Iinc -c a.c -o a.o
        chmod 0 inc
        """,
    ),
    _without_rights(
        "rights-r",
        """
        gcc -Iinc -c a.c -o out/a.o
        chmod -R a-w .
        chmod u+w .
        """,
    ),
    _without_rights(
        "rights-lib",
        """
        gcc -c m.c -o m.o
        gcc -c a.c -o a.o
        ar rc out/l.a a.o
        ls out
        sleeper -o s2
        gcc -o p m.o out/l.a
        chmod 0 out/l.a
        """,
    ),
    _without_rights(
        "rights-ulimit",
        """
        gcc -c a.c -o a.o
        ulimit -f 0
        ulimit -v 1000000
        """,
    ),
)
