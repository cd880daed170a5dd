"""What a build prints, and where to."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, makefile, script
from tests.soak.attacks.files import CALLING, PRINTING

#: A makefile whose recipes and compilers have something to say.
TALKING = """
all: a.o w.o b.out bad p
clean: ; rm -f *.o *.out p
a.o: a.c ; @echo compile a; gcc -Wall -c a.c -o a.o; echo compiled a >&2
w.o: w.c ; gcc -Wall -c w.c -o w.o
b.out: ; echo line1; echo line2; ls a.o w.o; echo b > b.out; gcc -Wall -fsyntax-only w.c
bad: ; -gcc -c bad.c -o bad.o; echo after
    @$(MAKE) -C . sub
sub: ; @echo in sub; gcc -Wall -c w.c -o w2.o
p: a.o w.o ; gcc -o p a.o w.o
    @printf 'half a line, '; echo and the rest
"""
TALKED = {**PRINTING, "w.c": "int main(void) { int u; return 0; }\n"}

CASES: Sequence[Case] = (
    script(
        "log-of-a-compiler-script",
        """
        PATH=$PWD/b:$PATH
        gcc -c a.c -o a.o
        gcc -c m.c -o m.o
        cp cmds.log copy.log
        """,
        files=CALLING,
        before=r"""
        mkdir -p b
        touch -d '1 hour ago' a.c a.h m.c mf.c v.c
        printf '#!/bin/sh\necho "$*" >> %s/cmds.log\nexec /usr/bin/gcc "$@"\n' $PWD > b/gcc
        chmod +x b/gcc
        """,
    ),
    script(
        "log-of-a-group",
        """
        { echo A; gcc -c w.c -o w.o; echo B; } > log 2>&1
        grep -c . log > n
        """,
        files={
            **CALLING,
            "w.c": "#warning W1\n",
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        admitted="Output in another order",
        differs=("^log$",),
    ),
    script(
        "log-of-the-whole-script",
        """
        exec > log 2>&1
        echo A
        gcc -c w.c -o w.o
        echo B
        """,
        files={
            **CALLING,
            "w.c": "#warning W1\n",
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        admitted="Output in another order",
        differs=("^log$",),
    ),
    makefile(
        "devfull",
        """
        all: a.o m.o
        %.o: %.c ; gcc -c $< -o $@
        """,
        steps=(
            Step("SMPMAKE make > /dev/full; echo $? > st"),
            Step("SMPMAKE make -s > /dev/full 2>&1; echo $? > st2", edit="rm -f *.o"),
            Step("SMPMAKE make >&-; echo $? > st3", edit="rm -f *.o"),
            Step("SMPMAKE make <&- ; echo $? > st4", edit="rm -f *.o"),
            Step("SMPMAKE make 2>&-; echo $? > st5", edit="rm -f *.o"),
            Step("SMPMAKE make <&- >&- 2>&-; echo $? > st6", edit="rm -f *.o"),
        ),
        files=PRINTING,
    ),
    makefile(
        "terminal-of-make",
        r"""
        all: a.o m.o p
        a.o: a.c ; @test -t 1 && echo tty || echo no; gcc -Wall -c a.c -o a.o
        m.o: m.c
            gcc -Wall -Wextra -c m.c -o m.o; tty >/dev/null && echo hasin || echo noin; \
                stty size || true
        p: a.o m.o
            sleep 0.1; test -t 2 && echo tty2; gcc -o p a.o m.o; sleep 0.1; \
                test -t 1 && ./p | cat
        clean: ; rm -f *.o p
        """,
        steps=(
            Step(r"""
                TERM=xterm script -qec 'SMPMAKE make' log1 < /dev/null > /dev/null
                tr -d '\r' < log1 | grep -v Script | sed '/smpmake:/d' | grep -v '^$' | sort > l1
                rm log1
                """),
            Step(
                r"""
                TERM=xterm script -qec 'SMPMAKE make' log1 < /dev/null > /dev/null
                tr -d '\r' < log1 | grep -v Script | sed '/smpmake:/d' | grep -v '^$' | sort > l2
                rm log1
                """,
                edit="make -s clean",
            ),
        ),
        files=PRINTING,
        before="sed -i 's/return 0/int u; return 0/' m.c",
        after=NOTHING,
        needs=("script",),
    ),
    makefile(
        "serial-exact",
        TALKING,
        options=("--output-sync=serial",),
        steps=(
            Step("SMPMAKE make > o1 2>&1; echo $? >> o1", compared=False),
            Step("SMPMAKE make > o2 2>&1; echo $? >> o2", edit="make -s clean", compared=False),
            Step("SMPMAKE make -k > o3 2>&1; echo $? >> o3", edit="make -s clean", compared=False),
            Step("true", edit="sed -i '/^smpmake: /d' o?"),
        ),
        files=TALKED,
        after=NOTHING,
    ),
    makefile(
        "live-lines",
        TALKING,
        steps=(
            Step("SMPMAKE make > o1 2> e1; echo $? >> o1", compared=False),
            Step("SMPMAKE make > o2 2> e2; echo $? >> o2", edit="make -s clean", compared=False),
            # After a failure, lines may come twice.
            Step("true", edit="for f in e? o?; do sed -i '/^smpmake: /d' $f; sort -uo $f $f; done"),
        ),
        files=TALKED,
        after=NOTHING,
    ),
)
