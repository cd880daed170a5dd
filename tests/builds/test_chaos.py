"""Disorder on purpose (--chaos) changes nothing: the hazards of the table, all in one small build.

The default run takes a few seeds; `pytest -m chaos` takes a hundred.
"""

from __future__ import annotations

import pytest

from tests.support.space import MAIN, Space, objects

pytestmark = pytest.mark.slow

BUILD = {
    **objects(6),
    "main.c": MAIN,
    "old.h": "#define VALUE 1\n",
    "gen.c": '#include "old.h"\nint gen = VALUE;\n',
    "part.s": '.data\n.incbin "f0.o"\n',
    "build.sh": """
mkdir -p out sub
for n in 0 1 2 3 4 5; do gcc -c f$n.c -o f$n.o; done
gcc -c gen.c -o gen1.o
echo '#define VALUE 2' > old.h
gcc -c gen.c -o gen2.o
cmp -s gen1.o gen2.o && echo same > compared || echo differ > compared
gcc -c part.s -o part.o
ar rc libf.a f0.o f1.o f2.o
ranlib libf.a
gcc -MD -MF sub/x.Tpo -c f3.c -o sub/x.o && mv -f sub/x.Tpo sub/x.d
cat sub/x.d > deps
gcc -o prog main.c libf.a f3.o
./prog; echo "ran $?" > ran
ln -s prog link; cp link copied
ls *.o > listed
echo *.a >> listed
ar rc libf.a f4.o
cp libf.a out/
rm f5.o; gcc -DAGAIN -c f5.c -o f5.o
mv f4.o out/f4.o
test -f f4.o && echo there > seen || echo gone > seen
gcc -shared -fPIC -o libs.so f0.c && python3 -I -c "
import ctypes, os
lib = ctypes.CDLL('./libs.so')
open('called', 'w').write(str(lib.f0(4)))
os.rename('sub', 'moved')
print(sorted(os.listdir('moved')), file=open('names', 'w'))
"
touch stamp
strip -o stripped prog
strip prog
printf '%s\\n' f1.o f2.o > args; gcc -shared -o from.so @args; echo f0.o > args
""",
    "Makefile": """
all: lib/libm.a prog2
\tsh -e build.sh
lib/libm.a: ; gcc -c f1.c -o lib-f1.o; $(MAKE) -C lib
prog2: main.o lib/libm.a ; gcc -o $@ main.o lib/libm.a
main.o: main.c ; gcc -c $< -o $@
""",
    "lib/Makefile": "libm.a: ../lib-f1.o m.o ; ar rc $@ $^\nm.o: m.c ; gcc -c $< -o $@\n",
    "lib/m.c": "int m;\n",
}


def check(space: Space, seeds: range) -> None:
    """The build under each seed gives what the plain one gives."""
    space.write(BUILD)
    plain = space.run("make")
    assert plain.status == 0, plain.err
    expected = space.tree()
    for seed in seeds:
        space.clear()
        space.write(BUILD)
        ended = space.smpmake("-q", "-j3", "--chaos", str(seed), "make")
        assert ended.status == 0, f"seed {seed}: {ended.err}"
        assert space.tree() == expected, f"seed {seed}: {ended.err}"
        space.expect_clean()
        again = space.run("make", "-C", "lib")
        assert "up to date" in again.out, f"seed {seed}"


@pytest.mark.chaos
def test_p1_under_chaos(space: Space) -> None:
    check(space, range(2))


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(100, 200, 25))
def test_p1_under_a_hundred_seeds(space: Space, first: int) -> None:
    check(space, range(first, first + 25))
