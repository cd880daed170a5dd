"""A state folder that is broken between two builds."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, again, makefile, text
from tests.soak.attacks.files import PRINTING


def _broken(name: str, how: str) -> Case:
    inside = f"cd $HOME/.local/state/smpmake 2>/dev/null || exit 0\n{text(how)}"
    return makefile(
        name,
        """
all: p q.out
clean: ; rm -f *.o p *.out
%.o: %.c ; gcc -c $< -o $@
p: a.o m.o ; gcc -o p a.o m.o
q.out: p ; ./p > q.out
""",
        files=PRINTING,
        steps=again("", inside, ""),
    )


CASES: Sequence[Case] = (
    _broken(
        "state-trash",
        "for f in $(find . -type f); do head -c 3000 /dev/urandom > $f; done",
    ),
    _broken(
        "state-empty",
        "for f in $(find . -type f); do : > $f; done",
    ),
    _broken(
        "state-dirs",
        "for f in $(find . -type f); do rm $f; mkdir $f; done",
    ),
    _broken(
        "state-cut",
        "for f in $(find . -type f); do truncate -s 700 $f; done",
    ),
    _broken(
        "state-gone",
        "cd ..; rm -rf smpmake; ln -s /proc/1 smpmake",
    ),
    _broken(
        "state-file",
        "cd ..; rm -rf smpmake; echo x > smpmake",
    ),
    _broken(
        "state-old",
        r"""
        cat > ../old.py <<'E'
        import sqlite3
        import sys

        c = sqlite3.connect(sys.argv[1])
        c.execute("pragma user_version=9999")
        tables = c.execute("select name from sqlite_master where type='table'").fetchall()
        for (name,) in tables[:2]:
            if not name.startswith("sqlite"):
                c.execute(f"drop table {name}")
        c.commit()
        E
        for f in $(find . -name '*.db'); do python3 ../old.py $f; done
        """,
    ),
)
