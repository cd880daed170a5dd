"""Command lines and what they mean, row by row."""

from __future__ import annotations

import pytest

from smpmake.commands.families import find, is_known
from smpmake.commands.model import Kind, Reason
from tests.commands.disk import FakeFiles, meaning

FILES = FakeFiles(
    {
        "there": "",
        "old.c": "",
        "outer.rsp": "-O2 @inner.rsp\n'-DA=x y' \"b c.c\"",
        "inner.rsp": "-c \\\n a\\ b.c",
        "loop.rsp": "@loop.rsp",
        "map.rsp": "-Map=p.map @libs.rsp",
        "libs.rsp": "libx.a",
        "listing.rsp": "-ahl=m.lst",
    },
    ["dir", "src", "/abs"],
)

REFUSED = {
    # Questions.
    "gcc --version": Reason.QUERY,
    "gcc -V": Reason.QUERY,
    "cc -qversion": Reason.QUERY,
    "clang -version": Reason.QUERY,
    "gcc -v": Reason.QUERY,
    "gcc -dumpmachine": Reason.QUERY,
    "gcc -print-file-name=libc.so": Reason.QUERY,
    "gcc -### -c a.c": Reason.QUERY,
    "clang --print-targets": Reason.QUERY,
    "ld --version": Reason.QUERY,
    "ld -V": Reason.QUERY,
    "ld --verbose": Reason.QUERY,
    "ld --verbose=2": Reason.QUERY,
    "as --version": Reason.QUERY,
    "ar --version": Reason.QUERY,
    "ar -V": Reason.QUERY,
    "strip --help": Reason.QUERY,
    "mv --vers": Reason.QUERY,
    "ccache": Reason.QUERY,
    "ccache --version": Reason.QUERY,
    "ccache -s": Reason.LAUNCHER_QUERY,
    "sccache --show-stats": Reason.LAUNCHER_QUERY,
    "distcc --show-hosts": Reason.LAUNCHER_QUERY,
    "ccache --get-config=cache_dir": Reason.LAUNCHER_QUERY,
    # The tool's own mistakes.
    "gcc": Reason.MALFORMED,
    "gcc -c a.c -o": Reason.MALFORMED,
    "gcc -c a.c b.c -o x.o": Reason.MALFORMED,
    "gcc -E a.c b.c -o x": Reason.MALFORMED,
    "gcc -MF f.d -c a.c": Reason.MALFORMED,
    "ld -o": Reason.MALFORMED,
    "ar rx lib.a": Reason.MALFORMED,
    "ar cru": Reason.MALFORMED,
    "mv a": Reason.MALFORMED,
    "cp a b c": Reason.MALFORMED,
    "cp a b/": Reason.MALFORMED,
    # Not understood.
    "gcc -c a.c -fnever-heard-of": Reason.UNKNOWN_OPTION,
    "gcc -c a.c --never-heard-of": Reason.UNKNOWN_OPTION,
    "gcc -c a.c -wrapper gdb,--args": Reason.UNKNOWN_OPTION,
    "gcc a.c -Wl,--never-heard-of": Reason.UNKNOWN_OPTION,
    "gcc -c a.c -Wa,--never": Reason.UNKNOWN_OPTION,
    "gcc -c a.c -Wp,-never": Reason.UNKNOWN_OPTION,
    "clang -c a.c -Xclang -never": Reason.UNKNOWN_OPTION,
    "cp --never a b": Reason.UNKNOWN_OPTION,
    "ar rcy lib.a": Reason.UNKNOWN_OPTION,
    "never-heard-of a b": Reason.UNKNOWN_OPTION,
    "ccache never-heard-of a b": Reason.UNKNOWN_OPTION,
    "gcc -c a.f90": Reason.UNKNOWN_LANGUAGE,
    "gcc -c -x ada a.c": Reason.UNKNOWN_LANGUAGE,
    "gcc -c @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "gcc -c @loop.rsp": Reason.UNREADABLE_RESPONSE_FILE,
    "ar rc @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "ld @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "as @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "gcc a.o -Wl,@nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "gcc a.o -Wl,@loop.rsp": Reason.UNREADABLE_RESPONSE_FILE,
    "gcc -c a.c -Wa,@nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    # Where it goes.
    "gcc -c -": Reason.READS_STDIN,
    "gcc -x c -E -": Reason.READS_STDIN,
    "as": Reason.READS_STDIN,
    "ar -M": Reason.READS_STDIN,
    "rm -i a": Reason.READS_STDIN,
    "rm --interactive a": Reason.READS_STDIN,
    "cp /dev/stdin a": Reason.READS_STDIN,
    "gcc -E a.c": Reason.WRITES_STDOUT,
    "gcc -M a.c": Reason.WRITES_STDOUT,
    "gcc -S a.c -o -": Reason.WRITES_STDOUT,
    "gcc -S a.c -o /dev/stdout": Reason.WRITES_STDOUT,
    "gcc -MD -MF - -c a.c": Reason.WRITES_STDOUT,
    "gcc a.c -Wl,-M": Reason.WRITES_STDOUT,
    "gcc -c -Wa,-alh a.c": Reason.WRITES_STDOUT,
    "ar t lib.a": Reason.WRITES_STDOUT,
    "ar p lib.a": Reason.WRITES_STDOUT,
    "nm -g a.o": Reason.WRITES_STDOUT,
    "size": Reason.WRITES_STDOUT,
    "objcopy --dump-section .text=/dev/stdout a.o": Reason.WRITES_STDOUT,
    "touch -": Reason.WRITES_STDOUT,
    "gcc -c a.c -o /dev/null": Reason.DISCARDED_OUTPUT,
    "gcc a.c -o /dev/null": Reason.DISCARDED_OUTPUT,
    "cp a /dev/null": Reason.DISCARDED_OUTPUT,
    "objcopy a.o /dev/null": Reason.DISCARDED_OUTPUT,
    "ld a.o -o /dev/null": Reason.DISCARDED_OUTPUT,
    "gcc -fsyntax-only a.c": Reason.WRITES_NOTHING,
    "gcc -c a.o": Reason.WRITES_NOTHING,
    "ln a there": Reason.WRITES_NOTHING,
    "ln a b": Reason.SEVERAL_NAMES,
    "ln -f a b": Reason.SEVERAL_NAMES,
    "cp -l a b": Reason.SEVERAL_NAMES,
    "gcc a.c -o -": Reason.UNUSUAL_OUTPUT,
    # What it writes is not known.
    "gcc -c a.c -fdump-tree-all": Reason.WRITES_UNPREDICTABLE,
    "gcc -c a.c -da": Reason.WRITES_UNPREDICTABLE,
    "gcc -c a.c -fplugin=p.so": Reason.WRITES_UNPREDICTABLE,
    "gcc -c a.cc -fmodules-ts": Reason.WRITES_UNPREDICTABLE,
    "clang -c a.c -fmodules": Reason.WRITES_UNPREDICTABLE,
    "gcc -c a.c -MD -dumpbase x": Reason.WRITES_UNPREDICTABLE,
    "gcc a.c -flto -save-temps": Reason.WRITES_UNPREDICTABLE,
    "gcc a.c b.h": Reason.WRITES_UNPREDICTABLE,
    "gcc -S a.S": Reason.WRITES_UNPREDICTABLE,
    "cc --coverage one.c": Reason.WRITES_UNPREDICTABLE,
    "cc -MD a.c": Reason.WRITES_UNPREDICTABLE,
    "clang --coverage one.c -o p": Reason.WRITES_UNPREDICTABLE,
    "clang -c inc.h": Reason.WRITES_UNPREDICTABLE,
    "cc inc.h": Reason.WRITES_UNPREDICTABLE,
    "gfortran -save-temps -c x.F90": Reason.WRITES_UNPREDICTABLE,
    "gfortran -cpp -save-temps=obj -c x.f90": Reason.WRITES_UNPREDICTABLE,
    "ar x lib.a": Reason.WRITES_UNPREDICTABLE,
    "cp -b a b": Reason.WRITES_UNPREDICTABLE,
    "mv --backup=numbered a b": Reason.WRITES_UNPREDICTABLE,
    "cp --parents a/b dir": Reason.WRITES_UNPREDICTABLE,
    # Of several reasons the worst counts, wherever it stands.
    "mv -i a b": Reason.READS_STDIN,
    "mv -i -b a b": Reason.WRITES_UNPREDICTABLE,
    "cp -t src /dev/tty dir": Reason.WHOLE_FOLDER,
    "cp -r dir new": Reason.WHOLE_FOLDER,
    "mv dir new": Reason.WHOLE_FOLDER,
    "rm -rf dir": Reason.WHOLE_FOLDER,
    "ln -sfn a dir": Reason.WHOLE_FOLDER,
    # Better done at once.
    "mkdir -p a/b": Reason.NOT_PENDING,
    "install -d a/b": Reason.NOT_PENDING,
    "install -D a new/b": Reason.NOT_PENDING,
    "ln -s dir d": Reason.NOT_PENDING,
    "ln -s ../dir src/d": None,
    "rm -f": Reason.NOT_PENDING,
    # Checks.
    "gcc -c conftest.c": Reason.PROBE_NAME,
    "gcc -o conftest conftest.c -lm": Reason.PROBE_NAME,
    "gcc -c CMakeFiles/CMakeTmp/x.c": Reason.PROBE_NAME,
    "cc -o try try.c": Reason.PROBE_NAME,
    "ar cr conftest.a there.o": Reason.PROBE_NAME,
}


@pytest.mark.parametrize(("line", "reason"), REFUSED.items())
def test_refusal(line: str, reason: Reason | None) -> None:
    assert meaning(line, FILES).refusal is reason


READS = {
    "gcc -c a.c -imacros m.h": "a.c m.h",
    "gcc -c a.c -include p.h": "a.c p.h p.h.gch p.h.pch",
    "gcc a.o b.o libx.a -T s.ld -o p": "a.o b.o libx.a s.ld",
    "gcc a.o -Wl,--version-script=v.map,--dynamic-list,d.map": "a.o v.map d.map",
    "gcc a.o -Wl,--whole-archive,libx.a": "a.o libx.a",
    "gcc a.o -Wl,@map.rsp": "a.o libx.a map.rsp libs.rsp",
    "gcc a.o -Lout -l@nowhere": "a.o out/lib@nowhere.so out/lib@nowhere.a",
    "gcc -c a.c -Wl,@nowhere": "a.c",
    "gcc -c a.c -Wa,@listing.rsp": "a.c listing.rsp",
    "gcc a.o -Lout -L sub -lx -l:y.a": "a.o out/libx.so out/libx.a sub/libx.so sub/libx.a "
    "out/y.a sub/y.a",
    "gcc -c a.c -specs=nano.specs": "a.c",
    "gcc -c a.c -specs=/x/y.specs": "a.c /x/y.specs",
    "gcc -c a.c -fprofile-use=p.gcda": "a.c p.gcda",
    "ld a.o -T s.ld -lx -Ld": "a.o s.ld d/libx.so d/libx.a",
    "ar rcs lib.a a.o b.o": "a.o b.o",
    "ar d lib.a a.o": "",
    "ar rb x.o lib.a a.o": "a.o",
    "mv a dir": "a",
    "cp /dev/null a": "",
    "ln -s a dir/b": "dir/a",
    "ln -s /abs/a b": "/abs/a",
    "touch -r a b": "a",
    "objcopy --add-section n=f a.o": "f",
}


@pytest.mark.parametrize(("line", "reads"), READS.items())
def test_reads(line: str, reads: str) -> None:
    found = meaning(line, FILES)
    assert found.refusal is None, found.detail
    assert list(found.reads) == reads.split()


# Writes in order, with their flags: i in place, r removed, R replaces, s a side output, t untimed.
WRITES = {
    "gcc -MD -MF a.d -c a.c -o a.o": "a.o a.d/s",
    "gcc a.c": "a.out",
    "gcc a.o -Wl,@map.rsp": "a.out p.map/s",
    "gcc a.c b.c -Wl,@map.rsp": "a.out p.map/s",
    "gcc -c a.c -Wa,@listing.rsp": "a.o m.lst/s",
    "gcc -M -MF a.d a.c": "a.d",
    "x86_64-w64-mingw32-gcc a.c": "a.exe",
    "x86_64-w64-mingw32-gcc a.c -o p": "p.exe",
    "x86_64-w64-mingw32-gcc -shared a.c -o p.dll -Wl,--out-implib,l.a": "p.dll l.a/s",
    "i686-w64-mingw32-gcc -c a.c": "a.o",
    "ar cru lib.a a.o": "lib.a/i",
    "ranlib lib.a": "lib.a/i",
    "strip p q": "p/i q/i",
    "strip -p p": "p/it",
    "strip -o q p": "q",
    "objcopy a.o": "a.o/i",
    "objcopy a.o b.o": "b.o",
    "mv a b": "b/Rt a/rst",
    "cp a b": "b",
    "cp a there": "there/i",
    "cp -p a b": "b/t",
    "cp --preserve=mode a b": "b",
    "ln -sf a b": "b/R",
    "rm a": "a/rst",
    "touch a": "a/i",
    "touch -r b a": "a/it",
    "install -m 644 a dir": "dir/a",
}


@pytest.mark.parametrize(("line", "writes"), WRITES.items())
def test_writes(line: str, writes: str) -> None:
    found = meaning(line, FILES)
    assert found.refusal in (None, Reason.DRIVER_READS_BACK), found.detail
    described = []
    for write in found.writes:
        flags = "i" * write.in_place + "r" * write.removed + "R" * write.replaces
        flags += "s" * (not write.target) + "t" * (not write.timed)
        described.append(write.path + (f"/{flags}" if flags else ""))
    assert described == writes.split()


KINDS = {
    "gcc -c a.c": Kind.COMPILE,
    "gcc -S a.c": Kind.COMPILE,
    "gcc -c a.S": Kind.ASSEMBLE,
    "gcc -c a.S b.c": Kind.COMPILE,
    "gcc -E a.c -o b": Kind.PREPROCESS,
    "gcc a.c": Kind.LINK,
    "gcc p.h": Kind.COMPILE,
    "as a.s": Kind.ASSEMBLE,
    "ld a.o": Kind.LINK,
    "ar rc l.a a.o": Kind.ARCHIVE,
    "nm a.o": Kind.INSPECT,
    "mv a b": Kind.FILE,
    "gcc --version": Kind.QUERY,
    "never-heard-of": Kind.UNKNOWN,
}


@pytest.mark.parametrize(("line", "kind"), KINDS.items())
def test_kind(line: str, kind: Kind) -> None:
    assert meaning(line, FILES).kind is kind


NAMES = {
    "compiler": """
        gcc g++ cc c++ c89 c99 clang clang++ gcc-12 gcc-12.2 clang-14 arm-none-eabi-gcc
        x86_64-linux-gnu-g++-12 i686-w64-mingw32-gcc x86_64-w64-mingw32-gcc-posix
        """,
    "ar": "ar gcc-ar gcc-ar-12 llvm-ar-14 arm-none-eabi-ar x86_64-linux-gnu-gcc-ar-12",
    "ranlib": "ranlib gcc-ranlib",
    "nm": "nm gcc-nm",
    "linker": "ld ld.bfd ld.gold ld.lld gold arm-none-eabi-ld x86_64-linux-gnu-ld.bfd",
    "assembler": "as arm-none-eabi-as",
    "launcher": "ccache distcc icecc sccache",
    "mv": "mv gmv",
    "cmake": "cmake",
    "": """
        clang-format clang-tidy clang-cl gccgo gcc-12-x distccd ctest make sh ldd asan git python3
        libtool ld.so mvn rmdir remove cpp
        """,
}


@pytest.mark.parametrize(
    ("name", "family"), [(n, family) for family, text in NAMES.items() for n in text.split()]
)
def test_name(name: str, family: str) -> None:
    found = find(name)
    assert (found.name if found else "") == family
    assert is_known(f"/usr/bin/{name}") is (found is not None)


def test_response_files_nest_and_quote() -> None:
    found = meaning("gcc @outer.rsp", FILES)
    assert found.refusal is None
    assert found.reads == ("a b.c", "b c.c", "outer.rsp", "inner.rsp")


@pytest.mark.parametrize("name", ["DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"])
def test_a_variable_that_makes_it_write_elsewhere(name: str) -> None:
    assert meaning("gcc -c a.c", env={name: "x"}).refusal is Reason.UNUSUAL_ENVIRONMENT


def test_posixly_correct_ends_options_at_the_first_operand() -> None:
    env = {"POSIXLY_CORRECT": "1"}
    assert meaning("mv a -f", env=env).writes[0].path == "-f"
    assert meaning("mv a b -f").writes[0].path == "b"


@pytest.mark.parametrize(
    "cwd", ["/b/CMakeFiles/CMakeScratch/TryCompile-x", "/b/meson-private/tmpab", "/b/.sconf_temp"]
)
def test_a_check_is_known_by_its_folder(cwd: str) -> None:
    assert meaning("cc -c a.c -o a.o", cwd=cwd).refusal is Reason.PROBE_NAME
    assert meaning("cc -c a.c -o a.o", cwd="/b/src").refusal is None


def test_empty_argv() -> None:
    assert meaning([]).refusal is Reason.UNKNOWN_OPTION


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("mv -f a.Tpo a.Po", ("a.Tpo", "a.Po")),
        ("mv a.o objs/a.lo", ("a.o", "objs/a.lo")),
        ("mv a.o dir", ("a.o", "dir/a.o")),
        ("mv -t dir a.o", ("a.o", "dir/a.o")),
        ("mv -fT a.o b.o", ("a.o", "b.o")),
        ("mv a.o b.o dir", None),
        ("mv -v a.o b.o", None),
        ("mv -n a.o b.o", None),
        ("mv --strip-trailing-slashes a.o b.o", None),
        ("cp a.o b.o", None),
    ],
)
def test_a_move_that_is_one_rename(line: str, pair: tuple[str, str] | None) -> None:
    assert meaning(line, FILES).rename == pair


VOUCHES = {
    "mv x.loT x.lo": {"x.lo": "x.loT"},
    "gmv -f x.loT sub/x.lo": {"sub/x.lo": "x.loT"},
    "mv x.lo x.old": {},
    "mv a.Tpo a.Po": {},
    "touch stamp": {"stamp": ""},
    "touch -r old stamp": {},
    "touch -d yesterday stamp": {},
    "cp x.loT x.lo": {},
    "rm x.lo": {},
    "gcc -c a.c": {},
}


@pytest.mark.parametrize("line", VOUCHES)
def test_what_vouches_for_commands_before_it(line: str) -> None:
    found = meaning(line, FILES)
    vouches = {write.path: write.same_as for write in found.writes if write.vouches}
    assert vouches == VOUCHES[line]


def test_a_symbolic_link_is_known_as_one() -> None:
    (write,) = meaning("ln -sf a b", FILES).writes
    assert write.symbolic and write.timed
    (write,) = meaning("ln -f a b", FILES).writes
    assert not write.symbolic and not write.timed


@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("gcc o/a.o -Llib -Wl,-rpath,/p:q -Wl,-rpath-link=r -Bs -o t", "o lib /p q r s"),
        ("gcc src/a.c -Iinc -B/s -c", "src inc /s"),
        ("ld -o t o/a.o -R run --library-path=lib -rpath p", "o run lib p"),
    ],
)
def test_where_a_command_looks_for_what_it_does_not_name(command: str, places: str) -> None:
    assert set(places.split()) <= set(meaning(command, FILES).search)
    variables = {"LIBRARY_PATH": "x:/y", "CPATH": ":z"}
    found = meaning(command, FILES, variables).search
    assert {"x", "/y", "z"} <= set(found)
