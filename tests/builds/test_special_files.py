"""FIFOs, devices and descriptors among the operands: both ends are there at once, as serially."""

from __future__ import annotations

import shutil

import pytest

from tests.support.space import Space
from tests.support.variants import often

pytestmark = pytest.mark.slow

FILES = {
    "a.c": "int a(void) { return A; }\n",
    "b.c": "int b;\n",
    "c.h": "int c;\n",
    "d.c": '#include "d.h"\n',
    "sub/keep": "",
}
SCRIPTS = {
    "what it makes is read": "mkfifo dd; (gcc -E a.c -o dd) & sed s/A/B/ dd > a.i; wait",
    "by a link": "mkfifo dd; ln -s dd l; (gcc -E a.c -o l) & sed s/A/B/ dd > a.i; wait",
    "a dependency file": "mkfifo dd; gcc -DA=1 -MD -MF dd -c a.c -o a.o & cat dd > a.i; wait",
    "an object": "mkfifo dd; gcc -DA=1 -S a.c -o dd & as -o a.o dd; wait; rm dd",
    "a source": "mkfifo dd; gcc -x c -c dd -o a.o & sed s/A/2/ a.c > dd; wait",
    "a source, with many at work": "mkfifo dd ee; gcc -c b.c; gcc -x c -c dd -o a.o & "
    "gcc -x c -c ee -o e.o & gcc -c b.c -o sub/b.o; cat b.c > dd; cat b.c > ee; wait",
    "an included file": "mkfifo dd; gcc -include dd -c b.c & cat c.h > dd; wait",
    "a command that is not understood": "mkfifo dd; gcc -c b.c; gcc -wrapper env -E a.c -o dd & "
    "sed s/A/B/ dd > a.i; wait",
    "a copy of it": "mkfifo dd; gcc -DA=1 -c a.c; gcc -E b.c -o dd & cp dd a.i; wait; rm a.o",
    "what it makes is waited for": "mkfifo dd; echo 'int d;' > d.h; gcc -c b.c; "
    "gcc -MD -MF dd -c d.c & cat dd > d.d; wait; gcc -r -o all.o b.o d.o",
    "a failure": "mkfifo dd; as -o a.o dd || echo no > said & echo .error > dd; wait",
    "a descriptor": "gcc -x c -c <(sed s/A/3/ a.c) -o a.o; gcc -DA=1 -E a.c -o >(cat > a.i)",
    "nothing": "gcc -x c -c /dev/null -o a.o; ln -s /dev/null n; gcc -E a.c -o n",
}


@pytest.mark.parametrize("guard", often(["--guard"], ["--guard", "--no-guard"]))
@pytest.mark.parametrize("name", SCRIPTS)
def test_p1_both_ends_are_there(space: Space, name: str, guard: str) -> None:
    if not shutil.which("bash"):
        pytest.skip("descriptors by name are bash's")
    space.expect_same(FILES, ["bash", "-c", SCRIPTS[name]], guard, "-j1")
