"""Builds that a signal ends, and two builds in one folder.

Plain make must then make of what is left what it makes of a fresh folder, and nothing half-made may
be taken for done.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, Step, makefile, text
from tests.soak.attacks.files import BAD

FILES = {
    "gen.py": text(
        """
        import time
        print("#define G 1", flush=True)
        time.sleep(0.1)
        print("#define H 2")
        """
    ),
    "tab.py": text(
        """
        import time
        print('#include "gen.h"', flush=True)
        time.sleep(0.1)
        print("int t[] = {G, H};")
        """
    ),
    "m.c": text(
        r"""
        #include <stdio.h>
        #include "gen.h"
        int a(void);
        extern int t[];
        int main(void) { return printf("%d %d %d\n", G, a(), t[1]) < 0; }
        """
    ),
    "a.c": '#include "gen.h"\nint a(void) { return H + 1; }\n',
}
MAKEFILE = """
all: p q.txt list.txt
gen.h: gen.py ; python3 gen.py > gen.h
tab.c: tab.py gen.h ; python3 tab.py > tab.c
%.o: %.c gen.h ; gcc -MMD -c $< -o $@
p: m.o a.o tab.o ; gcc -o p m.o a.o tab.o
    ./p > out.txt
q.txt: gen.py ; for i in 1 2 3; do echo $$i; sleep 0.05; done > q.txt
r.txt: q.txt ; cat q.txt > r.txt; sleep 0.1; cat q.txt >> r.txt
list.txt: r.txt p
    (sleep 0.05; cat r.txt; sleep 0.05; echo end) > list.tmp && mv list.tmp list.txt
clean: ; rm -f *.o p *.d gen.h tab.c *.txt *.tmp
-include *.d
"""
#: A moment for what ends a build to end, too.
ENDING = "pause; pause; pause"


def _killed(signal: str, moment: float) -> Case:
    """A repeated build, which remembers results, and which is killed after so many seconds.

    The plain one is not: a make that is killed may leave a half-made file.
    """
    kill = f"kill -{signal.removeprefix('group-')} {'-' if 'group' in signal else ''}$p"
    return makefile(
        f"signal-{signal.lower()}-{int(moment * 100)}",
        MAKEFILE,
        files=FILES,
        steps=(
            Step(),
            Step(
                f"""
                if [ -z "SMPMAKE" ]; then
                    make
                    exit
                fi
                set -m
                env --default-signal=INT SMPMAKE make > said 2>&1 &
                p=$!
                sleep {moment}
                {kill}
                wait $p
                {ENDING}
                rm said
                """,
                edit="make -s clean",
                compared=False,
            ),
            Step("SMPMAKE true", compared=False),
        ),
        options=("--memo=on",),
        ignored=("output",),
    )


def _both(name: str, one: str, other: str) -> Case:
    """Two builds in one folder at once; one of them may fail."""
    return makefile(
        name,
        """
        all:
        x: xa.o xb.o gx.txt ; gcc -o x xa.o xb.o; cp x out/x
        y: ya.o bad.o gy.txt ; gcc -o y ya.o bad.o; cp y out/y
        z: ya.o yb.o gy.txt ; gcc -o z ya.o yb.o; cp z out/z
        %.o: %.c ; gcc -O1 -c $< -o $@
        gx.txt: ; mkdir -p out; sleep 0.2; echo x > gx.txt; cp gx.txt out/; sleep 0.2
        gy.txt: ; mkdir -p out; sleep 0.2; echo y > gy.txt; cp gy.txt out/; sleep 0.2
        """,
        files={
            "xa.c": "int main(void) { return 0; }\n",
            "ya.c": "int main(void) { return 0; }\n",
            "xb.c": "int xb;\n",
            "yb.c": "int yb;\n",
            "bad.c": BAD,
        },
        steps=(
            Step(
                f"""
                SMPMAKE make {one} > /dev/null 2>&1 &
                p=$!
                SMPMAKE make {other} > /dev/null 2>&1
                echo {other} $?
                wait $p
                echo {one} $?
                """
            ),
        ),
        ordered=False,
    )


CASES: Sequence[Case] = (
    *(
        _killed(signal, moment)
        for signal in ("INT", "TERM", "HUP", "KILL", "group-INT", "group-KILL")
        for moment in (0.15, 0.4, 0.7)
    ),
    _both("two-builds-in-one-folder", "x", "z"),
    _both("two-builds-in-one-folder-one-fails", "x", "y"),
)
