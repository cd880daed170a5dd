"""Folders that come, go or change under compiles and links that look there: these find what there
was when they were issued."""

from __future__ import annotations

import pytest

from tests.support.held import Held
from tests.support.space import MAIN, Space

FILES = {
    "a.c": '#include "v.h"\nint a = VALUE;\n',
    "s.c": "#include <v.h>\nint a = VALUE;\n",
    "bare.c": "int bare;\n",
    "inc/v.h": "#define VALUE 1\n",
    "usr/include/v.h": "#define VALUE 1\n",
    "lib/f.c": "int f(void) { return 1; }\n",
    "use.c": f"int f(void);\n{MAIN}",
    "empty/in": "",
    "more/sub/in": "",
}

COMPILE = "gcc -Dheld -c a.c"
LINK = "gcc -Dheld -o t use.o -Wl,--no-gc-sections"
LOOKS = {
    "-I": f"{COMPILE} -Inewd/../inc",
    "-isystem": f"{COMPILE} -isystem newd/../inc",
    "-iquote": f"{COMPILE} -iquote newd/../inc",
    "-idirafter": f"{COMPILE} -idirafter newd/../inc",
    "-B": "gcc -Dheld -c s.c -Bnewd/../usr/",
    "--sysroot": "gcc -Dheld -c s.c --sysroot=newd/..",
    "-isysroot": "gcc -Dheld -c s.c -isysroot newd/..",
    "CPATH": f"CPATH=newd/../inc {COMPILE}",
    "C_INCLUDE_PATH": f"C_INCLUDE_PATH=newd/../inc {COMPILE}",
    "-L": f"{LINK} -Lnewd/../lib -lf",
    "-Wl,-L": f"{LINK} -Wl,-L,newd/../lib -lf",
    "LIBRARY_PATH": f"LIBRARY_PATH=newd/../lib {LINK} -lf",
    "-Wmissing-include-dirs": "gcc -Dheld -Wmissing-include-dirs -Werror -Inewd -c bare.c",
    "-Wmissing-include-dirs, below": (
        "gcc -Dheld -Wmissing-include-dirs -Werror -Inewd/in/it -c bare.c"
    ),
}
COMES = {
    "mkdir": "mkdir newd",
    "mkdir -p": "mkdir -p newd/in/it",
    "install -d": "install -d newd/in/it",
    "cp -r": "cp -r more newd",
    "mv": "mv more newd",
    "ln -s": "ln -s more newd",
    "python": "python3 -I -c \"import os; os.makedirs('newd/in/it')\"",
}
TRIED = [f"{look}, mkdir -p" for look in LOOKS] + [f"-I, {comes}" for comes in COMES]


def same(space: Space, script: str) -> None:
    """Whatever it is, behind a compiler that is known, and that a first link is known of, too."""
    held = Held(space)
    script = (
        "gcc -c lib/f.c -o f.o; ar rc lib/libf.a f.o; gcc -c use.c; gcc -o t0 use.o f.o; "
        f"gcc -c bare.c -o b.o; cksum b.o t0 > seen; echo > started; {script}; echo > after"
    )
    status, expected = held.serial(FILES, ["sh", "-c", script])
    ended, tree = held.parallel(FILES, ["sh", "-c", script], since="started")
    assert (ended.status, tree) == (status, expected), ended.err
    space.expect_clean()


@pytest.mark.parametrize("how", dict.fromkeys(TRIED))
def test_p1_a_folder_comes(space: Space, how: str) -> None:
    look, _, comes = how.rpartition(", ")
    same(space, f"{LOOKS[look]} || echo failed > st; {COMES[comes]}")


GOES = {
    "rmdir": "rm empty/in; {}; rmdir empty",
    "rm -r": "{}; rm -r empty",
    "mv": "{}; mv empty other",
    "the folder above": "mkdir empty/it; {}; mv empty other",
}


@pytest.mark.parametrize("goes", GOES)
def test_p1_a_folder_goes(space: Space, goes: str) -> None:
    folder = "empty/it" if goes == "the folder above" else "empty"
    look = f"gcc -Dheld -Wmissing-include-dirs -Werror -I{folder} -c bare.c || echo failed > st"
    same(space, GOES[goes].format(look))
