"""What others write while a build fails: it has to stay when the build is undone.

The failing command waits until the others have written, and they until the script has gone on,
which in a plain build it does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import SCRIPT, Case, Step, script, text

FILES = {
    "m.c": "int main(void) { return 0; }\n",
    "bad.c": "int x = ;\n",
    **{f"n{number}": "line\n" for number in range(1, 7)},
    "d/f": "f\n",
    "late": text(
        """
        #!/bin/sh
        pause
        pause
        touch ../go
        while [ ! -f ../written ]; do sleep 0.05; done
        pause
        exit 1
        """
    ),
}
BEFORE = """
touch -d '1 hour ago' n? d
chmod +x late
rm -f ../go ../written
"""
USER = "while [ ! -f ../go ]; do sleep 0.05; done"
#: For a script.
WAIT = "while [ ! -f ../written ]; do sleep 0.05; done\n"
FAILING = "gcc -wrapper ./late -c bad.c -o b.o\n"


def _meanwhile(name: str, build: str, outside: str, *, first: str = "") -> Case:
    """What the build does before and after the failing command, and what a user does."""
    lines = text(build).replace("user_has_written\n", WAIT)
    user = text(outside)
    return script(
        name,
        f"set -e\n{text(first)}\n{FAILING}{lines}\npause\npause\npause\n",
        files={**FILES, "user.sh": f"{USER}\n{user}\ntouch ../written\n"},
        before=BEFORE,
        busy="",
        options=("-j2",),
        steps=(Step(SCRIPT, edit="setsid bash ./user.sh > /dev/null 2>&1 &"),),
    )


CASES: Sequence[Case] = (
    _meanwhile(
        "meanwhile-append",
        "echo build >> n1",
        "echo user >> n1",
    ),
    _meanwhile(
        "meanwhile-rename-save",
        "sed -i s/line/build/ n2",
        """
        echo user > n2.new
        mv n2.new n2
        """,
    ),
    _meanwhile(
        "meanwhile-inplace-save",
        "sed -i s/line/build/ n3",
        "echo user > n3",
    ),
    _meanwhile(
        "meanwhile-created-by-both",
        "echo build > new",
        """
        echo user > new
        echo user2 > new2
        """,
    ),
    _meanwhile(
        "meanwhile-removed",
        "rm n4",
        "echo user > n4",
    ),
    _meanwhile(
        "meanwhile-in-new-folder",
        """
        mkdir nd
        echo build > nd/b
        """,
        """
        mkdir -p nd
        echo user > nd/u
        """,
    ),
    _meanwhile(
        "meanwhile-in-moved-folder",
        "mv d dd",
        """
        mkdir -p d dd
        echo user > d/u
        echo user > dd/u2
        """,
    ),
    _meanwhile(
        "meanwhile-in-removed-folder",
        "rm -rf d",
        """
        mkdir -p d
        echo user > d/u
        """,
    ),
    _meanwhile(
        "meanwhile-touched",
        """
        touch n5
        chmod 600 n5
        """,
        """
        echo user >> n5
        chmod 755 n5
        """,
    ),
    _meanwhile(
        "meanwhile-hard-link",
        """
        ln n6 h6
        echo build >> h6
        """,
        "echo user >> n6",
    ),
    _meanwhile(
        "meanwhile-between-appends",
        """
        echo build1 >> n1
        user_has_written
        echo build2 >> n1
        """,
        "echo user >> n1",
    ),
    _meanwhile(
        "meanwhile-between-saves",
        """
        sed -i s/line/build/ n2
        user_has_written
        sed -i s/build/again/ n2
        """,
        """
        echo user > n2.new
        mv n2.new n2
        """,
    ),
    _meanwhile(
        "meanwhile-created-between",
        """
        echo b1 > new
        user_has_written
        echo b2 >> new
        """,
        "echo user >> new",
    ),
    _meanwhile(
        "meanwhile-early-append",
        """
        user_has_written
        echo b2 >> new
        echo b2 >> n1
        """,
        """
        echo user >> new
        echo user >> n1
        """,
        first="""
        echo b1 >> new
        echo b1 >> n1
        """,
    ),
    _meanwhile(
        "meanwhile-early-nothing",
        """
        user_has_written
        :
        echo b2 >> n1
        """,
        """
        echo user >> new
        echo user >> n1
        """,
        first="""
        echo b1 >> new
        echo b1 >> n1
        """,
    ),
    _meanwhile(
        "meanwhile-early-sed",
        """
        user_has_written
        sed -i s/b1/b3/ new
        echo b2 >> n1
        """,
        """
        echo user >> new
        echo user >> n1
        """,
        first="""
        echo b1 >> new
        echo b1 >> n1
        """,
    ),
)
