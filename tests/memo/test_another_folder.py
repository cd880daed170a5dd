"""Results in another folder: beside what the plain command makes there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smpmake import variables
from smpmake.protocol import layout
from tests.support import needs
from tests.support.remembered import Ran, Remembered, counts, settle
from tests.support.results_server import ResultsServer
from tests.support.space import SMPMAKE, Space

SOURCE = """\
#include <stdio.h>
#include "head.h"
static int twice(int x) { return TIMES * x; }
struct pair { int one; long other; };
int second(struct pair *pair) { printf("%d\\n", pair->one); return twice((int)pair->other); }
"""
FILES = {
    "conftest.c": SOURCE,
    "head.h": "#define TIMES 2\n",
    "inc/head.h": "#define TIMES 3\n",
    "conftest.cc": '#include <string>\n#include "head.h"\nstd::string s(TIMES, 65);\n',
    "conftest.s": ".globl f\nf: ret\n",
    "conftest1.c": 'int main(void) { return __builtin_strlen("file"); }\n',
    "sub/conftest.c": '#include "../inc/head.h"\nint z = TIMES;\n',
}
#: Names of folders: of other lengths, one the other's beginning, with what is written otherwise.
NAMES = (
    *("ab", "tree-2", "a/within", "x y", "n" * 180),
    *("q\"u'o", "\u00fc", "a.b+c", "b\\s", "new\nline"),
)


class Two(Remembered):
    """Two trees with the same files, and one store."""

    def __init__(self, root: Path, files: dict[str, str] = FILES) -> None:
        super().__init__(root, guarded=True)
        self.first = self.tree_of("a", files)

    def tree_of(self, name: str, files: dict[str, str] = FILES) -> Path:
        """A tree with files, whose times differ from those of the others."""
        tree = self.root / "trees" / name
        for path, text in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        settle(tree)
        return tree

    def made(self, tree: Path, *command: str, through_shims: bool, **more: Any) -> Any:
        """How a command ends in a tree, and all that is there then; the tree is as it was again."""
        kept = self.root / "kept"
        shutil.copytree(tree, kept, symlinks=True)
        folder = tree / more.pop("within", "")
        env = {"PWD": os.fspath(folder), variables.TREE: os.fspath(tree), **more.pop("env", {})}
        ran = self.run(*command, through_shims=through_shims, cwd=folder, env=env, **more)
        found = {
            os.fspath(path.relative_to(tree)): f"{path.stat().st_mode:o} ".encode()
            + path.read_bytes()
            for path in tree.rglob("*")
            if path.is_file()
        }
        for path in [path for path in found if not (kept / path).exists()]:
            (tree / path).unlink()
        shutil.rmtree(kept)
        return ran, found

    def gives(self, tree: Path, *command: str, **more: Any) -> bool:
        """Whether what the first tree made is given back in another, as plainly made there."""
        plain = self.made(tree, *command, through_shims=False, **more)
        self.made(self.first, *command, through_shims=True, **more)
        before = self.told.hits
        assert self.made(tree, *command, through_shims=True, **more) == plain
        return self.told.hits > before


@pytest.fixture
def two(tmp_path: Path) -> Any:
    made = Two(tmp_path)
    yield made
    made.close()


COMMANDS = (
    "gcc -c conftest.c",
    "gcc -g -O2 -c conftest.c -o conftest.o",
    "gcc -g3 -O1 -ffunction-sections -fPIC -Iinc -c conftest.c",
    "gcc -o conftest conftest1.c",
    "gcc -Wall -Wunused-variable -c sub/conftest.c -o z.o",
    "g++ -g -c conftest.cc",
    "as -o s.o conftest.s",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_what_the_plain_command_makes_there(two: Two, command: str) -> None:
    assert two.gives(two.tree_of("other/tree"), *command.split())


@pytest.mark.parametrize("name", NAMES)
def test_folders_may_have_any_name(two: Two, name: str) -> None:
    assert two.gives(two.tree_of(name), "gcc", "-g", "-c", "conftest.c")


@pytest.mark.parametrize("name", NAMES)
def test_the_first_may_have_any_name(two: Two, name: str) -> None:
    other, two.first = two.first, two.tree_of(name)
    assert two.gives(other, "gcc", "-g", "-c", "conftest.c")


def test_a_folder_below_the_top_is_the_same_one(two: Two) -> None:
    other = two.tree_of("other/tree")
    assert two.gives(other, "gcc", "-g", "-I..", "-c", "conftest.c", within="sub")
    two.made(two.first, "gcc", "-g", "-c", "conftest.c", through_shims=True)
    before = two.told.hits
    # In a tree with another top it is no question of that one's.
    shutil.copy(two.first / "conftest.c", other / "sub")
    shutil.copy(two.first / "head.h", other / "sub")
    two.made(other, "gcc", "-g", "-c", "conftest.c", through_shims=True, within="sub")
    assert two.told.hits == before


#: What makes that a result is not the other tree's, or not known for certain.
DIFFERENT: dict[str, Callable[[Path], object]] = {
    "another header": lambda tree: (tree / "head.h").write_text("#define TIMES 4\n"),
    "a header earlier": lambda tree: (tree / "stdio.h").write_text("int printf(const char*, ...);"),
    "another source": lambda tree: (tree / "conftest.c").write_text(f"{SOURCE}int more;\n"),
    "a header less": lambda tree: (tree / "head.h").unlink(),
}


@pytest.mark.parametrize("change", DIFFERENT)
def test_another_tree_has_what_is_its_own(two: Two, change: str) -> None:
    other = two.tree_of("b")
    DIFFERENT[change](other)
    settle(other)
    assert not two.gives(other, "gcc", "-g", "-I.", "-c", "conftest.c")


def test_embedded_files_are_the_trees_own(two: Two) -> None:
    needs.require("clang")
    other = two.tree_of("b")
    for tree in (two.first, other):
        (tree / "data.bin").write_bytes(bytes(range(200)))
        (tree / "conftest.c").write_text('char all[] = {\n#embed "data.bin"\n};\n')
        settle(tree)
    asked = ("clang", "-c", "conftest.c")
    if two.made(other, *asked, through_shims=False)[0].status != 0:
        pytest.skip("this clang has no #embed")
    assert two.gives(two.first, *asked)
    (other / "data.bin").write_bytes(bytes(range(201)))
    settle(other)
    assert not two.gives(other, *asked)


def test_a_tree_may_be_another_users(two: Two) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a tree away")
    other = two.tree_of("b")
    for path in (other, *other.rglob("*")):
        os.chown(path, 1, 1)
    settle(other)
    assert two.gives(other, "gcc", "-g", "-c", "conftest.c")


def test_the_first_tree_may_go(two: Two) -> None:
    other = two.tree_of("b")
    two.made(two.first, "gcc", "-g", "-c", "conftest.c", through_shims=True)
    plain = two.made(other, "gcc", "-g", "-c", "conftest.c", through_shims=False)
    shutil.rmtree(two.first)
    before = two.told.hits
    assert two.made(other, "gcc", "-g", "-c", "conftest.c", through_shims=True) == plain
    assert two.told.hits == before + 1


def write_names(tree: Path) -> None:
    """What names its tree."""
    (tree / "conftest2.c").write_text(f'#include "{tree}/head.h"\nint n = TIMES;\n')
    (tree / "conftest3.c").write_text(f'#line 3 "{tree}/from.y"\nint n;\n')
    (tree / "conftest4.c").write_text(f'const char *top = "{tree}";\n')
    (tree / "script.ld").write_text(f"INPUT({tree}/conftest1.o)\n")


@pytest.mark.parametrize(
    "command",
    [
        'gcc -DTOP="TREE" -c conftest.c',
        "gcc -g -c conftest2.c",
        "gcc -g -c conftest3.c",
        "gcc -c conftest4.c",
        "gcc -g -o conftest conftest1.c",
        "gcc -g -gz -c conftest.c",
        "gcc -g -gdwarf-4 -c conftest.c",
        "gcc -MD -MF TREE/conftest.d -c conftest.c",
        "gcc -o conftest conftest1.c -Wl,-rpath,TREE/lib",
        "gcc -c ../a/conftest.c",
    ],
)
def test_what_names_the_tree_is_never_given_elsewhere(two: Two, command: str) -> None:
    other = two.tree_of("b")
    for tree in (two.first, other):
        write_names(tree)
        settle(tree)
    words = [word.replace("TREE", os.fspath(two.first)) for word in command.split()]
    there = [word.replace("TREE", os.fspath(other)) for word in command.split()]
    two.made(two.first, *words, through_shims=True)
    plain = two.made(other, *there, through_shims=False)
    before = two.told.hits
    assert two.made(other, *there, through_shims=True) == plain
    assert two.told.hits == before
    if there != words:  # words that name the first tree mean that one
        plain = two.made(other, *words, through_shims=False)
        assert two.made(other, *words, through_shims=True) == plain


@pytest.mark.parametrize("name", ["CPATH", "LIBRARY_PATH", "C_INCLUDE_PATH", "TMPDIR"])
def test_variables_that_name_the_tree(two: Two, name: str) -> None:
    """The same value names the first tree also where another is built."""
    other = two.tree_of("b")
    env = {name: f"{two.first}/inc"}
    plain = two.made(other, "gcc", "-c", "conftest.c", through_shims=False, env=env)
    two.made(two.first, "gcc", "-c", "conftest.c", through_shims=True, env=env)
    before = two.told.hits
    assert two.made(other, "gcc", "-c", "conftest.c", through_shims=True, env=env) == plain
    assert two.told.hits == before


@pytest.mark.parametrize("below", ["", "/debian/home"])
def test_a_home_in_the_tree(two: Two, below: str) -> None:
    """As debhelper makes one for each build; at another place in the tree it is another."""
    other = two.tree_of("b")
    for tree, home, hits in ((two.first, below, 0), (other, below, 1), (other, "/home", 0)):
        env = {"HOME": f"{tree}{home}"}
        plain = two.made(tree, "gcc", "-g", "-c", "conftest.c", through_shims=False, env=env)
        before = two.told.hits
        assert two.made(tree, "gcc", "-g", "-c", "conftest.c", through_shims=True, env=env) == plain
        assert two.told.hits == before + hits


def test_what_a_variable_hides_from_the_search(two: Two) -> None:
    """A folder that was not there may be there now, in the first tree only."""
    other = two.tree_of("b")
    env = {"CPATH": f"{two.first}/new"}
    two.made(two.first, "gcc", "-c", "conftest.c", through_shims=True, env=env)
    (two.first / "new").mkdir()
    (two.first / "new/stdio.h").write_text("int printf(const char *, ...);\nint more;\n")
    plain = two.made(other, "gcc", "-c", "conftest.c", through_shims=False, env=env)
    assert two.made(other, "gcc", "-c", "conftest.c", through_shims=True, env=env) == plain


def test_a_link_to_the_tree_is_its_name(two: Two) -> None:
    """What $PWD says stands in the object, if it is the folder."""
    other = two.tree_of("b")
    link = two.root / "current"
    for tree, hits in ((two.first, 0), (other, 1)):
        link.unlink(missing_ok=True)
        link.symlink_to(tree)
        env = {"PWD": os.fspath(link)}
        plain = two.made(tree, "gcc", "-g", "-c", "conftest.c", through_shims=False, env=env)
        before = two.told.hits
        assert two.made(tree, "gcc", "-g", "-c", "conftest.c", through_shims=True, env=env) == plain
        assert two.told.hits == before + hits
    link.unlink()
    link.symlink_to(two.first)
    plain = two.made(other, "gcc", "-g", "-c", "conftest.c", through_shims=False, env=env)
    assert two.made(other, "gcc", "-g", "-c", "conftest.c", through_shims=True, env=env) == plain


DEEP = "d/" * 60
E_H = "struct pair { int one; };\nstatic int one(struct pair *p) { return p->one; }\n"
USES_E = '#include "e.h"\nint f(struct pair *p) { return one(p); }\n'
OMP = "void f(int *x) {\n#pragma omp target\n*x = 1;\n}\n"
LINKED = "static int v;\n#pragma omp declare target link(v)\nint f(void) { return v; }\n"
HIP = "-x hip --cuda-device-only -nogpuinc -nogpulib -fgpu-rdc"
#: What depends on the tree's name though it stands nowhere: the command, and files.  ABOVE
#: is the folder of the tree, THERE the other tree, HERE this one.
HIDDEN: dict[str, tuple[str, dict[str, str]]] = {
    "a map of a folder above": ("gcc -g -fdebug-prefix-map=ABOVE=/x -c conftest.c", {}),
    "two maps": ("gcc -g -fdebug-prefix-map=HERE=. -fdebug-prefix-map=/tmp=/x -c conftest.c", {}),
    "a map for the assembler": ("gcc -g -Wa,--debug-prefix-map=ABOVE=/x -c conftest.s", {}),
    "another compiler's map": ("clang -g -ffile-prefix-map=ABOVE=/x -c conftest.c", {}),
    "shared folders": ("clang -g -IABOVE/ext -c conftest.c", {"conftest.c": USES_E}),
    "a longer name": (f"gcc -g -isystem {'../' * 61}inc -c conftest.c", {}),
    "a header that names the other": (
        "gcc -ffile-prefix-map=HERE=. -c conftest.c",
        {
            "conftest.c": '#include "g.h"\n',
            "g.h": '#line 1 "THERE/gen.y"\nconst char *p = __FILE__;\n',
        },
    ),
    "a name with an escape": (
        "gcc -g -c conftest.c",
        {"conftest.c": '#line 1 "\\057HERE/gen.y"\nint f(void) { return 1; }\n'},
    ),
    "a build id": ("gcc -g -r -nostdlib -Wl,--build-id -o conftest.o conftest1.c", {}),
    "kept symbols": ("gcc -g -Wa,-L -c conftest.c", {}),
    "a folder above as root": ("gcc --sysroot=ABOVE -c conftest1.c", {}),
    "a source's number in a name": (
        "clang -fopenmp -c conftest.c",
        {"conftest.c": LINKED},
    ),
    "a source's number in HIP": (
        f"clang {HIP} -S conftest.cc -o conftest.s",
        {"conftest.cc": "static __attribute__((device)) int v;\n"},
    ),
    "a source's number": ("clang -g -fopenmp -c conftest.c", {"conftest.c": OMP}),
}


@pytest.mark.parametrize("name", ["other/b", "n" * 150, "b=c"])
@pytest.mark.parametrize("case", HIDDEN)
def test_what_depends_on_the_tree_though_it_names_it_nowhere(
    two: Two, case: str, name: str
) -> None:
    command, files = HIDDEN[case]
    needs.require(command.split()[0])
    other = two.tree_of(name)
    words = {}
    for tree in (two.first, other):
        values = {"HERE": tree, "THERE": other, "ABOVE": tree.parent}
        for path, text in {**files, f"{DEEP}conftest.c": SOURCE, "../ext/e.h": E_H}.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            for value, folder in values.items():
                # With an escape the slash is said already.
                text = text.replace(f"\\057{value}", "\\057" + os.fspath(two.first)[1:])
                text = text.replace(value, os.fspath(folder))
            (tree / path).write_text(text)
        settle(tree)
        filled = command
        for value, folder in values.items():
            filled = filled.replace(value, os.fspath(folder))
        words[tree] = filled.split()
    within = DEEP if case == "a longer name" else ""
    two.made(two.first, *words[two.first], through_shims=True, within=within)
    plain = two.made(other, *words[other], through_shims=False, within=within)
    assert two.made(other, *words[other], through_shims=True, within=within) == plain


def test_prefix_maps_take_the_tree_out(two: Two) -> None:
    other = two.tree_of("b")

    def words(tree: Path) -> list[str]:
        return ["gcc", "-g", f"-ffile-prefix-map={tree}=.", "-c", "conftest.c"]

    two.made(two.first, *words(two.first), through_shims=True)
    plain = two.made(other, *words(other), through_shims=False)
    before = two.told.hits
    assert two.made(other, *words(other), through_shims=True) == plain
    assert two.told.hits == before + 1
    # In the other tree the first one's map maps nothing.
    plain = two.made(other, *words(two.first), through_shims=False)
    assert two.made(other, *words(two.first), through_shims=True) == plain
    assert two.told.hits == before + 1


def test_an_object_that_was_made_elsewhere_keeps_its_names(two: Two) -> None:
    """It is in both trees, and names the first one."""
    other = two.tree_of("b")
    subprocess.run(["gcc", "-g", "-c", "conftest.c", "-o", "old.o"], cwd=two.first, check=True)
    shutil.copy(two.first / "old.o", other)
    for tree in (two.first, other):
        settle(tree)
    for command in ("ld -r -o new.o old.o", "ar rc lib.a old.o", "gcc -r -o new.o old.o"):
        plain = two.made(other, *command.split(), through_shims=False)
        two.made(two.first, *command.split(), through_shims=True)
        assert two.made(other, *command.split(), through_shims=True) == plain


def test_a_debugger_finds_the_sources_of_its_own_tree(two: Two) -> None:
    other = two.tree_of("b")
    two.made(two.first, "gcc", "-g", "-c", "conftest.c", through_shims=True)
    ran, found = two.made(other, "gcc", "-g", "-c", "conftest.c", through_shims=True)
    assert ran == Ran(0, b"", b"")
    assert two.told.hits == 1, two.told
    (two.root / "conftest.o").write_bytes(found["conftest.o"].partition(b" ")[2])
    told = subprocess.run(
        ["addr2line", "-e", two.root / "conftest.o", "0x0"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.startswith(f"{other}/conftest.c:")


def test_a_compiler_that_nobody_has_proved(two: Two) -> None:
    """It is believed when twenty of its objects have obeyed the rule, as far as one sees."""
    other = two.tree_of("b")
    for tree in (two.first, other):
        for number in range(19):
            text = f'__asm__(".ident \\"GCC: (new) 77.1.0\\"");\nint f{number};\n'
            (tree / f"conftest{number}.c").write_text(text)
        settle(tree)
    for number in range(19):
        two.made(two.first, "gcc", "-g", "-c", f"conftest{number}.c", through_shims=True)
    for number, hits in ((0, 0), (1, 1)):  # the first one there is the twentieth
        words = ("gcc", "-g", "-c", f"conftest{number}.c")
        plain = two.made(other, *words, through_shims=False)
        assert two.made(other, *words, through_shims=True) == plain
        assert two.told.hits == hits


#: What a makefile's commands are, in the folder and below it, with messages and dependency files.
MAKEFILE = """\
CFLAGS = -g -O2 -Wall -MD -MP -Iinc
all: prog libx.a sub/z.o s.o x.i x.S
x.o: x.c
	gcc $(CFLAGS) -MF x.d -c -o $@ $<
p.o: p.c
	gcc -O1 -c p.c
prog: p.o
	gcc -o $@ p.o
libx.a: p.o x.o
	ar rcs $@ p.o
sub/z.o: sub/z.c
	cd sub && gcc -g -I.. -c z.c
s.o: s.s
	as -o $@ s.s
x.i: x.c
	gcc -E -Iinc -o $@ x.c
x.S: x.c
	gcc -O2 -S -Iinc -o $@ x.c
"""
PROJECT = {
    "Makefile": MAKEFILE,
    "x.c": SOURCE,
    "p.c": "int main(void) { int unused; return 0; }\n",
    "inc/head.h": "#define TIMES 3\n",
    "s.s": FILES["conftest.s"],
    "sub/z.c": FILES["sub/conftest.c"],
}


def trees(
    space: Space, project: dict[str, str], second: str = "second-folder/tree"
) -> tuple[Path, Path, Path]:
    """Two trees of a project, and where the second one is built plainly."""
    made = [space.root / name for name in ("first", second, "plain")]
    for tree in made:
        for name, text in project.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        settle(tree)
    return made[0], made[1], made[2]


HASH = """\
constexpr unsigned sum(const char *s) { return *s ? *s + 31 * sum(s + 1) : 0; }
unsigned id = sum(__FILE__);
"""
WARNS = """\
#include "warn.h"
template <class T> T half(T x) { int none; unsigned u = x; if (u < x) return 0; return x / 2; }
#define HALF(x) half(x - 1)
int f(int x) { return HALF(x); }
"""
#: Sources by what they make of the name by which the compiler knows them, and who is given back.
ASKING = {
    "nothing.c": ('#include "head.h"\nint a = TIMES;\n', True),
    "unused.c": ('#include "log.h"\nint b = 1;\n', True),
    "used.c": ('#include "log.h"\nconst char *where(void) { return LOG("x"); }\n', False),
    "size.c": ("int size = sizeof __FILE__;\n", False),
    "length.c": ("unsigned long length(void) { return __builtin_strlen(__FILE__); }\n", False),
    "letter.c": ("int letter = __FILE__[3];\n", False),
    "builtin.c": ("int size(void) { return __builtin_strlen(__builtin_FILE()); }\n", False),
    "assert.c": ("#define NDEBUG\n#include <assert.h>\nvoid f(int x) { assert(x); }\n", True),
    "asserts.c": ("#include <assert.h>\nvoid g(int x) { assert(x); }\n", False),
    "base.c": ("int base = sizeof __BASE_FILE__;\n", False),
    "warns.c": ('#include "warn.h"\nstatic int unused;\nint f(void) { int none; }\n', True),
    "says.c": ('#pragma message("from " __FILE__)\nint s;\n', False),
    "warns.cc": (WARNS, True),
    "hash.cc": (HASH, False),
    "string.cc": ("#include <string>\nstd::string s(3, 65);\n", True),
}
#: As CMake's makefiles name what they compile.
ABSOLUTE = """\
TOP := $(CURDIR)
OBJECTS := $(addsuffix .o,$(notdir $(wildcard src/*.c src/*.cc)))
all: $(OBJECTS)
%.o: src/%
	gcc -g -Wall -I$(TOP)/inc -MD -MP -MT $@ -MF $@.d -o $@ -c $(TOP)/src/$*
"""
PROJECTS = {
    "relative": (PROJECT, 8),
    "absolute": (
        {
            "Makefile": ABSOLUTE,
            "inc/head.h": "#define TIMES 3\n",
            "inc/warn.h": '#include "worse.h"\n',
            "inc/worse.h": "static int worse(void) { int lost; }\n",
            "inc/log.h": '#define LOG(text) __FILE__ ": " text\n',
            **{f"inc/long-name-{i}.h": f"int n{i};\n" for i in range(9)},
            "src/many.c": "".join(f'#include "long-name-{i}.h"\n' for i in range(9)),
            **{f"src/{name}": text for name, (text, _) in ASKING.items()},
        },
        1 + sum(is_given for _, is_given in ASKING.values()),
    ),
}


SIZE = "int size = sizeof NAME;\n"
PRETTY = """\
template <class T> constexpr int len() { return sizeof(__PRETTY_FUNCTION__); }
auto l = [](int x) { return x; };
int n = len<decltype(l)>();
"""
ASSERT = """\
#include <assert.h>
#define __assert_fail(e, f, l, fn) out(sizeof f)
void out(int);
int g(int x) { assert(x > 3); return x; }
"""
PASTED = "#define C1(a, b) a##b\n#define CAT(a, b) C1(a, b)\nint n = sizeof CAT(__FI, LE__);\n"
#: Commands whose results depend on the tree's name by its length, a part of it, or a line's end.
PITFALLS = {
    "gcc -DNAME=__FILE__ -c @/src/size.c -o 1.o": {"src/size.c": SIZE},
    "gcc '-DNAME=__builtin_FILE()' -O2 -c @/src/builtin.c -o 2.o": {
        "src/builtin.c": "int f(void) { return __builtin_strlen(NAME); }\n"
    },
    "gcc -c @/src/pasted.c -o 3.o": {"src/pasted.c": PASTED},
    "clang -c @/src/pasted.c -o 4.o": {},
    "gcc -c @/src/spliced.c -o 5.o": {"src/spliced.c": "int n = sizeof __FI\\\nLE__;\n"},
    "gcc -c @/src/assert.c -o 6.o": {"src/assert.c": ASSERT},
    "clang++ -std=c++17 -c @/src/pretty.cc -o 7.o": {"src/pretty.cc": PRETTY},
    "clang -DNAME=__FILE__ -Xclang -emit-obj -c @/src/size.c -o 8.o": {},
    "gcc -finstrument-functions -finstrument-functions-exclude-file-list=first/ -c @/src/plain.c"
    " -o 9.o": {"src/plain.c": "int plain(int x) { return x; }\n"},
    "clang -fsanitize=undefined -fsanitize-undefined-strip-path-components=-3 -c @/src/ub.c"
    " -o 10.o": {"src/ub.c": "int ub(int x) { return x + 1; }\n"},
    "gcc -nostdlib -r -T order.ld -o 11.o @/9.o @/10.o": {
        "order.ld": "SECTIONS { .text : { *first/*(.text*) *(.text*) } }\n"
    },
    "clang -MD -I@/inc -c @/src/odd.c -o 12.o": {
        "src/odd.c": '#include "a b c d e f.h"\n#include "k.h"\n',
        "inc/a b c d e f.h": "",
        "inc/k.h": "",
    },
    "gcc -MD -MF 13.d -MT '@/aaaaaaaaaa.o bbbbbbbbbb.o' -c src/plain.c -o 13.o": {},
    "gcc -I@/inc -Wa,-I,inc -Wa,--MD,14.d -c @/src/as.s -o 14.o": {
        "src/as.s": '.include "k.h"\n.include "a b c d e f.h"\n'
    },
    "gcc -nostdlib -r -Wl,--dependency-file=15.d -o 15.o @/9.o @/10.o": {},
    "clang -fsanitize=hwaddress -c @/src/tags.c -o 23.o": {
        "src/tags.c": "int g = 3;\nint f(int x) { static int t[9]; return t[x] + g; }\n"
    },
    "clang -O2 -fpseudo-probe-for-profiling -c @/src/static.c -o 24.o": {
        "src/static.c": "static __attribute__((noinline)) int s(int x) { return x; }\n"
        "int f(int x) { return s(x); }\n"
    },
    "clang -target x86_64-pc-windows-msvc -S @/src/hidden.cc -o 25.s": {
        "src/hidden.cc": "namespace { struct Q { int f(); int z; }; int Q::f() { return z; } }\n"
        "int g() { Q q{3}; return q.f(); }\n"
    },
    "clang++ -std=c++17 -fms-extensions -c @/src/sig.cc -o 26.o": {
        "src/sig.cc": PRETTY.replace("__PRETTY_FUNCTION__", "__FUNCSIG__")
    },
    "gcc -fdirectives-only -c @/src/pasted.c -o 27.o": {},
    "ld -r -o 28.o @/9.o": {},
    "gcc -MD -MF 29.d -MT @/x.o -MT 'aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbb' -c @/src/plain.c"
    " -o 29.o": {},
    "gcc -Wall -fmessage-length=60 -c @/src/warns.c -o 16.o": {"src/warns.c": "static int w;\n"},
    "gcc -Wall -fdiagnostics-format=json -c @/src/warns.c -o 17.o": {},
    "gcc -Wall -fdiagnostics-parseable-fixits -c @/src/fix.c -o 18.o": {
        "src/fix.c": "struct s { int colour; };\nint f(struct s *p) { return p->colour, 0 }\n"
    },
    "gcc -MM -MT @/a.o -I@/inc @/src/odd.c": {},
    "gcc -H -c @/src/assert.c -o 19.o": {},
    "gcc -Wall -fdiagnostics-color=always -c @/src/warns.c -o 20.o": {},
    "clang -Wall -fcolor-diagnostics -c @/src/warns.c -o 21.o": {},
    "as -o 22.o @/src/warn.s": {"src/warn.s": '.warning "here"\n'},
}


def pitfalls() -> dict[str, str]:
    """A project of all of them."""
    lines = "\n\t-".join(command.replace("@", "$(CURDIR)") for command in PITFALLS)
    files = {name: text for each in PITFALLS.values() for name, text in each.items()}
    return {**files, "Makefile": f"all:\n\t{lines}\n"}


def contents(tree: Path) -> dict[str, bytes]:
    """All files of a tree."""
    return {
        os.fspath(path.relative_to(tree)): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }


def built_elsewhere(
    space: Space,
    project: dict[str, str],
    between: Callable[[], object],
    *options: str,
    name: str = "second-folder/tree",
) -> None:
    """Builds the first tree, then the second, which must be what the plain build makes there."""
    first, second, plain = trees(space, project, name)
    # The plain tree has the second one's name while it is built.
    kept = second.rename(space.root / "kept")
    plain.rename(second)
    plainly: dict[str, Any] = {"cwd": second, "env": space.environment, "capture_output": True}
    made = subprocess.run(["make", "-s"], check=True, text=True, **plainly)
    expected = contents(second)
    shutil.rmtree(second)
    kept.rename(second)
    for tree in (first, second):
        space.folder = tree
        ran = space.smpmake(*options, "--", "make", "-s")
        assert ran.status == 0
        if tree == first:
            between()
    assert contents(second) == expected
    assert set(made.stderr.splitlines()) <= set(ran.err.splitlines())


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", PROJECTS)
def test_a_build_in_another_tree(space: Space, name: str, compiler: str) -> None:
    needs.require(compiler)
    project, hits = PROJECTS[name]
    made_by = {"Makefile": project["Makefile"].replace("gcc", compiler)}
    built_elsewhere(space, {**project, **made_by}, lambda: None)
    assert counts(space)["hits"] == hits
    bound = counts(space)["misses"].get(str(layout.MEMO_BOUND), 0)
    assert bound == (3 if name == "absolute" else 0)  # used, asserts, says


@pytest.mark.slow
@pytest.mark.parametrize("name", ["b", "n" * 60, "n" * 180, "other tree/\u00fc"])
def test_names_of_every_length(space: Space, name: str) -> None:
    project, hits = PROJECTS["absolute"]
    quoted = project["Makefile"].replace("$(TOP)/inc", "'$(TOP)/inc'")
    quoted = quoted.replace("$(TOP)/src/$*", "'$(TOP)/src/$*'")
    built_elsewhere(space, {**project, "Makefile": quoted}, lambda: None, name=name)
    plain = " " not in name  # else dependency files stay where they are
    assert counts(space)["hits"] == (hits if plain else 0)


@pytest.mark.parametrize("name", ["b", "tree2", "n" * 60])
def test_parts_of_the_name_and_its_length(space: Space, name: str) -> None:
    needs.require("clang")
    built_elsewhere(space, pitfalls(), lambda: None, name=name)


@pytest.mark.parametrize("name", PROJECTS)
def test_another_machine_may_have_another_folder(
    space: Space, server: ResultsServer, name: str
) -> None:
    project, hits = PROJECTS[name]
    options = ("--memo=on", f"--memo-remote={server.url}", "--memo-push")
    built_elsewhere(
        space, project, lambda: shutil.rmtree(space.root / "cache" / "smpmake" / "memo"), *options
    )
    # A server that is slow for once is asked for long commands alone.
    assert 0 < counts(space)["remote"]["hits"] == counts(space)["hits"] <= hits


def test_three_trees_take_the_store_of_one(space: Space) -> None:
    built_elsewhere(space, PROJECT, lambda: None)
    store = space.root / "cache" / "smpmake" / "memo"
    before = {path.name for path in (store / "c").rglob("*")}
    questions = {path.name for path in (store / "q").rglob("*")}
    space.folder = trees(space, PROJECT)[2]
    assert space.smpmake("make").status == 0
    assert {path.name for path in (store / "c").rglob("*")} == before
    assert {path.name for path in (store / "q").rglob("*")} == questions


def test_two_trees_built_at_once_on_one_store(space: Space) -> None:
    """Each has its own files, whoever of the two was first to record them."""
    first, second, _ = trees(space, PROJECTS["absolute"][0])
    plain: dict[str, Any] = {"env": space.environment, "capture_output": True, "check": True}
    expected = {}
    for tree in (first, second):
        kept = space.root / "kept"
        shutil.copytree(tree, kept)
        subprocess.run(["make", "-s"], cwd=tree, **plain)
        expected[tree] = contents(tree)
        shutil.rmtree(tree)
        kept.rename(tree)
        settle(tree)
    for _ in range(2):
        running = []
        for tree in (first, second):
            space.folder = tree
            running.append(space.start(SMPMAKE, "--memo=on", "make", "-s"))
        assert [space.finish(each).status for each in running] == [0, 0]
        assert {tree: contents(tree) for tree in (first, second)} == expected
        for tree in (first, second):
            for made in (*tree.glob("*.o"), *tree.glob("*.d")):
                made.unlink()
