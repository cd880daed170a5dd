"""Each row is run by the real tool in a folder of its own: the files it made, changed and removed
must be those that the analysis named, neither more nor fewer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from smpmake.commands.model import Reason
from tests.commands.disk import RealFiles, age, fill, meaning, run, shot
from tests.support import needs
from tests.support.variants import often

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

# What gcc and clang agree upon.
BOTH = """
    -c a.c
    -c a.c -o out/x.o
    -c -oout/x.o a.c
    -c a.c --output=out/x.o
    -c a.c b.c
    -c sub/s.c
    -c a.c one.c low.s big.S
    -c -x c one.c -x none a.c -x assembler-with-cpp low.s
    -c ready.i
    -c c.cpp
    -c @words.rsp
    -c -include inc.h a.c
    -S a.c
    -S sub/s.c -o out/s.s
    -c -S a.c
    -E a.c -o out/a.i
    -E -c a.c -o x.o
    -MD -c a.c
    -MMD -MP -MT t -c a.c -o out/x.o
    -MD -c a.c -o out/x
    -MD -c a.c -o out/x.foo.bar
    -MD -c a.c b.c
    -MD -c a.c b.c low.s big.S ready.i
    -MD -MF f.d -c a.c b.c
    -MD -MFf.d -c a.c
    -MD -MF /dev/null -c a.c
    -MD -S a.c -o out/x.s
    -MD -E -o x.i a.c
    -MD -E -MF f.d -o x.i a.c
    -MM a.c -o x.d
    -MM -MF y.d -o x.d a.c
    -MM -MF y.d a.c
    -M -MD a.c -o x
    -M -c a.c -o x.o
    -Wp,-MD,f.d -c a.c
    -Wp,-MMD,f.d -Wp,-MT,x.o -c a.c -o x.o
    -Wp,-DX,-UY -c a.c
    -MD a.c b.c -o prog
    -MD one.c -o out/prog.x
    -MD sub/s.c one.c -o out/prog.exe
    -MD -MF f.d a.c b.c -o prog
    one.c
    one.c -o out/prog
    a.c b.c
    -shared -fPIC -o libs.so sub/s.c
    -r sub/s.c a.c -o all.o
    -Wl,-Map=f.map one.c
    -Wl,-Map,f.map one.c -o prog
    -Wl,@link.rsp one.c -o prog
    -Xlinker -Map -Xlinker f.map one.c
    -Wl,--dependency-file=f.d one.c
    -Wl,--version-script=script.map -shared -fPIC a.c sub/s.c -o l.so
    --coverage -c a.c
    --coverage -c a.c -o out/x.o
    --coverage -c a.c -o out/x.lo
    --coverage -c a.c b.c
    --coverage -S a.c -o out/k.s
    --coverage -c big.S
    -fprofile-arcs -c a.c
    -ftest-coverage -c a.c
    -fprofile-arcs -ftest-coverage -c sub/s.c
    -fstack-usage -c a.c
    -fstack-usage -c a.c -o out/x.o
    -g -gsplit-dwarf -c a.c
    -g -gsplit-dwarf -c a.c -o out/x
    -g -gsplit-dwarf -c a.c b.c
    -gsplit-dwarf -c big.S
    -gsplit-dwarf -gno-split-dwarf -g -c a.c
    -flto -c a.c -o x.o
    inc.h -o out/inc.gch
    -x c-header inc.h -o out/k
    -x c++-header -c inc.h -o out/k.pch
    -MMD inc.h -o out/inc.h.gch
    -MMD -c inc.h -o out/inc.h.gch
    -pipe -pthread -O2 -Wall -std=gnu11 -fno-strict-aliasing -c a.c
"""

GCC_ONLY = """
    -c inc.h
    inc.h
    sub/deep.h
    -x c++-header -c inc.h
    -MMD -c inc.h
    -MD one.c
    -MD a.c b.c
    -MD inc.h
    --coverage one.c
    --coverage a.c b.c
    --coverage one.c -o out/prog
    --coverage a.c b.c -o out/prog.exe
    --coverage one.c -o one
    --coverage -save-temps -fstack-usage one.c -o out/one.exe
    --coverage a.c b.c -o out/a
    --coverage -gsplit-dwarf one.c -lm -o one
    -save-temps=cwd --coverage one.c -o out/one
    -save-temps=cwd --coverage -fstack-usage -MMD -c a.c -o out/x.o
    -g -gsplit-dwarf -S a.c
    -Wp,-MMD,f.d,-MT,x.o -c a.c -o x.o
    -gsplit-dwarf -c a.c
    -g0 -gsplit-dwarf -c a.c
    -gsplit-dwarf one.c
    -gsplit-dwarf a.c b.c -o out/prog.x
    -gsplit-dwarf -c low.s
    -fstack-usage one.c
    -fstack-usage sub/s.c one.c -o out/prog
    -fcallgraph-info -c a.c
    -fcallgraph-info=su,da -c a.c -o out/x.o
    -save-temps -c a.c
    -save-temps -c a.c -o out/x.o
    -save-temps=obj -c a.c -o out/x.o
    -save-temps=cwd -c a.c -o out/x.o
    -save-temps one.c
    -save-temps a.c b.c -o out/prog
    -save-temps -S a.c
    -save-temps -S a.c -o out/x.s
    -save-temps -E a.c -o x.i
    -save-temps -c c.cpp
    -save-temps -c low.s big.S
    -save-temps -c ready.i
    -save-temps -g -gsplit-dwarf --coverage -fstack-usage -MD -c a.c -o out/x.o
    -fsave-optimization-record -O2 -c a.c
    -fsave-optimization-record -O2 -c a.c -o out/x.o
    -fsave-optimization-record -O2 one.c -o out/prog
    -fopt-info-all=opt.txt -O2 -c a.c
    -fopt-info-vec -O2 -c a.c
    -aux-info f -c a.c
    -Wa,-adhlns=l.lst -c a.c
    -Wa,-adhlns=l.lst,-alh -c a.c
    -Wa,--MD,q.d -c a.c
    -Xassembler --MD -Xassembler q.d -c a.c
    -fdump-final-insns=fi -c a.c
    -fdump-go-spec=gg -c a.c
    -fcompare-debug -c a.c -o out/x.o
    -dumpbase foo -c a.c
    -flto one.c
    -flto --coverage -c a.c
    -Wl,--out-implib,f one.c
    -static one.c -o st
    -fuse-ld=gold one.c
    -specs=/dev/null -c a.c
    -frandom-seed=1 -frecord-gcc-switches -c a.c
"""

CLANG_ONLY = """
    -MD one.c
    -MD a.c b.c
    -gsplit-dwarf -c a.c
    -g -g0 -gsplit-dwarf -c a.c
    -g -gsplit-dwarf -S a.c
    -save-temps -c a.c
    -save-temps -c a.c -o out/x.o
    -save-temps=obj -c a.c -o out/x.o
    -save-temps=cwd -c a.c -o out/x.o
    -save-temps=cwd --coverage -c a.c -o out/x.o
    -save-temps one.c
    -save-temps a.c b.c -o out/prog
    -save-temps=obj a.c b.c -o out/prog
    -save-temps -S a.c
    -save-temps -S a.c -o out/x.s
    -save-temps -c low.s big.S
    -fsave-optimization-record -O2 -c a.c
    -fsave-optimization-record -O2 -c a.c -o out/x.o
    -foptimization-record-file=rr -O2 -c a.c
    -ftime-trace -c a.c
    -ftime-trace -c a.c -o out/z.foo.o
    -c a.c -MJ k.json
    -c a.c --serialize-diagnostics k.dia
    -MT x -c a.c
    -c m.m
    -Xclang -disable-O0-optnone -c a.c
    -mllvm -inline-threshold=10 -c a.c
    -flto -c a.c
    -fcolor-diagnostics -Qunused-arguments -c a.c
"""


def lines(text: str) -> list[str]:
    """The rows of a table."""
    return [line.strip() for line in text.strip().splitlines()]


def command_rows() -> list[ParameterSet]:
    """Every row behind its tool."""
    rows = [f"gcc {row}" for row in lines(BOTH) + lines(GCC_ONLY)]
    rows += [f"clang {row}" for row in lines(CLANG_ONLY)]
    # A name that does not tell gcc from clang: what they agree upon.
    rows += ["cc -MD -c a.c -o out/x.o", "c++ --coverage -c d.cc", "g++ -c a.c", "g++ -MD -c d.cc"]
    rows += ["g++ inc.h", "g++ c.cpp d.cc -o prog", "g++ -save-temps -c a.c"]
    clang_too = [f"clang {row}" for row in lines(BOTH)]
    return often(rows + clang_too[::4], rows + clang_too)


OTHERS = """
    gcc -Wa,@listing.rsp -c one.c
    gfortran -c mod.f90
    gfortran -c mod.f90 -o out/m.o
    gfortran -Jout -c mod.f90 -o out/m.o
    gfortran -J out -c sub/two.F90
    gfortran -cpp -MD -c sub/two.F90
    gfortran -cpp -MMD -c low.f90
    gfortran -cpp -MD -MF f.d -c low.f90
    gfortran -save-temps -c low.f90 -o y.o
    gfortran -c old.f main.f90
    gfortran -S mod.f90
    gfortran -E sub/two.F90 -o x.f90
    gfortran mod.f90 main.f90 -o prog
    gfortran -c one.c -O2 -fimplicit-none
    gfortran -ffree-line-length-none -fcheck=all -fbacktrace -std=f2008 -c main.f90
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sources."""
    fill(tmp_path)
    return tmp_path


def check(line: str, folder: Path) -> None:
    """Run the line and compare what it did with what was foretold."""
    argv = line.split()
    needs.require_for(argv)
    age(folder)
    foretold = meaning(line, RealFiles(folder), cwd=str(folder))
    # What -M and hard links are is foretold too, although none of them is a job.
    understood = (None, Reason.DRIVER_READS_BACK, Reason.SEVERAL_NAMES)
    assert foretold.refusal in understood, (foretold.refusal, foretold.detail)
    before = shot(folder)
    done = run(argv, folder)
    after = shot(folder)
    assert done.returncode == 0, done.stderr.decode()
    made = {name for name, state in after.items() if before.get(name) != state}
    gone = set(before) - set(after)
    wanted = {write.path for write in foretold.writes if not write.removed}
    unsure = {write.path for write in foretold.writes if not write.timed and write.kept}
    assert wanted - unsure <= made <= wanted
    assert gone == {write.path for write in foretold.writes if write.removed}
    for path in foretold.reads:
        maybe = (
            path.endswith((".gch", ".pch", ".mod", ".smod"))
            or "/lib" in path
            or path.startswith("/")
        )
        assert maybe or os.path.normpath(path) in before


@pytest.mark.parametrize("line", command_rows())
def test_a_compiler_writes_what_was_foretold(line: str, folder: Path) -> None:
    check(line, folder)


@pytest.mark.parametrize("line", lines(OTHERS))
def test_other_compilers_too(line: str, folder: Path) -> None:
    check(line, folder)


TOOLS = """
    as low.s
    as low.s -o out/low.o
    as -oout/low.o --MD l.d -al=l.lst --64 low.s
    as -g --noexecstack -I sub low.s -o low.o
    ld -r a.o b.o
    ld -r -o out/all.o a.o b.o
    ld -r a.o b.o -Map f.map -oall.o
    ld -r a.o -Map=f.map --output=all.o
    ld.gold -r a.o b.o -o all.o
    ld.lld -r a.o b.o -o all.o --Map=f.map
    ld -shared -soname l -z now --build-id=sha1 --version-script script.map -o l.so s.o
    ld -r --whole-archive old.a -o all.o
    ld -shared s.o -L sub -L. -lold -o l.so
    ar cru new.a a.o b.o
    ar rcs new.a a.o b.o
    ar -rcs new.a a.o
    ar -r -c -s new.a a.o
    ar rcsT new.a a.o b.o
    ar rcsD new.a a.o
    ar r old.a b.o
    ar rU old.a b.o
    ar rb a.o old.a b.o
    ar rcs --plugin /nonexistent.so new.a a.o
    ar q old.a b.o
    ar d old.a a.o
    ar mU old.a a.o
    ar rc @members.rsp
    gcc-ar rcs new.a a.o
    ranlib old.a
    gcc-ranlib -U old.a
    strip a.o b.o
    strip -g old.a
    strip --strip-debug -o out/a.o a.o
    strip -p -s a.o
    strip --only-keep-debug -oout/a.debug a.o
    objcopy a.o
    objcopy a.o out/x.o
    objcopy -p a.o x.o
    objcopy --only-keep-debug a.o a.debug
    objcopy --add-gnu-debuglink=b.o a.o
    objcopy --add-section .note=inc.h a.o x.o
    objcopy --add-section=.note=inc.h a.o
    objcopy --dump-section .text=text.bin a.o
    objcopy --dump-section .text=text.bin a.o x.o
    objcopy -O binary -j .text a.o text.bin
    objcopy --redefine-sym a=z --prefix-symbols=p_ a.o
    objcopy --localize-symbols words.rsp a.o x.o
    objcopy -I binary -O elf64-x86-64 -B i386 inc.h inc.o
    cp a.c new.c
    cp -p a.c new.c
    cp --pres=mode a.c new.c
    cp a.c b.c
    cp a.c out
    cp a.c b.c out/
    cp -t out a.c b.c
    cp -T -f a.c new.c
    cp a.c -v new.c
    cp -l a.c hard.c
    cp -s a.c soft.c
    cp -a a.c new.c
    cp -R a.c new.c
    cp --remove-destination a.c b.c
    cp /dev/null empty
    mv a.c new.c
    mv -f a.c b.c
    mv -f a.c out
    mv -t out a.c b.c
    mv -- a.c new.c
    mv --targ=out a.c sub/s.c
    ln a.c hard.c
    ln -s a.c soft.c
    ln -sf a.c b.c
    ln -f a.c b.c
    ln -s ../a.c ../b.c out
    ln -s ../a.c out/soft.c
    ln sub/s.c
    ln -s -T a.c soft.c
    rm a.c
    rm -f a.c b.c
    rm -rf a.c
    touch new
    touch a.c new
    touch -r a.c new
    touch -d 2001-01-01 new a.c
    touch -c a.c
    touch -t 200101010000 a.c
    install a.c new.c
    install -m 644 a.c out
    install -c -m644 a.c b.c out
    install -D a.c out/new.c
    install -p -m 755 a.c b.c
    install -t out a.c b.c
    install -s prog out/prog
    install -C a.c new.c
    cmake -E copy a.c new.c
    cmake -E copy a.c b.c
    cmake -E copy a.c b.c out
    cmake -E copy_if_different a.c new.c
    cmake -E copy_if_different a.c b.c
    cmake -E copy_if_different a.c out
    cmake -E rm a.c b.c
    cmake -E rm -f a.c
    cmake -E rm -rf a.c
    cmake -E touch new a.c
    cmake -E touch_nocreate a.c
    cmake -E create_symlink a.c soft.c
    cmake -E create_symlink ../a.c out/soft.c
    cmake -E create_symlink a.c b.c
    cmake -E cmake_symlink_library a.o liba.so.1 liba.so
    cmake -E cmake_symlink_library old.a old.a liba.so
    cmake -E cmake_symlink_executable prog prog-1
"""

GENERATORS = """
    bison g.y
    bison -d g.y
    bison -dv -o out/p.c g.y
    bison -d sub/g.yy
    bison h.y
    bison --defines=out/tokens.h -o p.cc g.y
    bison --header -bq g.y
    bison -y -d g.y
    bison -ydv -bq g.y
    bison -Wno-yacc -p other -t -l -o p.c g.y
    yacc g.y
    yacc -d -v g.y
    yacc -d -b q g.y
    yacc -d -o out/p.c g.y
    flex g.l
    flex -o out/l.c g.l
    flex -olx.c --header-file=lx.h g.l
    flex -Pzz g.l
    flex -Cfe -i -L -p g.l
    lex g.l
    gperf --output-file=out/w.c words.gperf
    gperf -L ANSI-C -N find --output-file w.c words.gperf
    re2c -o out/r.c g.re
    re2c -i -W --output r.c g.re
    re2c -bis --depfile r.d -o r.c g.re
    msgfmt -o out/g.mo g.po
    msgfmt -c --statistics -og.mo g.po
    moc qt.h -o out/moc_qt.cpp
    moc -I. -DX=1 -I sub --include inc.h -o moc_qt.cpp qt.h
    moc --output-json qt.h -o moc_qt.cpp
    uic qt.ui -o out/ui_qt.h
    uic -o ui_qt.h -n -p qt.ui
    rcc -name q qt.qrc -o out/qrc.cpp
    rcc --binary -o q.rcc qt.qrc
    glib-genmarshal --header --prefix=m --output=out/m.h marks.list
    glib-genmarshal --body --prefix m --output m.c marks.list
    glib-mkenums --template enums.in --output out/e.c enums.h
    gdbus-codegen --generate-c-code out/bus bus.xml
    gdbus-codegen --generate-c-code bus --output-directory out --pragma-once bus.xml
    gdbus-codegen --header --output out/bus.h bus.xml
    wayland-scanner client-header way.xml out/way.h
    wayland-scanner -s private-code way.xml way.c
    protoc --cpp_out=. m.proto
    protoc --cpp_out=out m.proto
    protoc --cpp_out=out --python_out=out sub/n-o.proto
    protoc -Isub --cpp_out=dllexport_decl=X:out sub/n-o.proto
    protoc --proto_path=. --proto_path=sub -oout/d.pb --dependency_out=d.d m.proto
    xxd -i inc.h out/inc.c
    pod2man page.pod out/page.1
    pod2man --section=1 -c center page.pod page.1
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder with objects, archives and a program."""
    folder = tmp_path_factory.mktemp("built")
    fill(folder)
    run(["gcc", "-g", "-fPIC", "-c", "a.c", "b.c", "sub/s.c"], folder)
    run(["gcc", "-o", "prog", "a.o", "b.o"], folder)
    run(["ar", "rcs", "old.a", "a.o"], folder)
    run(["ar", "rcs", "libold.a", "a.o"], folder)
    (folder / "members.rsp").write_text("new.a 'a.o' \"b.o\"\n")
    return folder


@pytest.fixture
def objects(built: Path, tmp_path: Path) -> Path:
    """A copy of that for one test."""
    return shutil.copytree(built, tmp_path / "objects")


@pytest.mark.parametrize("line", lines(GENERATORS))
def test_a_generator_writes_what_was_foretold(line: str, folder: Path) -> None:
    (folder / "out/sub").mkdir(
        exist_ok=True
    )  # as the folders of outputs are there where it is a job
    check(line, folder)


@pytest.mark.parametrize("line", lines(TOOLS))
def test_a_tool_writes_what_was_foretold(line: str, objects: Path) -> None:
    check(line, objects)
